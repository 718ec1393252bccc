package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var nightly = StreamRef{Spec: "run.nightly", Root: "/w", Path: "/w/team/nightly.run.nightly.jsonl"}

func fixed() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 600, time.FixedZone("", 3600)) }

// appendLine appends a record and returns its line, or the error.
func appendLine(t *testing.T, s *Store, e Envelope, record any) (string, error) {
	t.Helper()
	var line string
	err := s.Do(t.Context(), func(tx *Tx) error {
		seq, err := tx.AppendLine(nightly, e, record)
		if err != nil {
			return err
		}
		stream, err := tx.Stream(nightly.Spec)
		if err != nil {
			return err
		}
		lines, err := tx.LinesFrom(stream.ID, seq, 10)
		if err != nil {
			return err
		}
		if len(lines) != 1 || lines[0].Seq != seq || stream.Last != seq {
			return fmt.Errorf("stream %v ends with %v", stream, lines)
		}
		line = string(lines[0].Data)
		return nil
	})
	return line, err
}

func TestLinesBeginWithTheirEnvelope(t *testing.T) {
	s := open(t, t.TempDir(), Options{Clock: fixed})
	type started struct {
		Trial string   `json:"trial"`
		Try   int      `json:"try"`
		Flags []string `json:"flags"`
		Left  string   `json:"left,omitempty"`
	}
	for _, c := range []struct {
		name     string
		envelope Envelope
		record   any
		want     string
	}{
		{
			"a struct keeps its order",
			Envelope{Type: "trial.started", Generation: "abc", Execution: 3},
			started{"a.e3.0", 1, []string{}, ""},
			`{"v":1,"seq":1,"time":"2026-01-02T02:04:05.000000600Z","type":"trial.started","spec":"run.nightly","generation":"abc","execution":"e3","trial":"a.e3.0","try":1,"flags":[]}`,
		},
		{
			"no fields, another spec",
			Envelope{Type: "spec.removed", Spec: "run.other"},
			nil,
			`{"v":1,"seq":2,"time":"2026-01-02T02:04:05.000000600Z","type":"spec.removed","spec":"run.other","generation":""}`,
		},
		{
			"an empty object",
			Envelope{Type: "x"},
			struct{}{},
			`{"v":1,"seq":3,"time":"2026-01-02T02:04:05.000000600Z","type":"x","spec":"run.nightly","generation":""}`,
		},
		{
			"one line, no HTML escapes",
			Envelope{Type: "x"},
			map[string]any{"b": json.RawMessage("{\n\"c\": [1,\n2]}"), "a": "<&>\n"},
			`{"v":1,"seq":4,"time":"2026-01-02T02:04:05.000000600Z","type":"x","spec":"run.nightly","generation":"","a":"<&>\n","b":{"c":[1,2]}}`,
		},
		{
			"always UTF-8",
			Envelope{Type: "x"},
			map[string]any{"a": "\xff", "b": json.RawMessage("\"\xfe\"")},
			`{"v":1,"seq":5,"time":"2026-01-02T02:04:05.000000600Z","type":"x","spec":"run.nightly","generation":"","a":"\ufffd","b":"` + "\uFFFD" + `"}`,
		},
	} {
		got, err := appendLine(t, s, c.envelope, c.record)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		same(t, got, c.want)
	}
}

func TestRecordsThatAreRefusedTakeNoSeq(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	many := map[string]int{}
	for i := range 200_000 {
		many[fmt.Sprint("k", i)] = i
	}
	for name, record := range map[string]any{
		"NaN":                    map[string]float64{"score": math.NaN()},
		"infinity":               map[string]float64{"score": math.Inf(1)},
		"no object":              []int{1},
		"a field of the head":    map[string]any{"seq": 7},
		"more names than a line": many,
	} {
		if line, err := appendLine(t, s, Envelope{Type: "x"}, record); err == nil {
			t.Errorf("%s became %.200s", name, line)
		}
	}
	line, err := appendLine(t, s, Envelope{Type: "x"}, nil)
	if err != nil || !strings.HasPrefix(line, `{"v":1,"seq":1,`) {
		t.Errorf("then %q, %v", line, err)
	}
}

