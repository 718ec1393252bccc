//go:build linux

package daemon_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/assayd/assayd/daemon/watch/watchtest"
)

// aside is where records go that cannot stay beside their spec.
func (f *follower) aside(name string) string {
	return filepath.Join(f.state, "results", f.specs, name)
}

// at makes another folder or link the watched root, and leaves it to the test to fill it.
func (f *follower) at(root string) {
	f.Helper()
	if err := os.RemoveAll(filepath.Join(f.specs, "waiter")); err != nil { // the files come with one
		f.Fatal(err)
	}
	f.specs = root
}

// real is where a path leads.
func (f *follower) real(path string) string {
	f.Helper()
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		f.Fatal(err)
	}
	return real
}

// Each swap is taken in, also one that happens while no daemon runs, and no record is lost: not
// those that were written into a worktree that is gone.
func TestSwappedLinksAreFollowed(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		root   string // below the folder that is swapped in
		swap   func(t testing.TB, dir, commit string, files map[string]string)
		beside bool // records stay where they were
	}{
		{"git-sync", "link", watchtest.Swap, false},
		{"git-sync, with the specs deeper in the repository", "link/team/a", func(t testing.TB, dir, commit string, files map[string]string) {
			deep := map[string]string{"README.md": commit}
			for name, text := range files {
				deep["team/a/"+name] = text
			}
			watchtest.Swap(t, dir, commit, deep)
		}, false},
		{"a ConfigMap", "", func(t testing.TB, dir, _ string, files map[string]string) {
			watchtest.Publish(t, dir, files)
		}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFollower(t)
			dir := f.specs
			f.at(filepath.Join(dir, tt.root))
			commits := 0
			swap := func(files map[string]string) {
				commits++
				tt.swap(t, dir, fmt.Sprintf("%040x", commits), files)
			}
			swap(f.files())
			f.work()
			if first := f.results(); filepath.Dir(first) != f.real(f.specs) {
				t.Errorf("records are in %s, want them in %s", first, f.real(f.specs))
			}
			for range 3 {
				before := f.generation()
				swap(f.files())
				f.takenIn("a swap", before)
			}
			where := f.specs
			if !tt.beside {
				where = filepath.Dir(f.aside("r.hcl"))
			}
			f.untilWithin(patience/2, "all records are where they stay", func() error {
				if now := f.results(); filepath.Dir(now) != where || len(f.recordsIn(now)) < 3 {
					return fmt.Errorf("%d are in %s, want them in %s", len(f.recordsIn(now)), now, where)
				}
				return nil
			})
			all := f.recordsIn(filepath.Join(where, "r.status.jsonl"))
			if rejected := ofType("spec.rejected", all); len(rejected) > 0 {
				t.Errorf("swaps were complained about: %+v", rejected)
			}
			swap(map[string]string{"r.hcl": f.spec + `run "beacon" {`, "waiter/agent.sh": waiter})
			f.until("a bad commit is recorded", func() error {
				if len(ofType("spec.rejected", f.recordsIn(filepath.Join(where, "r.status.jsonl")))) != 1 {
					return errors.New("it is not")
				}
				return nil
			})
			f.untouched(f.bodies)

			before := f.generation()
			f.kill()
			swap(f.files())
			f.serve()
			f.takenIn("a swap that nobody saw", before)
			if human := f.ok("status", "run.wait"); !tt.beside && !strings.Contains(human, f.aside("r.run.wait.jsonl")) {
				t.Errorf("assayd status does not say where the records are:\n%s", human)
			}
			f.finish()
		})
	}
}

// A file system that tells nothing is read at SIGHUP (and every half a minute); one that
// cannot be written gets its records under the state directory; and one that is lost for a
// while, leaving an empty mount point, stops nothing.
func TestAMuteReadOnlyFileSystemIsFollowed(t *testing.T) {
	t.Parallel()
	f := newFollower(t)
	behind := f.specs
	mute := watchtest.NewMute(t, behind)
	f.at("")
	watchtest.Publish(t, behind, f.files())
	f.specs = mute.Path
	f.work()
	if now := f.results(); now != f.aside("r.run.wait.jsonl") {
		t.Errorf("records are in %s, want them in %s", now, f.aside("r.run.wait.jsonl"))
	}
	taken := func(what string) {
		t.Helper()
		before := f.generation()
		watchtest.Publish(t, behind, f.files())
		f.until("the daemon takes in "+what, func() error {
			f.signal(syscall.SIGHUP)
			if f.generation() == before {
				return errors.New("it does not")
			}
			return nil
		})
		f.untouched(f.bodies)
	}
	taken("a change that it is not told of")

	mute.Unmount()
	for range 2 { // the second time with what the daemon may have written to the mount point
		f.until("the file is missed", func() error {
			f.signal(syscall.SIGHUP)
			s, err := f.client.Status(t.Context(), "")
			if err == nil && !strings.Contains(fmt.Sprint(s.Diagnostics), "not found at the last look") {
				err = fmt.Errorf("wrong is only %v", s.Diagnostics)
			}
			return err
		})
		f.untouched(f.bodies)
		if run, err := f.status("run.wait"); err != nil || run.Note != "" {
			t.Errorf("the run is %+v, %v", run, err)
		}
		f.kill()
		f.serve()
	}
	mute.Mount()
	taken("a change after it is back")
	f.finish()
}
