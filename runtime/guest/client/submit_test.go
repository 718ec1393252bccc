//go:build linux

package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/clock"
	"github.com/assayd/assayd/runtime/guest/protocol"
)

// court is a judge that follows a script, and an agent's call of the client.
type court struct {
	mu      sync.Mutex // held by each request
	t       *testing.T
	submits []func(w http.ResponseWriter, r *http.Request) // one a request; the last one stays
	results []string                                       // the same
	history string

	keys     []string
	polls    []string
	archives [][]string

	env    map[string]string
	now    time.Time
	waits  []time.Duration
	left   string // the answer to what is left; "" = 404
	stdout bytes.Buffer
	stderr bytes.Buffer
	board  string
}

func newCourt(t *testing.T) *court {
	t.Helper()
	work := t.TempDir()
	write(t, filepath.Join(work, "a.txt"), "work")
	c := &court{
		t: t, now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC), board: filepath.Join(t.TempDir(), "state.json"),
		results: []string{`{"status":"completed","report":{"pass_rate":1,"passed":2,"total_tests":2,"valid":true}}`},
		submits: []func(http.ResponseWriter, *http.Request){accepting},
	}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	c.env = map[string]string{"ASSAYD_JUDGE_URL": server.URL + "/", "ASSAYD_TOKEN": "tok", "SFORGE_PATCH_DIR": work}
	return c
}

func accepting(w http.ResponseWriter, _ *http.Request) {
	_, _ = io.WriteString(w, `{"submission_id":"00ff","round_id":"agent-1","status":"queued","remaining_submissions":4}`)
}

