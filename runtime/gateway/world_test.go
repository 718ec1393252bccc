package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assayd/assayd/runtime/gateway"
	"github.com/assayd/assayd/runtime/gateway/modeltest"
	"github.com/assayd/assayd/runtime/gateway/wire"
)

// realKey is the key that no agent may see, and placeholder the one that no provider may see.
const (
	realKey     = "sk-real-0123456789abcdef"
	placeholder = "sk-placeholder-of-an-agent"
)

// patient bounds what a test waits for; it is only reached when something is wrong.
const patient = time.Minute

type object = map[string]any

var protocols = []modeltest.Protocol{modeltest.Chat, modeltest.Responses, modeltest.Messages}

// ledger keeps books in memory.
type ledger struct {
	mu      sync.Mutex
	charges []gateway.Charge
	ended   []bool
	full    error // what Begin fails with
}

func (l *ledger) Begin(_ context.Context, c gateway.Charge) (int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.full != nil {
		return 0, l.full
	}
	l.charges, l.ended = append(l.charges, c), append(l.ended, false)
	return int64(len(l.charges) - 1), nil
}

func (l *ledger) End(_ context.Context, id int64, c gateway.Charge) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended[id] {
		return errors.New("ended twice")
	}
	l.charges[id], l.ended[id] = c, true
	return nil
}

func (l *ledger) Spent(_ context.Context, a gateway.Account) (sum gateway.Usage, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.charges {
		if c.Spec == a.Spec && (a.Trial == "" && c.Execution == a.Execution || c.Trial == a.Trial && c.Try == a.Try) {
			sum.Add(c.Usage)
		}
	}
	return sum, nil
}

// all are the charges so far, each of which must have ended.
func (l *ledger) all(t *testing.T) []gateway.Charge {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, ended := range l.ended {
		if !ended {
			t.Errorf("charge %d has no end: %+v", id, l.charges[id])
		}
	}
	return l.charges
}

// fixture is a gateway with what it needs.
type fixture struct {
	*gateway.Gateway
	t      *testing.T
	ledger *ledger
	dir    string
	log    *logged

	lock  sync.Mutex
	ended []gateway.Ended
}

// logged is what was logged, at every level.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// provider is one of a scripted server, or of any other.
func provider(url string, protocol modeltest.Protocol) gateway.Provider {
	p := gateway.Provider{Name: "p", Protocol: wire.OpenAI, BaseURL: url + "/v1", Key: func() (string, error) { return realKey, nil }}
	if protocol == modeltest.Messages {
		p.Protocol, p.BaseURL = wire.Anthropic, url
	}
	return p
}

func newFixture(t *testing.T, hold time.Duration, providers ...gateway.Provider) *fixture {
	t.Helper()
	return newFixtureThatDrains(t, hold, time.Second, providers...)
}

// newFixtureThatDrains reads on for that long after an agent has hung up.
func newFixtureThatDrains(t *testing.T, hold, drain time.Duration, providers ...gateway.Provider) *fixture {
	t.Helper()
	w := &fixture{t: t, ledger: &ledger{}, dir: t.TempDir(), log: &logged{}}
	g, err := gateway.New(gateway.Options{
		Providers: providers, Ledger: w.ledger, Hold: hold, Drain: drain, Ended: w.over,
		Log: slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	w.Gateway = g
	return w
}

// over keeps what the gateway tells of a request.
func (w *fixture) over(e gateway.Ended) {
	w.lock.Lock()
	defer w.lock.Unlock()
	w.ended = append(w.ended, e)
}

// toldOf waits until the gateway has told of so many requests, and returns that.
func (w *fixture) toldOf(n int) (all []gateway.Ended) {
	w.t.Helper()
	eventually(w.t, fmt.Sprintf("%d requests are told of", n), func() bool {
		w.lock.Lock()
		defer w.lock.Unlock()
		all = slices.Clone(w.ended)
		return len(all) >= n
	})
	return all
}

// agent is the client of a session.
type agent struct {
	*gateway.Session
	t        *testing.T
	server   *httptest.Server
	client   *http.Client
	protocol modeltest.Protocol
	dir      string
}

// agent opens a session of a trial.
func (w *fixture) agent(protocol modeltest.Protocol, change func(*gateway.Grant)) *agent {
	w.t.Helper()
	grant := gateway.Grant{Account: gateway.Account{Spec: "run.r", Execution: 1, Trial: "r.e1.1", Try: 1}, Provider: "p", Model: "m", Dir: w.dir}
	if change != nil {
		change(&grant)
	}
	s, err := w.Open(w.t.Context(), grant)
	if err != nil {
		w.t.Fatal(err)
	}
	server := httptest.NewServer(s)
	a := &agent{Session: s, t: w.t, server: server, client: server.Client(), protocol: protocol, dir: grant.Dir}
	w.t.Cleanup(a.leave)
	return a
}

func (a *agent) leave() {
	if err := a.Close(); err != nil {
		a.t.Error(err)
	}
	a.server.Close()
}

// path is where the agent asks.
func path(protocol modeltest.Protocol) string {
	switch protocol {
	case modeltest.Messages:
		return gateway.AnthropicPrefix + "/v1/messages"
	case modeltest.Responses:
		return gateway.OpenAIPrefix + "/v1/responses"
	default:
		return gateway.OpenAIPrefix + "/v1/chat/completions"
	}
}

// question is a request of one message.
func question(protocol modeltest.Protocol, stream bool, text string) object {
	q := object{"model": "m", "stream": stream}
	if protocol == modeltest.Responses {
		q["input"] = text
	} else {
		q["messages"] = []object{{"role": "user", "content": text}}
	}
	return q
}

func encode(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// post sends a body, and everything that an agent's library sends.
func (a *agent) post(ctx context.Context, body []byte) (*http.Response, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, a.server.URL+path(a.protocol), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	q.Header = http.Header{
		"Content-Type": {"application/json"}, "Authorization": {"Bearer " + placeholder}, "X-Api-Key": {placeholder},
		"User-Agent": {"agent/1"},
	}
	if a.protocol == modeltest.Messages {
		q.Header.Set("Anthropic-Version", "2023-06-01")
	}
	return a.client.Do(q)
}

// reply is what the agent got.
type reply struct {
	status int
	header http.Header
	body   string
	err    error // of an answer that broke off
}

// ask asks and reads to the end.
func (a *agent) ask(q object) reply {
	a.t.Helper()
	return a.send(encode(a.t, q))
}

func (a *agent) send(body []byte) reply {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), patient)
	defer cancel()
	res, err := a.post(ctx, body)
	if err != nil {
		return reply{err: err}
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return reply{res.StatusCode, res.Header, string(text), err}
}

// well asks, and expects an answer.
func (a *agent) well(q object) reply {
	a.t.Helper()
	r := a.ask(q)
	if r.err != nil || r.status != http.StatusOK {
		a.t.Fatalf("%s: status %d, %v: %s", a.protocol, r.status, r.err, r.body)
	}
	return r
}

// transcript is the file as it is.
func (a *agent) transcript() string { return read(a.t, filepath.Join(a.dir, gateway.TranscriptFile)) }

// says is a provider that answers every request with these bytes.
func says(t *testing.T, kind, body string) string {
	t.Helper()
	return serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		_, _ = io.WriteString(w, body)
	})
}

// serve is a provider made of a handler, which is told the whole request at once.
func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		h(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// eventually waits until something holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patient); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it never came to be that %s", what)
		}
	}
}

func events(data ...string) string {
	var b strings.Builder
	for _, d := range data {
		b.WriteString("data: " + d + "\n\n")
	}
	return b.String()
}
