package watch

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must come.
const patience = 20 * time.Second

// TestChangesAreSeen does to a root what users and tools do, and demands that somebody
// who looks at every pulse, and only then, ends up knowing the present content. Each
// case repeats, so that a watch that was lost on the way shows in the next round.
func TestChangesAreSeen(t *testing.T) {
	tests := []struct {
		name string
		root string                                   // below the test's folder
		make func(t *testing.T, dir string)           // the state at the start
		edit func(t *testing.T, dir string, n string) // round n: afterwards the root holds n
	}{
		{"a file is written in place", "specs", folder("specs"), func(t *testing.T, dir, n string) {
			write(t, dir+"/specs/a.hcl", n)
		}},
		{"an editor saves atomically", "specs", folder("specs"), func(t *testing.T, dir, n string) {
			write(t, dir+"/specs/.a.hcl.tmp", n)
			rename(t, dir+"/specs/.a.hcl.tmp", dir+"/specs/a.hcl")
		}},
		{"an editor moves the old file away first", "specs", folder("specs"), func(t *testing.T, dir, n string) {
			if n != "1" {
				rename(t, dir+"/specs/a.hcl", dir+"/specs/a.hcl~")
			}
			write(t, dir+"/specs/a.hcl", n)
			remove(t, dir+"/specs/a.hcl~")
		}},
		{"a file is renamed", "specs", folder("specs"), func(t *testing.T, dir, n string) {
			remove(t, dir+"/specs")
			write(t, dir+"/specs/before.hcl", n)
			rename(t, dir+"/specs/before.hcl", dir+"/specs/after.hcl")
		}},
		{"nested folders come with a file in them", "specs", folder("specs"), func(t *testing.T, dir, n string) {
			remove(t, dir+"/specs/a")
			write(t, dir+"/specs/a/b/c/deep.hcl", n)
		}},
		{"a file changes far below", "specs", folder("specs/a/b/c"), func(t *testing.T, dir, n string) {
			write(t, dir+"/specs/a/b/c/deep.hcl", n)
		}},
		{"a folder below is moved, then edited", "specs", folder("specs"), func(t *testing.T, dir, n string) {
			remove(t, dir+"/specs")
			write(t, dir+"/specs/old/sub/a.hcl", "old")
			rename(t, dir+"/specs/old", dir+"/specs/new")
			write(t, dir+"/specs/new/sub/a.hcl", n)
		}},
		{"the root is removed and made again", "specs", folder("specs"), func(t *testing.T, dir, n string) {
			remove(t, dir+"/specs")
			write(t, dir+"/specs/a.hcl", n)
		}},
		{"the root is made late, with its parents", "x/y/specs", folder("."), func(t *testing.T, dir, n string) {
			write(t, dir+"/x/y/specs/a.hcl", n)
			if n == "2" {
				remove(t, dir+"/x")
				write(t, dir+"/x/y/specs/a.hcl", n)
			}
		}},
		{"another folder takes the place of the root", "specs", folder("specs"), func(t *testing.T, dir, n string) {
			write(t, dir+"/next/a.hcl", n)
			rename(t, dir+"/specs", dir+"/before"+n)
			rename(t, dir+"/next", dir+"/specs")
		}},
		{"another folder takes the place of the root's parent", "x/specs", folder("x/specs"), func(t *testing.T, dir, n string) {
			write(t, dir+"/next/specs/a.hcl", n)
			rename(t, dir+"/x", dir+"/before"+n)
			rename(t, dir+"/next", dir+"/x")
		}},
		{"a ConfigMap is swapped", "specs", folder("specs"), func(t *testing.T, dir, n string) {
			write(t, dir+"/specs/..v"+n+"/a.hcl", n)
			link(t, "..v"+n, dir+"/specs/..data_tmp")
			rename(t, dir+"/specs/..data_tmp", dir+"/specs/..data")
			if n == "1" {
				link(t, "..data/a.hcl", dir+"/specs/a.hcl")
			}
		}},
		{"git-sync swaps a link in the middle of the root's path", "git/current/team/specs", folder("git"), func(t *testing.T, dir, n string) {
			write(t, dir+"/git/.worktrees/"+n+"/team/specs/a.hcl", "checked out")
			link(t, ".worktrees/"+n, dir+"/git/tmp")
			rename(t, dir+"/git/tmp", dir+"/git/current")
			write(t, dir+"/git/current/team/specs/a.hcl", n)
		}},
		{"the root is a link to a link", "specs", func(t *testing.T, dir string) {
			folder("real")(t, dir)
			link(t, dir+"/real", dir+"/via")
			link(t, "via", dir+"/specs")
		}, func(t *testing.T, dir, n string) {
			write(t, dir+"/real"+n+"/a.hcl", "not yet")
			link(t, dir+"/real"+n, dir+"/tmp")
			rename(t, dir+"/tmp", dir+"/via")
			write(t, dir+"/real"+n+"/a.hcl", n)
		}},
		{"what a link inside the root leads to is edited", "specs", func(t *testing.T, dir string) {
			write(t, dir+"/specs/_shared/a.hcl", "")
			link(t, "_shared/a.hcl", dir+"/specs/a.hcl")
		}, func(t *testing.T, dir, n string) {
			write(t, dir+"/specs/_shared/a.hcl", n)
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			tt.make(t, dir)
			root := filepath.Join(dir, tt.root)
			looker := startLooker(t, Options{Roots: []string{root}, Settle: 5 * time.Millisecond, Poll: time.Hour}, root)
			for _, n := range []string{"1", "2", "3", "4"} {
				tt.edit(t, dir, n)
				looker.await(n)
			}
		})
	}
}

