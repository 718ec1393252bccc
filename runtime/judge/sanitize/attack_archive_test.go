package sanitize

import (
	"archive/tar"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/assayd/assayd/runtime/judge/judgetest"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/task"
)

// raw is an entry of a tar stream as no honest writer makes it: what the header says is
// taken as it stands.
type raw struct {
	kind    byte
	name    string
	size    string // octal digits or any bytes; "" = the content's
	target  string
	content string
}

func (e raw) bytes() []byte {
	block := make([]byte, 512)
	size := e.size
	if size == "" {
		size = fmt.Sprintf("%011o\x00", len(e.content))
	}
	copy(block, e.name)
	copy(block[100:], "0004755\x000000000\x000000000\x00")
	copy(block[124:136], size)
	copy(block[136:], "00000000000\x00")
	block[156] = e.kind
	copy(block[157:257], e.target)
	copy(block[257:], "ustar\x0000")
	return append(sealed(block), padded(e.content)...)
}

// sealed gives a header its checksum.
func sealed(block []byte) []byte {
	copy(block[148:156], "        ")
	sum := 0
	for _, b := range block {
		sum += int(b)
	}
	copy(block[148:], fmt.Sprintf("%06o\x00 ", sum))
	return block
}

func padded(content string) []byte {
	return append([]byte(content), make([]byte, (512-len(content)%512)%512)...)
}

// stream is entries, and the mark at the end of an archive.
func stream(entries ...raw) []byte {
	var all []byte
	for _, e := range entries {
		all = append(all, e.bytes()...)
	}
	return append(all, make([]byte, 1024)...)
}

// records is the content of an extended header: "key=value" each.
func records(pairs ...string) string {
	text := ""
	for _, pair := range pairs {
		n := len(pair) + 3
		for n != len(fmt.Sprintf("%d %s\n", n, pair)) {
			n++
		}
		text += fmt.Sprintf("%d %s\n", n, pair)
	}
	return text
}

func extended(pairs ...string) raw { return raw{kind: 'x', name: "x", content: records(pairs...)} }
func global(pairs ...string) raw   { return raw{kind: 'g', name: "g", content: records(pairs...)} }
func regular(name, content string) raw {
	return raw{kind: '0', name: name, content: content}
}

// holes is a sparse file as old GNU tar writes it: one byte of data in so many of zeros.
func holes(name string, size int64) []byte {
	block := raw{kind: 'S', name: name, size: "00000000001\x00"}.bytes()
	copy(block[257:], "ustar  \x00")
	for at, n := range map[int]int64{386: size - 1, 398: 1, 483: size} {
		block[at] = 0x80 // base 256, for sizes that have too many digits
		binary.BigEndian.PutUint64(block[at+4:], uint64(n))
	}
	return append(append(sealed(block), padded("1")...), make([]byte, 1024)...)
}

