//go:build linux

package results

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/assayd/assayd/reconcile/store"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(victim); dir != "" {
		suffer(dir)
		return
	}
	goleak.VerifyTestMain(m)
}

// stored makes a real store a Source.
type stored struct{ *store.Store }

func (s stored) Pulse() <-chan struct{} { return s.Store.Lines() }

func (s stored) Streams(ctx context.Context, dirty bool) (streams []Stream, err error) {
	err = s.View(ctx, func(tx *store.Tx) error {
		query := tx.Streams
		if dirty {
			query = tx.DirtyStreams
		}
		rows, err := query()
		for _, r := range rows {
			streams = append(streams, Stream(r))
		}
		return err
	})
	return streams, err
}

func (s stored) Lines(ctx context.Context, stream int64, seq int) (lines []Line, err error) {
	err = s.View(ctx, func(tx *store.Tx) error {
		rows, err := tx.LinesFrom(stream, seq, 1000)
		for _, r := range rows {
			lines = append(lines, Line(r))
		}
		return err
	})
	return lines, err
}

func (s stored) Mark(ctx context.Context, streams []Stream) error {
	return s.Do(ctx, func(tx *store.Tx) error {
		for _, r := range streams {
			if err := tx.MarkWritten(store.Stream(r)); err != nil {
				return err
			}
		}
		return nil
	})
}

// testing.T and rapid.T.
type reporter interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// fixture is a state directory, a watched directory and the writer between them.
type fixture struct {
	reporter
	ctx    context.Context
	store  *store.Store
	writer *Writer
	state  string
	root   string
}

// build opens a house under dir, anew or again.
func build(ctx context.Context, r reporter, dir string) *fixture {
	r.Helper()
	h := &fixture{reporter: r, ctx: ctx, state: filepath.Join(dir, "state"), root: filepath.Join(dir, "specs")}
	if err := os.MkdirAll(h.root, 0o755); err != nil {
		r.Fatal(err)
	}
	var err error
	if h.store, err = store.Open(ctx, h.state, store.Options{}); err != nil {
		r.Fatal(err)
	}
	h.restart()
	return h
}

func newFixture(t *testing.T) *fixture {
	h := build(t.Context(), t, t.TempDir())
	t.Cleanup(h.close)
	return h
}

func (h *fixture) close() {
	if err := h.store.Close(); err != nil {
		h.Fatal(err)
	}
}

// restart is a new writer that remembers nothing.
func (h *fixture) restart() {
	h.writer = NewWriter(stored{h.store}, Options{Dir: filepath.Join(h.state, "results")})
}

func (h *fixture) ref(spec string) store.StreamRef {
	return store.StreamRef{Spec: spec, Root: h.root, Path: filepath.Join(h.root, "a."+spec+".jsonl")}
}

// location is where the lines of spec go: "" before the first write, and why that is not
// beside the spec, if it is not.
func (h *fixture) location(spec string) (path string, aside bool, why string) {
	h.Helper()
	var s store.Stream
	err := h.store.View(h.ctx, func(tx *store.Tx) (err error) {
		s, err = tx.Stream(spec)
		return err
	})
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		h.Fatal(err)
	}
	return s.File, s.Why != "", s.Why
}

func (h *fixture) do(fn func(*store.Tx) error) {
	h.Helper()
	if err := h.store.Do(h.ctx, fn); err != nil {
		h.Fatal(err)
	}
}

// append stores a line for each text.
func (h *fixture) append(ref store.StreamRef, texts ...string) {
	h.Helper()
	h.do(func(tx *store.Tx) error {
		for _, text := range texts {
			if _, err := tx.AppendLine(ref, store.Envelope{Type: "x"}, map[string]string{"text": text}); err != nil {
				return err
			}
		}
		return nil
	})
}

func (h *fixture) move(to store.StreamRef) {
	h.Helper()
	h.do(func(tx *store.Tx) error { return tx.MoveStream(to, store.Envelope{}, nil) })
}

// pass runs one pass and says whether every file could be written.
func (h *fixture) pass(all bool) bool {
	h.Helper()
	if err := h.writer.pass(h.ctx, all); err != nil {
		h.Fatal(err)
	}
	return len(h.writer.retries) == 0
}

func (h *fixture) streams() []Stream {
	h.Helper()
	streams, err := stored{h.store}.Streams(h.ctx, false)
	if err != nil {
		h.Fatal(err)
	}
	return streams
}

// text is what the file of a stream must be.
func (h *fixture) text(stream Stream) string {
	h.Helper()
	var b strings.Builder
	for seq := 1; seq <= stream.Last; {
		lines, err := stored{h.store}.Lines(h.ctx, stream.ID, seq)
		if err != nil || len(lines) == 0 {
			h.Fatal("no lines", err)
		}
		for _, l := range lines {
			b.Write(l.Data)
			b.WriteByte('\n')
			seq++
		}
	}
	return b.String()
}

func (h *fixture) read(path string) string {
	h.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		h.Fatal(err)
	}
	return string(content)
}

func (h *fixture) write(path, content string) {
	h.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		h.Fatal(err)
	}
}

// check fails unless every stream is written and its file holds its lines, which count
// from 1 with no gap and no repeat.
func (h *fixture) check() {
	h.Helper()
	for _, s := range h.streams() {
		if s.Written != s.Last {
			h.Fatalf("stream %+v is not written", s)
		}
		got := h.read(s.File)
		if want := h.text(s); got != want {
			h.Fatalf("file of %+v is\n%s\nwant\n%s", s, got, want)
		}
		if err := counts(got); err != nil {
			h.Fatalf("%s: %v", s.File, err)
		}
	}
}

// counts looks at a file as a reader does.
func counts(text string) error {
	scanner := bufio.NewScanner(strings.NewReader(text))
	scanner.Buffer(nil, 2<<20)
	n := 0
	for scanner.Scan() {
		n++
		var head struct{ Seq int }
		if err := json.Unmarshal(scanner.Bytes(), &head); err != nil {
			return err
		}
		if head.Seq != n {
			return fmt.Errorf("line %d has seq %d", n, head.Seq)
		}
	}
	if !strings.HasSuffix(text, "\n") {
		return errors.New("the last line is torn")
	}
	return scanner.Err()
}
