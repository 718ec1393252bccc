//go:build linux

package daemon_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/assayd/assayd/runtime/git/gittest"
	"github.com/assayd/assayd/runtime/image"
)

// buried are secrets in each place where settings take one, by the place.
var buried = map[string]string{
	"provider":  "planted-provider-key-0001",
	"openai":    "planted-openai-key-of-the-environment",
	"github":    "planted-github-token-0002",
	"git":       "planted-git-token-0003",
	"webhook":   "planted-webhook-secret-0004",
	"build":     "planted-build-secret-0005",
	"hub":       "planted-hub-token-0006",
	"http":      "planted-http-token-of-32-letters-0007",
	"proxy":     "planted-proxy-password-0008",
	"mirror":    "planted-mirror-password-0009",
	"folder":    "planted-file-of-secrets-0010",
	"quoted":    `planted "quoted" \ secret-0011`,
	"file":      "planted-credential-of-systemd-0012",
	"gitserver": "planted-git-url-password-0013",
}

// plant gives the world's daemon settings with all of them.
func (w *fixture) plant() {
	w.Helper()
	dir := filepath.Join(filepath.Dir(w.state), "secrets")
	err := os.Mkdir(dir, 0o700)
	for name, text := range map[string]string{"folder": buried["folder"], "quoted": buried["quoted"]} {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), []byte(text+"\n"), 0o600))
	}
	if err != nil {
		w.Fatal(err)
	}
	w.env = append(w.env, "OPENAI_API_KEY="+buried["openai"], "CREDENTIALS_DIRECTORY="+dir)
	w.configured(fmt.Sprintf(`
provider "planted" {
  protocol = "openai"
  base_url = "http://127.0.0.1:1/v1"
  api_key  = %q
  proxy    = "http://user:%s@127.0.0.1:1"
}
provider "quoted" {
  protocol = "openai"
  base_url = "http://127.0.0.1:1/v1"
  api_key  = secret("quoted")
}
github { tokens = [%q] }
build {
  secrets = { BUILD_TOKEN = %q, FOLDER = secret("folder") }
  mirrors = { pip = "http://user:%s@127.0.0.1:1/simple" }
}
huggingface { token = %q }
http {
  listen = "127.0.0.1:0"
  token  = %q
}
`, buried["provider"], buried["proxy"], buried["github"], buried["build"], buried["mirror"], buried["hub"], buried["http"]))
}

// findPlanted complains of each of the secrets in a text.
func (w *fixture) findPlanted(where string, text []byte) {
	w.Helper()
	for place, secret := range buried {
		for _, form := range []string{secret, strings.ReplaceAll(strings.ReplaceAll(secret, `\`, `\\`), `"`, `\"`)} {
			if at := bytes.Index(text, []byte(form)); at >= 0 {
				w.Errorf("%s holds the secret of %s: …%q…", where, place, text[max(0, at-80):min(len(text), at+len(form)+20)])
				break
			}
		}
	}
}

// findPlantedBelow looks into all files of a folder.
func (w *fixture) findPlantedBelow(dir string, except func(path string) bool) {
	w.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || except(path) {
			return err
		}
		text, err := os.ReadFile(path)
		if err == nil {
			w.findPlanted(path, text)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	if err != nil {
		w.Error(err)
	}
}

// TestSecretsAreTakenOutOfStateRecordsAndLog: whoever writes a secret of the settings into a spec, a
// message or a name finds it in no file of the daemon's.
func TestSecretsAreTakenOutOfStateRecordsAndLog(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.plant()
	var env strings.Builder
	for place, secret := range buried {
		if place != "git" && place != "webhook" && place != "file" && place != "gitserver" {
			fmt.Fprintf(&env, "    %s = %q\n", strings.ToUpper(place), secret)
		}
	}
	w.write("leaks.hcl", fmt.Sprintf("agent \"leaks\" {\n  command = \"x\"\n  env = {\n%s  }\n}\n", env.String()))
	w.write("broken.hcl", fmt.Sprintf("run \"broken\" {\n  tasks = [benchmark.%s]\n  agent \"leaks\" { model = %q }\n}\n", "none", buried["provider"]))
	w.serve()
	w.until("the specs are read", func() error {
		records, err := os.ReadFile(filepath.Join(w.specs, "broken.status.jsonl"))
		if err == nil && !bytes.Contains(records, []byte("none")) {
			err = errors.New("no record names the fault")
		}
		return err
	})
	w.ok("status")
	w.findPlanted("the log", []byte(w.daemonLog()))
	w.terminate()
	w.findPlantedBelow(w.state, func(string) bool { return false })
	w.findPlantedBelow(w.specs, func(path string) bool { return strings.HasSuffix(path, ".hcl") })
}

// TestASecretOfARepositoryIsFoundNowhere: what lets the daemon in at the repository that it follows,
// and what that host signs its events with, is in no file, log, status or message.
func TestASecretOfARepositoryIsFoundNowhere(t *testing.T) {
	t.Parallel()
	for place, login := range map[string]struct{ user, line string }{
		"git":       {"", fmt.Sprintf("token = %q", buried["git"])},
		"gitserver": {"me:" + buried["gitserver"] + "@", ""},
	} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			up := w.follow()
			base, _ := gittest.Serve(t, up.dir, buried[place])
			url := strings.Replace(base, "http://", "http://"+login.user, 1) + "/team/specs.git"
			settings := fmt.Sprintf("git {\n  url = %q\n  path = \"specs\"\n  interval = \"200ms\"\n  webhook_secret = %q\n  push_results = \"results\"\n  %s\n}\nhttp {\n  listen = \"127.0.0.1:0\"\n  token  = %q\n}\n",
				url, buried["webhook"], login.line, buried["http"])
			if err := os.WriteFile(filepath.Join(filepath.Dir(w.state), "assayd.hcl"), []byte(settings), 0o600); err != nil {
				t.Fatal(err)
			}
			good := up.push("a.hcl", up.declaring("nightly"))
			w.serve()
			up.settledAt(good, "accepted")
			w.findPlanted("the status", []byte(w.ok("status")))

			// Somebody takes its rights away.
			up.git("config", "http.uploadpack", "false")
			w.until("the daemon says that it is not let in", func() error {
				if !strings.Contains(w.daemonLog(), "cannot be followed") {
					return errors.New("it does not")
				}
				return nil
			})
			w.findPlanted("the status", []byte(w.ok("status")))
			w.signal(syscall.SIGQUIT)
			<-w.daemon.exited
			w.findPlanted("the dump and the log", []byte(w.daemonLog()))
			w.daemon = nil
			w.findPlantedBelow(w.state, func(string) bool { return false })
		})
	}
}

