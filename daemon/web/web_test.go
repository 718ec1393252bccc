package web

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/control"
	"github.com/assayd/assayd/reconcile/history/historytest"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/reconcile/query/snapshot"
	"github.com/assayd/assayd/reconcile/query/summaries"
	"github.com/assayd/assayd/reconcile/query/trialview"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/reconcile/store/storetest"
	"github.com/assayd/assayd/runtime/trial"
)

// Tokens of the fixture's settings.
const (
	wholeToken    = "whole whole whole whole whole whole"
	viewerToken   = "viewer viewer viewer viewer viewer"
	operatorToken = "operator operator operator operator"
)

// fixture is a server of pages over a store in which run.r has cells that are over.
type fixture struct {
	*testing.T
	store    *store.Store
	sessions *Sessions
	server   *httptest.Server
	pages    *Server
	client   *http.Client // follows no redirection
	reached  []string     // what came through to the API
	now      *snapshot.Snapshot
}

func newFixture(t *testing.T, cells int, change ...func(*trial.State)) *fixture {
	t.Helper()
	return newFixtureOf(t, cells, fmt.Sprintf(`
benchmark "edge" {
  task "one" {
    image       = "work:1"
    instruction = "do"
    judge { command = "true" }
  }
}
run "r" {
  tasks     = [benchmark.edge]
  auto_eval = "0s"
  attempts  = %d
  agent "nop" {}
}
`, max(cells, 1)), change...)
}

// newFixtureOf is a fixture whose run.r is declared by a text.
func newFixtureOf(t *testing.T, cells int, text string, change ...func(*trial.State)) *fixture {
	t.Helper()
	f := &fixture{T: t, store: storetest.Open(t)}
	set := config.Load([]config.Input{{Path: "/w/a.hcl", Display: "a.hcl", Root: "/w", Text: []byte(text)}}, nil, config.Options{})
	if set.Diagnostics.HasErrors() {
		t.Fatal(set.Diagnostics)
	}
	d, err := plan.Compile(set, *set.Run("r"))
	f.check(err)
	if cells > 0 {
		f.check(f.store.Do(t.Context(), func(tx *store.Tx) error { return historytest.PutEnded(tx, d, cells, change...) }))
	}
	snapshots := snapshot.NewLatest(nil)
	sums := summaries.New(summaries.Options{Store: f.store, Snapshots: snapshots})
	reader := query.New(query.Options{Store: f.store, Snapshots: snapshots, Summaries: sums, OpenBlob: f.store.Blobs().Open})
	trials := trialview.New(trialview.Options{Store: f.store, StateDir: f.store.Dir(), OpenBlob: f.store.Blobs().Open})
	var none *snapshot.Snapshot
	edit := none.Edit()
	edit.PutRun(snapshot.RunView{Address: "run.r", Desired: d, File: "a.hcl"}, true)
	f.now = edit.Done(set, nil, "")
	reader.Snapshots.Publish(f.now)
	f.sessions, err = OpenSessions(t.Context(), f.store, false)
	f.check(err)
	f.pages = New(Options{
		Reader: reader, Trials: trials, Summaries: sums, Sessions: f.sessions, Owner: f.store.Owner(), Version: "v0", Hosts: []string{"evals.example.org"}, Log: slog.New(slog.DiscardHandler),
		API:     http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) { f.reached = append(f.reached, q.Method+" "+q.URL.Path) }),
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "numbers") }),
		Probes:  map[string]Probe{"/readyz": func(w http.ResponseWriter, details bool) { _, _ = fmt.Fprint(w, "details: ", details) }},
		Tokens:  []Token{{Operator, wholeToken, true}, {Viewer, viewerToken, false}, {Operator, operatorToken, false}},
	})
	f.server = httptest.NewServer(f.pages.Handler())
	jar, err := cookiejar.New(nil)
	f.check(err)
	f.client = &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	t.Cleanup(f.server.Close)
	return f
}

func (f *fixture) check(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// do sends a request. Headers come in pairs; Host is one of them.
func (f *fixture) do(method, path string, form url.Values, headers ...string) (*http.Response, string) {
	f.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	q, err := http.NewRequestWithContext(f.Context(), method, f.server.URL+path, body)
	f.check(err)
	if form != nil {
		q.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			q.Host = headers[i+1]
		}
		q.Header.Set(headers[i], headers[i+1])
	}
	a, err := f.client.Do(q)
	f.check(err)
	defer func() { _ = a.Body.Close() }() // only read
	text, err := io.ReadAll(a.Body)
	f.check(err)
	return a, string(text)
}