// What one reader of a tar stream takes for a name, a size or a target another may not:
// only what we understood is written, in our own words.
func TestHeadersThatSayTwoThingsAreReadOnce(t *testing.T) {
	long := strings.Repeat("long/", 30)
	tests := map[string]struct {
		archive []byte
		want    string // what is kept, or "413 part of the refusal"
	}{
		"a path of its own, into the tests":     {stream(extended("path=tests/x"), regular("a", "1")), ""},
		"a path of its own, out of them":        {stream(extended("path=a"), regular("tests/x", "1")), "a=1"},
		"a path of its own, upwards":            {stream(extended("path=a/../../x"), regular("a", "1")), "400 parent folder"},
		"a path of its own, with a zero in it":  {stream(extended("path=a\x00b"), regular("a", "1")), "400 cannot be read"},
		"a path that ends at a zero":            {stream(regular("tests\x00/a", "1")), ""},
		"a path in two parts":                   {stream(prefixed("tests", "x")), ""},
		"a long name":                           {stream(raw{kind: 'L', name: "l", content: "tests/" + long + "\x00"}, regular("a", "1")), ""},
		"a target of its own":                   {stream(extended("linkpath=tests/x"), raw{kind: '2', name: "l", target: "b"}), ""},
		"a long target":                         {stream(raw{kind: 'K', name: "k", content: "../x\x00"}, raw{kind: '2', name: "l", target: "b"}), ""},
		"a copy of another target":              {stream(regular("a", "1"), extended("linkpath=tests/x"), raw{kind: '1', name: "b", target: "a"}), "a=1"},
		"the path of all that follows":          {stream(global("path=tests/x"), regular("a", "1"), regular("b", "2")), "a=1 b=2"},
		"the target of all that follows":        {stream(global("linkpath=tests/x"), raw{kind: '2', name: "l", target: "b"}), "l->b"},
		"the size of all that follows":          {stream(global("size=1"), regular("a", "123"), regular("b", "2")), "a=123 b=2"},
		"a size of its own":                     {stream(extended("size=3"), raw{kind: '0', name: "a", size: "00000000000\x00", content: "123"}), "a=123"},
		"a size that swallows the next entry":   {append(raw{kind: '0', name: "a", size: "00000001000\x00"}.bytes(), stream(regular("tests/x", "1"))...), "400 invalid tar header"},
		"a size beyond the end":                 {stream(extended("size=999999"), regular("a", "123")), "400 cannot be read"},
		"a size below zero":                     {stream(extended("size=-1"), regular("a", "123")), "400 cannot be read"},
		"a size below zero, in the header":      {stream(raw{kind: '0', name: "a", size: strings.Repeat("\xff", 12), content: "123"}), "400 cannot be read"},
		"a size that is no number":              {stream(extended("size=many"), regular("a", "123")), "400 cannot be read"},
		"a size that no disk has":               {stream(extended("size=9223372036854775807"), regular("a", "123")), "413 1048576 bytes"},
		"a folder with content":                 {append(raw{kind: '5', name: "d/", size: "00000001000\x00"}.bytes(), stream(regular("a", "1"))...), "a=1 d/"},
		"holes":                                 {holes("a", 5), "a=\x00\x00\x00\x001"},
		"holes in a hidden file":                {holes("lib/secret.txt", 5), ""},
		"holes that no disk has":                {holes("a", 1<<60), "413 1048576 bytes"},
		"holes with another name":               {stream(extended("GNU.sparse.major=1", "GNU.sparse.minor=0", "GNU.sparse.name=tests/x", "GNU.sparse.realsize=1"), regular("a", "1\n0\n1\n"+strings.Repeat("\x00", 506)+"1")), ""},
		"holes with a size of their own":        {stream(extended("GNU.sparse.major=1", "GNU.sparse.minor=0", "GNU.sparse.name=a", "GNU.sparse.realsize=99999999999999"), regular("b", "1\n0\n1\n"+strings.Repeat("\x00", 506)+"1")), "413 1048576 bytes"},
		"holes that overlap":                    {stream(extended("GNU.sparse.numblocks=2", "GNU.sparse.map=0,1,0,1", "GNU.sparse.realsize=9"), regular("a", "12")), "400 cannot be read"},
		"more holes than anybody counts":        {stream(extended("GNU.sparse.numblocks=9223372036854775807", "GNU.sparse.map=0,1", "GNU.sparse.size=9"), regular("a", "1")), "400 cannot be read"},
		"the label of a volume":                 {stream(raw{kind: 'V', name: "a"}), `400 type 'V'`},
		"the rest of a file of another volume":  {stream(raw{kind: 'M', name: "a", content: "1"}), `400 type 'M'`},
		"a list of names":                       {stream(raw{kind: 'D', name: "a", content: "Ya\x00"}), `400 type 'D'`},
		"a disk":                                {stream(raw{kind: '4', name: "a"}), "400 device"},
		"a kind that nobody knows":              {stream(raw{kind: 'Z', name: "a"}), "400 type 'Z'"},
		"something else behind the end":         {append(stream(regular("a", "1")), stream(regular("tests/x", "1"))...), "a=1"},
		"rubbish behind the end":                {append(stream(regular("a", "1")), bytes.Repeat([]byte("rubbish"), 999)...), "a=1"},
		"no mark at the end":                    {stream(regular("a", "1"))[:1024], "a=1"},
		"an end in the middle of a header":      {stream(regular("a", "1"), regular("b", "2"))[:1024+200], "400 cannot be read"},
		"two packed halves of one stream":       {append(judgetest.Zipped(t, stream(regular("a", "1"))[:600]), judgetest.Zipped(t, stream(regular("a", "1"))[600:])...), "a=1"},
		"a packed archive behind a packed one":  {append(judgetest.Zipped(t, stream(regular("a", "1"))), judgetest.Zipped(t, stream(regular("tests/x", "1")))...), "a=1"},
		"rubbish behind a packed archive":       {append(judgetest.Zipped(t, stream(regular("a", "1"))), "rubbish"...), "a=1"},
		"an archive packed twice":               {judgetest.Zipped(t, judgetest.Zipped(t, stream(regular("a", "1")))), "400 cannot be read"},
		"a packed archive in it is only a file": {judgetest.Pack(t, judgetest.File("a.gz", "\x1f\x8b")), "a.gz=\x1f\x8b"},
		"a pipe's name, plainly a pipe":         {stream(raw{kind: '6', name: "a"}), "400 pipe"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			_, err := Clean(bytes.NewReader(tc.archive), &out, testRules(t))
			refusal, refused := errors.AsType[*round.Refusal](err)
			if err != nil && !refused {
				t.Fatal(err)
			}
			if refused {
				code, part, _ := strings.Cut(tc.want, " ")
				if code != fmt.Sprint(refusal.Code) || !strings.Contains(refusal.Detail, part) {
					t.Errorf("refused with %d %q, want %q", refusal.Code, refusal.Detail, tc.want)
				}
				return
			}
			if got := judgetest.Listing(t, out.Bytes()); got != tc.want {
				t.Errorf("kept %q, want %q", got, tc.want)
			}
		})
	}
}