// nosy is an agent that looks for secrets wherever it can.
const nosy = `
{ env; cat /proc/*/environ /proc/*/cmdline | tr '\0' '\n'; cat /etc/hosts /etc/resolv.conf /.assayd/state/* /run/assayd/*; } 2>/dev/null
echo looked
until [ -e /var/tmp/go ]; do sleep 0.2; done
echo 10 >src/level
`

// TestASecretOfTheSettingsIsFoundNowhere: a secret in each place where settings take one is in no
// container, image, argument, environment of another process, file, record or log while trials
// are made, run and judged, nor in what a daemon leaves that is ended by a signal that dumps it.
func TestASecretOfTheSettingsIsFoundNowhere(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.plant()
	bench := strings.Replace(w.benchmark(), "    work {\n", "    work {\n      setup = [\"test -n \\\"$BUILD_TOKEN\\\" -a -n \\\"$FOLDER\\\" -a -n \\\"$PIP_INDEX_URL\\\"\"]\n", 1)
	w.write("r.hcl", bench+w.agent("nosy", nosy)+w.run("nosy", []string{`agent "nosy" {}`}, `timeout = "10m"`, `auto_eval = "1s"`))
	w.serve()
	trial := w.recorded("r.run.nosy.jsonl", "the trial's start", func(r record) bool { return r.Type == "trial.started" }).Trial
	w.said(trial, "looked")
	w.recorded("r.run.nosy.jsonl", "a verdict", func(r record) bool { return r.Type == "submission" })
	w.findPlanted("what the agent saw", []byte(w.agentLog(trial)))

	found, err := w.engine.Observe(w.Context(), w.owner)
	if err != nil || len(found) == 0 {
		t.Fatalf("there are %d containers: %v", len(found), err)
	}
	mine := map[int]bool{w.daemon.cmd.Process.Pid: true}
	for _, c := range found {
		shown, _ := exec.Command("docker", "inspect", c.ID).Output() // a judge's container may be gone by now
		w.findPlanted("container "+c.Name, shown)
		if pid, err := firstProcess(c.ID); err == nil {
			mine[pid] = true
		}
	}
	images := strings.Fields(w.docker("images", "--quiet", "--filter", "label="+image.LabelImageOwner+"="+w.owner))
	for _, id := range images {
		w.findPlanted("image "+id, []byte(w.docker("inspect", id)+w.docker("history", "--no-trunc", id)))
	}
	if len(images) < 2 {
		t.Errorf("there are %d images, and two were made", len(images))
	}
	w.findPlantedInProcesses(mine)

	w.signal(syscall.SIGQUIT)
	<-w.daemon.exited
	dump := w.daemonLog()
	if !strings.Contains(dump, "goroutine ") {
		t.Errorf("the daemon left no dump:\n%s", dump)
	}
	w.findPlanted("the dump and the log", []byte(dump))
	w.daemon = nil
	w.serve()
	w.letGo(trial)
	w.settled("run.nosy", patience)
	w.terminate()
	w.findPlantedBelow(w.state, func(string) bool { return false })
	w.findPlantedBelow(w.specs, func(string) bool { return false })
}

// findPlantedInProcesses looks at the arguments and the environments of processes and of all that
// they have begun; the environment of the daemon itself is its user's.
func (w *fixture) findPlantedInProcesses(mine map[int]bool) {
	w.Helper()
	parent := map[int]int{}
	folders, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		w.Fatal(err)
	}
	for _, dir := range folders {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		stat, _ := os.ReadFile(dir + "/stat") // it may be over
		if _, rest, ok := strings.Cut(string(stat), ") "); ok {
			if fields := strings.Fields(rest); len(fields) > 1 { // its state, and who began it
				parent[pid], _ = strconv.Atoi(fields[1])
			}
		}
	}
	for pid := range parent {
		of := pid
		for of > 1 && !mine[of] {
			of = parent[of]
		}
		if of <= 1 {
			continue
		}
		for _, name := range []string{"cmdline", "environ"} {
			if name == "environ" && pid == w.daemon.cmd.Process.Pid {
				continue
			}
			text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, name))
			w.findPlanted(fmt.Sprintf("%s of process %d", name, pid), text)
		}
	}
}