func refusing(code int, header, body string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		if k, v, ok := strings.Cut(header, ": "); ok {
			w.Header().Set(k, v)
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

// losing takes the submission and breaks the connection before it answers.
func losing(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

func (c *court) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock() // requests follow one another, over different connections
	defer c.mu.Unlock()
	if r.URL.Path == protocol.LeftPath {
		if c.left == "" {
			http.NotFound(w, r)
		}
		_, _ = io.WriteString(w, c.left)
		return
	}
	if got := r.Header.Get("Authorization"); got != "Bearer tok" {
		c.t.Errorf("Authorization %q", got)
	}
	switch {
	case r.Method == http.MethodPost && r.URL.Path == "/api/v1/submit":
		c.keys = append(c.keys, r.Header.Get("Idempotency-Key"))
		answer := c.submits[0]
		c.submits = c.submits[min(1, len(c.submits)-1):]
		file, _, err := r.FormFile("archive")
		if err != nil {
			c.t.Errorf("archive: %v", err)
			return
		}
		if got := r.FormValue("token") + " " + r.FormValue("kind"); got != "tok agent" {
			c.t.Errorf("token and kind: %q", got)
		}
		c.archives = append(c.archives, unpacked(c.t, file))
		answer(w, r)
	case strings.HasPrefix(r.URL.Path, "/api/v1/result/"):
		c.polls = append(c.polls, r.URL.RequestURI())
		answer := c.results[0]
		c.results = c.results[min(1, len(c.results)-1):]
		if answer == "lost" {
			panic(http.ErrAbortHandler)
		}
		_, _ = io.WriteString(w, answer)
	case r.URL.Path == "/api/v1/history" && r.URL.Query().Get("token") == "tok":
		_, _ = io.WriteString(w, c.history)
	default:
		http.Error(w, `{"detail":"no such thing"}`, http.StatusNotFound)
	}
}

// call runs the client.
func (c *court) call(args ...string) int {
	return c.submitter().main(c.t.Context(), append([]string{"/usr/local/bin/assay-submit"}, args...))
}

// submitter is a client with a clock that moves only when it waits.
func (c *court) submitter() *submitter {
	s := newSubmitter(func(k string) string { return c.env[k] }, &c.stdout, &c.stderr)
	s.scoreboard, s.now = c.board, func() time.Time { return c.now }
	s.connect = func(base, token string, note func(string, ...any)) *judgeClient {
		j := newJudgeClient(base, token, note)
		j.now = s.now
		j.wait = func(_ context.Context, d time.Duration) error {
			c.waits = append(c.waits, d)
			c.now = c.now.Add(d)
			return nil
		}
		return j
	}
	return s
}

func TestSubmitAndWait(t *testing.T) {
	c := newCourt(t)
	c.results = []string{
		`{"submission_id":"00ff","status":"queued","report":null,"error":null}`,
		"lost",
		`{"status":"running"}`,
		`{"status":"completed","report":{"pass_rate":0.6666,"score":0.75,"passed":2,"failed":1,"errors":0,"total_tests":3,"valid":true,
		  "summary":"almost","metrics":{"speed":12.5,"cycles":3},
		  "details":[{"name":"t1","status":"passed","message":""},{"name":"t2","status":"failed","message":"boom"},{"name":"t3","status":"skipped"}]}}`,
	}
	if code := c.call(); code != 0 {
		t.Fatalf("exit code %d: %s", code, &c.stderr)
	}
	want := `Submitting . from ` + c.env["SFORGE_PATCH_DIR"] + `
Accepted as round agent-1, submission 00ff
Submissions left: 4
Waiting for the result; if this is interrupted: assay-submit --result 00ff

--- Result of agent-1 ---
Score: 0.75
Pass rate: 66.6% (passed 2/3)
Summary: almost
Metrics:
  cycles: 3
  speed: 12.5
Failed tests:
  - t2
`
	if diff := cmp.Diff(want, c.stdout.String()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([][]string{{"0 644 a.txt work"}}, c.archives); diff != "" {
		t.Error(diff)
	}
	for _, p := range c.polls {
		if p != "/api/v1/result/00ff?wait=30s" {
			t.Errorf("polled %s", p)
		}
	}
	if len(c.polls) != 4 || len(c.keys) != 1 || c.keys[0] == "" {
		t.Errorf("polls %v, keys %v", c.polls, c.keys)
	}
}

func TestALostAnswerSpendsNoRound(t *testing.T) {
	c := newCourt(t)
	c.submits = []func(http.ResponseWriter, *http.Request){
		losing,
		refusing(503, "Retry-After: 7", `{"detail":"busy"}`),
		refusing(502, "", ""),
		accepting,
	}
	if code := c.call(); code != 0 {
		t.Fatalf("exit code %d: %s", code, &c.stderr)
	}
	if len(c.keys) != 4 || c.keys[0] == "" || c.keys[0] != c.keys[1] || c.keys[1] != c.keys[2] || c.keys[2] != c.keys[3] {
		t.Errorf("keys %v", c.keys)
	}
	if diff := cmp.Diff([]time.Duration{500 * time.Millisecond, 7 * time.Second, 2 * time.Second}, c.waits); diff != "" {
		t.Error(diff)
	}
	if code := c.call(); code != 0 || c.keys[4] == c.keys[0] {
		t.Errorf("another call has the same key")
	}
}

func TestAClientGivesUpAfterTenMinutes(t *testing.T) {
	c := newCourt(t)
	c.submits = []func(http.ResponseWriter, *http.Request){refusing(503, "", `{"detail":"draining"}`)}
	began := c.now
	if code := c.call(); code != 1 || !strings.Contains(c.stderr.String(), "draining") {
		t.Errorf("exit code %d: %s", code, &c.stderr)
	}
	if took := c.now.Sub(began); took > 10*time.Minute || took < 9*time.Minute {
		t.Errorf("gave up after %s", took)
	}
	if strings.Contains(c.stderr.String(), "tok") {
		t.Errorf("the token is shown: %s", &c.stderr)
	}
}

func TestNoJudgeAtAllIsAMessage(t *testing.T) {
	c := newCourt(t)
	c.env["ASSAYD_JUDGE_URL"] = "http://127.0.0.1:1"
	if code := c.call("--result", "x"); code != 1 || !strings.Contains(c.stderr.String(), "could not be reached") {
		t.Errorf("exit code %d: %s", code, &c.stderr)
	}
}

func TestWhatTheJudgeRefusesIsNotRepeated(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer func(http.ResponseWriter, *http.Request)
		stdout string
		stderr string
	}{
		{"budget", refusing(429, "", `{"detail":"submission budget exhausted"}`), "submission budget exhausted", "SUBMISSION LIMIT REACHED: submission budget exhausted"},
		{"cooldown", refusing(429, "Retry-After: 9", `{"error":"wait 9 seconds"}`), "wait 9 seconds", "COOLDOWN: wait 9 seconds"},
		{"token", refusing(401, "", `{"detail":"unknown token"}`), "", "HTTP 401: unknown token"},
		{"form", refusing(422, "", `{"detail":[{"loc":"x"}]}`), "", `HTTP 422: [{"loc":"x"}]`},
		{"a bad reply", refusing(200, "", `<html>`), "", "cannot be read"},
		{"a reply without id", refusing(200, "", `{}`), "", "no submission id"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCourt(t)
			c.submits = []func(http.ResponseWriter, *http.Request){tt.answer}
			if code := c.call(); code != 1 || len(c.keys) != 1 {
				t.Errorf("exit code %d after %d requests", code, len(c.keys))
			}
			if !strings.Contains(c.stdout.String(), tt.stdout) || !strings.Contains(c.stderr.String(), tt.stderr) {
				t.Errorf("stdout %q, stderr %q", &c.stdout, &c.stderr)
			}
		})
	}
}

func TestUsageAndMissingEnvironment(t *testing.T) {
	for _, tt := range []struct {
		args   []string
		unset  string
		set    map[string]string
		code   int
		stdout string
		stderr string
	}{
		{args: []string{"--help"}, stdout: "usage:"},
		{args: []string{"-h"}, stdout: "usage:"},
		{args: []string{"--nonsense"}, code: 1, stderr: "nonsense"},
		{args: []string{"extra"}, code: 1, stderr: `"extra"`},
		{args: []string{"--result"}, code: 1, stderr: "result"},
		{unset: "ASSAYD_JUDGE_URL", code: 1, stderr: "ASSAYD_JUDGE_URL"},
		{unset: "ASSAYD_TOKEN", code: 1, stderr: "ASSAYD_TOKEN"},
		{unset: "ASSAYD_TOKEN", set: map[string]string{"SFORGE_TOKEN": "tok"}, stdout: "All 2 tests passed."},
		{set: map[string]string{"SFORGE_PATCH_DIR": "/nowhere"}, code: 1, stderr: "/nowhere"},
		{set: map[string]string{"SFORGE_SUBMIT_PATHS": "../x"}, code: 1, stderr: "../x"},
		{args: []string{"--time"}, code: 1, stderr: "ASSAYD_DEADLINE"},
		{args: []string{"--time"}, set: map[string]string{"ASSAYD_DEADLINE": "2030-01-01T01:00:30Z"}, stdout: "3630\n"},
		{args: []string{"--time"}, set: map[string]string{"ASSAYD_DEADLINE": "2029-01-01T01:00:30Z"}, stdout: "0\n"},
		{args: []string{"--time"}, set: map[string]string{"ASSAYD_DEADLINE": "2040-01-01T01:59:30Z", "ASSAYD_CLOCK": stepped("2040-01-01T01:00:00Z")}, stdout: "35"},
	} {
		t.Run(fmt.Sprint(tt.args, tt.unset, tt.set), func(t *testing.T) {
			c := newCourt(t)
			delete(c.env, tt.unset)
			for k, v := range tt.set {
				c.env[k] = v
			}
			code := c.call(tt.args...)
			if code != tt.code || !strings.Contains(c.stdout.String(), tt.stdout) || !strings.Contains(c.stderr.String(), tt.stderr) {
				t.Errorf("exit code %d, stdout %q, stderr %q", code, &c.stdout, &c.stderr)
			}
		})
	}
}

// The deadline that an agent was started with may have moved since.
func TestTheTimeLeftIsWhatTheDaemonSays(t *testing.T) {
	c := newCourt(t)
	c.env["ASSAYD_DEADLINE"], c.left = "2030-01-01T01:00:30Z", `{"seconds_left":7230}`
	if code := c.call("--time"); code != 0 || c.stdout.String() != "7230\n" {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, &c.stdout, &c.stderr)
	}
}

