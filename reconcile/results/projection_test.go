//go:build linux

package results

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Whatever the file is cut to, and however much of it was marked, it becomes whole.
func TestFileCutAtEveryByteBecomesWhole(t *testing.T) {
	for _, marked := range []int{0, 1, 2, 3} {
		dir := t.TempDir()
		mount(t, dir, 16<<10) // hundreds of commits, none of which has to wait for a disk
		h := build(t.Context(), t, dir)
		defer h.close()
		ref := h.ref("run.a")
		h.append(ref, "one", "two")
		if marked <= 2 {
			h.pass(false)
		}
		h.append(ref, "three")
		if marked == 3 {
			h.pass(false)
		}
		s := h.streams()[0]
		whole := h.text(s)
		s.File, s.Written, s.Number = ref.Path, marked, 1
		for cut := range len(whole) + 1 {
			if err := (stored{h.store}).Mark(t.Context(), []Stream{s}); err != nil {
				t.Fatal(err)
			}
			h.write(ref.Path, whole[:cut])
			h.restart()
			h.pass(true)
			h.check()
			if got := h.read(ref.Path); got != whole {
				t.Fatalf("marked %d, cut to %d: %q", marked, cut, got)
			}
		}
	}
}

func TestDamagedFiles(t *testing.T) {
	replace := func(old, new string) func(string) string {
		return func(text string) string { return strings.Replace(text, old, new, 1) }
	}
	for _, c := range []struct {
		name   string
		damage func(text string) string
		line   string // the report, if the writer is to go on in another file
	}{
		{"emptied", func(string) string { return "" }, ""},
		{"shortened", func(text string) string { return text[:len(text)/3] }, ""},
		{"zeros for a tail", func(text string) string { return text[:len(text)-9] + strings.Repeat("\x00", 9000) }, ""},
		{"zeros after the tail", func(text string) string { return text + "\x00\x00" }, ""},
		{"a line more", func(text string) string { return text + "{}\n" }, "line 4 is more"},
		{"the last line changed", replace("three", "THREE"), "line 3 is not"},
		{"the last newline gone for another line", func(text string) string { return text[:len(text)-1] + "{}\n" }, "line 3 is not"},
		{"the first line longer", replace("one", "once"), "line 1 is not"},
		{"the second line gone", func(text string) string { _, rest, _ := strings.Cut(text, "\n"); return rest }, "line 1 is not"},
		{"shortened and changed", func(text string) string { return strings.Replace(text, "two", "tw0", 1)[:len(text)-5] }, "line 2 is not"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newFixture(t)
			ref := h.ref("run.a")
			h.append(ref, "one", "two", "three")
			h.pass(false)
			damaged := c.damage(h.read(ref.Path))
			h.write(ref.Path, damaged)

			var log bytes.Buffer
			h.restart()
			h.writer.log = slog.New(slog.NewTextHandler(&log, nil))
			h.pass(true)
			h.append(ref, "four")
			h.pass(false)
			h.check()
			path, aside, why := h.location("run.a")
			if aside {
				t.Errorf("it is at the fallback: %s", why)
			}
			if c.line == "" {
				if path != ref.Path || why != "" || strings.Contains(log.String(), "level=WARN") {
					t.Errorf("it went on in %s, why %q\n%s", path, why, &log)
				}
				return
			}
			if want := strings.TrimSuffix(ref.Path, "jsonl") + "2.jsonl"; path != want {
				t.Errorf("it went on in %s", path)
			}
			if h.read(ref.Path) != damaged {
				t.Error("somebody else's text was changed")
			}
			if strings.Count(log.String(), "level=WARN") != 1 || !strings.Contains(log.String(), c.line) {
				t.Errorf("the report does not say %q:\n%s", c.line, &log)
			}
		})
	}
}

func TestWhatIsNoFileOfOursIsNotFollowed(t *testing.T) {
	for name, put := range map[string]func(path, other string) error{
		"link":          func(path, other string) error { return os.Symlink(other, path) },
		"dangling link": func(path, other string) error { return os.Symlink(other+"x", path) },
		"folder":        func(path, _ string) error { return os.Mkdir(path, 0o755) },
		"pipe":          func(path, _ string) error { return unix.Mkfifo(path, 0o666) },
		"other text":    func(path, _ string) error { return os.WriteFile(path, []byte("mine"), 0o644) },
	} {
		t.Run(name, func(t *testing.T) {
			h := newFixture(t)
			ref := h.ref("run.a")
			other := filepath.Join(h.root, "other")
			h.write(other, "")
			if err := put(ref.Path, other); err != nil {
				t.Fatal(err)
			}
			h.append(ref, "one")
			h.pass(false)
			h.check()
			if path, _, _ := h.location("run.a"); path != filepath.Join(h.root, "a.run.a.2.jsonl") {
				t.Errorf("it went on in %s", path)
			}
			if h.read(other) != "" {
				t.Error("the link was followed")
			}
			if _, err := os.Lstat(other + "x"); err == nil {
				t.Error("the dangling link was followed")
			}
		})
	}
}

func TestOneDamageAfterTheOther(t *testing.T) {
	h := newFixture(t)
	ref := h.ref("run.a")
	for n, name := range []string{"a.run.a.jsonl", "a.run.a.2.jsonl", "a.run.a.3.jsonl", "a.run.a.4.jsonl"} {
		h.append(ref, name)
		h.pass(true)
		h.check()
		path, _, _ := h.location("run.a")
		if path != filepath.Join(h.root, name) {
			t.Fatalf("damage %d: it went on in %s", n, path)
		}
		h.write(path, "not this\n")
	}
}

func TestFilesAreReadableByAll(t *testing.T) {
	h := newFixture(t)
	old := unix.Umask(0o077)
	defer unix.Umask(old)
	h.append(h.ref("run.a"), "one")
	h.pass(false)
	info, err := os.Stat(h.ref("run.a").Path)
	if err != nil || info.Mode() != 0o644 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestLongFileIsWrittenInBatches(t *testing.T) {
	h := newFixture(t)
	ref := h.ref("run.a")
	long := strings.Repeat("x", 900<<10)
	h.append(ref, long, long, long, long, long, long, "end")
	h.pass(false)
	h.check()
	whole := h.read(ref.Path)
	h.write(ref.Path, whole[:len(whole)/2])
	h.pass(true)
	h.check()
	changed := whole[:len(whole)-1000] + "y" + whole[len(whole)-999:]
	h.write(ref.Path, changed+"more")
	h.pass(true)
	h.check()
	if h.read(ref.Path) != changed+"more" {
		t.Error("somebody else's text was changed")
	}
}
