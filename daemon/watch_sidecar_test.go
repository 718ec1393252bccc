//go:build linux

package daemon_test

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestGitSyncBesideTheDaemon runs the example of contrib/git-sync. The program git-sync is no
// part of a test machine: a script of the tests does what it does. With ASSAYD_GIT_SYNC naming
// the real one, that is taken, and nothing else is different.
func TestGitSyncBesideTheDaemon(t *testing.T) {
	t.Parallel()
	f := newFollower(t)
	dir := f.specs
	repo, home := filepath.Join(dir, "repo"), filepath.Join(dir, "git")
	f.at(filepath.Join(home, "specs"))
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", repo, "-c", "user.name=A", "-c", "user.email=a@example.com"}, args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	commit := func(files map[string]string) string {
		t.Helper()
		f.fill(repo, files)
		git("add", "--all")
		git("commit", "-q", "-m", "specs")
		return git("rev-parse", "HEAD")
	}
	if err := os.MkdirAll(repo, 0o755); err != nil {
		t.Fatal(err)
	}
	git("init", "-q", "-b", "main")
	commit(f.files())
	program, err := filepath.Abs(cmp.Or(os.Getenv("ASSAYD_GIT_SYNC"), "testdata/git-sync/git-sync"))
	if err != nil {
		t.Fatal(err)
	}
	f.beside(program, repo, home)
	f.work()
	for range 3 {
		before := f.generation()
		head := commit(f.files())
		f.takenIn("a commit", before)
		if now := f.real(f.specs); filepath.Base(now) != head {
			t.Errorf("the link leads to %s, want %s", now, head)
		}
		f.until("all records are where they stay", func() error {
			if now := f.results(); now != f.aside("r.run.wait.jsonl") || len(f.recordsIn(now)) < 3 {
				return fmt.Errorf("%d are in %s", len(f.recordsIn(now)), now)
			}
			return nil
		})
	}
	if worktrees, err := os.ReadDir(filepath.Join(home, ".worktrees")); err != nil || len(worktrees) != 1 {
		t.Errorf("worktrees are %v, %v: this is not what git-sync does", worktrees, err)
	}
	commit(map[string]string{"r.hcl": f.spec + `run "beacon" {`})
	status := f.aside("r.status.jsonl")
	f.until("a bad commit is recorded", func() error {
		if len(ofType("spec.rejected", f.recordsIn(status))) != 1 {
			return errors.New("it is not")
		}
		return nil
	})
	f.untouched(f.bodies)
	before := f.generation()
	git("reset", "-q", "--hard", "HEAD~2") // and a force push
	commit(f.files())
	f.takenIn("another history", before)
	if rejected := ofType("spec.rejected", f.recordsIn(status)); len(rejected) != 1 {
		t.Errorf("rejected were %+v, want the one bad commit", rejected)
	}
	f.finish()
}

// beside runs contrib/git-sync until the test is over.
func (f *follower) beside(program, repo, home string) {
	f.Helper()
	log, err := os.Create(filepath.Join(filepath.Dir(f.state), "sidecar.log"))
	if err != nil {
		f.Fatal(err)
	}
	cmd := exec.Command("../contrib/git-sync/sync", "file://"+repo, "main", home)
	cmd.Env = append(os.Environ(), "GIT_SYNC="+program, "PERIOD=1s", "TMPDIR="+filepath.Dir(f.state))
	cmd.Stdout, cmd.Stderr = log, log
	if err := errors.Join(cmd.Start(), log.Close()); err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		_ = cmd.Process.Kill() // it ends with the test
		_ = cmd.Wait()
	})
}