func (f *fixture) login(role Role) {
	f.Helper()
	code, _ := f.sessions.Code(role)
	if a, text := f.do("POST", "/login", url.Values{"secret": {code}, "to": {"/specs"}}); a.StatusCode != 303 || a.Header.Get("Location") != "/specs" {
		f.Fatalf("log in: %d %s", a.StatusCode, text)
	}
}

func TestPagesNeedASession(t *testing.T) {
	f := newFixture(t, 3)
	for path, want := range map[string]int{"/": 303, "/runs/r": 303, "/none": 303, "/login": 200, "/v1/runs": 401, "/api/v1/tasks": 401} {
		if a, _ := f.do("GET", path, nil); a.StatusCode != want {
			t.Errorf("%s without a session: %d, want %d", path, a.StatusCode, want)
		}
	}
	if a, _ := f.do("GET", "/runs/r?status=resolved", nil); a.Header.Get("Location") != "/login?to=%2Fruns%2Fr%3Fstatus%3Dresolved" {
		t.Errorf("one is sent to %s", a.Header.Get("Location"))
	}
	f.login(Viewer)
	for _, path := range []string{"/", "/runs", "/runs/r", "/runs/r/e1", "/specs", "/mining", "/compare", "/compare?a=run.r&b=run.r"} {
		a, text := f.do("GET", path, nil)
		if a.StatusCode != 200 || !strings.Contains(text, "</html>") {
			t.Errorf("%s: %d %s", path, a.StatusCode, text)
		}
		if p := a.Header.Get("Content-Security-Policy"); !strings.Contains(p, "require-trusted-types-for 'script'") || a.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s is sent with the policy %q", path, p)
		}
	}
	for path, contains := range map[string]string{"/none": "no page", "/runs/x": "run.x", "/runs/r/e9": "e9", "/runs/r/first": "first", "/trials/none": "none", "/go?to=none": "none"} {
		if a, text := f.do("GET", path, nil); a.StatusCode != 404 || !strings.Contains(text, contains) {
			t.Errorf("%s: %d %s", path, a.StatusCode, text)
		}
	}
}

// A cookie of a session, and each way to go on with it, end where they should.
func TestSessions(t *testing.T) {
	f := newFixture(t, 1)
	code, _ := f.sessions.Code(Viewer)
	f.login(Operator)
	cookie := f.client.Jar.Cookies(&url.URL{Scheme: "http", Host: f.server.Listener.Addr().String()})[0]
	again, err := OpenSessions(t.Context(), f.store, false)
	f.check(err)
	if role, ok := again.find(t.Context(), cookie.Value); !ok || role != Operator {
		t.Errorf("after a restart the session is %q, %v", role, ok)
	}
	now := time.Now()
	again.now = func() time.Time { return now }
	now = now.Add(idleTime - time.Hour)
	if _, ok := again.find(t.Context(), cookie.Value); !ok {
		t.Error("it ends too early")
	}
	for range 8 {
		now = now.Add(idleTime - time.Hour)
		_, _ = again.find(t.Context(), cookie.Value)
	}
	if _, ok := again.find(t.Context(), cookie.Value); ok {
		t.Error("it lasts for longer than a week")
	}
	f.sessions.now = func() time.Time { return time.Now().Add(2 * codeTime) }
	if a, _ := f.do("POST", "/login", url.Values{"secret": {code}}); a.StatusCode != 401 {
		t.Errorf("a code of two minutes ago: %d", a.StatusCode)
	}
	f.sessions.now = time.Now
	if a, _ := f.do("POST", "/logout", nil); a.StatusCode != 303 {
		t.Errorf("log out: %d", a.StatusCode)
	}
	f.client.Jar.SetCookies(&url.URL{Scheme: "http", Host: f.server.Listener.Addr().String()}, []*http.Cookie{cookie})
	if a, _ := f.do("GET", "/", nil); a.StatusCode != 303 {
		t.Errorf("with the cookie of a session that was ended: %d", a.StatusCode)
	}
	f.login(Viewer)
	if n, err := f.sessions.EndAll(t.Context()); n != 1 || err != nil {
		t.Errorf("%d sessions end: %v", n, err)
	}
	if a, _ := f.do("GET", "/", nil); a.StatusCode != 303 {
		t.Errorf("after all were ended: %d", a.StatusCode)
	}
	var kept map[string]string
	f.check(f.store.View(t.Context(), func(tx *store.Tx) (err error) { kept, err = tx.MetaBelow(sessionKeys); return err }))
	if len(kept) > 0 {
		t.Errorf("the store keeps %v", kept)
	}
}

