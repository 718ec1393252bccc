//go:build linux

package daemon_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/assayd/assayd/daemon/api"
	"github.com/assayd/assayd/daemon/api/apitest"
	"github.com/assayd/assayd/reconcile/query"
)

const token = "correct horse battery staple, and more"

// settings writes a settings file outside the watched folder.
func (w *fixture) settings(text string) (path string) {
	w.Helper()
	path = filepath.Join(filepath.Dir(w.state), "assayd.hcl")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.Fatal(err)
	}
	return path
}

var listens = regexp.MustCompile(`msg="HTTP listener" address=(\S+)`)

// listener is the base address of the HTTP listener of the running daemon.
func (w *fixture) listener() string {
	w.Helper()
	all := listens.FindAllStringSubmatch(w.daemonLog(), -1)
	if all == nil {
		w.Fatal("the log names no HTTP listener")
	}
	return "http://" + all[len(all)-1][1]
}

// ask makes one request that must be answered; no header is sent for an empty authorization.
func (w *fixture) ask(method, url, authorization string, body io.Reader, header ...string) (code int, answer string) {
	w.Helper()
	code, answer, err := w.request(method, url, authorization, body, header...)
	if err != nil {
		w.Fatal(err)
	}
	return code, answer
}

func (w *fixture) request(method, url, authorization string, body io.Reader, header ...string) (code int, answer string, err error) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), patience)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		w.Fatal(err)
	}
	if authorization != "" {
		q.Header.Set("Authorization", authorization)
	}
	for i := 0; i < len(header); i += 2 {
		q.Header.Set(header[i], header[i+1])
	}
	q.Close = true
	client := http.Client{Transport: apitest.Transport(w.T, nil)}
	a, err := client.Do(q)
	if err != nil {
		return 0, "", err
	}
	text, err := io.ReadAll(a.Body)
	return a.StatusCode, string(text), errors.Join(err, a.Body.Close())
}

func TestTheHTTPListenerServesWhoHasTheToken(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.write("r.hcl", w.benchmark()+w.run("quiet", []string{`agent "nop" {}`}, `schedule = "0 0 1 1 *"`))
	w.serve("--config", w.settings(fmt.Sprintf("http { token = %q }\n", token)), "--http", ":0")
	at := w.listener()
	if !strings.HasPrefix(at, "http://127.0.0.1:") {
		t.Errorf("without a host it listens at %s", at)
	}
	w.until("the run is accepted", func() error { _, err := w.status("run.quiet"); return err })

	const status = "/v1/status?address=run.quiet"
	for _, tt := range []struct {
		name, method, path, authorization string
		want                              int
	}{
		{"the token", "GET", status, "Bearer " + token, 200},
		{"the token, after a scheme in other letters", "GET", status, "bearer " + token, 200},
		{"a view", "GET", "/api/v1/tasks", "Bearer " + token, 200},
		{"nothing", "GET", status, "", 401},
		{"another token", "GET", status, "Bearer " + token + "x", 401},
		{"a part of it", "GET", status, "Bearer " + token[:8], 401},
		{"an empty one", "GET", status, "Bearer ", 401},
		{"another scheme", "GET", status, "Basic " + token, 401},
		{"no scheme", "GET", status, token, 401},
		{"the token in the address", "GET", status + "&token=" + "correct", "", 401},
		{"what is not there tells nobody so", "GET", "/v1/nothing", "", 401},
		{"but who has the token", "GET", "/nothing", "Bearer " + token, 404},
		{"a webhook where there is no repository", "POST", "/api/v1/git/webhook", "", 401},
		{"profiles, which belong to the control socket", "GET", "/debug/pprof/", "Bearer " + token, 404},
	} {
		if code, answer := w.ask(tt.method, at+tt.path, tt.authorization, nil); code != tt.want {
			t.Errorf("%s: %d, want %d: %s", tt.name, code, tt.want, answer)
		}
	}

	_, text := w.ask("GET", at+status, "Bearer "+token, nil)
	var over query.Status
	if err := json.Unmarshal([]byte(text), &over); err != nil {
		t.Fatal(err)
	}
	beside, err := w.status("run.quiet")
	if err != nil || len(over.Runs) != 1 || over.Runs[0].Generation != beside.Generation {
		t.Errorf("the listener says %s, the control socket %+v, %v", text, beside, err)
	}
	files, err := json.Marshal(api.Files{Paths: []string{filepath.Join(w.specs, "r.hcl")}})
	if err != nil {
		t.Fatal(err)
	}
	if code, answer := w.ask("POST", at+"/v1/plan", "Bearer "+token, strings.NewReader(string(files))); code != 200 || !strings.Contains(answer, "plan") {
		t.Errorf("a plan: %d %s", code, answer)
	}
	large := `{"paths":["` + strings.Repeat("x", 3<<20) + `"]}`
	if code, _, err := w.request("POST", at+"/v1/plan", "Bearer "+token, strings.NewReader(large)); code < 400 && err == nil {
		t.Errorf("a body of 3 MiB, which may be cut off: %d", code)
	}
	if strings.Contains(w.daemonLog(), token) || strings.Contains(w.daemonLog(), "not encrypted") {
		t.Errorf("the log says too much:\n%s", w.daemonLog())
	}
	w.terminate()
	if c, err := net.Dial("tcp", strings.TrimPrefix(at, "http://")); err == nil {
		_ = c.Close()
		t.Error("somebody listens after the end")
	}
}

