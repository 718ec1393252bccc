package swebench

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// The library makes room for what a file claims: claims are checked against what there is.
func TestListsThatClaimMoreThanThereIsAreNoParquet(t *testing.T) {
	varint := func(n uint64) []byte { return binary.AppendUvarint(nil, n) }
	for name, c := range map[string]struct {
		data []byte
		good bool
	}{
		"empty struct":      {[]byte{0}, true},
		"a number":          {[]byte{0x15, 2, 0}, true},
		"a list of three":   {[]byte{0x19, 0x35, 2, 2, 2, 0}, true},
		"a text":            {[]byte{0x18, 2, 'a', 'b', 0}, true},
		"nothing":           {nil, false},
		"no end":            {[]byte{0x15, 2}, false},
		"a huge list":       {append(append([]byte{0x19, 0xF5}, varint(1<<31)...), 2, 2, 0), false},
		"a huge text":       {append(append([]byte{0x18}, varint(1<<31)...), 'a', 0), false},
		"a huge map":        {append(append([]byte{0x1B}, varint(1<<31)...), 0x55, 2, 2, 0), false},
		"a list of structs": {append(bytes.Repeat([]byte{0x19, 0x1C}, 100), 0), false},
		"an unknown type":   {[]byte{0x1F, 0}, false},
	} {
		if n, err := skim(c.data); (err == nil) != c.good || c.good && n != len(c.data) {
			t.Errorf("%s: %d of %d, %v", name, n, len(c.data), err)
		}
	}
}

func TestRunsThatClaimMoreThanThereIsAreNoParquet(t *testing.T) {
	run := func(count uint64, packed bool) []byte {
		head := count << 1
		if packed {
			head |= 1
		}
		return binary.AppendUvarint(nil, head)
	}
	for name, c := range map[string]struct {
		data []byte
		good bool
	}{
		"none":           {nil, true},
		"a run":          {append(run(1000, false), 1), true},
		"two runs":       {append(append(run(500, false), 1), append(run(500, false), 0)...), true},
		"packed":         {append(run(125, true), make([]byte, 125)...), true},
		"a huge run":     {append(run(1<<31-1, false), 1), false},
		"many runs":      {bytes.Repeat(append(run(900, false), 1), 3), false},
		"packed for all": {run(1<<28, true), false},
		"cut":            {[]byte{0x80}, false},
	} {
		if got := runs(c.data, 1, 1000); got != c.good {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestAPageNeverTakesMoreThanItSays(t *testing.T) {
	zeros := make([]byte, 1<<20)
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	if _, err := z.Write(zeros); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	e, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	var u unpacker
	defer u.close()
	for name, c := range map[string]struct {
		codec format.CompressionCodec
		data  []byte
	}{
		"gzip": {format.Gzip, zipped.Bytes()}, "zstd": {format.Zstd, e.EncodeAll(zeros, nil)},
		"snappy": {format.Snappy, append(binary.AppendUvarint(nil, 1<<20), bytes.Repeat([]byte{0xFE, 1, 0}, 17000)...)},
	} {
		if _, err := u.unpack(c.codec, c.data, 1000); err == nil {
			t.Errorf("%s: a page of 1000 bytes had a million", name)
		}
	}
	if out, err := u.unpack(format.Gzip, zipped.Bytes(), 1<<20); err != nil || len(out) != 1<<20 {
		t.Errorf("an honest page: %d bytes, %v", len(out), err)
	}
	if _, err := u.unpack(format.Brotli, nil, 10); err == nil || !strings.Contains(err.Error(), "write it with snappy, gzip or zstd") {
		t.Errorf("brotli: %v", err)
	}
}

// A cell can repeat at no cost in the file: what counts is what a row would be.
func TestRowsOfParquetAreBounded(t *testing.T) {
	group := parquet.Group{}
	for _, name := range columns() {
		group[name] = parquet.String()
	}
	p := parquetFile{schema: parquet.NewSchema("instance", group)}
	cell := bytes.Repeat([]byte("x"), maxRow/len(columns()))
	var values parquet.Row
	for i := range columns() {
		values = append(values, parquet.ByteArrayValue(cell).Level(0, 0, i))
	}
	if r, err := p.row(values); err != nil || len(r[colPatch].text) != len(cell) {
		t.Errorf("the largest row: %d columns, %v", len(r), err)
	}
	values[3] = parquet.ByteArrayValue(append(cell, "more"...)).Level(0, 0, 3)
	if _, err := p.row(values); err == nil || err.Error() != "is larger than 16 MiB" {
		t.Errorf("a larger one: %v", err)
	}
}

// The short way and the library's read every string in the same way.
func FuzzUnescaped(f *testing.F) {
	for _, text := range []string{`""`, `"a\nb\"\\\/\b\f\r\t"`, `"\u00e9"`, `"é"`, `"\ud800"`, "\"\xff\"", `"\`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var want string
		if !json.Valid(raw) || raw[0] != '"' || json.Unmarshal(raw, &want) != nil {
			return
		}
		if got, ok := unescaped(raw); ok && got != want {
			t.Errorf("%q is %q, want %q", raw, got, want)
		}
	})
}