func TestSeveralRootsAreWatched(t *testing.T) {
	dir := t.TempDir()
	folder("one")(t, dir)
	folder("two")(t, dir)
	looker := startLooker(t, Options{Roots: []string{dir + "/one", dir + "/two"}, Settle: time.Millisecond, Poll: time.Hour}, dir)
	write(t, dir+"/one/a.hcl", "1")
	looker.await("1")
	write(t, dir+"/two/b.hcl", "2")
	looker.await("12")
}

func TestPollFindsWhatGivesNoEvent(t *testing.T) {
	dir := t.TempDir()
	outside := t.TempDir()
	write(t, outside+"/a.hcl", "")
	link(t, outside+"/a.hcl", dir+"/a.hcl") // leaves the root, so it is not watched
	looker := startLooker(t, Options{Roots: []string{dir}, Settle: time.Millisecond, Poll: 20 * time.Millisecond}, dir)
	write(t, outside+"/a.hcl", "1")
	looker.await("1")
}

func TestFoldersThatComeAndGoBlockNothing(t *testing.T) {
	dir := t.TempDir()
	folder("specs")(t, dir)
	looker := startLooker(t, Options{Roots: []string{dir + "/specs"}, Settle: time.Millisecond, Poll: time.Hour}, dir+"/specs")
	for range 200 {
		folder("specs/a/b")(t, dir)
		rename(t, dir+"/specs/a", dir+"/specs/c")
		remove(t, dir+"/specs/c")
	}
	write(t, dir+"/specs/a.hcl", "1")
	looker.await("1")
	write(t, dir+"/specs/b/c/d.hcl", "2")
	looker.await("12")
}

func TestRunPulsesOnceAtTheStart(t *testing.T) {
	pulses := make(chan struct{})
	stop := start(t, Options{Roots: []string{t.TempDir()}, Poll: time.Hour}, pulses)
	awaitPulse(t, pulses)
	stop()
}

func TestPulsesThatNobodyTakesBecomeOne(t *testing.T) {
	dir := t.TempDir()
	pulses := make(chan struct{}, 1)
	looked := make(chan struct{})
	ignore := func(name string) bool {
		if name == "last" {
			close(looked)
			return true
		}
		return false
	}
	stop := start(t, Options{Roots: []string{dir}, Settle: time.Nanosecond, Poll: time.Hour, Ignore: ignore}, pulses)
	for range 100 {
		write(t, dir+"/a.hcl", "x")
	}
	if err := os.Mkdir(dir+"/last", 0o755); err != nil {
		t.Fatal(err)
	}
	<-looked
	stop()
	awaitPulse(t, pulses)
	select {
	case <-pulses:
		t.Error("a second pulse was kept")
	default:
	}
}

func TestRunRefusesNoRoots(t *testing.T) {
	if err := Run(t.Context(), Options{}, nil); err == nil {
		t.Error("no error for no roots")
	}
}

// looker is the consumer that Run is made for: at each pulse, and only then, it reads
// everything and publishes what it read.
type looker struct {
	t    *testing.T
	seen chan string
}

func startLooker(t *testing.T, opts Options, dir string) *looker {
	pulses := make(chan struct{}, 1)
	l := &looker{t: t, seen: make(chan string)}
	stop := start(t, opts, pulses)
	quit := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-quit:
				return
			case <-pulses:
			}
			select {
			case <-quit:
				return
			case l.seen <- look(dir):
			}
		}
	}()
	t.Cleanup(func() {
		close(quit)
		<-ended
		stop()
	})
	return l
}

func (l *looker) await(want string) {
	l.t.Helper()
	timeout := time.After(patience)
	last := "nothing"
	for {
		select {
		case last = <-l.seen:
			if last == want {
				return
			}
		case <-timeout:
			l.t.Fatalf("the last look saw %q, want %q", last, want)
		}
	}
}

// look returns the contents of all spec files below dir, in the order of their paths.
func look(dir string) string {
	var all strings.Builder
	base, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err.Error()
	}
	err = filepath.WalkDir(base, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // it went while we looked: there will be another pulse
		}
		if d.IsDir() && path != base && hidden(d.Name()) {
			return fs.SkipDir
		}
		if strings.HasSuffix(path, ".hcl") && !hidden(d.Name()) {
			if data, err := os.ReadFile(path); err == nil {
				all.Write(data)
			}
		}
		return nil
	})
	if err != nil {
		return err.Error()
	}
	return all.String()
}

// start runs Run; the returned function ends it and may be called twice.
func start(t *testing.T, opts Options, pulses chan<- struct{}) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		defer close(ended)
		ended <- Run(ctx, opts, pulses)
	}()
	stop = func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	}
	t.Cleanup(stop)
	return stop
}

func awaitPulse(t *testing.T, pulses <-chan struct{}) {
	t.Helper()
	select {
	case <-pulses:
	case <-time.After(patience):
		t.Fatal("no pulse")
	}
}

func folder(name string) func(t *testing.T, dir string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	folder(".")(t, filepath.Dir(path))
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}
