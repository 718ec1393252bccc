package notifier

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/gateway"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 20 * time.Second

func budget(usd float64, tokens int64) gateway.Budget {
	return gateway.Budget{USD: usd, Tokens: tokens}
}

// receiver is a program that takes notices, at one address, and that can be killed and started again.
type receiver struct {
	*testing.T
	at     string
	server *http.Server
	answer http.HandlerFunc // nil = 204

	mu  sync.Mutex
	got []*taken
	new chan struct{}
}

type taken struct {
	header http.Header
	body   []byte
	event
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{T: t, new: make(chan struct{}, 1)}
	t.Cleanup(r.kill)
	return r
}

func (r *receiver) start() {
	r.Helper()
	l, err := net.Listen("tcp", max(r.at, "127.0.0.1:0"))
	if err != nil {
		r.Fatal(err)
	}
	r.at = l.Addr().String()
	r.server = &http.Server{Handler: http.HandlerFunc(r.take), ReadHeaderTimeout: patience}
	go func() { _ = r.server.Serve(l) }() // it ends with kill
}

func (r *receiver) kill() {
	if r.server != nil {
		_ = r.server.Close()
	}
}

func (r *receiver) take(w http.ResponseWriter, q *http.Request) {
	body, _ := io.ReadAll(q.Body)
	x := &taken{header: q.Header, body: body}
	_ = json.Unmarshal(body, &x.event) // Slack's format has none
	r.mu.Lock()
	r.got = append(r.got, x)
	answer := r.answer
	r.mu.Unlock()
	select {
	case r.new <- struct{}{}:
	default:
	}
	if answer != nil {
		answer(w, q)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// ids are those of all notices that came, also within digests.
func (r *receiver) ids() (ids []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range r.got {
		var digest struct{ Data struct{ Notices []event } }
		if _ = json.Unmarshal(x.body, &digest); len(digest.Data.Notices) == 0 {
			ids = append(ids, x.header.Get("Webhook-Id"))
		}
		for _, inner := range digest.Data.Notices {
			ids = append(ids, inner.ID)
		}
	}
	return ids
}

// until waits until what came is enough.
func (r *receiver) until(what string, enough func() bool) {
	r.Helper()
	late := time.After(patience)
	for !enough() {
		select {
		case <-r.new:
		case <-late:
			r.Fatalf("%s: in vain; came %v", what, r.ids())
		}
	}
}

// fixture is a state directory with a notifier.
type fixture struct {
	*testing.T
	dir      string
	settings config.Notifier
	watched  Watched
	store    *store.Store
	log      bytes.Buffer
	outcomes map[string]int
	called   chan struct{} // receives after calls
	mu       sync.Mutex
	end      func()
}

func newFixture(t *testing.T, url string) *fixture {
	f := &fixture{T: t, dir: t.TempDir(), outcomes: map[string]int{}, called: make(chan struct{}, 1), settings: config.Notifier{
		URL: config.SecretText(url), Format: config.FormatJSON, On: config.NoticeKinds(), Specs: []string{"*"},
	}}
	f.watched = Watched{
		Begun: func(context.Context) error { return nil }, Budget: func(string) (gateway.Budget, bool) { return gateway.Budget{}, true },
		Engine: func() (bool, bool) { return true, true }, Free: func() int64 { return -1 },
	}
	t.Cleanup(func() { f.kill() })
	return f
}

// start opens the state directory, and has the notifier work.
func (f *fixture) start() {
	f.Helper()
	s, err := store.Open(f.Context(), f.dir, store.Options{})
	if err != nil {
		f.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(f.Context()))
	all, err := Open(ctx, Options{
		Settings: map[string]config.Notifier{"team": f.settings}, Store: s, Secret: func(string) (string, bool) { return "", false }, Watched: f.watched,
		Told: func(_, outcome string, n int) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.outcomes[outcome] += n
			select {
			case f.called <- struct{}{}:
			default:
			}
		},
		Version: "v0", Log: slog.New(slog.NewTextHandler(&lockedWriter{f: f}, nil)), Pause: 10 * time.Millisecond,
	})
	if err != nil {
		f.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- all.Run(ctx) }()
	f.store, f.end = s, func() {
		cancel()
		if err := <-done; err != nil {
			f.Error(err)
		}
		if err := s.Close(); err != nil {
			f.Error(err)
		}
	}
}

type lockedWriter struct{ f *fixture }

func (w *lockedWriter) Write(p []byte) (int, error) {
	w.f.mu.Lock()
	defer w.f.mu.Unlock()
	return w.f.log.Write(p)
}

// kill ends the process at this point: nothing is stored for the next one.
func (f *fixture) kill() {
	if f.end != nil {
		f.end()
		f.end = nil
	}
}

func (f *fixture) record(typ string, fields any) {
	f.Helper()
	f.do(func(tx *store.Tx) error {
		_, err := tx.AppendLine(store.StreamRef{Spec: "run.r", Root: f.dir, Path: f.dir + "/r.jsonl"}, store.Envelope{Type: typ, Execution: 1}, fields)
		return err
	})
}

func (f *fixture) do(what func(*store.Tx) error) {
	f.Helper()
	if err := f.store.Do(f.Context(), what); err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) outcome(name string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.outcomes[name]
}

// failedTimes waits until so many calls have failed: it is tried again and again.
func (f *fixture) failedTimes(n int) {
	f.Helper()
	late := time.After(patience)
	for f.outcome(Failed) < n {
		select {
		case <-f.called:
		case <-late:
			f.Fatalf("%d calls have failed, not %d", f.outcome(Failed), n)
		}
	}
}

// A receiver that is killed and started again, and a daemon that is, miss no notice. What was before the notifier
// was declared is not told.
func TestNoNoticeIsMissed(t *testing.T) {
	r := newReceiver(t)
	r.start()
	f := newFixture(t, "http://"+r.at+"/hook")
	s, err := store.Open(t.Context(), f.dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f.store = s
	f.record("run.finished", map[string]any{"total": 1}) // before there was a notifier
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	f.start()
	var want []string
	finish := func(n int) {
		for range n {
			f.record("run.finished", map[string]any{"total": 1})
			want = append(want, fmt.Sprintf("run.r:%d", len(want)+2))
		}
	}
	all := func() bool {
		ids := r.ids()
		for _, id := range want {
			if !slices.Contains(ids, id) {
				return false
			}
		}
		return true
	}
	finish(2)
	r.until("two notices", all)
	r.kill()
	finish(2)
	f.failedTimes(3)
	f.kill() // with notices that nobody has
	f.start()
	finish(1)
	f.kill()
	r.start()
	f.start()
	finish(1)
	r.until("what came while the receiver and the daemon were away", all)
	if ids := r.ids(); slices.Contains(ids, "run.r:1") {
		t.Errorf("what was before the notifier is told: %v", ids)
	}
}

// What is delivered is not sent again by the next process.
func TestWhatWasTakenIsNotSentAgain(t *testing.T) {
	r := newReceiver(t)
	r.start()
	f := newFixture(t, "http://"+r.at)
	f.start()
	f.record("run.finished", nil)
	f.record("run.finished", nil)
	r.until("a second notice", func() bool { return slices.Contains(r.ids(), "run.r:2") }) // it is sent after it was stored that the first was taken
	f.kill()
	f.start()
	f.record("run.finished", nil)
	r.until("the next notice", func() bool { return slices.Contains(r.ids(), "run.r:3") })
	if ids := r.ids(); ids[0] != "run.r:1" || slices.Contains(ids[1:], "run.r:1") {
		t.Errorf("came %v", ids)
	}
}

// More than five in a minute come together; each is there.
func TestManyNoticesAreADigest(t *testing.T) {
	r := newReceiver(t)
	r.start()
	f := newFixture(t, "http://"+r.at)
	f.start()
	f.do(func(tx *store.Tx) error {
		for range 30 {
			if _, err := tx.AppendLine(store.StreamRef{Spec: "run.r", Root: f.dir, Path: f.dir + "/r.jsonl"}, store.Envelope{Type: "trial.flagged"}, map[string]any{"trial": "t", "flags": []string{"tampered"}}); err != nil {
				return err
			}
		}
		return nil
	})
	r.until("thirty notices", func() bool { return len(r.ids()) == 30 })
	if len(r.got) != 1 || r.got[0].Type != "digest" || r.got[0].header.Get("Webhook-Id") != "digest:run.r:30" {
		t.Errorf("came %d messages, the first %s", len(r.got), r.got[0].body)
	}
}

// A redirect is not followed, a long answer is not read, and no log has the address or the key.
func TestAReceiverIsNotTrusted(t *testing.T) {
	elsewhere := newReceiver(t)
	elsewhere.start()
	r := newReceiver(t)
	r.start()
	written := make(chan int, 100)
	r.answer = func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("Location", "http://"+elsewhere.at)
		w.WriteHeader(http.StatusTemporaryRedirect)
		n := 0
		for range 64 << 10 {
			more, err := w.Write(make([]byte, 1<<10))
			if n += more; err != nil {
				break
			}
		}
		written <- n
	}
	const path, key = "/services/T0000/B0000/verysecretpath", "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
	f := newFixture(t, "http://"+r.at+path)
	f.settings.Key = config.SecretText(key)
	f.start()
	f.record("run.finished", nil)
	if n := <-written; n >= 64<<20 {
		t.Errorf("%d bytes of an answer were read", n)
	}
	r.until("another attempt", func() bool { return len(r.ids()) >= 2 })
	r.kill() // an error of the connection, whose text has the address
	f.failedTimes(f.outcome(Failed) + 1)
	f.kill()
	if len(elsewhere.ids()) > 0 {
		t.Error("a redirect was followed")
	}
	if log := f.log.String(); !strings.Contains(log, "307") || strings.Contains(log, "verysecretpath") || strings.Contains(log, key[6:]) {
		t.Errorf("the log: %s", log)
	}
	if !strings.HasPrefix(r.got[0].header.Get("Webhook-Signature"), "v1,") {
		t.Errorf("it is not signed: %v", r.got[0].header)
	}
}

// Each level of a budget is told once, also by a process that begins later.
func TestBudgetsAreTold(t *testing.T) {
	r := newReceiver(t)
	r.start()
	f := newFixture(t, "http://"+r.at)
	f.settings.On = []string{config.OnBudget}
	f.watched.Budget = func(run string) (gateway.Budget, bool) { return budget(10, 0), run == "run.r" }
	f.start()
	spend := func(usd float64) {
		f.Helper()
		f.do(func(tx *store.Tx) error {
			_, err := tx.InsertExchange(store.ExchangeRow{Spec: "run.r", Execution: 1, Trial: "t", Try: 1, USD: usd})
			return err
		})
	}
	f.do(func(tx *store.Tx) error {
		return tx.PutExecution(store.ExecutionRow{Spec: "run.r", N: 1, StartedAt: time.Now()})
	})
	spend(5)
	told := func() (texts []string) {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, x := range r.got {
			if text := fmt.Sprint(x.header.Get("Webhook-Id"), " ", x.Data["text"]); !slices.Contains(texts, text) { // one may come twice
				texts = append(texts, text)
			}
		}
		return texts
	}
	r.until("half", func() bool { return len(told()) == 1 })
	spend(1)
	f.kill()
	f.start()
	spend(4)
	r.until("all", func() bool { return len(told()) == 2 })
	for i, want := range []string{"run.r e1 has spent 50 % of its budget: $5.00 of $10.00", "run.r e1 has spent 100 % of its budget: $10.00 of $10.00"} {
		if !strings.HasSuffix(told()[i], " "+want) {
			t.Errorf("told %q", told())
		}
	}
}

// A notifier hears what it asks for, of the specs that it names.
func TestANotifierHearsWhatItWants(t *testing.T) {
	n := config.Notifier{On: []string{config.OnHeld, config.OnMachine}, Specs: []string{"run.night*"}}
	for _, tt := range []struct {
		kind, spec string
		want       bool
	}{
		{config.OnHeld, "run.nightly", true}, {config.OnHeld, "run.other", false}, {config.OnFlagged, "run.nightly", false}, {config.OnMachine, "", true},
	} {
		if got := n.Wants(tt.kind, tt.spec); got != tt.want {
			t.Errorf("%s of %q: %v", tt.kind, tt.spec, got)
		}
	}
}

// Many notices before a record are read before it: reading goes on behind the last one that was read.
func TestNoNoticeIsPassedOver(t *testing.T) {
	const many = 2*atOnce + 50
	s, err := store.Open(t.Context(), t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	all, err := Open(t.Context(), Options{
		Settings: map[string]config.Notifier{"team": {On: config.NoticeKinds(), Specs: []string{"*"}}}, Store: s, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	n := all.all[0]
	defer n.watcher.Close()
	if err := s.Do(t.Context(), func(tx *store.Tx) error {
		for i := range many {
			if err := addNotice(tx, config.OnBudget, fmt.Sprintf("run.r%d", i), "half is spent", nil); err != nil {
				return err
			}
		}
		_, err := tx.AppendLine(store.StreamRef{Spec: "run.r", Root: "/w", Path: "/w/r.jsonl"}, store.Envelope{Type: "run.finished", Execution: 1}, map[string]int{"total": 1})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	read := map[string]bool{}
	for more := true; more; {
		if more, err = n.fill(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, x := range n.pending {
			read[x.ID] = true
		}
		n.pending = nil
	}
	if len(read) != many+1 {
		t.Errorf("%d notices are read, of %d", len(read), many+1)
	}
}
