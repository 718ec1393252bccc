//go:build linux

package daemon_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/task/sweforge"
)

// solvedAsTheirs has a mined workspace judged as swe-forge's own harness does, which knows no key of ours
// and no patch of tests: in a clone at the base with meta.test_files in place, each command of fail_to_pass
// fails and each of pass_to_pass passes; with the reference patch all pass.
func (q *fakeForge) solvedAsTheirs(p *planted, workspace string) {
	q.Helper()
	read := sweforge.Read(workspace, task.ReadOptions{Forge: "https://github.com"})
	if len(read.Tasks) != 1 {
		q.Fatalf("%s: %+v", workspace, read.Problems)
	}
	t, dir := read.Tasks[0], q.TempDir()
	q.git(dir, "clone", "--quiet", filepath.Join(q.forge, "acme", p.name), ".")
	q.git(dir, "checkout", "--quiet", t.Repo.Commit)
	var files []struct{ Path, Content string }
	if err := json.Unmarshal([]byte(t.Metadata[sweforge.TestFilesKey]), &files); err != nil || len(files) == 0 {
		q.Fatalf("%s has no test files: %q, %v", p.task(), t.Metadata[sweforge.TestFilesKey], err)
	}
	for _, file := range files {
		q.lay(dir, map[string]string{file.Path: file.Content})
	}
	q.comeOut(dir, workspace, "before", map[string]bool{"fail_to_pass": false, "pass_to_pass": true})
	patch := filepath.Join(q.TempDir(), "fix.patch")
	if err := os.WriteFile(patch, t.Solution.Patch, 0o600); err != nil {
		q.Fatal(err)
	}
	q.git(dir, "apply", patch)
	q.comeOut(dir, workspace, "after", map[string]bool{"fail_to_pass": true, "pass_to_pass": true})
}

// comeOut runs the commands of a workspace in a repository, each in a container of its own.
func (q *fakeForge) comeOut(repo, workspace, when string, want map[string]bool) {
	q.Helper()
	for kind, passes := range want {
		scripts, err := filepath.Glob(filepath.Join(workspace, "tests", kind+"_*.sh"))
		if err != nil || len(scripts) == 0 {
			q.Errorf("%s has no %s: %v", workspace, kind, err)
		}
		for _, script := range scripts {
			command, err := os.ReadFile(script)
			if err != nil {
				q.Fatal(err)
			}
			cmd := exec.CommandContext(q.Context(), "docker", "run", "--rm", "--network=none", "--env=PYTHONDONTWRITEBYTECODE=1", "--volume="+repo+":/repo", "--workdir=/repo", q.image, "sh", "-c", string(command))
			said, err := cmd.CombinedOutput()
			if cmd.ProcessState.ExitCode() > 1 || (err == nil) != passes {
				q.Errorf("%s the patch, %s: %v\n%s", when, command, err, said)
			}
		}
	}
}
