//go:build linux

package daemon_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The service does under a real systemd, in a container of its own, what its unit says: the
// steps are those of the unit's first lines, the machine's Docker does the work.
func TestTheServiceUnderSystemd(t *testing.T) {
	t.Parallel()
	w := newFixtureBelow(t, "/var/lib") // not /tmp, of which the service has one of its own
	s := w.bootSystemd()
	s.install()

	s.run("systemctl", "start", "assayd")
	if got := s.property("ActiveState", "NotifyAccess"); got != "active main" {
		t.Errorf("after the start: %s", got)
	}
	if _, err := w.client.Status(w.Context(), ""); err != nil {
		t.Errorf("started is ready, through the socket that systemd holds: %v", err)
	}

	// A credential: the build needs it, and no file of the host holds it where the service looks.
	w.write("r.hcl", strings.Replace(w.benchmark(), "work {", `work {
      setup = ["case \"$KEY\" in open-?esame) ;; *) exit 1;; esac"]`, 1)+w.agent("waiter", waiter)+
		w.run("live", []string{`agent "waiter" {}`}, `timeout = "5m"`, `auto_eval = "0s"`))
	started := w.recorded("r.run.live.jsonl", "the trial's start", func(r record) bool { return r.Type == "trial.started" })
	id := started.Trial
	w.said(id, "waiting")
	before := map[string]body{id: w.body(id)}

	// A reload looks again, also at what gives no event: the settings.
	s.put("/etc/assayd/assayd.hcl", s.settings+"log {\n  level = \"debug\"\n}\n")
	s.run("systemctl", "reload", "assayd")
	w.until("the new settings are in force", func() error {
		if log := s.run("journalctl", "-u", "assayd", "--no-pager", "-o", "cat"); !strings.Contains(log, "settings have changed") {
			return errors.New("the journal does not say so:\n" + log)
		}
		return nil
	})
	w.untouched(before)

	s.sandboxed()

	// A process that does not get on is ended and started again.
	s.run("systemctl", "kill", "--kill-who=main", "-s", "STOP", "assayd")
	w.untilWithin(2*patience, "the watchdog has started it again", func() error {
		if got := s.property("NRestarts", "ActiveState"); got != "1 active" {
			return errors.New(got)
		}
		return nil
	})
	if log := s.run("journalctl", "-u", "assayd", "--no-pager", "-o", "cat"); !strings.Contains(log, "Watchdog timeout") {
		t.Errorf("the journal does not tell of the watchdog:\n%s", log)
	}
	w.untouched(before)

	s.run("systemctl", "restart", "assayd")
	w.untouched(before)

	began := time.Now()
	s.run("systemctl", "stop", "assayd")
	if took := time.Since(began); took > patience {
		t.Errorf("the stop took %s: it waited for the trial", took)
	}
	if got := s.property("ActiveState", "Result"); got != "inactive success" {
		t.Errorf("after the stop: %s", got)
	}
	w.untouched(before)

	// The socket was held all the time: who calls now is answered, for systemd starts the service.
	run, err := w.status("run.live")
	if err != nil || run.Trials[0].ID != id || !run.Trials[0].Deadline.Equal(started.Deadline) {
		t.Errorf("a call while it was stopped: %+v, %v", run, err)
	}
	w.letGo(id)
	if run := w.settled("run.live", patience); run.Trials[0].Status != "resolved" || run.Trials[0].Try != 1 {
		t.Errorf("the trial is %s in try %d: %s", run.Trials[0].Status, run.Trials[0].Try, run.Trials[0].Detail)
	}
	w.oneVerdictEach(w.history("r.run.live.jsonl"))
	s.run("systemctl", "stop", "assayd.service", "assayd.socket")
	w.noContainerIsLeft()
}

// system is a container in which systemd runs, with the world's folders at their places.
type system struct {
	*fixture
	name     string
	settings string
}

// bootSystemd starts it. Docker's own --privileged is more than some machines can give.
func (w *fixture) bootSystemd() *system {
	w.Helper()
	build := exec.CommandContext(w.Context(), "../contrib/images/base", "systemd")
	build.Stderr = os.Stderr
	image, err := build.Output()
	if err != nil {
		w.Fatalf("make the image with systemd: %v", err)
	}
	s := &system{fixture: w, name: "assayd-" + w.bench}
	dir := filepath.Dir(w.state)
	run := []string{"run", "--cap-add", "ALL"}
	if strings.HasPrefix(w.docker("version", "--format", "{{.Server.Version}}"), "20.") { // it asks for rights that the machine itself may lack
		run = append(run, "--cap-drop", "SYS_RESOURCE")
	}
	w.docker(append(run, "--detach", "--name", s.name, "--stop-signal", "SIGRTMIN+3", "--network", "none", "--cgroupns", "private",
		"--security-opt", "seccomp=unconfined", "--security-opt", "apparmor=unconfined", "--security-opt", "systempaths=unconfined",
		"--tmpfs", "/run", "--tmpfs", "/run/lock", "--env", "container=docker",
		"--volume", "/var/run/docker.sock:/var/run/docker.sock", "--volume", dir+":"+dir,
		strings.TrimSpace(string(image)), "sh", "-c", `
			for m in $(awk '$2 ~ /^\/sys/ && /ro,/ {print $2}' /proc/mounts); do mount -o remount,bind,rw $m; done
			mount --make-rshared /
			exec /sbin/init`)...)
	w.Cleanup(func() {
		if w.Failed() {
			out, _ := exec.Command("docker", "exec", s.name, "journalctl", "--no-pager", "-u", "assayd*").CombinedOutput()
			w.Logf("the journal:\n%s", out)
		}
		if out, err := exec.Command("docker", "rm", "--force", "--volumes", s.name).CombinedOutput(); err != nil {
			w.Errorf("remove systemd's container: %v: %s", err, out)
		}
	})
	w.until("systemd has booted", func() error {
		out, err := exec.CommandContext(w.Context(), "docker", "exec", s.name, "systemctl", "is-system-running").CombinedOutput()
		if state := strings.TrimSpace(string(out)); state != "running" && state != "degraded" {
			return fmt.Errorf("%s (%w)", state, err)
		}
		return nil
	})
	return s
}

