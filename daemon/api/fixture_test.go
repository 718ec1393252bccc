package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/daemon/api"
	"github.com/assayd/assayd/daemon/api/apitest"
	"github.com/assayd/assayd/reconcile"
	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
	"github.com/assayd/assayd/runtime/image"
	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/mining"
	"github.com/assayd/assayd/runtime/trial"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// specs declare two runs that wait for a date, a benchmark, and a mining spec that cannot begin.
const specs = `
benchmark "edge" {
  task "one" {
    image       = "work:1"
    instruction = "do it"
    judge {
      image   = "judge:1"
      command = "true"
      parser  = "pytest"
    }
  }
  task "two" {
    image       = "work:1"
    instruction = "do it"
    judge {
      image   = "judge:1"
      command = "true"
      parser  = "pytest"
    }
  }
}
run "a" {
  tasks    = [benchmark.edge]
  schedule = "0 0 1 1 *"
  agent "nop" {}
}
run "b" {
  tasks    = [benchmark.edge.one]
  schedule = "0 0 1 1 *"
  agent "nop" {}
}
mining "x" {
  source "repos" { names = ["acme/shop"] }
  provider = "p"
  model    = "m"
}
`

// fixture is a daemon's reconciler with a folder of specs, what was done before, and a client whose
// answers are all checked.
type fixture struct {
	*testing.T
	store  *store.Store
	specs  string
	client *api.Client
	server *httptest.Server // of the same handler
	http   *http.Client
	rec    *reconcile.Reconciler
}

func newFixture(t *testing.T, seed ...func(*store.Tx) error) *fixture {
	t.Helper()
	return makeFixture(t, false, seed)
}

// newIdleFixture is one of a state directory on which no daemon runs.
func newIdleFixture(t *testing.T, seed ...func(*store.Tx) error) *fixture {
	t.Helper()
	return makeFixture(t, true, seed)
}