// Off this machine it is allowed, and warned of.
func TestTheHTTPListenerOnANetworkIsWarnedOf(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.write("r.hcl", "locals {}")
	w.serve("--config", w.settings(fmt.Sprintf("http {\n  listen = \"0.0.0.0:0\"\n  token = %q\n}\n", token)))
	if log := w.daemonLog(); !strings.Contains(log, "level=WARN") || !strings.Contains(log, "not encrypted") {
		t.Errorf("no warning:\n%s", log)
	}
	w.terminate()
}

// The sockets of systemd stay open while settings are reloaded: nobody is refused, though who
// asks at that very moment may be cut off; and the new token counts.
func TestTheHTTPListenerOfSystemdOutlivesAReload(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.write("r.hcl", "locals {}")
	config := w.settings(fmt.Sprintf("http { token = %q }\n", token))
	control, err := net.Listen("unix", api.Socket(w.state))
	if err != nil {
		t.Fatal(err)
	}
	network, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	control.(*net.UnixListener).SetUnlinkOnClose(false)
	wrapper := filepath.Join(filepath.Dir(w.state), "systemd")
	if err := os.WriteFile(wrapper, []byte("#!/bin/sh\nLISTEN_PID=$$ exec "+w.program+" \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	w.program, w.env = wrapper, append(w.env, "LISTEN_FDS=2", "LISTEN_FDNAMES=assayd.socket:assayd.socket")
	for _, l := range []interface{ File() (*os.File, error) }{control.(*net.UnixListener), network.(*net.TCPListener)} {
		f, err := l.File()
		if err != nil {
			t.Fatal(err)
		}
		w.sockets = append(w.sockets, f)
	}
	w.serve("--config", config)
	at := "http://" + network.Addr().String()
	for _, l := range append([]io.Closer{control, network}, closers(w.sockets)...) { // only the daemon has them now
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if code, answer := w.ask("GET", at+"/v1/version", "Bearer "+token, nil); code != 200 {
		t.Errorf("before the reload: %d %s", code, answer)
	}
	w.settings("http { token = \"another one of thirty-two characters\" }\n")
	w.signal(syscall.SIGHUP)
	w.until("the new token counts", func() error {
		code, _, err := w.request("GET", at+"/v1/version", "Bearer another one of thirty-two characters", nil)
		if errors.Is(err, syscall.ECONNREFUSED) {
			t.Fatal(err)
		}
		if err == nil && code != 200 {
			err = fmt.Errorf("the answer is %d", code)
		}
		return err
	})
	if code, _ := w.ask("GET", at+"/v1/version", "Bearer "+token, nil); code != 401 {
		t.Errorf("the old token: %d", code)
	}
	w.terminate()
}

func closers(files []*os.File) (all []io.Closer) {
	for _, f := range files {
		all = append(all, f)
	}
	return all
}

// A signed event has the repository asked at once; nothing else about it needs the token.
func TestAWebhookBringsTheCommit(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	repo := filepath.Join(filepath.Dir(w.state), "repo")
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", repo, "-c", "user.name=A", "-c", "user.email=a@example.com"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	commit := func(schedule string) {
		t.Helper()
		text := w.benchmark() + w.run("quiet", []string{`agent "nop" {}`}, fmt.Sprintf("schedule = %q", schedule))
		if err := os.WriteFile(filepath.Join(repo, "r.hcl"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		git("add", "r.hcl")
		git("commit", "-q", "-m", "specs")
	}
	if err := os.Mkdir(repo, 0o755); err != nil {
		t.Fatal(err)
	}
	git("init", "-q", "-b", "main")
	commit("0 0 1 1 *")
	const secret = "shared with the host"
	w.serve("--config", w.settings(fmt.Sprintf(`
git {
  url            = "file://%s"
  ref            = "main"
  interval       = "12h"
  webhook_secret = %q
}
http {
  listen = "127.0.0.1:0"
  token  = %q
}
`, repo, secret, token)))
	var first query.RunStatus
	w.until("the first commit is accepted", func() (err error) { first, err = w.status("run.quiet"); return err })
	commit("0 0 2 2 *")
	const event = `{"ref":"refs/heads/main"}`
	sign := func(key string) string {
		mac := hmac.New(sha256.New, []byte(key))
		mac.Write([]byte(event))
		return "sha256=" + hex.EncodeToString(mac.Sum(nil))
	}
	post := func(signature string) int {
		code, _ := w.ask("POST", w.listener()+"/api/v1/git/webhook", "", strings.NewReader(event), "X-GitHub-Event", "push", "X-Hub-Signature-256", signature)
		return code
	}
	if code := post(sign("something else")); code < 400 || code >= 500 {
		t.Errorf("an event that is signed by another: %d", code)
	}
	if code := post(sign(secret)); code != http.StatusAccepted {
		t.Errorf("an event that is signed: %d", code)
	}
	w.until("the second commit is accepted", func() error {
		now, err := w.status("run.quiet")
		if err == nil && now.Generation == first.Generation {
			err = errors.New("in force is the first")
		}
		return err
	})
	w.terminate()
}