// What people ask for stands on a page: of an actor by any way, and logins.
func TestThePageOfActivitySaysWhoAskedForWhat(t *testing.T) {
	f := newFixture(t, 0)
	f.login(Operator)
	r := control.NewRecord(control.As(t.Context(), control.Actor{By: "anna", Via: control.CLI}), control.Pause, "run.r")
	r.Reason = "provider <incident>"
	f.check(f.store.Do(t.Context(), func(tx *store.Tx) error {
		return r.Append(tx, control.Place{Stream: store.StreamRef{Spec: "run.r", Root: t.TempDir(), Path: "r.jsonl"}})
	}))
	_, text := f.do("GET", "/activity", nil)
	for _, want := range []string{"anna", "pause", `href="/runs/r"`, "provider &lt;incident&gt;", "operator with a code"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %s: %s", want, text)
		}
	}
	if strings.Index(text, "anna") > strings.Index(text, "operator with a code") {
		t.Error("the latest is not the first")
	}
}

func TestACodeIsGoodOnce(t *testing.T) {
	f := newFixture(t, 1)
	code, _ := f.sessions.Code(Viewer)
	for i, want := range []int{303, 401} {
		if a, _ := f.do("POST", "/login", url.Values{"secret": {code}}); a.StatusCode != want {
			t.Errorf("use %d: %d, want %d", i+1, a.StatusCode, want)
		}
	}
	for _, want := range []int{401, 401, 401, 401, 429, 429} { // one has failed before
		if a, _ := f.do("POST", "/login", url.Values{"secret": {"guess"}}); a.StatusCode != want {
			t.Errorf("a guess: %d, want %d", a.StatusCode, want)
		}
	}
	f.login(Viewer) // guesses of others keep nobody with a code out
	for _, secret := range []string{"", strings.Repeat("x", 1<<20)} {
		if a, _ := f.do("POST", "/login", url.Values{"secret": {secret}}); a.StatusCode < 400 {
			t.Errorf("%d characters: %d", len(secret), a.StatusCode)
		}
	}
}

// There is a bound on what somebody outside can have kept.
func TestSessionsAndCodesAreBounded(t *testing.T) {
	k, err := OpenSessions(t.Context(), storetest.Open(t), true)
	if err != nil {
		t.Fatal(err)
	}
	for i := range maxSessions + 50 {
		k.Code(Viewer)
		k.failed(fmt.Sprintf("10.0.%d.%d:1", i/250, i%250))
		if _, err := k.begin(t.Context(), Viewer, "code"); err != nil {
			t.Fatal(err)
		}
	}
	if len(k.all) > maxSessions || len(k.codes) > maxCodes || len(k.tries) > maxTriers {
		t.Errorf("%d sessions, %d codes, %d addresses", len(k.all), len(k.codes), len(k.tries))
	}
}