// install follows the unit's first lines, with another state directory: the containers'
// mounts are named as the host, where the engine is, knows them.
func (s *system) install() {
	s.Helper()
	s.run("mkdir", "-p", "/etc/sysusers.d", "/etc/tmpfiles.d")
	s.docker("cp", s.program, s.name+":/usr/local/bin/assayd")
	s.docker("cp", "../systemd/assayd.service", s.name+":/etc/systemd/system/")
	s.docker("cp", "../systemd/assayd.socket", s.name+":/etc/systemd/system/")
	s.docker("cp", "../systemd/sysusers.d/assayd.conf", s.name+":/etc/sysusers.d/")
	s.docker("cp", "../systemd/tmpfiles.d/assayd.conf", s.name+":/etc/tmpfiles.d/")
	s.run("systemd-sysusers")
	s.run("systemd-tmpfiles", "--create")

	s.settings = fmt.Sprintf("watch     = [%q]\nstate_dir = %q\nbuild {\n  secrets = { KEY = secret(\"key\") }\n}\n", s.specs, s.state)
	s.put("/etc/assayd/assayd.hcl", s.settings)
	s.put("/etc/assayd/secrets/key", "open-sesame\n")
	s.run("chmod", "0600", "/etc/assayd/secrets/key")
	below, err := filepath.Rel("/var/lib", s.state)
	if err != nil {
		s.Fatal(err)
	}
	s.put("/etc/systemd/system/assayd.service.d/test.conf", "[Service]\nStateDirectory=\nStateDirectory="+below+
		"\nLoadCredential=key:/etc/assayd/secrets/key\nWatchdogSec=20s\nTimeoutAbortSec=1s\nRestartSec=100ms\n")
	s.put("/etc/systemd/system/assayd.socket.d/test.conf", "[Socket]\nListenStream=\nListenStream="+filepath.Join(s.state, "assayd.sock")+"\n")
	s.run("systemctl", "daemon-reload")
	s.run("systemctl", "enable", "assayd")
}

// sandboxed holds what the unit takes away against systemd's own opinion, and tries some of it.
func (s *system) sandboxed() {
	s.Helper()
	verdict := s.run("systemd-analyze", "security", "--no-pager", "assayd.service")
	exposure := regexp.MustCompile(`Overall exposure level for assayd.service: ([0-9.]+)`).FindStringSubmatch(verdict)
	if exposure == nil {
		s.Fatalf("systemd-analyze says:\n%s", verdict)
	}
	if level, err := strconv.ParseFloat(exposure[1], 64); err != nil || level >= 3 {
		s.Errorf("the exposure is %s, want less than 3.0:\n%s", exposure[1], verdict)
	}
	pid := s.property("MainPID")
	status := s.run("cat", "/proc/"+pid+"/status")
	for _, want := range []string{"NoNewPrivs:\t1", "Seccomp:\t2", "CapBnd:\t000000000000001f"} {
		if !strings.Contains(status, want) {
			s.Errorf("/proc/PID/status of the service has no %q:\n%s", want, status)
		}
	}
	mounts := s.run("cat", "/proc/"+pid+"/mounts")
	for _, folder := range []string{"/usr", "/etc", "/boot"} {
		if !regexp.MustCompile(`(?m)^\S+ ` + folder + ` \S+ ro\b`).MatchString(mounts) {
			s.Errorf("the service could write to %s:\n%s", folder, mounts)
		}
	}
}

// property reads properties of the service, in the order asked for.
func (s *system) property(names ...string) string {
	s.Helper()
	var values []string
	for _, name := range names {
		values = append(values, strings.TrimSpace(s.run("systemctl", "show", "assayd", "--value", "-p", name)))
	}
	return strings.Join(values, " ")
}

// put writes a file in the container.
func (s *system) put(path, text string) {
	s.Helper()
	s.run("mkdir", "-p", filepath.Dir(path))
	s.docker("exec", s.name, "sh", "-c", `printf %s "$2" >"$1"`, "put", path, text)
}

// run does a command in the container that must succeed.
func (s *system) run(args ...string) string {
	s.Helper()
	return s.docker(append([]string{"exec", s.name}, args...)...)
}

// docker does a command of the engine's own client that must succeed.
func (w *fixture) docker(args ...string) string {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), 2*patience)
	defer cancel()
	var out, problems bytes.Buffer
	cmd := exec.CommandContext(ctx, "docker", args...)
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		w.Fatalf("docker %s: %v\n%s%s", strings.Join(args, " "), err, out.String(), problems.String())
	}
	return out.String()
}
