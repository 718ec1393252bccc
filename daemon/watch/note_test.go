package watch

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
)

// TestWhatIsNotWorthALook feeds real events to note until a last one arrives: the kernel
// keeps their order, so nothing is still to come that belongs to the edit.
func TestWhatIsNotWorthALook(t *testing.T) {
	tests := []struct {
		name string
		make func(t *testing.T, dir string)
		edit func(t *testing.T, dir string)
		want bool
	}{
		{"our own results are appended", folder("specs"), func(t *testing.T, dir string) {
			for range 50 {
				write(t, dir+"/specs/a.run.nightly.jsonl", "{}\n")
			}
		}, false},
		{"only the mode changes", func(t *testing.T, dir string) { write(t, dir+"/specs/a.hcl", "") }, func(t *testing.T, dir string) {
			if err := os.Chmod(dir+"/specs/a.hcl", 0o600); err != nil {
				t.Fatal(err)
			}
		}, false},
		{"git works in its folder", folder("specs/.git/refs"), func(t *testing.T, dir string) {
			write(t, dir+"/specs/.git/index", "x")
			write(t, dir+"/specs/.git/refs/main", "x")
		}, false},
		{"data changes below an underscore", folder("specs/team/_data"), func(t *testing.T, dir string) {
			write(t, dir+"/specs/team/_data/a.hcl", "x")
		}, false},
		{"a neighbour of the root changes", folder("specs"), func(t *testing.T, dir string) {
			write(t, dir+"/other/a.hcl", "x")
			write(t, dir+"/specs2", "x")
		}, false},
		{"a file below is written", func(t *testing.T, dir string) { write(t, dir+"/specs/a/a.hcl", "") }, func(t *testing.T, dir string) {
			write(t, dir+"/specs/a/a.hcl", "x")
		}, true},
		{"a hidden name appears in the root", folder("specs"), func(t *testing.T, dir string) {
			link(t, "nowhere", dir+"/specs/..data")
		}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			tt.make(t, dir)
			w := connected(t, Options{
				Roots:  []string{dir + "/specs"},
				Ignore: func(name string) bool { return strings.HasSuffix(name, ".jsonl") },
			})
			tt.edit(t, dir)
			write(t, dir+"/specs/last", "")
			for event := range w.fs.Events {
				if filepath.Base(event.Name) == "last" {
					break
				}
				w.note(event)
			}
			if got := w.settler.pending(); got != tt.want {
				t.Errorf("worth a look: %v, want %v", got, tt.want)
			}
		})
	}
}

func TestAWriteNeedsNoSurvey(t *testing.T) {
	dir := t.TempDir()
	w := connected(t, Options{Roots: []string{dir}})
	w.note(fsnotify.Event{Name: dir + "/a.hcl", Op: fsnotify.Write})
	if w.stale {
		t.Error("the folders are surveyed again after a mere write")
	}
	w.note(fsnotify.Event{Name: dir + "/a.hcl", Op: fsnotify.Remove})
	if !w.stale {
		t.Error("the folders are not surveyed again after something went")
	}
}

// A folder of ten thousand files is not listed again as long as its change time stays.
func TestAFolderThatHasNotChangedIsNotListedAgain(t *testing.T) {
	dir := t.TempDir()
	folder("specs/a")(t, dir)
	w := connected(t, Options{Roots: []string{dir + "/specs"}})
	w.young = -time.Hour
	root, err := filepath.EvalSymlinks(dir + "/specs")
	if err != nil {
		t.Fatal(err)
	}
	survey := func() (folders []string) {
		if err := w.survey(); err != nil {
			t.Fatal(err)
		}
		return w.layout.lists[root].folders
	}
	survey()
	known := w.layout.lists[root]
	known.folders = []string{"remembered"}
	w.layout.lists[root] = known
	if got := survey(); len(got) != 1 || got[0] != "remembered" {
		t.Errorf("the folder was listed again: %v", got)
	}
	for n := 0; markOf(root) == known.seen; n++ { // the kernel counts change times in steps
		folder("specs/b"+strconv.Itoa(n))(t, dir)
	}
	if got := survey(); len(got) < 2 || got[0] != "a" {
		t.Errorf("after a change there are %v", got)
	}
	w.young = time.Hour
	survey()
	survey()
	if _, relied := w.layout.lists[root]; relied {
		t.Error("the list of a young folder is relied on")
	}
}

