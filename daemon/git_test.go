//go:build linux

package daemon_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/assayd/assayd/reconcile/query"
)

// upstream is a repository that people push specs to.
type upstream struct {
	*fixture
	dir string
}

// follow makes the world's daemons take specs from a new repository, and from nowhere else
// but the world's folder.
func (w *fixture) follow(lines ...string) (up *upstream) {
	w.Helper()
	up = &upstream{w, filepath.Join(filepath.Dir(w.state), "up")}
	if err := os.Mkdir(up.dir, 0o755); err != nil {
		w.Fatal(err)
	}
	up.git("init", "--quiet", "--initial-branch=main")
	settings := filepath.Join(filepath.Dir(w.state), "assayd.hcl")
	text := fmt.Sprintf("git {\n  url = %q\n  path = \"specs\"\n  interval = \"200ms\"\n  %s\n}\n", up.dir, strings.Join(lines, "\n  "))
	if err := os.WriteFile(settings, []byte(text), 0o644); err != nil {
		w.Fatal(err)
	}
	w.specs, w.alone, w.flags = filepath.Join(w.state, "git-specs", "tree", "specs"), true, []string{"--config", settings}
	return up
}

func (up *upstream) git(args ...string) string {
	up.Helper()
	cmd := exec.CommandContext(up.Context(), "git", args...)
	cmd.Dir = up.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	out, err := cmd.CombinedOutput()
	if err != nil {
		up.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// push commits a spec file and whatever lies beside it.
func (up *upstream) push(name, text string) (commit string) {
	up.Helper()
	path := filepath.Join(up.dir, "specs", name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		up.Fatal(err)
	}
	up.git("add", "--all")
	up.git("commit", "--quiet", "--message=x")
	return up.git("rev-parse", "HEAD")
}

// declaring is a spec of two blocks that start nothing by themselves.
func (up *upstream) declaring(name string) string {
	return up.benchmark() + up.run(name, []string{`agent "nop" {}`}, `schedule = "0 0 1 1 *"`)
}

// settledAt waits until the commit has its verdict.
func (up *upstream) settledAt(commit, verdict string) query.GitStatus {
	up.Helper()
	var git query.GitStatus
	up.until("the commit is "+verdict, func() error {
		s, err := up.client.Status(up.Context(), "")
		if err != nil {
			return err
		}
		if s.Git == nil {
			return errors.New("the status tells of no repository")
		}
		if git = *s.Git; git.Commit != commit || git.Verdict != verdict {
			return fmt.Errorf("it is %+v", git)
		}
		return nil
	})
	return git
}

func TestSpecsComeFromARepository(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	up := w.follow(`push_results = "results"`)
	good := up.push("team/a.hcl", up.declaring("nightly"))
	w.serve()
	up.settledAt(good, "accepted")
	w.until("its acceptance is recorded with it", func() error { return w.told("spec.accepted", good) })
	if out := w.ok("status"); !strings.Contains(out, "specs from "+up.dir+" HEAD, folder specs") || !strings.Contains(out, "commit "+good+", accepted") {
		t.Errorf("assayd status says %s", out)
	}

	// A commit with an error freezes its file, and is said to be rejected where it is.
	bad := up.push("team/a.hcl", up.declaring("nightly")+"\nnonsense {\n")
	if git := up.settledAt(bad, "rejected"); git.Errors == 0 {
		t.Errorf("the status says %+v", git)
	}
	if _, err := w.status("run.nightly"); err != nil {
		t.Errorf("the run of the last good text is gone: %v", err)
	}
	w.until("the rejection is recorded with its commit", func() error { return w.told("spec.rejected", bad) })
	w.until("a note at the commit says so", func() error {
		if notes := up.git("for-each-ref", "refs/notes/assayd"); notes == "" {
			return errors.New("there are no notes")
		}
		if list := up.git("notes", "--ref=assayd", "list"); !strings.Contains(list, bad) {
			return fmt.Errorf("the notes are %s", list)
		}
		return nil
	})
	if note := up.git("notes", "--ref=assayd", "show", bad); !strings.Contains(note, "rejected") || !strings.Contains(note, "specs/team/a.hcl:") {
		t.Errorf("the note is %q", note)
	}

	// A file that is moved is gone from its old place and there at the new one, at once.
	up.git("mv", "specs/team/a.hcl", "specs/moved.hcl")
	moved := up.push("moved.hcl", up.declaring("nightly"))
	up.settledAt(moved, "accepted")
	if run, err := w.status("run.nightly"); err != nil || run.File != "moved.hcl" {
		t.Errorf("the run is in %q, %v", run.File, err)
	}
	if len(w.records("team/a.status.jsonl")) == 0 {
		t.Error("result files of the removed folder are gone")
	}

	// What is recorded is pushed, and the branch of the specs has none of it.
	w.until("results are on their branch", func() error {
		if up.git("for-each-ref", "refs/heads/results") == "" {
			return errors.New("there is no such branch")
		}
		if files := up.git("ls-tree", "-r", "--name-only", "results"); !strings.Contains(files, "specs/team/a.status.jsonl") {
			return fmt.Errorf("on it are %s", files)
		}
		return nil
	})
	if files := up.git("ls-tree", "-r", "--name-only", "main"); strings.Contains(files, ".jsonl") {
		t.Errorf("the specs' branch has %s", files)
	}

	// Without its remote, and killed, the daemon serves the last good commit.
	w.kill()
	if err := os.Rename(up.dir, up.dir+"-away"); err != nil {
		t.Fatal(err)
	}
	w.serve()
	w.until("its absence is said", func() error {
		s, err := w.client.Status(w.Context(), "run.nightly")
		if err == nil && (s.Git == nil || s.Git.Commit != moved || s.Git.Error == "") {
			err = fmt.Errorf("the status says %+v", s.Git)
		}
		return err
	})
	w.terminate()
	if out := w.ok("status"); !strings.Contains(out, "commit "+moved+", accepted") {
		t.Errorf("without a daemon, assayd status says %s", out)
	}
}

// A repository stands beside folders that are watched, and a commit that only changes what a
// spec names is taken up as well.
func TestARepositoryStandsBesideWatchedFolders(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	watched := w.specs
	up := w.follow()
	w.bench += "a"
	one := up.push("a.hcl", up.declaring("pushed"))
	w.bench += "b"
	if err := os.WriteFile(filepath.Join(watched, "b.hcl"), []byte(up.declaring("dropped")), 0o644); err != nil {
		t.Fatal(err)
	}
	w.serve("--watch", watched)
	up.settledAt(one, "accepted")
	w.until("both are there", func() error {
		s, err := w.client.Status(w.Context(), "")
		var names []string
		for _, r := range s.Runs {
			names = append(names, r.Address)
		}
		if err == nil && !slices.Equal(names, []string{"run.dropped", "run.pushed"}) {
			err = fmt.Errorf("there are %v", names)
		}
		return err
	})
	two := up.push("data/readme.txt", "data")
	up.settledAt(two, "accepted")
}

// told looks for a record of a type and a commit in the status file.
func (w *fixture) told(typ, commit string) error {
	text, err := os.ReadFile(filepath.Join(w.specs, "team", "a.status.jsonl"))
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, `"type":"`+typ+`"`) && strings.Contains(line, `"commit":"`+commit+`"`) {
			return nil
		}
	}
	return errors.Join(err, fmt.Errorf("it holds %s", text))
}

