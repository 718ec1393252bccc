package patch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNothingInATreeUsesGitsSettings(t *testing.T) {
	t.Parallel()
	marker := filepath.Join(t.TempDir(), "ran")
	base := files{
		".gitattributes": "* filter=x diff=x merge=x text=auto eol=crlf ident working-tree-encoding=UTF-16\n*.bin -diff\n",
		".gitconfig":     "[filter \"x\"]\n\tclean = touch " + marker + "\n[diff \"x\"]\n\tcommand = touch " + marker + "\n",
		"crlf":           "one\r\ntwo\r\n", "lf": "one\ntwo\n", "id": "$Id: abc $\n", "a.bin": "1\n",
	}
	w := New(t.TempDir())
	b := baseOf(t, w, base)
	if diff := diffOf(t, b, base); diff != "" {
		t.Errorf("the same tree differs: %s", diff)
	}
	after := maps.Clone(base)
	maps.Copy(after, files{"crlf": "one\r\n2\r\n", "lf": "one\r\n2\r\n", "id": "$Id$\n", "a.bin": "2\n"})
	diff := diffOf(t, b, after)
	got, _ := applied(t, b, base, diff)
	if d := cmp.Diff(after, got); d != "" || strings.Contains(diff, "GIT binary") {
		t.Errorf("%s of\n%s", d, diff)
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("the tree ran a program")
	}
}

func TestAKeptTreeIsReadOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var opened atomic.Int32
	tree := packed(t, files{"a": "1\n"})
	open := func() (io.ReadCloser, error) {
		opened.Add(1)
		return io.NopCloser(bytes.NewReader(tree)), nil
	}
	w := New(dir)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			b, err := w.Base(t.Context(), "k", open)
			if err == nil {
				_, err = b.Diff(t.Context(), bytes.NewReader(tree), nil)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if _, err := New(dir).Base(t.Context(), "k", open); err != nil {
		t.Fatal(err)
	}
	if n := opened.Load(); n != 1 {
		t.Errorf("it was read %d times", n)
	}
}

func TestABaseThatCannotBeReadIsNotKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := New(dir)
	bad := errors.New("the engine is down")
	if _, err := w.Base(t.Context(), "k", func() (io.ReadCloser, error) { return nil, bad }); !errors.Is(err, bad) {
		t.Errorf("got %v", err)
	}
	tree := packed(t, files{"a": "1\n"})
	if _, err := w.Base(t.Context(), "k", opener(tree[:513])); err == nil {
		t.Error("half a tree was kept")
	}
	if left := names(t, dir); len(left) != 0 {
		t.Errorf("left are %q", left)
	}
	b, err := w.Base(t.Context(), "k", opener(tree))
	if err != nil {
		t.Fatal(err)
	}
	if diff := diffOf(t, b, files{"a": "1\n"}); diff != "" {
		t.Errorf("got %s", diff)
	}
}

// names lists what a Workshop has in its folder.
func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range left {
		if e.Name() != "gitconfig" {
			all = append(all, e.Name())
		}
	}
	return all
}

func TestWhatACrashLeftIsRemovedAndMadeAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := baseOf(t, New(dir), files{"a": "1\n"})
	kept := names(t, dir)
	if len(kept) != 1 {
		t.Fatalf("kept are %q", kept)
	}
	if err := os.Mkdir(filepath.Join(dir, scratchPrefix+"1"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(dir, kept[0], keptName), 0); err != nil { // as a power failure does
		t.Fatal(err)
	}
	b.w = New(dir)
	if diff := diffOf(t, b, files{"a": "1\n"}); diff != "" {
		t.Errorf("got %s", diff)
	}
	if diff := cmp.Diff(kept, names(t, dir)); diff != "" {
		t.Error(diff)
	}
}

func TestBasesAreBoundedAndComeBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := New(dir)
	first := baseOf(t, w, files{"a": "first\n"})
	for i := range maxBases {
		baseOf(t, w, files{"a": fmt.Sprint(i)})
	}
	if n := len(names(t, dir)); n != maxBases {
		t.Errorf("%d bases are kept", n)
	}
	if _, err := os.Stat(filepath.Join(dir, first.name+baseSuffix)); err == nil {
		t.Error("the one that was used least is still there")
	}
	if diff := diffOf(t, first, files{"a": "first\n"}); diff != "" {
		t.Errorf("got %s", diff)
	}
}