// prefixed is an entry with the first part of its path in a field of its own.
func prefixed(first, second string) raw {
	name := make([]byte, 345+len(first))
	copy(name, second)
	copy(name[345:], first)
	return raw{kind: '0', name: string(name)}
}

// Of entries of one name the last counts, whatever each of them is, and what was below the
// earlier ones goes with them.
func TestNamesThatComeAgain(t *testing.T) {
	tests := map[string]struct {
		in   []judgetest.Entry
		want string
	}{
		"a folder after a file":                   {[]judgetest.Entry{judgetest.File("a", "1"), judgetest.Folder("a"), judgetest.File("a/b", "2")}, "a/ a/b=2"},
		"a file after a folder with content":      {[]judgetest.Entry{judgetest.Folder("a"), judgetest.File("a/b", "1"), judgetest.File("a", "2")}, "a=2"},
		"a link after a folder with content":      {[]judgetest.Entry{judgetest.Folder("a"), judgetest.File("a/b", "1"), judgetest.Link("a", "third")}, "a->third"},
		"a folder after a link, and files in it":  {[]judgetest.Entry{judgetest.Link("a", "third"), judgetest.Folder("a"), judgetest.File("a/b", "1")}, "a/ a/b=1"},
		"a link that was none, and a file in it":  {[]judgetest.Entry{judgetest.Folder("a"), judgetest.Link("a", "tests"), judgetest.File("a/x", "1")}, ""},
		"a link that is dropped, after a file":    {[]judgetest.Entry{judgetest.File("a", "1"), judgetest.Link("a", "/etc/passwd")}, ""},
		"a chain of links that ends in the tests": {[]judgetest.Entry{judgetest.Link("a", "b"), judgetest.Link("b", "c"), judgetest.Link("c", "tests/x")}, "a->b b->c"},
		"a circle of links":                       {[]judgetest.Entry{judgetest.Link("a", "b"), judgetest.Link("b", "a")}, "a->b b->a"},
		"a link to itself":                        {[]judgetest.Entry{judgetest.Link("a", "a"), judgetest.File("a/b", "1")}, "a->a"},
		"a file under a chain of folder links":    {[]judgetest.Entry{judgetest.Folder("d"), judgetest.Link("a", "d"), judgetest.Link("b", "a"), judgetest.File("b/x", "1")}, "a->d b->a d/"},
		"an absolute link into the workdir":       {[]judgetest.Entry{judgetest.Link("a", "/work/b")}, ""},
		"a copy keeps what it was made of":        {[]judgetest.Entry{judgetest.File("a", "1"), judgetest.Hard("b", "a"), judgetest.File("a", "2")}, "a=2 b=1"},
		"a copy of itself":                        {[]judgetest.Entry{judgetest.File("a", "1"), judgetest.Hard("a", "a")}, "a=1"},
		"a copy of itself, being a folder":        {[]judgetest.Entry{judgetest.Folder("a"), judgetest.Hard("a", "a")}, "a/"},
		"a copy of a hidden file, after a file":   {[]judgetest.Entry{judgetest.File("a", "1"), judgetest.Hard("a", "tests/x")}, ""},
		"a copy of a folder":                      {[]judgetest.Entry{judgetest.Folder("a"), judgetest.Hard("b", "a")}, "a/"},
		"a copy of a file that became a link":     {[]judgetest.Entry{judgetest.File("a", "1"), judgetest.Link("a", "b"), judgetest.Hard("c", "a")}, "a->b"},
		"a copy in place of a folder":             {[]judgetest.Entry{judgetest.File("a", "1"), judgetest.Folder("b"), judgetest.File("b/c", "2"), judgetest.Hard("b", "a")}, "a=1 b=1"},
		"a copy by way of a link of the image":    {[]judgetest.Entry{judgetest.Hard("b", "alias/secret.txt"), judgetest.Hard("c", "t/x")}, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := judgetest.Listing(t, cleaned(t, judgetest.Pack(t, tc.in...))); got != tc.want {
				t.Errorf("kept %q, want %q", got, tc.want)
			}
		})
	}
}