// A repository is of others: whatever its specs name, and the settings allow to the specs of folders,
// they reach nothing beside themselves.
func TestSpecsOfARepositoryReachNothingElsewhere(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	watched, outside := w.specs, filepath.Join(filepath.Dir(w.state), "outside")
	if err := errors.Join(os.MkdirAll(outside, 0o755), os.WriteFile(filepath.Join(outside, "agent.py"), nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	up := w.follow()
	settings, err := os.ReadFile(w.flags[1])
	if err == nil {
		err = os.WriteFile(w.flags[1], fmt.Appendf(settings, "repositories {\n  allow_file = [%q]\n}\n", outside), 0o644)
	}
	if err := errors.Join(err, os.MkdirAll(filepath.Join(up.dir, "specs/link"), 0o755), os.Symlink(outside, filepath.Join(up.dir, "specs/link/out"))); err != nil {
		t.Fatal(err)
	}
	agent := func(name, dir string) string {
		return fmt.Sprintf("agent %q {\n  command = \"true\"\n  dir = %q\n}\n", name, dir)
	}
	up.push("_draft/handed.hcl", agent("handed", outside)+up.declaring("handed"))
	up.push("up.hcl", agent("up", "../../../../outside"))
	up.push("absolute.hcl", agent("absolute", outside))
	last := up.push("link.hcl", agent("link", "link/out"))
	if err := os.WriteFile(filepath.Join(watched, "a.hcl"), []byte(agent("watched", outside)+up.declaring("watched")), 0o644); err != nil {
		t.Fatal(err)
	}
	w.serve("--watch", watched)
	if git := up.settledAt(last, "rejected"); git.Errors != 3 {
		t.Errorf("the status says %+v", git)
	}
	for _, name := range []string{"up", "absolute", "link"} {
		w.until("the file says what is wrong with "+name+".hcl", func() error {
			text, err := os.ReadFile(filepath.Join(w.specs, name+".status.jsonl"))
			if !strings.Contains(string(text), "which specs from a Git repository may not") {
				err = fmt.Errorf("it says %s, %w", text, err)
			}
			return err
		})
	}
	if _, err := w.status("run.watched"); err != nil {
		t.Errorf("the settings allow the folder to the watched file: %v", err)
	}
	if _, stderr, code := w.assayd("run", filepath.Join(w.specs, "_draft/handed.hcl")); code != 2 || !strings.Contains(stderr, "which specs from a Git repository may not") {
		t.Errorf("a file of the repository that is handed in: exit %d, %s", code, stderr)
	}
}
