package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	stored "github.com/assayd/assayd/reconcile/ledger"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/gateway"
	"github.com/assayd/assayd/runtime/gateway/modeltest"
	"github.com/assayd/assayd/runtime/gateway/transcript"
	"github.com/assayd/assayd/runtime/gateway/wire"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("GATEWAY_TEST_DIR"); dir != "" {
		serveUntilKilled(dir, os.Getenv("GATEWAY_TEST_MODEL"))
	}
	goleak.VerifyTestMain(m)
}

// wish is one request of the mix. All about it follows from its number.
type wish int

func (w wish) String() string { return fmt.Sprintf("wish-%d", int(w)) }

// among is one of n possibilities, another one for each question.
func (w wish) among(n int, question string) int {
	h := fnv.New32a()
	_, _ = fmt.Fprint(h, question, int(w))
	return int(h.Sum32()>>7) % n
}

func (w wish) protocol() modeltest.Protocol { return protocols[w.among(3, "protocol")] }

func (w wish) stream() bool { return w.among(4, "stream") > 0 }

func (w wish) trial() string { return fmt.Sprintf("trial-%d", w.among(4, "trial")) }

// provider is the name of the provider that speaks the wish's protocol.
func (w wish) provider() string {
	if w.protocol() == modeltest.Messages {
		return "a"
	}
	return "o"
}

func (w wish) usage() modeltest.Usage {
	u := modeltest.Usage{Input: 1000 + w.among(5000, "input"), Output: 1 + w.among(900, "output")}
	if w.among(2, "caches") == 0 {
		u.Cached, u.CacheCreation = w.among(9000, "cached"), w.among(700, "creation")
	}
	return u
}

// told is the usage as it is booked.
func (w wish) told() gateway.Usage {
	u := w.usage()
	return gateway.Usage{InputTokens: int64(u.Prompt()), CachedTokens: int64(u.Cached), OutputTokens: int64(u.Output)}
}

func (w wish) body(t testing.TB) []byte {
	q := question(w.protocol(), w.stream(), w.String()+".")
	if w.protocol() == modeltest.Chat && w.among(2, "include") == 0 {
		q["stream_options"] = object{"include_usage": w.among(2, "really") == 0}
	}
	text, err := json.Marshal(q)
	if err != nil {
		t.Error(err)
	}
	return text
}

// whole reports whether the agent has all of an answer.
func (w wish) whole(r reply) bool {
	if r.status != http.StatusOK || r.err != nil {
		return false
	}
	if !w.stream() {
		return json.Valid([]byte(r.body))
	}
	end := map[modeltest.Protocol]string{modeltest.Chat: "[DONE]", modeltest.Responses: "response.completed", modeltest.Messages: "message_stop"}
	return strings.Contains(r.body, end[w.protocol()])
}

// script answers wishes, with trouble in between: at first some are refused in all the ways
// that there are. Those that linger wait in the middle until release is closed.
func script(release <-chan struct{}, lingers func(wish) bool) modeltest.Script {
	var mu sync.Mutex
	asked := map[wish]int{}
	return func(r modeltest.Request) modeltest.Answer {
		var w wish
		if _, err := fmt.Sscanf(r.Turns[len(r.Turns)-1].Text, "wish-%d.", &w); err != nil {
			return modeltest.Answer{Status: 400, Message: err.Error()}
		}
		mu.Lock()
		asked[w]++
		time := asked[w]
		mu.Unlock()
		a := modeltest.Answer{Text: strings.Repeat("said ", 5+w.among(40, "length")), Deltas: 1 + w.among(12, "deltas"), Usage: w.usage()}
		if w.among(3, "calls") == 0 {
			a.Calls = []modeltest.Call{{Name: "shell", Arguments: object{"command": "ls"}}, {Name: "shell"}}
		}
		if lingers(w) {
			a.Hold = modeltest.HoldAt(3, release)
		}
		if time == 1 {
			switch w.among(24, "trouble") {
			case 0:
				a.Status, a.RetryAfter = 429, "0"
			case 1:
				a.Status = 500 + w.among(5, "status")
			case 2:
				a.Refuse = true
			case 3:
				a.Break = &modeltest.Break{Events: 1 + w.among(6, "break")}
			case 4:
				a.Status = 429
			}
		}
		return a
	}
}

// errorsFirst is a provider that begins some streams with an error, and else is another one.
func errorsFirst(t *testing.T, model string) string {
	to, err := url.Parse(model)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }, FlushInterval: -1, Transport: transport,
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		ErrorLog:     slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug),
	}
	var mu sync.Mutex
	begun := 0
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		begun++
		first := begun%25 == 0
		mu.Unlock()
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if first && bytes.Contains(body, []byte(`"stream":true`)) {
			w.Header().Set("Content-Type", "text/event-stream")
			event := `{"error":{"code":502,"message":"bad gateway"}}`
			if strings.HasSuffix(r.URL.Path, "messages") {
				event = `{"type":"error","error":{"type":"overloaded_error"}}`
			}
			_, _ = io.WriteString(w, events(event))
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	server.Config.ErrorLog = proxy.ErrorLog
	server.Start()
	t.Cleanup(server.Close)
	return server.URL
}

