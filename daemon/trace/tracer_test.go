package trace

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/daemon/trace/tracetest"
	"github.com/assayd/assayd/reconcile/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 20 * time.Second

// fixture is a state directory whose records are traced.
type fixture struct {
	*testing.T
	dir       string
	collector *tracetest.Collector
	settings  config.Traces
	store     *store.Store
	log       bytes.Buffer
	mu        sync.Mutex
	told      map[string]int // how many spans by what became of them
	news      chan struct{}  // of that
	end       func()
}

func newFixture(t *testing.T) *fixture {
	c := tracetest.New(t)
	f := &fixture{T: t, dir: t.TempDir(), collector: c, told: map[string]int{}, news: make(chan struct{}, 1), settings: config.Traces{
		Endpoint: c.URL, Headers: map[string]config.Secret{"Authorization": config.SecretText("Bearer of-the-collector")}, Models: true, Sample: 1,
	}}
	t.Cleanup(f.kill)
	return f
}

func (f *fixture) start() {
	f.Helper()
	s, err := store.Open(f.Context(), f.dir, store.Options{})
	if err != nil {
		f.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(f.Context()))
	tracer, err := Open(ctx, Options{
		Settings: f.settings, Store: s, Owner: s.Owner(), StateDir: f.dir, Secret: func(string) (string, bool) { return "", false },
		Told: func(outcome string, n int) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.told[outcome] += n
			select {
			case f.news <- struct{}{}:
			default:
			}
		}, Version: "v0", Log: slog.New(slog.NewTextHandler(&f.log, nil)),
	})
	if err != nil {
		f.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- tracer.Run(ctx) }()
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

// kill ends the process at this point: nothing is stored for the next one.
func (f *fixture) kill() {
	if f.end != nil {
		f.end()
		f.end = nil
	}
}

// records stores records of the trial.
func (f *fixture) records(all ...string) {
	f.Helper()
	err := f.store.Do(f.Context(), func(tx *store.Tx) error {
		for _, text := range all {
			var fields map[string]any
			if err := json.Unmarshal([]byte("{"+text+"}"), &fields); err != nil {
				return err
			}
			typ := fields["type"].(string)
			delete(fields, "type")
			if _, err := tx.AppendLine(store.StreamRef{Spec: "run.r", Root: f.dir, Path: f.dir + "/r.jsonl"}, store.Envelope{Type: typ, Execution: 1}, fields); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) until(what string, met func() bool) {
	f.Helper()
	late := time.After(patience)
	for !met() {
		select {
		case <-f.collector.New():
		case <-f.news:
		case <-late:
			f.Fatalf("%s: in vain; there are %d spans", what, len(f.collector.Spans()))
		}
	}
}

// names are the names of all spans that came.
func (f *fixture) names() (names []string) {
	for _, s := range f.collector.Spans() {
		names = append(names, s.Name)
	}
	slices.Sort(names)
	return names
}

// A trial is one trace, whatever became of the processes and of the collector meanwhile. What was before there were
// traces is not sent.
func TestATrialIsOneTrace(t *testing.T) {
	f := newFixture(t)
	f.start()
	f.records(ofATrial[:2]...)
	f.until("the first spans", func() bool { return len(f.collector.Spans()) == 3 })
	f.collector.Refuse(true)
	calls := f.collector.Calls()
	f.records(ofATrial[2])
	f.until("spans that are refused", func() bool { return f.collector.Calls() >= calls+2 })
	f.kill()
	f.start()
	transcript := filepath.Join("trials", "r.e1.0", "transcript.jsonl")
	if err := os.MkdirAll(filepath.Dir(filepath.Join(f.dir, transcript)), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(f.dir, transcript), []byte(`{"n":1,"time":"2026-01-02T03:00:00Z","request":{"model":"m"}}
{"n":1,"time":"2026-01-02T03:00:09Z","response":{"status":200,"reply":{"text":"SECRET"}}}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	f.records(ofATrial[3], ofATrial[4]+`,"model":"m","transcript":{"file":"`+transcript+`"}`)
	f.collector.Refuse(false)
	f.until("the whole trace", func() bool { return slices.Contains(f.names(), "trial") })
	f.kill()
	want := []string{"chat m", "trial", "trial.agent", "trial.agent", "trial.images", "trial.judge", "trial.judge", "trial.setup"}
	if got := f.names(); !slices.Equal(got, want) {
		t.Errorf("spans %q, want %q", got, want)
	}
	all := f.collector.Spans()
	for _, s := range all {
		if s.Trace != all[0].Trace || strings.Contains(s.Raw.String(), "SECRET") {
			t.Errorf("%s: %s", s.Name, s.Raw)
		}
	}
	if got := f.collector.Header("Authorization"); got != "Bearer of-the-collector" {
		t.Errorf("the header is %q", got)
	}
	if strings.Contains(f.log.String(), "of-the-collector") || !strings.Contains(f.log.String(), "does not take traces") {
		t.Errorf("the log: %s", f.log.String())
	}
}

// What a collector rejects for good is dropped and counted, and what comes later does not wait for it.
func TestWhatIsRejectedIsNotSentAgain(t *testing.T) {
	for name, tt := range map[string]struct {
		spans         int64
		status        int
		sent, dropped int
	}{"some spans": {2, 0, 1, 2}, "more than there were": {9, 0, 0, 3}, "all of a call": {0, 400, 0, 3}} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.collector.Reject(tt.spans, tt.status)
			f.start()
			f.records(ofATrial[:2]...)
			f.until("the spans are told of", func() bool {
				f.mu.Lock()
				defer f.mu.Unlock()
				return f.told[Sent]+f.told[Dropped] == 3
			})
			f.kill()
			if f.told[Sent] != tt.sent || f.told[Dropped] != tt.dropped || !strings.Contains(f.log.String(), "the collector rejects spans") {
				t.Errorf("%v\n%s", f.told, f.log.String())
			}
		})
	}
}

// Who is not in the sample has no span at all.
func TestWhatIsNotOfTheSampleIsNotSent(t *testing.T) {
	f := newFixture(t)
	f.settings.Sample = 0.5
	f.start()
	var in, out string
	for i := 0; in == "" || out == ""; i++ {
		id := fmt.Sprintf("r.e1.%d", i)
		if sampled(traceID(f.store.Owner(), id, 2), 0.5) {
			in = id
		} else {
			out = id
		}
	}
	for _, id := range []string{out, in} {
		for _, text := range ofATrial {
			f.records(strings.ReplaceAll(text, "r.e1.0", id))
		}
	}
	f.until("a trial of the sample", func() bool { return len(f.collector.Spans()) == 7 })
	for _, s := range f.collector.Spans() {
		if s.Attributes["assayd.trial"] != in {
			t.Errorf("%s of %s", s.Name, s.Attributes["assayd.trial"])
		}
	}
}