func TestLongValuesBecomeFiles(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	list := make([]string, 20_000)
	for i := range list {
		list[i] = fmt.Sprintf("test number %d", i)
	}
	type record struct {
		Tests  []string `json:"tests"`
		Short  []string `json:"short"`
		Detail string   `json:"detail"`
		Note   string   `json:"note"`
	}
	line, err := appendLine(t, s, Envelope{Type: "x"},
		record{list, list[:2], strings.Repeat("d", 900<<10), strings.Repeat("n", 300<<10)})
	if err != nil {
		t.Fatal(err)
	}
	if len(line) >= 1<<20 {
		t.Errorf("line has %d bytes", len(line))
	}
	type spilled struct{ File, SHA256 string }
	var got struct {
		Tests, Detail spilled
		Short         []string
		Note          string
	}
	if err := json.Unmarshal([]byte(line), &got); err != nil {
		t.Fatalf("%v in %.300s", err, line)
	}
	if len(got.Short) != 2 || len(got.Note) != 300<<10 {
		t.Error("a short value became a file")
	}
	for _, f := range []spilled{got.Tests, got.Detail} {
		content, err := os.ReadFile(filepath.Join(s.Dir(), f.File))
		sum := sha256.Sum256(content)
		if err != nil || hex.EncodeToString(sum[:]) != f.SHA256 || !json.Valid(content) {
			t.Errorf("%v: %v, %.100s", f, err, content)
		}
	}
}