// books is a daemon's part in this: a store, a gateway on it, and a session for each trial and
// provider.
type books struct {
	store    *store.Store
	gateway  *gateway.Gateway
	sessions map[string]*gateway.Session
}

func openBooks(ctx context.Context, dir, url string, trials []string) (b *books, err error) {
	b = &books{sessions: map[string]*gateway.Session{}}
	if b.store, err = store.Open(ctx, filepath.Join(dir, "state"), store.Options{}); err != nil {
		return nil, err
	}
	key := func() (string, error) { return realKey, nil }
	b.gateway, err = gateway.New(gateway.Options{
		Providers: []gateway.Provider{
			{Name: "o", Protocol: wire.OpenAI, BaseURL: url + "/v1", Key: key, Concurrency: 20},
			{Name: "a", Protocol: wire.Anthropic, BaseURL: url, Key: key},
		},
		Ledger: stored.NewUsageLedger(b.store), Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, err
	}
	for _, trial := range trials {
		for _, p := range []string{"o", "a"} {
			at := filepath.Join(dir, trial, p)
			if err := os.MkdirAll(at, 0o755); err != nil {
				return nil, err
			}
			b.sessions[trial+"/"+p], err = b.gateway.Open(ctx, gateway.Grant{Account: account(trial, p), Provider: p, Model: "m", Dir: at})
			if err != nil {
				return nil, err
			}
		}
	}
	return b, nil
}

// account is that of a trial; each provider has a try of its own.
func account(trial, provider string) gateway.Account {
	return gateway.Account{Spec: "run.r", Execution: 1, Trial: trial, Try: strings.Index("-oa", provider)}
}

func (b *books) close() error {
	var errs []error
	for _, s := range b.sessions {
		errs = append(errs, s.Close())
	}
	b.gateway.Close()
	return errors.Join(append(errs, b.store.Close())...)
}

// send asks for a wish once, as a trial.
func (w wish) send(t testing.TB, client *http.Client, base, trial string) reply {
	ctx, cancel := context.WithTimeout(t.Context(), 2*patient)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/"+trial+path(w.protocol()), bytes.NewReader(w.body(t)))
	if err != nil {
		return reply{err: err}
	}
	q.Header.Set("Content-Type", "application/json")
	if w.protocol() == modeltest.Messages {
		q.Header.Set("Anthropic-Version", "2023-06-01")
	}
	res, err := client.Do(q)
	if err != nil {
		return reply{err: err}
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return reply{res.StatusCode, res.Header, string(text), err}
}

// route finds the session of a request to /TRIAL/….
func (b *books) route(w http.ResponseWriter, r *http.Request) {
	trial, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	p := "o"
	if strings.HasPrefix("/"+rest, gateway.AnthropicPrefix) {
		p = "a"
	}
	r.URL.Path = "/" + rest
	b.sessions[trial+"/"+p].ServeHTTP(w, r)
}

var trials = []string{"trial-0", "trial-1", "trial-2", "trial-3"}

// A thousand requests of all kinds, from several trials, with trouble of all kinds and a
// restart in the middle: what the books have is what the provider has told, to the token, and
// what was cut off is an estimate that is told apart.
func TestAThousandMixedRequestsAreCountedToTheToken(t *testing.T) {
	const wishes = 1000
	release := make(chan struct{})
	lingers := func(w wish) bool { return w >= wishes/2 && w < wishes/2+6 }
	model := modeltest.New(t, script(release, lingers))
	dir, url := t.TempDir(), errorsFirst(t, model.URL)

	var mu sync.RWMutex // held for writing while there is no daemon
	daemon, err := openBooks(t.Context(), dir, url, trials)
	if err != nil {
		t.Fatal(err)
	}
	door := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.RLock()
		now := daemon
		mu.RUnlock()
		now.route(w, r)
	}))
	door.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	door.Start()
	defer door.Close()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	defer client.CloseIdleConnections()

	queue := make(chan wish)
	var all, half sync.WaitGroup
	half.Add(wishes / 2)
	for range 24 {
		all.Go(func() {
			for w := range queue {
				for try := 1; ; try++ {
					r := w.send(t, client, door.URL, w.trial())
					if w.whole(r) {
						break
					}
					if try == 10 {
						t.Errorf("%s has no answer: %d, %v, %s", w, r.status, r.err, r.body)
						break
					}
				}
				if w < wishes/2 {
					half.Done()
				}
			}
		})
	}
	for w := range wish(wishes / 2) {
		queue <- w
	}
	for w := range wish(6) {
		queue <- w + wishes/2
	}
	half.Wait() // what the provider tells a daemon that goes away meanwhile nobody may have heard
	inTheMiddle := func() (n int) {
		for _, x := range model.Exchanges() {
			if !x.Ended && x.Status == 200 {
				n++
			}
		}
		return n
	}
	streams := 0
	for w := range wish(6) {
		if (w + wishes/2).stream() {
			streams++
		}
	}
	eventually(t, "those that linger are in the middle of their answer", func() bool { return inTheMiddle() == streams })
	mu.Lock()
	if err := daemon.close(); err != nil {
		t.Error(err)
	}
	eventually(t, "the provider has seen that the daemon is gone", func() bool { return inTheMiddle() == 0 })
	close(release)
	if daemon, err = openBooks(t.Context(), dir, url, trials); err != nil {
		t.Fatal(err)
	}
	mu.Unlock()
	for w := range wish(wishes/2 - 6) {
		queue <- w + wishes/2 + 6
	}
	close(queue)
	all.Wait()
	defer func() {
		if err := daemon.close(); err != nil {
			t.Error(err)
		}
	}()

	exact, estimates := audit(t, dir, daemon)
	told := map[wish]int{} // how often the provider told of it to the end: to an agent that missed the rest it does so again
	for _, x := range model.Exchanges() {
		if x.Final {
			var w wish
			if _, err := fmt.Sscanf(x.Request.Turns[len(x.Request.Turns)-1].Text, "wish-%d.", &w); err != nil {
				t.Fatal(err)
			}
			told[w]++
		}
	}
	var booked modeltest.Usage
	for w := range wish(wishes) {
		if exact[w] != told[w] || exact[w] == 0 {
			t.Errorf("%s is booked exactly %d times, and was told of %d times", w, exact[w], told[w])
		}
		for range exact[w] {
			booked = booked.Plus(w.usage())
		}
	}
	if sum := model.Usage(); booked.Prompt() != sum.Prompt() || booked.Cached != sum.Cached || booked.Output != sum.Output {
		t.Errorf("the books have exactly %+v, the provider has told %+v", booked, sum)
	}
	if estimates < 10 {
		t.Errorf("only %d were cut off", estimates)
	}
	t.Logf("%d requests, %d estimates", len(model.Exchanges()), estimates)
}