func TestAnEarlierResultCostsNoRound(t *testing.T) {
	c := newCourt(t)
	c.results = []string{`{"status":"completed","report":{"pass_rate":0,"total_tests":1,"valid":false,"details":[{"name":"t","status":"error","message":"no"}]}}`}
	if code := c.call("--details", "--result", "abc"); code != 0 || len(c.keys) != 0 {
		t.Fatalf("exit code %d, submitted %v: %s", code, c.keys, &c.stderr)
	}
	want := `
--- Result of submission abc ---
Valid: no
Pass rate: 0.0% (passed 0/1)
Failed tests:
  - t
Tests:
  [ERROR] t: no
`
	if diff := cmp.Diff(want, c.stdout.String()); diff != "" {
		t.Error(diff)
	}
}

// stepped is what an agent has of a wall clock that would show that time, and was set since.
func stepped(now string) string {
	t, _ := time.Parse(time.RFC3339, now)
	text, _ := json.Marshal(clock.From(t))
	return string(text)
}

func TestDetailsThatTheJudgeKeepsBackHaveNoHeading(t *testing.T) {
	c := newCourt(t)
	c.results = []string{`{"status":"completed","report":{"pass_rate":1,"passed":2,"total_tests":2,"valid":true}}`}
	if code := c.call("--details", "--result", "abc"); code != 0 || strings.Contains(c.stdout.String(), "Tests:") {
		t.Errorf("exit code %d: %s", code, &c.stdout)
	}
}

func TestWhatATaskDoesNotTellIsNoZero(t *testing.T) {
	c := newCourt(t)
	c.results = []string{`{"status":"completed","report":{"score":null,"summary":"The submission was judged."}}`}
	if code := c.call(); code != 0 || strings.Contains(c.stdout.String(), "%") {
		t.Errorf("exit code %d: %s", code, &c.stdout)
	}
	if _, err := os.Stat(c.board); err == nil {
		t.Error("it is on the scoreboard")
	}
}