func TestSecretsAreStoredNowhere(t *testing.T) {
	secret := `hunter"2\é`
	dir := t.TempDir()
	s, err := Open(t.Context(), dir, Options{Redact: func(b []byte) []byte {
		return bytes.ReplaceAll(b, []byte(secret), []byte("[secret]"))
	}})
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(map[string]string{"a": "x" + secret + "y", secret: "plain \u2028"})
	if err != nil {
		t.Fatal(err)
	}
	line, err := appendLine(t, s, Envelope{Type: "x"}, map[string]any{
		"nested": map[string]any{"list": []string{secret}}, "raw": json.RawMessage(data),
		"long": []string{strings.Repeat("z", 300<<10), secret},
	})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(line, "[secret]") != 3 || !json.Valid([]byte(line)) {
		t.Errorf("line %s", line)
	}
	var x SubmissionRow
	do(t, s, func(tx *Tx) error {
		x, err = tx.InsertSubmission(SubmissionRow{ID: "a", Data: data})
		return errors.Join(err, tx.PutMeta("m", secret), tx.PutExecution(ExecutionRow{Spec: "run.a", N: 1, Data: data}),
			tx.PutTrial(TrialRow{ID: "t", Spec: "run.a", Execution: 1, Data: data}),
			tx.PutFile(FileRow{Path: "f", Compiled: data}),
			tx.UpdateSubmission(x))
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if bytes.Contains(content, []byte("hunter")) {
			t.Errorf("%s holds the secret", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestMovedStreamLeavesAClosedOne(t *testing.T) {
	s := open(t, t.TempDir(), Options{Clock: fixed})
	moved := StreamRef{Spec: nightly.Spec, Root: "/w", Path: "/w/other.run.nightly.jsonl"}
	move := func(to StreamRef) {
		do(t, s, func(tx *Tx) error {
			return tx.MoveStream(to, Envelope{Generation: "g"}, map[string]string{"to": to.Path})
		})
	}
	move(moved) // nothing to move yet
	for range 2 {
		if _, err := appendLine(t, s, Envelope{Type: "x"}, nil); err != nil {
			t.Fatal(err)
		}
	}
	move(nightly) // there already
	do(t, s, func(tx *Tx) error {
		stream, err := tx.Stream(nightly.Spec)
		stream.File, stream.Written = "/w/file", 2
		return errors.Join(err, tx.MarkWritten(stream))
	})
	move(moved)
	if _, err := appendLine(t, s, Envelope{Type: "y"}, nil); err != nil {
		t.Fatal(err)
	}
	move(nightly)
	same(t, read(t, s, (*Tx).Streams), []Stream{
		{ID: 1, Spec: "run.nightly", Root: "/w", Path: nightly.Path, Last: 3, Number: 1, File: "/w/file", Written: 2},
		{ID: 2, Spec: "run.nightly", Root: "/w", Path: moved.Path, Last: 4, Number: 1},
		{ID: 3, Spec: "run.nightly", Root: "/w", Path: nightly.Path, Open: true, Last: 3, Number: 2},
	})
	types := func(stream int64) (types string) {
		for _, l := range read(t, s, func(tx *Tx) ([]Line, error) { return tx.LinesFrom(stream, 1, 100) }) {
			var head struct{ Type string }
			if err := json.Unmarshal(l.Data, &head); err != nil {
				t.Error(err)
			}
			types += fmt.Sprintf("%d %s, ", l.Seq, head.Type)
		}
		return types
	}
	same(t, types(1), "1 x, 2 x, 3 spec.moved, ")
	same(t, types(2), "1 x, 2 x, 3 y, 4 spec.moved, ")
	same(t, types(3), "1 x, 2 x, 3 y, ")
}

func TestLinesComeInBoundedBatches(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	long := map[string]string{"a": strings.Repeat("x", 1000<<10)}
	for range 6 {
		if _, err := appendLine(t, s, Envelope{Type: "x"}, long); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ seq, limit, want int }{{1, 2, 2}, {1, 100, 5}, {6, 100, 1}, {7, 100, 0}} {
		lines := read(t, s, func(tx *Tx) ([]Line, error) { return tx.LinesFrom(1, c.seq, c.limit) })
		if len(lines) != c.want {
			t.Errorf("from %d, at most %d: got %d lines", c.seq, c.limit, len(lines))
		}
	}
}

// Whatever is appended, moved and rolled back, the lines of every stream count from 1 and
// end where they say.
func TestSeqHasNoGapAndNoRepeat(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s, err := Open(t.Context(), t.TempDir(), Options{})
		if err != nil {
			rt.Fatal(err)
		}
		defer s.Close()
		undo := errors.New("undo")
		for range rapid.IntRange(1, 12).Draw(rt, "transactions") {
			err := s.Do(t.Context(), func(tx *Tx) error {
				for range rapid.IntRange(0, 4).Draw(rt, "steps") {
					spec := rapid.SampledFrom([]string{"run.a", "run.b"}).Draw(rt, "spec")
					ref := StreamRef{Spec: spec, Path: "/w/" + rapid.SampledFrom([]string{"x", "y", "z"}).Draw(rt, "path") + spec}
					record := map[string]string{"text": rapid.StringN(0, 40, -1).Draw(rt, "text")}
					if rapid.IntRange(0, 4).Draw(rt, "move") == 0 {
						if err := tx.MoveStream(ref, Envelope{}, record); err != nil {
							return err
						}
					} else if _, err := tx.AppendLine(ref, Envelope{Type: "x"}, record); err != nil {
						return err
					}
				}
				if rapid.IntRange(0, 3).Draw(rt, "undo") == 0 {
					return undo
				}
				return nil
			})
			if err != nil && !errors.Is(err, undo) {
				rt.Fatal(err)
			}
		}
		if err := s.View(t.Context(), checkStreams); err != nil {
			rt.Fatal(err)
		}
	})
}

func checkStreams(tx *Tx) error {
	streams, err := tx.Streams()
	if err != nil {
		return err
	}
	open := map[string]int{}
	for _, s := range streams {
		lines, err := tx.LinesFrom(s.ID, 1, 1000)
		if err != nil {
			return err
		}
		if len(lines) != s.Last {
			return fmt.Errorf("%v has %d lines", s, len(lines))
		}
		size := int64(0)
		for i, l := range lines {
			var head struct {
				Seq  int
				Type string
			}
			if err := json.Unmarshal(l.Data, &head); err != nil {
				return err
			}
			size += int64(len(l.Data) + 1)
			closing := !s.Open && i == len(lines)-1
			if l.Seq != i+1 || head.Seq != i+1 || l.Ends != size || closing != (head.Type == "spec.moved") {
				return fmt.Errorf("line %d of %v: %d, ends at %d of %d: %s", i+1, s, l.Seq, l.Ends, size, l.Data)
			}
		}
		if s.Open {
			open[s.Spec]++
		}
	}
	for spec, n := range open {
		if n != 1 {
			return fmt.Errorf("%s has %d open streams", spec, n)
		}
	}
	return nil
}
