package gitsync

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/runtime/git/gittest"
)

const token = "tok-3n-s3cret"

func TestATokenIsNowhereButInTheRequest(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	commit := o.commit(texts{"a.hcl": "1"})
	base, users := gittest.Serve(t, o.dir, token)
	h := newFixture(t, config.Git{URL: base + "/team/specs.git", Token: config.SecretText(token), PushResults: "results"})
	seen := watchArguments(t)
	h.ok()
	h.at(commit)
	h.result("a.run.x.jsonl", "{1}\n")
	if err := h.pushAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := o.git("show", "results:a.run.x.jsonl"); got != "{1}" {
		t.Errorf("pushed is %q", got)
	}
	h.opts.Git.URL = base + "/away"
	h.open()
	h.fails("not found")
	if got := users(); len(got) == 0 || got[0] != "x-access-token" {
		t.Errorf("the server was asked by %q", got)
	}
	nowhere(t, h)
	if found := seen(); found != "" {
		t.Errorf("the token is among the arguments of a command: %s", found)
	}

	h.opts.Git.URL, h.opts.Git.Token = strings.Replace(base, "http://", "http://me:"+token+"@", 1)+"/team/specs.git", config.Secret{}
	h.open()
	h.ok()
	if got := users(); got[len(got)-1] != "me" {
		t.Errorf("the server was asked by %q, want the user of the address", got)
	}
	nowhere(t, h)

	h.opts.Git.URL, h.opts.Git.Token = base+"/team/specs.git", config.SecretText("wrong-"+token)
	h.open()
	h.fails("Authentication failed")
	h.at(commit)
	nowhere(t, h)
}

// nowhere fails where the token is in a file, the log or the status.
func nowhere(t *testing.T, h *fixture) {
	t.Helper()
	if strings.Contains(h.log.String(), token) {
		t.Errorf("the token is in the log:\n%s", h.log)
	}
	if text, _ := json.Marshal(h.Status()); strings.Contains(string(text), token) {
		t.Errorf("the token is in the status: %s", text)
	}
	// Tests beside this one look for the token among the arguments of all processes.
	grep := exec.Command("grep", "-rlF", "-f", "-", h.opts.State)
	grep.Stdin = strings.NewReader(token)
	out, err := grep.Output()
	if len(out) > 0 {
		t.Errorf("the token is in %s (%v)", out, err)
	}
}

// watchArguments looks at the arguments of all processes, again and again, until it is
// asked what it saw.
func watchArguments(t *testing.T) (seen func() string) {
	stop, ended := make(chan struct{}), make(chan struct{})
	found := ""
	go func() {
		defer close(ended)
		for {
			select {
			case <-stop:
				return
			case <-time.After(2 * time.Millisecond):
			}
			lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
			for _, name := range lines {
				text, _ := os.ReadFile(name)
				if strings.Contains(string(text), token) {
					found = strings.ReplaceAll(string(text), "\x00", " ")
				}
			}
		}
	}()
	return func() string {
		close(stop)
		<-ended
		return found
	}
}

func TestATokenIsForOneSiteOnly(t *testing.T) {
	t.Parallel()
	o, other := newOrigin(t), newOrigin(t)
	other.commit(texts{"x": "1"})
	elsewhere := false
	thief := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		elsewhere = elsewhere || q.Header.Get("Authorization") != ""
		w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(thief.Close)
	o.commit(texts{".gitmodules": "[submodule \"x\"]\n\tpath = x\n\turl = " + thief.URL + "/x\n"})
	o.git("update-index", "--add", "--cacheinfo", "160000,"+other.git("rev-parse", "HEAD")+",x")
	o.git("commit", "--quiet", "--message=x")
	base, _ := gittest.Serve(t, o.dir, token)
	h := newFixture(t, config.Git{URL: base + "/team/specs.git", Token: config.SecretText(token)})
	h.fails("submodule x")
	if elsewhere {
		t.Error("another host was shown the token")
	}
}

func TestARemoteThatIsAwayAtTheStart(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	commit := o.commit(texts{"a.hcl": "1"})
	h := newFixture(t, config.Git{URL: o.dir})
	h.ok()
	if err := os.Rename(o.dir, o.dir+"-away"); err != nil {
		t.Fatal(err)
	}
	h.open()
	h.at(commit)
	h.holds(texts{"a.hcl": "1"})
	if !h.shown() {
		t.Error("the last good commit is held back")
	}
	h.fails("does not")
	h.at(commit)
	if err := os.Rename(o.dir+"-away", o.dir); err != nil {
		t.Fatal(err)
	}
	h.ok()
	if !strings.Contains(h.log.String(), "followed again") {
		t.Errorf("its return is not told:\n%s", h.log)
	}
}

func TestAVerdictIsANoteAtItsCommit(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	good := o.commit(texts{"specs/a.hcl": "1"})
	h := newFixture(t, config.Git{URL: o.dir, Path: "specs", PushResults: "results"})
	h.ok()
	if got := o.git("notes", "--ref=assayd", "show", good); got != "assayd: accepted" {
		t.Errorf("the note is %q", got)
	}
	// Somebody else writes notes, too.
	o.git("notes", "--ref=assayd", "add", "--message=mine", o.git("rev-parse", good+"^{tree}"))
	h.problems = config.Diagnostics{{Severity: config.Error, Summary: "Bad", Detail: "It is.", File: "a.hcl", Line: 3, Column: 5}}
	bad := o.commit(texts{"specs/a.hcl": "2"})
	h.ok()
	h.at(bad)
	if got := o.git("notes", "--ref=assayd", "show", bad); got != "assayd: rejected\n\nspecs/a.hcl:3:5: error: Bad. It is." {
		t.Errorf("the note is %q", got)
	}
	if got := o.git("notes", "--ref=assayd", "list"); strings.Count(got, "\n") != 2 {
		t.Errorf("notes are lost: %q", got)
	}
	if s := h.Status(); s.Verdict != "rejected" || s.Errors != 1 {
		t.Errorf("the status says %+v", s)
	}
}

