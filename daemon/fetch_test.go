//go:build linux

package daemon_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/runtime/task/remote/remotetest"
	"github.com/assayd/assayd/runtime/trial"
)

// harborTask is a task that asks for the file done.
func harborTask(name string) map[string]string {
	return map[string]string{
		name + "/task.toml":              "version = \"1.0\"\n[environment]\ndocker_image = \"assayd-base/python:1\"\n",
		name + "/instruction.md":         "Make the file done.\n",
		name + "/environment/Dockerfile": "FROM assayd-base/python:1\nWORKDIR /app\n",
		name + "/solution/solve.sh":      "touch /app/done\n",
		name + "/tests/test.sh":          "mkdir -p /logs/verifier\ntest -e /app/done && echo 1 > /logs/verifier/reward.txt || echo 0 > /logs/verifier/reward.txt\n",
	}
}

// importing is a spec with a run over a dataset that is named like that.
func importing(bench, source string) string {
	return fmt.Sprintf(`
benchmark %[1]q {
  import "harbor" {
    %[2]s
  }
}
run "r" {
  tasks     = [benchmark.%[1]s]
  timeout   = "2m"
  auto_eval = "0s"
  stop_hook = false
  agent "oracle" {}
  resume { max = 0 }
}
`, bench, source)
}

// hub has the daemons of a world use a hub.
func (w *fixture) hub(hub *remotetest.Hub) {
	w.Helper()
	name := filepath.Join(filepath.Dir(w.state), "assayd.hcl")
	text := fmt.Sprintf("huggingface {\n  base_url = %q\n  token    = secret(\"hub\")\n}\n", hub.URL)
	if err := errors.Join(os.WriteFile(name, []byte(text), 0o600), os.WriteFile(filepath.Join(filepath.Dir(w.state), "hub"), []byte(hub.Token+"\n"), 0o600)); err != nil {
		w.Fatal(err)
	}
	w.flags = append(w.flags, "--config", name)
	w.env = append(w.env, "CREDENTIALS_DIRECTORY="+filepath.Dir(w.state))
}

// A run over a dataset that is being fetched waits, also over a crash; then it is done. What the
// branch has later is taken at SIGHUP, and what is done stays.
func TestARunWaitsForItsDataset(t *testing.T) {
	hub := remotetest.NewHub(t)
	hub.Token = "hf_s3cret"
	files := harborTask("one")
	hub.Put("o/n", files)
	release := hub.Hold()
	defer release()
	w := newFixture(t)
	w.hub(hub)
	w.write("b.hcl", importing(w.bench, `dataset = "o/n"`))
	w.serve()
	waits := func() error {
		s, err := w.status("run.r")
		if err == nil && (s.State != "waiting" || !strings.Contains(s.Note, "is not here yet: hf:o/n")) {
			err = fmt.Errorf("it is %s: %s", s.State, s.Note)
		}
		return err
	}
	w.until("the run waits", waits)
	w.kill()
	w.serve()
	w.until("the run waits again", waits)
	release()
	first := w.settled("run.r", 3*patience)
	if len(first.Trials) != 1 || first.Trials[0].Status != trial.Resolved {
		t.Fatalf("it ends with %+v", first.Trials)
	}
	maps.Copy(files, harborTask("two"))
	hub.Put("o/n", files)
	w.signal(syscall.SIGHUP)
	var second query.RunStatus
	w.untilWithin(3*patience, "the task that has come is done", func() (err error) {
		second, err = w.status("run.r")
		if err == nil && (len(second.Trials) != 2 || second.State != "finished") {
			err = fmt.Errorf("%s with %d trials", second.State, len(second.Trials))
		}
		return err
	})
	if second.Trials[0].ID != first.Trials[0].ID || second.Trials[1].Status != trial.Resolved {
		t.Errorf("it ends with %+v", second.Trials)
	}
	if log := w.daemonLog(); strings.Contains(log, hub.Token) || !strings.Contains(log, "fetched a dataset") {
		t.Errorf("the daemon says:\n%s", log)
	}
}

// Files that are handed in are accepted when their datasets are here; one that cannot be had is
// an error at once.
func TestFilesThatAreHandedInWaitForTheirDatasets(t *testing.T) {
	repo := remotetest.NewRepository(t)
	repo.Commit(harborTask("one"))
	w := newFixture(t)
	spec := filepath.Join(w.specs, "a.hcl")
	run := func() (stdout, stderr string, code int) {
		return w.assayd(slices.Concat([]string{"run", "--state", w.state}, w.flags, []string{spec})...)
	}
	w.write("a.hcl", importing(w.bench, fmt.Sprintf(`url = %q`, repo.URL())))
	if _, stderr, code := run(); code != 2 || !strings.Contains(stderr, "repositories { allow_file = [...] }") {
		t.Errorf("of a folder that the settings do not allow: code %d\n%s", code, stderr)
	}
	w.configured(fmt.Sprintf("repositories {\n  allow_file = [%q]\n}\n", repo.Dir))
	w.write("a.hcl", importing(w.bench, fmt.Sprintf(`url = %q`+"\nref = \"none\"\n", repo.URL())))
	if _, stderr, code := run(); code != 2 || !strings.Contains(stderr, `has no branch or tag "none"`) {
		t.Errorf("of a ref that is not there: code %d\n%s", code, stderr)
	}
	w.write("a.hcl", importing(w.bench, fmt.Sprintf(`url = %q`, repo.URL())))
	if stdout, stderr, code := run(); code != 0 || !strings.Contains(stdout, "one") || !strings.Contains(stderr, "fetching "+repo.URL()) {
		t.Fatalf("code %d\n%s\n%s", code, stdout, stderr)
	}
	repo.Commit(harborTask("two"))
	if stdout, stderr, code := run(); code != 0 || !strings.Contains(stdout, "two") {
		t.Errorf("after another commit: code %d\n%s\n%s", code, stdout, stderr)
	}
}
