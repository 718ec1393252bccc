//go:build linux

package results

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/assayd/assayd/reconcile/store"
)

// unmarked is a source that dies before it marks.
type unmarked struct{ stored }

func (unmarked) Mark(context.Context, []Stream) error { return errors.New("killed") }

// Whatever is killed, cut or taken away, and whenever, the files hold every line once.
func TestFilesSurviveEverything(t *testing.T) {
	memory := t.TempDir() // what is cut here are files, so no disk has to be waited for
	mount(t, memory, 64<<10)
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(memory, "")
		if err != nil {
			rt.Fatal(err)
		}
		defer os.RemoveAll(dir)
		h := build(t.Context(), rt, dir)
		defer func() { h.close() }()
		ref := func() store.StreamRef {
			r := h.ref(rapid.SampledFrom([]string{"run.a", "run.b"}).Draw(rt, "spec"))
			r.Path += rapid.SampledFrom([]string{".x.jsonl", ".y.jsonl"}).Draw(rt, "path")
			return r
		}
		rt.Repeat(map[string]func(*rapid.T){
			"append": func(rt *rapid.T) {
				h.append(ref(), rapid.SliceOfN(rapid.StringN(0, 20, -1), 1, 4).Draw(rt, "texts")...)
			},
			"move": func(*rapid.T) { h.move(ref()) },
			"pass": func(rt *rapid.T) { h.pass(rapid.Bool().Draw(rt, "all")) },
			"killed before the mark": func(rt *rapid.T) {
				h.writer.src = unmarked{stored{h.store}}
				if err := h.writer.pass(h.ctx, rapid.Bool().Draw(rt, "all")); err != nil && err.Error() != "killed" {
					rt.Fatal(err)
				}
				h.restart()
			},
			"killed within a write": func(rt *rapid.T) {
				h.writer.src = unmarked{stored{h.store}}
				sizes := h.sizes()
				h.writer.pass(h.ctx, false) // its error is that of the test
				for path, size := range h.sizes() {
					h.cut(path, rapid.Int64Range(sizes[path], size).Draw(rt, "size"))
				}
				h.restart()
			},
			"shorten": func(rt *rapid.T) {
				for path, size := range h.sizes() {
					h.cut(path, rapid.Int64Range(0, size).Draw(rt, "size"))
				}
				h.restart()
				h.pass(true)
			},
			"remove": func(rt *rapid.T) {
				for path := range h.sizes() {
					if rapid.Bool().Draw(rt, "this") {
						if err := os.Remove(path); err != nil {
							rt.Fatal(err)
						}
					}
				}
				h.pass(true)
			},
			"restart": func(*rapid.T) {
				h.close()
				h = build(t.Context(), rt, dir)
			},
		})
		h.restart()
		if !h.pass(true) {
			rt.Fatal("not everything was written")
		}
		h.check()
		for path := range h.sizes() {
			if err := counts(h.read(path)); err != nil {
				rt.Fatalf("%s: %v", path, err)
			}
		}
	})
}

// sizes are the files beside the specs.
func (h *fixture) sizes() map[string]int64 {
	h.Helper()
	sizes := map[string]int64{}
	paths, err := filepath.Glob(filepath.Join(h.root, "*.jsonl"))
	if err != nil {
		h.Fatal(err)
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			h.Fatal(err)
		}
		sizes[path] = info.Size()
	}
	return sizes
}

func (h *fixture) cut(path string, size int64) {
	h.Helper()
	if err := os.Truncate(path, size); err != nil {
		h.Fatal(err)
	}
}

// victim makes a child of the test binary append and write until it is killed.
const victim = "ASSAYD_RESULTS_TEST_VICTIM"

func suffer(dir string) {
	s, err := store.Open(context.Background(), filepath.Join(dir, "state"), store.Options{})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	w := NewWriter(stored{s}, Options{Dir: filepath.Join(dir, "state", "results")})
	go w.Run(context.Background())
	root := filepath.Join(dir, "specs")
	for i := 0; ; i++ {
		spec := fmt.Sprintf("run.a%d", i%3)
		ref := store.StreamRef{Spec: spec, Root: root, Path: filepath.Join(root, "a."+spec+".jsonl")}
		text := strings.Repeat("x", rand.IntN(100_000))
		seq := 0
		err := s.Do(context.Background(), func(tx *store.Tx) (err error) {
			seq, err = tx.AppendLine(ref, store.Envelope{Type: "x"}, map[string]string{"text": text})
			return err
		})
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(spec, seq) // the acknowledgement
	}
}

func TestKilledProcessLosesNothingAcknowledged(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "specs"), 0o755); err != nil {
		t.Fatal(err)
	}
	acknowledged := map[string]int{}
	for range 6 {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), victim+"="+dir)
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		note := func() {
			var spec string
			var seq int
			if _, err := fmt.Sscan(lines.Text(), &spec, &seq); err != nil || seq < acknowledged[spec]+1 {
				t.Fatalf("child said %q after %v", lines.Text(), acknowledged)
			}
			acknowledged[spec] = seq
		}
		for n := 20 + rand.IntN(40); n > 0 && lines.Scan(); n-- {
			note()
		}
		child.Process.Kill()
		for lines.Scan() {
			note()
		}
		child.Wait() // says that it was killed
	}
	h := build(t.Context(), t, dir)
	defer h.close()
	h.pass(true)
	h.check()
	for _, s := range h.streams() {
		if s.Last < acknowledged[s.Spec] || s.Last == 0 || s.Number != 1 {
			t.Errorf("%+v lost some of %d lines", s, acknowledged[s.Spec])
		}
	}
}