// What another site sends, or calls by a name of its own, reaches nothing, whatever cookie comes with it.
func TestOtherSitesReachNothing(t *testing.T) {
	f := newFixture(t, 1)
	f.login(Operator)
	for _, headers := range [][]string{
		{"Origin", "http://evil.example"}, {"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "null"},
	} {
		for _, path := range []string{"/logout", "/login", "/v1/cancel?name=run.r"} {
			if a, _ := f.do("POST", path, url.Values{}, headers...); a.StatusCode != 403 {
				t.Errorf("POST %s with %v: %d", path, headers, a.StatusCode)
			}
		}
	}
	for host, want := range map[string]int{"evil.example": 421, "evil.example:80": 421, "127.0.0.1.evil.example": 421, "localhost:9": 200, "[::1]:9": 200, "EVALS.example.org": 200} {
		if a, _ := f.do("GET", "/login", nil, "Host", host); a.StatusCode != want {
			t.Errorf("host %s: %d, want %d", host, a.StatusCode, want)
		}
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH"} {
		if a, _ := f.do(method, "/v1/cancel?name=run.r", nil); a.StatusCode != 401 {
			t.Errorf("%s with a session: %d: a session reads", method, a.StatusCode)
		}
	}
	if len(f.reached) > 0 {
		t.Errorf("the API was asked %v", f.reached)
	}
}

func TestTokensLetDoWhatTheirRoleMay(t *testing.T) {
	for _, tt := range []struct {
		token, method, path string
		want                int
	}{
		{wholeToken, "GET", "/v1/runs", 200},
		{wholeToken, "POST", "/v1/submit", 200},
		{viewerToken, "GET", "/v1/runs", 200},
		{viewerToken, "POST", "/v1/cancel", 403},
		{operatorToken, "GET", "/api/v1/tasks", 200},
		{operatorToken, "GET", "/api/v1/tasks?file=/etc/passwd", 403}, // a file of the daemon's machine
		{viewerToken, "GET", "/api/v1/tasks?file=/etc/passwd", 403},
		{wholeToken, "GET", "/api/v1/tasks?file=/w/a.hcl", 200},
		{operatorToken, "POST", "/v1/cancel", 200},
		{operatorToken, "POST", "/v1/rerun", 200},
		{operatorToken, "POST", "/v1/holds", 200},
		{operatorToken, "DELETE", "/v1/holds/run.r", 200},
		{operatorToken, "POST", "/v1/trials/r.e1.1/stop", 200},
		{operatorToken, "POST", "/v1/trials/r.e1.1/extend", 200},
		{viewerToken, "POST", "/v1/trials/r.e1.1/extend", 403},
		{operatorToken, "DELETE", "/v1/runs/run.r", 403},
		{viewerToken, "GET", "/v1/holds", 200},
		{viewerToken, "POST", "/v1/holds", 403},
		{viewerToken, "DELETE", "/v1/holds/run.r", 403},
		{operatorToken, "POST", "/v1/submit", 403},
		{operatorToken, "POST", "/v1/login", 403},
		{wholeToken[:20], "GET", "/v1/runs", 401},
		{"", "GET", "/v1/runs", 401},
	} {
		f := newFixture(t, 0)
		a, text := f.do(tt.method, tt.path, nil, "Authorization", "Bearer "+tt.token)
		if a.StatusCode != tt.want || (a.StatusCode == 200) != (len(f.reached) > 0) {
			t.Errorf("%.5s: %s %s: %d, want %d: %s", tt.token, tt.method, tt.path, a.StatusCode, tt.want, text)
		}
	}
	f := newFixture(t, 0)
	if a, _ := f.do("POST", "/login", url.Values{"secret": {viewerToken}}); a.StatusCode != 303 {
		t.Errorf("a token in the form to log in: %d", a.StatusCode)
	}
}

func TestLoginLeadsNowhereElse(t *testing.T) {
	for to, want := range map[string]string{
		"/runs/r?x=1": "/runs/r?x=1", "": "/", "https://evil.example/": "/", "//evil.example": "/", `/\evil.example`: "/", "javascript:alert(1)": "/", "runs": "/", "/a\r\nSet-Cookie: x": "/",
	} {
		if got := local(to); got != want {
			t.Errorf("%q leads to %q, want %q", to, got, want)
		}
	}
}

// The page of a run asks as much of the store for nine hundred cells as for three hundred, and stays small.
func TestThePageOfARunCostsWhatItShows(t *testing.T) {
	queries := map[int]int64{}
	for _, cells := range []int{300, 900} {
		f := newFixture(t, cells)
		f.login(Viewer)
		f.do("GET", "/runs/r", nil) // its report is made, and kept
		before := f.store.Work().Queries
		_, text := f.do("GET", "/runs/r", nil)
		queries[cells] = f.store.Work().Queries - before
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		_, err := z.Write([]byte(text))
		f.check(errors.Join(err, z.Close()))
		if packed.Len() > 60_000 {
			t.Errorf("the page of %d cells has %d bytes, packed", cells, packed.Len())
		}
		if !strings.Contains(text, fmt.Sprintf("%d of %d cells are done", cells, cells)) {
			t.Errorf("it does not say that all %d cells are done: %s", cells, text)
		}
	}
	if queries[900] != queries[300] {
		t.Errorf("%d queries for 900 cells, and %d for 300", queries[900], queries[300])
	}
}

// A part of the page of a run is the same alone, and its table costs the rows that it has, whatever else there is.
func TestAPartOfARunCostsWhatItShows(t *testing.T) {
	rows := map[int]int64{}
	for _, cells := range []int{300, 900} {
		f := newFixture(t, cells)
		f.login(Viewer)
		_, whole := f.do("GET", "/runs/r", nil)
		for _, part := range []string{"board", "numbers", "matrix", "trials"} {
			a, text := f.do("GET", "/runs/r?part="+part, nil)
			if ages := regexp.MustCompile(`· [0-9.hm]+s`); a.StatusCode != 200 || !strings.Contains(ages.ReplaceAllString(whole, ""), strings.TrimSpace(ages.ReplaceAllString(text, ""))) {
				t.Errorf("the part %s is another one alone: %d %s", part, a.StatusCode, text)
			}
		}
		before := f.store.Work().Rows
		f.do("GET", "/runs/r?part=trials", nil)
		rows[cells] = f.store.Work().Rows - before
	}
	if rows[300] != rows[900] {
		t.Errorf("rows read for the table by cells: %v", rows)
	}
}

// stalled is a reader that takes nothing of an answer until it is let.
type stalled struct {
	*httptest.ResponseRecorder
	writes, let chan struct{}
}

// Write implements http.ResponseWriter.
func (s *stalled) Write(p []byte) (int, error) {
	close(s.writes)
	<-s.let
	return s.ResponseRecorder.Write(p)
}

// Pages of runs are made a few at a time, so that many who look leave room for all else. Whoever takes no answer holds up nobody.
func TestPagesOfRunsTakeTurns(t *testing.T) {
	f := newFixture(t, 2)
	f.login(Viewer)
	for range cap(f.pages.turns) {
		f.pages.turns <- struct{}{}
	}
	if a, _ := f.do("GET", "/specs", nil); a.StatusCode != 200 {
		t.Errorf("another page meanwhile: %d", a.StatusCode)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.pages.make(httptest.NewRequestWithContext(gone, "GET", "/runs/r", nil), f.pages.run, Viewer); !errors.Is(err, context.Canceled) {
		t.Errorf("whoever went away: %v", err)
	}
	for range cap(f.pages.turns) {
		<-f.pages.turns
	}
	slow := &stalled{httptest.NewRecorder(), make(chan struct{}), make(chan struct{})}
	q := httptest.NewRequestWithContext(t.Context(), "GET", f.server.URL+"/runs/r", nil)
	q.SetPathValue("run", "r")
	for _, c := range f.client.Jar.Cookies(&url.URL{Scheme: "http", Host: f.server.Listener.Addr().String()}) {
		q.AddCookie(c)
	}
	var over sync.WaitGroup
	over.Go(func() { f.pages.page(f.pages.run)(slow, q) })
	<-slow.writes
	if len(f.pages.turns) > 0 {
		t.Errorf("a reader that takes nothing holds %d turns", len(f.pages.turns))
	}
	close(slow.let)
	over.Wait()
	if slow.Code != 200 {
		t.Errorf("it gets %d in the end", slow.Code)
	}
}

// An answer that the browser has already is not sent again.
func TestAPartThatIsTheSameIsNotSentAgain(t *testing.T) {
	f := newFixture(t, 2)
	f.login(Viewer)
	a, _ := f.do("GET", "/runs/r?part=trials", nil)
	tag := a.Header.Get("ETag")
	if a.StatusCode != 200 || tag == "" {
		t.Fatalf("a part: %d, %q", a.StatusCode, tag)
	}
	if a, text := f.do("GET", "/runs/r?part=trials", nil, "If-None-Match", tag); a.StatusCode != 304 || text != "" {
		t.Errorf("again: %d %q", a.StatusCode, text)
	}
	if a, _ := f.do("GET", "/runs/r?part=none", nil); a.StatusCode != 404 {
		t.Errorf("a part that there is not: %d", a.StatusCode)
	}
}

func TestGoLeadsToWhatIsNamed(t *testing.T) {
	f := newFixture(t, 1)
	f.login(Viewer)
	var trial string
	f.check(f.store.View(context.WithoutCancel(t.Context()), func(tx *store.Tx) error {
		return tx.EachCellShort("run.r", 1, func(c store.CellShort) error { trial = c.Trial; return nil })
	}))
	for name, want := range map[string]string{"r": "/runs/r", "run.r": "/runs/r", "run.r.e1": "/runs/r/e1", trial: "/trials/" + trial, trial + " agent-2": "/trials/" + trial + "/rounds/agent-2", "nightly.hcl:12": "/specs"} {
		if a, _ := f.do("GET", "/go?"+url.Values{"to": {name}}.Encode(), nil); a.Header.Get("Location") != want {
			t.Errorf("%s leads to %s, want %s", name, a.Header.Get("Location"), want)
		}
	}
	if a, _ := f.do("GET", "/runs/r/e1/cell?x=3&row=0", nil); a.Header.Get("Location") != "/trials/"+trial {
		t.Errorf("the first cell leads to %s", a.Header.Get("Location"))
	}
}
