//go:build linux

package results

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/assayd/assayd/reconcile/store"
)

// mount gives the test a file system of its own of so many KiB.
func mount(t *testing.T, dir string, kib int) {
	t.Helper()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dk", kib)); err != nil {
		t.Fatalf("mount a small tmpfs, which this test must be able to do (run it as root): %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

// at fails unless the lines of run.a are at path.
func (h *fixture) at(path string, fallback bool) {
	h.Helper()
	h.check()
	got, aside, why := h.location("run.a")
	if got != path || aside != fallback || fallback && why == "" {
		h.Fatalf("it is at %s, fallback %v, why %q; want %s", got, aside, why, path)
	}
}

func TestLocationBeforeTheFirstWrite(t *testing.T) {
	h := newFixture(t)
	if path, aside, why := h.location("run.a"); path != "" || aside || why != "" {
		t.Errorf("%q, %v, %q", path, aside, why)
	}
}

func TestReadOnlyFolderAndBack(t *testing.T) {
	h := newFixture(t)
	mount(t, h.root, 1024)
	remount := func(flags uintptr) {
		if err := unix.Mount("tmpfs", h.root, "tmpfs", unix.MS_REMOUNT|flags, ""); err != nil {
			t.Fatal(err)
		}
	}
	ref := h.ref("run.a")
	h.append(ref, "one")
	h.pass(false)
	h.at(ref.Path, false)

	remount(unix.MS_RDONLY)
	h.append(ref, "two")
	h.pass(false)
	aside := filepath.Join(h.state, "results", h.root, "a.run.a.jsonl")
	h.at(aside, true)
	h.restart()
	h.pass(true) // it still cannot be written
	h.at(aside, true)

	remount(0)
	h.append(ref, "three")
	h.pass(false) // which is found out by a recheck, not by every line
	h.at(aside, true)
	h.pass(true)
	h.at(ref.Path, false)
}

func TestFolderThatGoesAndComes(t *testing.T) {
	h := newFixture(t)
	ref := h.ref("run.a")
	ref.Path = filepath.Join(h.root, "team", "a.run.a.jsonl")
	aside := filepath.Join(h.state, "results", h.root, "team", "a.run.a.jsonl")
	h.append(ref, "one")
	h.pass(false)
	h.at(aside, true)
	if err := os.Mkdir(filepath.Dir(ref.Path), 0o755); err != nil {
		t.Fatal(err)
	}
	h.pass(true)
	h.at(ref.Path, false)
	if err := os.RemoveAll(filepath.Dir(ref.Path)); err != nil {
		t.Fatal(err)
	}
	h.write(filepath.Dir(ref.Path), "a file where the folder was")
	h.append(ref, "two")
	h.pass(false)
	h.at(aside, true)
}

func TestSwappedLinkIsNotFollowedAgain(t *testing.T) {
	h := newFixture(t)
	link := filepath.Join(h.root, "current")
	swap := func(version string) {
		if err := os.MkdirAll(filepath.Join(h.root, version), 0o755); err != nil {
			t.Fatal(err)
		}
		next := filepath.Join(h.root, "next")
		if err := os.Symlink(version, next); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(next, link); err != nil {
			t.Fatal(err)
		}
	}
	swap("v1")
	ref := h.ref("run.a")
	ref.Path = filepath.Join(link, "a.run.a.jsonl")
	aside := filepath.Join(h.state, "results", h.root, "current", "a.run.a.jsonl")
	h.append(ref, "one")
	h.pass(false)
	h.at(filepath.Join(h.root, "v1", "a.run.a.jsonl"), false)

	swap("v2")
	h.append(ref, "two")
	h.pass(false)
	h.at(aside, true)
	if _, _, why := h.location("run.a"); !strings.Contains(why, "v1") || !strings.Contains(why, "v2") {
		t.Errorf("why is %q", why)
	}
	swap("v3")
	h.restart()
	h.pass(true)
	h.at(aside, true)
	for _, version := range []string{"v2", "v3"} {
		if _, err := os.Stat(filepath.Join(h.root, version, "a.run.a.jsonl")); !os.IsNotExist(err) {
			t.Errorf("%s has a result file: %v", version, err)
		}
	}
}

func TestSwapIsFoundByARecheck(t *testing.T) {
	h := newFixture(t)
	for _, version := range []string{"v1", "v2"} {
		if err := os.Mkdir(filepath.Join(h.root, version), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(h.root, "current")
	if err := os.Symlink("v1", link); err != nil {
		t.Fatal(err)
	}
	ref := h.ref("run.a")
	ref.Path = filepath.Join(link, "a.run.a.jsonl")
	h.append(ref, "one")
	h.pass(false)
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("v2", link); err != nil {
		t.Fatal(err)
	}
	h.pass(true)
	h.at(filepath.Join(h.state, "results", h.root, "current", "a.run.a.jsonl"), true)
}

func TestMovedBlock(t *testing.T) {
	h := newFixture(t)
	here := h.ref("run.a")
	there := here
	there.Path = filepath.Join(h.root, "b.run.a.jsonl")
	h.append(here, "one", "two")
	h.pass(false)
	h.append(here, "three")
	h.move(there)
	h.append(here, "four") // whoever does not know yet where it is
	h.pass(false)
	h.at(there.Path, false)
	if old := h.read(here.Path); strings.Count(old, "\n") != 4 || !strings.Contains(old, `"seq":4,`) || strings.Count(old, "spec.moved") != 1 {
		t.Errorf("the old file is\n%s", old)
	}
	h.move(here) // and back: what was closed stays closed
	h.append(here, "five")
	h.pass(false)
	h.at(filepath.Join(h.root, "a.run.a.2.jsonl"), false)
}

// The closed file of a stream begins like its open one; when damaged, it must not go on
// in the file of the other.
func TestDamagedFileDoesNotTakeTheNextOfAnother(t *testing.T) {
	h := newFixture(t)
	here := h.ref("run.a")
	there := here
	there.Path = filepath.Join(h.root, "b.run.a.jsonl")
	h.append(here, "one")
	h.move(there)
	h.move(here)
	h.pass(false)
	h.write(here.Path, "not this")
	h.pass(true)
	h.check()
	var files []string
	for _, s := range h.streams() {
		files = append(files, filepath.Base(s.File))
	}
	if got := strings.Join(files, " "); got != "a.run.a.3.jsonl b.run.a.jsonl a.run.a.2.jsonl" {
		t.Errorf("files are %s", got)
	}
}

func TestPathOutsideItsRootIsRefused(t *testing.T) {
	h := newFixture(t)
	ref := store.StreamRef{Spec: "run.a", Root: h.root, Path: filepath.Join(h.root, "..", "none", "a.jsonl")}
	h.append(ref, "one")
	if h.pass(false) {
		t.Error("it was written")
	}
	if _, err := os.Stat(filepath.Join(h.state, "results")); !os.IsNotExist(err) {
		t.Errorf("a fallback was made: %v", err)
	}
}

func TestFullDiskLosesNothing(t *testing.T) {
	h := newFixture(t)
	mount(t, h.root, 512)
	ballast := filepath.Join(h.root, "ballast")
	h.write(ballast, strings.Repeat("b", 300<<10))
	ref := h.ref("run.a")
	for range 40 {
		h.append(ref, strings.Repeat("x", 10<<10))
	}
	if h.pass(false) {
		t.Fatal("more was written than the disk holds")
	}
	if path, aside, _ := h.location("run.a"); path != "" || aside {
		t.Errorf("it is at %s, fallback %v", path, aside)
	}
	h.append(h.ref("run.b"), "small") // the others wait for their own turn
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if !h.pass(true) {
		t.Fatal("the disk has room again")
	}
	h.at(ref.Path, false)
}