func TestAnEvaluationErrorIsNoResult(t *testing.T) {
	c := newCourt(t)
	c.results = []string{`{"status":"error","report":null,"error":"the judge's machine broke"}`}
	if code := c.call(); code != 1 || !strings.Contains(c.stdout.String(), "the judge's machine broke") {
		t.Errorf("exit code %d, %s", code, &c.stdout)
	}
	if _, err := os.Stat(c.board); err == nil {
		t.Error("it is on the scoreboard")
	}
}

func TestFailingNamesAreTwentyAtMost(t *testing.T) {
	for _, field := range []string{"details", "test_details"} {
		var tests []string
		for i := range 23 {
			tests = append(tests, fmt.Sprintf(`{"name":"t%02d","status":"FAILED"}`, i))
		}
		c := newCourt(t)
		c.results = []string{`{"status":"completed","report":{"pass_rate":0,"total_tests":23,"` + field + `":[` + strings.Join(tests, ",") + `]}}`}
		if code := c.call(); code != 0 {
			t.Fatal(&c.stderr)
		}
		out := c.stdout.String()
		if strings.Count(out, "  - t") != 20 || !strings.HasSuffix(out, "  - t19\n  ... and 3 more\n") {
			t.Errorf("%s: %s", field, out)
		}
	}
}

func TestPercentIsCut(t *testing.T) {
	for rate, want := range map[float64]string{0: "0.0", 1: "100.0", 0.99999: "99.9", 0.29: "29.0", 2. / 3: "66.6", 0.0005: "0.0", 0.57: "57.0"} {
		if got := percent(rate); got != want {
			t.Errorf("%v: %s, want %s", rate, got, want)
		}
	}
}

func TestListIsATable(t *testing.T) {
	c := newCourt(t)
	c.history = `{"run_id":"r","best_score":3.5,"best_pass_rate":0.5,"best_round":"agent-2","agent_submissions":2,"auto_submissions":0,"entries":[
	  {"type":"submission","status":"completed","submission_id":"aa","round":"agent-1","pass_rate":0.25,"score":null,"valid":false,"summary":"one\ntwo three four five six seven eight nine ten"},
	  {"type":"submission","status":"running","submission_id":"bb","round":"agent-2"}]}`
	if code := c.call("-l"); code != 0 {
		t.Fatal(&c.stderr)
	}
	want := `Submissions: 2
Best pass rate: 50.0% (agent-2)
Best score: 3.5

ROUND    SUBMISSION_ID  STATUS     VALID  PASS_RATE  SCORE  SUMMARY
agent-1  aa             completed  no     25.0%      -      one two three four five six seven eight 
agent-2  bb             running    -      -          -      
`
	if diff := cmp.Diff(want, c.stdout.String()); diff != "" {
		t.Error(diff)
	}
}

func TestTheScoreboardKnowsTheBest(t *testing.T) {
	c := newCourt(t)
	for i, rate := range []string{"0.5", "0.75", "0.25", "0.25"} {
		c.results = []string{`{"status":"completed","report":{"score":` + rate + `,"pass_rate":` + rate + `}}`}
		id := fmt.Sprint("s", min(i, 2)) // the last one twice
		if code := c.call("--result", id); code != 0 {
			t.Fatal(&c.stderr)
		}
	}
	var got scoreboard
	if err := json.Unmarshal([]byte(read(t, c.board)), &got); err != nil {
		t.Fatal(err)
	}
	at := c.now.Unix()
	want := scoreboard{
		BestPassRate: 0.75, BestScore: new(0.75), BestRound: "submission s1",
		Submissions: []scoreEntry{
			{"s0", "agent", "submission s0", at, 0.5, new(0.5)},
			{"s1", "agent", "submission s1", at, 0.75, new(0.75)},
			{"s2", "agent", "submission s2", at, 0.25, new(0.25)},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAGameTakesNoSubmissions(t *testing.T) {
	c := newCourt(t)
	c.env["GAME_SERVER_URL"] = "http://127.0.0.1:7433/api/v1/game/t/zork"
	if code := c.call(); code != exitFailure || len(c.keys) != 0 || !strings.Contains(c.stderr.String(), "played at http://127.0.0.1:7433/api/v1/game/t/zork") {
		t.Errorf("%d, %d requests: %s", code, len(c.keys), c.stderr.String())
	}
	c.history = `{"best_score":40,"best_pass_rate":0.4,"best_round":"game-1","agent_submissions":0,"entries":[
		{"type":"game","status":"completed","round":"game-1","session_id":"00ff","score":40,"pass_rate":0.4,"summary":"peak score 40 of 100"}]}`
	if code := c.call("--list"); code != 0 || !strings.Contains(c.stdout.String(), "game-1  00ff           completed") {
		t.Errorf("list: %d %s%s", code, c.stdout.String(), c.stderr.String())
	}
}