// audit compares transcripts, books and wishes, and returns how often each wish was booked
// exactly, and how many estimates there are.
func audit(t *testing.T, dir string, b *books) (exact map[wish]int, estimates int) {
	t.Helper()
	exact = map[wish]int{}
	var together gateway.Usage
	for name, s := range b.sessions {
		var sum gateway.Usage
		asked, named := map[int]wish{}, map[string]wish{} // by exchange, by conversation
		for text := range strings.Lines(read(t, filepath.Join(dir, name, gateway.TranscriptFile))) {
			var l transcript.Line
			if err := json.Unmarshal([]byte(text), &l); err != nil {
				t.Fatal(err)
			}
			if l.Request != nil {
				if at := strings.Index(text, "wish-"); at >= 0 { // else it was asked before
					var w wish
					if _, err := fmt.Sscanf(text[at:], "wish-%d.", &w); err != nil {
						t.Fatal(err)
					}
					named[l.Request.At] = w
				}
				asked[l.N] = named[l.Request.At]
				continue
			}
			tokens, w := l.Response.Tokens, asked[l.N]
			got := gateway.Usage{InputTokens: tokens.Input, CachedTokens: tokens.Cached, OutputTokens: tokens.Output}
			sum.Add(got)
			sum.EstimatedTokens += tokens.Estimated
			switch {
			case tokens.Estimated > 0:
				estimates++
				if l.Response.Broken == "" {
					t.Errorf("%s: an estimate of what was whole: %s", w, text)
				}
			case got == gateway.Usage{}:
				if l.Response.Status == 200 {
					t.Errorf("%s was free: %s", w, text)
				}
			case got != w.told():
				t.Errorf("%s took %+v, not %+v", w, w.told(), got)
			default:
				exact[w]++
			}
		}
		spent := s.Usage()
		spent.Requests = 0
		if spent != sum {
			t.Errorf("%s: the books have %+v, the transcript %+v", name, spent, sum)
		}
		trial, p, _ := strings.Cut(name, "/")
		kept, err := b.gateway.Spent(t.Context(), account(trial, p))
		if kept.Requests = 0; err != nil || kept != sum {
			t.Errorf("%s: the store has %+v, the transcript %+v, %v", name, kept, sum, err)
		}
		together.Add(sum)
	}
	run, err := b.gateway.Spent(t.Context(), gateway.Account{Spec: "run.r", Execution: 1})
	if run.Requests = 0; err != nil || run != together {
		t.Errorf("the run: the store has %+v, the transcripts %+v, %v", run, together, err)
	}
	return exact, estimates
}