func makeFixture(t *testing.T, idle bool, seed []func(*store.Tx) error) *fixture {
	t.Helper()
	f := &fixture{T: t, specs: t.TempDir()}
	f.write("all.hcl", specs)
	var err error
	if f.store, err = store.Open(t.Context(), t.TempDir(), store.Options{}); err != nil {
		t.Fatal(err)
	}
	fake := containertest.NewFake()
	fake.AddImage("work:1", container.ImageConfig{}, nil)
	fake.AddImage("judge:1", container.ImageConfig{}, nil)
	stop := f.start(fake, idle)
	if !idle {
		f.await(1)
	}
	for _, s := range seed {
		if err := f.store.Do(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	handler := api.Handler(f.rec, "v0", noLogins{})
	check := func(next http.RoundTripper) http.RoundTripper { return apitest.Transport(t, next) }
	f.client = api.InProcess(handler).Via(check)
	f.server = httptest.NewServer(handler)
	f.http = &http.Client{Transport: check(f.server.Client().Transport)}
	t.Cleanup(func() {
		f.client.Close()
		f.server.Close()
		stop()
		if err := errors.Join(fake.Close(), f.store.Close()); err != nil {
			t.Error(err)
		}
	})
	return f
}

// start has a reconciler look at the specs, or only answer questions.
func (f *fixture) start(engine container.Engine, idle bool) (stop func()) {
	log := slog.New(slog.DiscardHandler)
	settings := config.DefaultSettings(nil)
	settings.Providers = map[string]config.Provider{"p": {Protocol: "openai", BaseURL: "http://model.test/v1", APIKey: config.SecretText("key")}}
	ready := make(chan struct{})
	o := reconcile.Options{
		Store: f.store, Ledger: history.NewLedger(f.store), Roots: []string{f.specs}, Log: log, Ready: func() { close(ready) }, Idle: idle,
		Config: config.Options{Settings: settings},
		Mining: func(config.Mining) (mining.Options, error) {
			return mining.Options{}, errors.New("there is no GitHub here")
		},
		Host: trial.Host{OpenBlob: f.store.Blobs().Open, StateDir: f.store.Dir(), Owner: f.store.Owner(), Log: log},
	}
	if idle {
		close(ready)
	} else {
		o.Host.Engine, o.Host.Images = engine, image.New(image.Options{Engine: engine, Owner: f.store.Owner(), Log: log})
	}
	f.rec = reconcile.New(o)
	ctx, cancel := context.WithCancel(f.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := f.rec.Run(ctx, nil); err != nil {
			f.Error(err)
		}
	})
	select {
	case <-ready:
	case <-time.After(time.Minute):
		f.Fatal("it does not become ready")
	}
	return func() { cancel(); running.Wait() }
}

// await waits until so many spec files are known, for new files may still be written to, and until the
// mining spec says why it does not begin.
func (f *fixture) await(files int) {
	f.Helper()
	for deadline := time.Now().Add(time.Minute); ; <-time.After(2 * time.Millisecond) {
		err := f.rec.Look(f.Context(), false)
		m, err2 := f.rec.MiningOf(f.Context(), "mining.x")
		seen, err3 := f.rec.SpecsAfter(f.Context(), "", files+1)
		if err = errors.Join(err, err2, err3); err == nil && m.Note != "" && len(seen) == files {
			return
		}
		if time.Now().After(deadline) {
			f.Fatalf("the specs are not in force: %v, %+v", err, m)
		}
	}
}

func (f *fixture) write(name, text string) {
	f.Helper()
	if err := os.WriteFile(filepath.Join(f.specs, name), []byte(text), 0o644); err != nil {
		f.Fatal(err)
	}
}

// ask makes a request and returns the kind of its error, "" where it has none.
func (f *fixture) ask(method, target, body string) (text string, kind api.Kind) {
	f.Helper()
	q, err := http.NewRequestWithContext(f.Context(), method, f.server.URL+target, strings.NewReader(body))
	if err != nil {
		f.Fatal(err)
	}
	a, err := f.http.Do(q)
	if err != nil {
		f.Fatal(err)
	}
	all, err := io.ReadAll(a.Body)
	if err = errors.Join(err, a.Body.Close()); err != nil {
		f.Fatal(err)
	}
	if a.StatusCode >= 400 {
		var p struct{ Kind api.Kind }
		if err := json.Unmarshal(all, &p); err != nil {
			f.Fatalf("%s %s: %d %s", method, target, a.StatusCode, all)
		}
		kind = p.Kind
	}
	return string(all), kind
}

// doneTrial is the trial of a run that no file declares any more.
const doneTrial = "old.e1.00000001"

// seeded stores that run.old was executed, in its first execution with a trial of some rounds with so
// many tests, the last of which has no verdict.
func seeded(executions, rounds, tests int) func(*store.Tx) error {
	return func(tx *store.Tx) error {
		at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		for n := 1; n <= executions; n++ {
			if err := tx.PutExecution(store.ExecutionRow{Spec: "run.old", N: n, Trigger: "accepted", StartedAt: at, SettledAt: at, FinishedAt: at}); err != nil {
				return err
			}
		}
		s := trial.State{ID: doneTrial, Spec: "run.old", Execution: 1, Key: "00000001", Try: 1, Phase: trial.Done, StartedAt: at, EndedAt: at.Add(time.Hour)}
		s.Cell.Task.Name, s.Cell.Attempt, s.Cell.Mode = "one", 1, "iterative"
		s.Result = &trial.Finished{Status: trial.Unresolved}
		data, err := json.Marshal(s)
		if err != nil {
			return err
		}
		if err := tx.PutTrial(store.TrialRow{ID: s.ID, Spec: s.Spec, Execution: 1, Cell: s.Key, Try: 1, Phase: string(s.Phase), Status: string(trial.Unresolved), Data: data, FinishedAt: at}); err != nil {
			return err
		}
		if err := tx.PutCell(store.CellRow{Trial: s.ID, Spec: s.Spec, Execution: 1, Key: s.Key, Task: "one", Attempt: 1, Try: 1, Phase: string(s.Phase), Status: "unresolved", State: "unresolved", Stands: true}); err != nil {
			return err
		}
		var all []parser.Test
		for i := range tests {
			status := parser.Passed
			if i%3 == 0 {
				status = parser.Failed
			}
			all = append(all, parser.Test{Name: fmt.Sprintf("test_%s[%d]", []string{"Rotate", "delete"}[i%2], i), Status: status, Message: "why"})
		}
		detail, err := json.Marshal(all)
		if err != nil {
			return err
		}
		for n := 1; n <= rounds; n++ {
			sub := round.Submission{ID: fmt.Sprintf("%016x", n), Trial: s.ID, Try: 1, Round: fmt.Sprintf("agent-%d", n), Number: n, Kind: round.KindAgent, State: round.StateQueued, AcceptedAt: at.Add(time.Duration(n) * time.Second)}
			row := store.SubmissionRow{ID: sub.ID, Trial: sub.Trial, Kind: string(sub.Kind), Number: n, State: string(sub.State)}
			if n < rounds {
				sub.State, row.State, row.Detail = round.StateJudged, string(round.StateJudged), detail
				sub.Report = &round.Report{Status: round.StatusOK, TotalTests: tests, Valid: true}
			}
			if row.Data, err = json.Marshal(sub); err != nil {
				return err
			}
			if _, err := tx.InsertSubmission(row); err != nil {
				return err
			}
		}
		return nil
	}
}

// noLogins lets nobody in: codes are made and never good.
type noLogins struct{}

func (noLogins) Code() (string, time.Time)           { return "code", time.Now().Add(time.Minute) }
func (noLogins) EndAll(context.Context) (int, error) { return 2, nil }
func (noLogins) Doors() ([]string, string)           { return nil, "web.sock" }