// The file systems of judge containers tell letters apart by their bytes, and so do the
// rules: what only looks like a hidden name is another file beside it. That it is one there
// too is for TestAttacksOnPytestInRealContainers to show.
func TestNamesThatLookLikeHiddenOnesAreOthers(t *testing.T) {
	for _, name := range []string{
		"TESTS/x", "Tests/x", "CONFTEST.PY", "tests /x", "tests./x", `tests\x`, `..\tests\x`, "te\u017fts/x", "tests\u200b/x", "\uff54ests/x",
		"gr\u00e4der/run", "gra\u0308der/run", // one name, composed and decomposed
		`C:\tests\x`, "~/x", "$HOME", "-rf", "*", "a b", "%2e%2e/x", "..%2f", "...", ".. ",
	} {
		out := cleaned(t, judgetest.Pack(t, judgetest.File(name, "1")))
		if got := judgetest.Listing(t, out); !strings.HasSuffix(got, name+"=1") {
			t.Errorf("%q became %q", name, got)
		}
	}
	rules := testRules(t)
	rules.Hidden = []string{"gr\u00e4der"}
	var out bytes.Buffer
	stats, err := Clean(bytes.NewReader(judgetest.Pack(t, judgetest.File("gr\u00e4der/run", "1"), judgetest.File("gra\u0308der/run", "2"))), &out, rules)
	if err != nil || stats.Dropped != 1 || !strings.Contains(judgetest.Listing(t, out.Bytes()), "gra\u0308der/run=2") {
		t.Errorf("dropped %d, kept %q, %v", stats.Dropped, judgetest.Listing(t, out.Bytes()), err)
	}
}

// Rights that a file could bring along are for nobody: owners, bits, capabilities.
func TestWhatAFileBringsAlongIsLeftBehind(t *testing.T) {
	e := judgetest.File("a", "1")
	e.Head.Mode, e.Head.Uid, e.Head.Gid, e.Head.Uname, e.Head.Devmajor = 0o7777, 1000, 1000, "agent", 8
	e.Head.PAXRecords = map[string]string{
		"SCHILY.xattr.security.capability": "\x01\x00\x00\x02\x00\x04", "SCHILY.acl.access": "user::rwx", "LIBARCHIVE.fflags": "sappnd",
	}
	d := judgetest.Folder("d")
	d.Head.Mode = 0o7000
	r := tar.NewReader(bytes.NewReader(cleaned(t, judgetest.Pack(t, e, d))))
	for _, want := range []tar.Header{
		{Typeflag: tar.TypeReg, Name: "a", Mode: 0o777, Size: 1},
		{Typeflag: tar.TypeDir, Name: "d/", Mode: 0o700},
	} {
		h, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag != want.Typeflag || h.Name != want.Name || h.Mode != want.Mode || h.Uid != 0 || h.Uname != "" || h.Devmajor != 0 ||
			len(h.PAXRecords) > 0 || !h.ModTime.Equal(cleanTime) {
			t.Errorf("%+v", h)
		}
	}
}