func TestAnOverflowLooksAtEverythingAgain(t *testing.T) {
	dir := t.TempDir()
	w := connected(t, Options{Roots: []string{dir}, Settle: time.Millisecond, Poll: time.Hour})
	// A folder that comes without an event, as after an overflow.
	if err := w.fs.Remove(dir); err != nil {
		t.Fatal(err)
	}
	write(t, dir+"/new/a.hcl", "")
	pulses := make(chan struct{})
	ended := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	before := w.fs
	w.faults <- fsnotify.ErrEventOverflow
	go func() {
		defer close(ended)
		w.run(ctx, pulses)
	}()
	awaitPulse(t, pulses) // the one at the start
	awaitPulse(t, pulses)
	cancel()
	<-ended
	if w.fs == before {
		t.Error("the watcher was not built again")
	}
	if !w.layout.trees[dir+"/new"] {
		t.Errorf("the new folder is not watched: %v", w.layout.trees)
	}
}

// fsnotify takes the death of a watched folder that was moved for an error, and reports
// it under the lock that adding a watch needs, too.
func TestAnErrorUnderTheLockOfTheWatcherBlocksNothing(t *testing.T) {
	dir := t.TempDir()
	w := connected(t, Options{Roots: []string{dir}})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for i := range 500 {
			path := filepath.Join(dir, strconv.Itoa(i))
			err := errors.Join(os.Mkdir(path, 0o755), w.fs.Add(path), os.Rename(path, path+"-moved"), os.RemoveAll(path+"-moved"))
			if err != nil {
				t.Error(err)
			}
		}
	}()
	timeout := time.After(patience)
	for {
		select {
		case <-w.fs.Events:
		case <-ended:
			return
		case <-timeout:
			t.Fatal("the watcher is stuck")
		}
	}
}

func TestFoldersBeyondTheLimitArePolledAndSaidSo(t *testing.T) {
	dir := t.TempDir()
	folder("a/deep")(t, dir)
	folder("b/deep")(t, dir)
	var log bytes.Buffer
	w := connected(t, Options{Roots: []string{dir}, Log: slog.New(slog.NewTextHandler(&log, nil))})
	w.limit = 4 // the parent, the root, a, b
	w.refresh()
	w.refresh()
	if n := strings.Count(log.String(), "cannot be watched"); n != 1 {
		t.Errorf("said %d times that folders cannot be watched, want once:\n%s", n, log.String())
	}
	for _, want := range []string{dir, dir + "/a", dir + "/b"} {
		if !watched(w, want) {
			t.Errorf("%s is not watched, though it is near the root", want)
		}
	}
	if watched(w, dir+"/a/deep") || watched(w, dir+"/b/deep") {
		t.Error("the limit is not kept")
	}
	w.limit = maxWatches
	w.refresh()
	if !strings.Contains(log.String(), "watched again") || !watched(w, dir+"/a/deep") {
		t.Errorf("all is not watched again:\n%s", log.String())
	}
}

func TestWatchesOfWhatIsNotWantedAreDropped(t *testing.T) {
	dir := t.TempDir()
	folder("specs/a/b")(t, dir)
	w := connected(t, Options{Roots: []string{dir + "/specs"}})
	rename(t, dir+"/specs/a", dir+"/specs/_a")
	w.refresh()
	if watched(w, dir+"/specs/a/b") || watched(w, dir+"/specs/_a/b") {
		t.Errorf("hidden folders are still watched: %v", w.fs.WatchList())
	}
}

// connected returns a watcher with its watches in place that nobody runs.
func connected(t *testing.T, opts Options) *watcher {
	t.Helper()
	w, err := newWatcher(opts)
	if err != nil {
		t.Fatal(err)
	}
	w.refresh()
	if w.trouble != "" {
		t.Fatalf("watch: %s", w.trouble)
	}
	t.Cleanup(w.disconnect)
	return w
}

func watched(w *watcher, dir string) bool {
	for _, have := range w.fs.WatchList() {
		if have == dir {
			return true
		}
	}
	return false
}