func TestAVerdictIsACommitStatusOnGitHub(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	first := o.commit(texts{"a.hcl": "1"})
	base, _ := gittest.Serve(t, o.dir, token)
	var got []string
	busy := true
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if busy {
			busy = false
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		if q.Header.Get("Authorization") != "Bearer may-do-it" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		body, _ := io.ReadAll(q.Body)
		var s struct{ State, Context, Description string }
		if err := json.Unmarshal(body, &s); err != nil {
			t.Error(err)
		}
		got = append(got, fmt.Sprintf("%s %s %s: %s", q.URL.Path, s.Context, s.State, s.Description))
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, "{}")
	}))
	t.Cleanup(api.Close)
	h := newFixture(t, config.Git{URL: base + "/team/specs.git", Token: config.SecretText(token)})
	h.opts.GitHub = config.GitHub{BaseURL: api.URL, Tokens: []config.Secret{config.SecretText("may-do-it")}}
	h.open()
	h.fails("502")
	h.at(first)
	h.ok() // it is told now, and once
	h.ok()
	h.problems = config.Diagnostics{
		{Severity: config.Warning, Summary: "Odd", File: "a.hcl", Line: 1, Column: 1},
		{Severity: config.Error, Summary: "Bad", Detail: strings.Repeat("very ", 100), File: "a.hcl", Line: 3, Column: 5},
	}
	second := o.commit(texts{"a.hcl": "2"})
	h.ok()
	want := []string{
		"/repos/team/specs/statuses/" + first + " assayd success: all specs are accepted",
		"/repos/team/specs/statuses/" + second + " assayd failure: 1 error: a.hcl:3:5: error: Bad. very very",
	}
	if len(got) != 2 || got[0] != want[0] || !strings.HasPrefix(got[1], want[1]) {
		t.Errorf("statuses are %q, want %q", got, want)
	}
	if !strings.Contains(h.log.String(), "level=INFO msg=\"commit rejected\" commit="+second) {
		t.Errorf("the log does not say it:\n%s", h.log)
	}
}

func TestWhichHostIsAGitHub(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		url, api    string
		owner, name string
	}{
		{"https://github.com/o/r.git", "https://api.github.com", "o", "r"},
		{"git@github.com:o/r.git", "https://api.github.com", "o", "r"},
		{"ssh://git@ghe.example:22/o/r", "https://ghe.example/api/v3", "o", "r"},
		{"https://gitlab.com/o/r", "https://api.github.com", "", ""},
		{"https://github.com.evil.example/o/r", "https://api.github.com", "", ""},
		{"https://gitlab.com/group/sub/r", "https://gitlab.com", "", ""},
		{"/srv/o/r", "https://api.github.com", "", ""},
	} {
		r, err := parseRemote(tt.url)
		if err != nil {
			t.Fatal(err)
		}
		s := &Syncer{remote: r, o: Options{GitHub: config.GitHub{BaseURL: tt.api, Tokens: []config.Secret{config.SecretText("x")}}}}
		got, err := s.hostOf()
		if err != nil || (got == nil) != (tt.owner == "") || got != nil && (got.owner != tt.owner || got.name != tt.name) {
			t.Errorf("%s at %s is %+v, %v", tt.url, tt.api, got, err)
		}
	}
}

func TestAnSSHKeyIsLentToOneCommand(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.commit(texts{"a.hcl": "1"})
	h := newFixture(t, config.Git{URL: o.dir})
	h.secrets.key = "-----BEGIN KEY-----"
	g, done, err := h.letIn(h.git)
	if err != nil {
		t.Fatal(err)
	}
	keys, _ := filepath.Glob(filepath.Join(h.dir, keyPrefix+"*"))
	if len(keys) != 1 {
		t.Fatalf("the keys are %v", keys)
	}
	info, err := os.Stat(keys[0])
	text, _ := os.ReadFile(keys[0])
	if err != nil || info.Mode().Perm() != 0o600 || string(text) != "-----BEGIN KEY-----\n" {
		t.Errorf("the key is %v %q, %v", info.Mode(), text, err)
	}
	command := g.Environment()[len(g.Environment())-1]
	for _, want := range []string{"StrictHostKeyChecking=accept-new", "UserKnownHostsFile='" + h.dir + "/known_hosts'", "-i '" + keys[0] + "'", "BatchMode=yes"} {
		if !strings.Contains(command, want) {
			t.Errorf("%s has no %s", command, want)
		}
	}
	if err := done(); err != nil {
		t.Error(err)
	}
	if keys, _ := filepath.Glob(filepath.Join(h.dir, keyPrefix+"*")); len(keys) > 0 {
		t.Errorf("the key is still there: %v", keys)
	}
}

func TestACommandEndsWithItsContext(t *testing.T) {
	t.Parallel()
	hung := make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		close(hung)
		<-q.Context().Done()
	}))
	t.Cleanup(silent.Close)
	h := newFixture(t, config.Git{URL: silent.URL + "/x"})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.Syncer.Run(ctx) }()
	<-hung
	stop()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Fatal("Run does not end")
	}
}