// A little that stands for much is a bomb also where nothing is packed.
func TestHolesAndCopiesAreNoWayAroundTheRatio(t *testing.T) {
	rules := testRules(t)
	rules.Submit.MaxBytes, rules.Submit.MaxFiles = 1<<30, 100_000
	copies := []judgetest.Entry{judgetest.File("a", strings.Repeat("x", 4<<10))}
	for i := range 5000 {
		copies = append(copies, judgetest.Hard(fmt.Sprintf("b%d", i), "a"))
	}
	bomb := func(archive []byte) error {
		_, err := Clean(bytes.NewReader(archive), io.Discard, rules)
		return err
	}
	for name, archive := range map[string][]byte{
		"one byte in a gigabyte of holes": holes("a", 1<<30),
		"holes, packed":                   judgetest.Zipped(t, holes("a", 1<<29)),
		"copies, packed":                  judgetest.Zipped(t, judgetest.Pack(t, copies...)),
		"what is left out, packed":        judgetest.Zipped(t, judgetest.Pack(t, judgetest.File("tests/x", strings.Repeat("x", 32<<20)))),
	} {
		if r, ok := errors.AsType[*round.Refusal](bomb(archive)); !ok || r.Code != 413 || !strings.Contains(r.Detail, "200 times") {
			t.Errorf("%s, %d bytes: %v", name, len(archive), r)
		}
	}
	book, err := NewRulebook(rules)
	if err != nil {
		t.Fatal(err)
	}
	s, err := newSpool(rules.Spool)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	a := &archive{book: book, spool: s, entries: map[string]*entry{}}
	if err := a.read(newIntake(bytes.NewReader(holes("a", 1<<30)), book)); err == nil || s.size > 2*bombFloor {
		t.Errorf("%d bytes of holes were stored before the refusal: %v", s.size, err)
	}
	if err := bomb(holes("a", 9<<20)); err != nil {
		t.Errorf("a database of nine megabytes, most of them holes: %v", err)
	}
}

// crowd is a tar stream of ten million entries, made while it is read.
type crowd struct {
	entry func(i int) raw
	n     int
	rest  []byte
	peak  uint64 // of the heap
	read  int64
}

const tenMillion = 10_000_000

func (c *crowd) Read(p []byte) (int, error) {
	if len(c.rest) == 0 {
		if c.n == tenMillion {
			return 0, io.EOF
		}
		c.rest = c.entry(c.n).bytes()
		if c.n%20_000 == 0 {
			c.peak = max(c.peak, heap())
		}
		c.n++
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	c.read += int64(n)
	return n, nil
}

// heap is what is remembered. What is garbage, and not collected yet on a busy machine, is not.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// Ten million entries cost what the bounds allow, however they are spread: a share of them
// is read, little is remembered, and none is stored.
func TestTenMillionEntriesAreRefusedEarly(t *testing.T) {
	rules := testRules(t)
	rules.Submit = task.Submit{Paths: []string{"."}, Exclude: []string{"tests/"}, MaxBytes: 1 << 20, MaxFiles: 20_000}
	for name, tc := range map[string]struct {
		most  int // entries that are read of them
		entry func(i int) raw
	}{
		"files":                   {20_001, func(i int) raw { return regular(fmt.Sprintf("f%d", i), "") }},
		"files, left out":         {41_001, func(i int) raw { return regular(fmt.Sprintf("tests/f%d", i), "") }},
		"one name":                {41_001, func(int) raw { return regular("f", "") }},
		"folders in folders":      {41_001 / 12, func(i int) raw { return regular(strings.Repeat(fmt.Sprintf("%d/", i), 12)+"f", "") }},
		"links":                   {20_001, func(i int) raw { return raw{kind: '2', name: fmt.Sprintf("l%d", i), target: "a"} }},
		"copies":                  {41_001, func(i int) raw { return raw{kind: '1', name: fmt.Sprintf("l%d", i), target: "a"} }},
		"words on all the others": {43_000, func(int) raw { return global("comment=" + strings.Repeat("x", 400)) }},
	} {
		t.Run(name, func(t *testing.T) {
			before := heap()
			c := &crowd{entry: tc.entry}
			_, err := Clean(c, io.Discard, rules)
			r, ok := errors.AsType[*round.Refusal](err)
			if !ok || r.Code != 413 {
				t.Errorf("%v after %d entries", err, c.n)
			}
			if grown := int64(c.peak) - int64(before); grown > 64<<20 || c.n > tc.most+200 {
				t.Errorf("%d entries were read, want %d; they took %d MiB of memory", c.n, tc.most, grown>>20)
			}
			t.Logf("%d entries and %d MiB read, %d MiB of memory more", c.n, c.read>>20, (int64(c.peak)-int64(before))>>20)
		})
	}
}
