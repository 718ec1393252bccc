package metrics_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/daemon/metrics"
	"github.com/assayd/assayd/reconcile/admission"
	"github.com/assayd/assayd/reconcile/history/historytest"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/reconcile/query/snapshot"
	"github.com/assayd/assayd/reconcile/query/summaries"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/reconcile/store/storetest"
	"github.com/assayd/assayd/runtime/gateway"
	"github.com/assayd/assayd/runtime/judge"
	"github.com/assayd/assayd/runtime/mining/github"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// loads are sources that hold nothing.
type loads struct{}

func (loads) Left() []github.Left { return nil }

type (
	judgeLoad   struct{}
	gatewayLoad struct{}
)

func (judgeLoad) Load() judge.Load                { return judge.Load{Queued: 3, Oldest: time.Minute} }
func (gatewayLoad) Load() map[string]gateway.Load { return map[string]gateway.Load{"p": {InLine: 2}} }

// fixture is a store with the numbers of a process on it.
type fixture struct {
	*testing.T
	store    *store.Store
	metrics  *metrics.Metrics
	settings *config.Settings // nil = the defaults
}

func newFixture(t *testing.T) *fixture {
	f := &fixture{T: t, store: storetest.Open(t)}
	f.process()
	return f
}

// process begins the numbers of another process on the same store.
func (f *fixture) process() (stop func()) {
	f.Helper()
	m := metrics.New("v7", &config.Settings{Providers: map[string]config.Provider{
		"p": {Prices: map[string]config.Price{"priced": {}, "any-*": {}}},
	}})
	f.check(m.Follow(f.Context(), f.store))
	ctx, cancel := context.WithCancel(f.Context())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx, slog.New(slog.DiscardHandler)) }()
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			cancel()
			f.check(<-done)
		}
	}
	f.Cleanup(stop)
	f.metrics = m
	return stop
}

func (f *fixture) check(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// gauges has gauges read of runs.
func (f *fixture) gauges(text string) *config.Set {
	f.Helper()
	set := config.Load([]config.Input{{Path: "/w/a.hcl", Display: "a.hcl", Root: "/w", Text: []byte(text)}}, nil, config.Options{})
	if set.Diagnostics.HasErrors() {
		f.Fatal(set.Diagnostics)
	}
	snapshots := snapshot.NewLatest(nil)
	sums := summaries.New(summaries.Options{Store: f.store, Snapshots: snapshots})
	reader := query.New(query.Options{Store: f.store, Snapshots: snapshots, Summaries: sums, OpenBlob: f.store.Blobs().Open, Config: config.Options{Settings: f.settings}})
	var none *snapshot.Snapshot
	edit := none.Edit()
	for _, run := range set.Blocks.Runs {
		d, err := plan.Compile(set, run)
		f.check(err)
		edit.PutRun(snapshot.RunView{Address: run.Address(), Desired: d}, true)
	}
	reader.Snapshots.Publish(edit.Done(set, nil, ""))
	f.metrics.Gauges(metrics.Sources{
		Admission: admission.New(admission.Limits{CPUs: 8, Memory: 1 << 30, Judge: .25}, func() int64 { return -1 }, func() {}),
		Judge:     judgeLoad{}, Gateway: gatewayLoad{}, GitHub: loads{}, Store: f.store, Reader: reader,
		LoopAge: func() time.Duration { return 0 }, Ready: func() bool { return true },
		Engine: func() (bool, bool) { return true, true }, Free: func() int64 { return 7 },
	})
	return set
}

// append stores a record.
func (f *fixture) append(spec, typ string, fields any) {
	f.Helper()
	ref := store.StreamRef{Spec: spec, Root: "/w", Path: "/w/" + spec + ".jsonl"}
	f.check(f.store.Do(f.Context(), func(tx *store.Tx) error {
		_, err := tx.AppendLine(ref, store.Envelope{Type: typ, Spec: spec}, fields)
		return err
	}))
}

// scrape returns the series with their values.
func (f *fixture) scrape() map[string]string {
	f.Helper()
	w := httptest.NewRecorder()
	f.metrics.Handler().ServeHTTP(w, httptest.NewRequestWithContext(f.Context(), http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		f.Fatalf("%d: %s", w.Code, w.Body)
	}
	all := map[string]string{}
	for lines := bufio.NewScanner(w.Body); lines.Scan(); {
		if at := strings.LastIndexByte(lines.Text(), ' '); at > 0 && !strings.HasPrefix(lines.Text(), "#") {
			all[lines.Text()[:at]] = lines.Text()[at+1:]
		}
	}
	return all
}

// await waits until a series has a value.
func (f *fixture) await(series, value string) map[string]string {
	f.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		all := f.scrape()
		if all[series] == value {
			return all
		}
		if time.Now().After(deadline) {
			f.Fatalf("%s is %q, want %q", series, all[series], value)
		}
	}
}

func (f *fixture) expect(all map[string]string, want map[string]string) {
	f.Helper()
	for series, value := range want {
		if all[series] != value {
			f.Errorf("%s is %q, want %q", series, all[series], value)
		}
	}
}

func TestRecordsAreCounted(t *testing.T) {
	f := newFixture(t)
	f.append("run.r", "run.started", map[string]any{"trials": 1})
	f.append("run.r", "submission", map[string]any{"kind": "agent", "status": "ok", "queued_ms": 2000, "judge_ms": 3000, "duration_ms": 3500})
	f.append("run.r", "submission", map[string]any{"kind": "agent", "status": "ok", "cached": true})
	f.append("run.r", "trial.resumed", nil)
	f.append("run.r", "trial.event", map[string]any{"event": "oom"})
	f.append("run.r", "trial.event", map[string]any{"event": "a word of an agent"})
	f.append("run.r", "trial.event", map[string]any{"event": "cheat_scan_incomplete"})
	f.append("run.r", "trial.event", map[string]any{"event": "cheat_unread"})
	f.append("run.r", "trial.finished", map[string]any{"status": "infra_error", "reason": "engine", "final": false, "agent_duration_s": 5})
	f.append("run.r", "trial.finished", map[string]any{"status": "resolved", "reason": "agent_exit", "final": true, "agent_duration_s": 50, "flags": []string{"oom", "cheat:upstream"}})
	f.append("run.r", "trial.flagged", map[string]any{"flags": []string{"cheat:answers"}})
	f.append("mining.m", "pr", map[string]any{"stage": "filter", "verdict": "rejected", "cost_usd": 0.5})
	f.append("mining.m", "pr", map[string]any{"stage": "export", "verdict": "accepted", "cost_usd": 1.5})
	f.append("mining.m", "task.mined", nil)
	f.append("run.r", "trial.unheard", nil)
	f.expect(f.await(`assayd_records_total{type="other"}`, "1"), map[string]string{
		`assayd_records_total{type="submission"}`:                             "2",
		`assayd_submissions_total{kind="agent",status="ok"}`:                  "2",
		`assayd_judge_queue_seconds_sum`:                                      "2",
		`assayd_judge_command_seconds_count`:                                  "1",
		`assayd_judge_overhead_seconds_sum`:                                   "0.5",
		`assayd_trial_resumes_total`:                                          "1",
		`assayd_trial_events_total{event="oom"}`:                              "1",
		`assayd_trial_events_total{event="other"}`:                            "1",
		`assayd_trial_events_total{event="cheat_scan_incomplete"}`:            "1",
		`assayd_tries_lost_total{status="infra_error"}`:                       "1",
		`assayd_trials_finished_total{reason="agent_exit",status="resolved"}`: "1",
		`assayd_trials_finished_total{reason="engine",status="infra_error"}`:  "0",
		`assayd_trial_agent_seconds_sum`:                                      "55",
		`assayd_trial_flags_total{flag="oom"}`:                                "1",
		`assayd_trial_flags_total{flag="cheat:upstream"}`:                     "1",
		`assayd_trial_flags_total{flag="cheat:answers"}`:                      "1",
		`assayd_mining_pulls_total{stage="filter",verdict="rejected"}`:        "1",
		`assayd_mining_pulls_total{stage="export",verdict="accepted"}`:        "1",
		`assayd_mining_tasks_total`:                                           "1",
		`assayd_mining_cost_usd_total`:                                        "2",
		`assayd_build_info{version="v7"}`:                                     "1",
	})
}

// A process counts what is stored in its time: not what was there before, and each record once, however many
// come at the same time.
func TestARestartCountsNoRecordAgain(t *testing.T) {
	f := newFixture(t)
	const started = `assayd_records_total{type="run.started"}`
	for range 5 {
		f.append("run.r", "run.started", nil)
	}
	f.await(started, "5")
	f.process()
	f.expect(f.scrape(), map[string]string{started: "0"})
	f.check(f.store.Do(t.Context(), func(tx *store.Tx) error {
		for i := range 2500 { // more than are read at once
			spec := fmt.Sprintf("run.r%d", i%7)
			ref := store.StreamRef{Spec: spec, Root: "/w", Path: "/w/" + spec + ".jsonl"}
			if _, err := tx.AppendLine(ref, store.Envelope{Type: "run.started", Spec: spec}, nil); err != nil {
				return err
			}
		}
		return nil
	}))
	f.append("run.r", "run.finished", nil)
	f.expect(f.await(`assayd_records_total{type="run.finished"}`, "1"), map[string]string{started: "2500"})
}

const benchmark = "benchmark \"edge\" {\n task \"one\" {\n image = \"work:1\"\n instruction = \"do\"\n judge { command = \"true\" }\n }\n}\n"

func run(name string, attempts int) string {
	return fmt.Sprintf("run %q {\n tasks = [benchmark.edge]\n auto_eval = \"0s\"\n attempts = %d\n agent \"nop\" {}\n}\n", name, attempts)
}

// plant stores the first execution of runs with so many trials that are over, and finishes it if done is set.
func (f *fixture) plant(set *config.Set, trials int, done bool) {
	f.Helper()
	for _, r := range set.Blocks.Runs {
		d, err := plan.Compile(set, r)
		f.check(err)
		f.check(f.store.Do(f.Context(), func(tx *store.Tx) error {
			if err := historytest.PutEnded(tx, d, trials); err != nil || !done {
				return err
			}
			e, err := tx.LatestExecution(r.Address())
			e.FinishedAt = time.Now()
			return errors.Join(err, tx.PutExecution(e))
		}))
	}
}

func TestOpenExecutionsHaveSeries(t *testing.T) {
	f := newFixture(t)
	set := f.gauges(benchmark + run("r", 10) + run("idle", 1))
	d, err := plan.Compile(set, *set.Run("r"))
	f.check(err)
	f.check(f.store.Do(t.Context(), func(tx *store.Tx) error { return historytest.PutEnded(tx, d, 4) }))
	f.expect(f.scrape(), map[string]string{
		`assayd_runs{state="running"}`:                      "1",
		`assayd_runs{state="idle"}`:                         "1",
		`assayd_run_cells{spec="run.r",state="resolved"}`:   "4",
		`assayd_run_cells{spec="run.r",state="waiting"}`:    "6",
		`assayd_run_cells{spec="run.idle",state="waiting"}`: "",
		`assayd_cells_waiting{why="turn"}`:                  "6",
		`assayd_run_cost_usd{spec="run.r"}`:                 "0",
		`assayd_run_series_dropped`:                         "0",
		`assayd_judge_oldest_seconds`:                       "60",
		`assayd_model_in_line{provider="p"}`:                "2",
		`assayd_capacity{resource="cpus",share="judge"}`:    "2",
		`assayd_state_free_bytes`:                           "7",
		`assayd_engine_up{engine="docker"}`:                 "1",
		`assayd_spec_files{state="ok"}`:                     "1",
		`assayd_results_lag_records`:                        "0",
		`assayd_ready`:                                      "1",
	})
}

// What is held back is counted by what it is on, and what is left of the day and the month is told where it is bounded.
func TestHoldsAndBudgetsAreGauges(t *testing.T) {
	f := newFixture(t)
	f.gauges("")
	if got := f.scrape(); got[`assayd_holds{target="run"}`] != "0" || got[`assayd_budget_left_usd{period="day"}`] != "" {
		t.Errorf("nothing is held or bounded: %v", got)
	}
	settings := config.DefaultSettings(nil)
	settings.Budget = config.HostBudget{DayUSD: 5, MonthUSD: 100}
	f.settings = settings
	f.gauges("")
	f.check(f.store.Do(f.Context(), func(tx *store.Tx) error {
		for _, h := range []store.HoldRow{
			{Target: "run.r", Kind: "pause"},
			{Target: "run.r", Kind: "throttle"},
			{Target: "provider.p", Kind: "pause"},
			{Target: "all", Kind: "budget"},
			{Target: "mining.m", Kind: "pause", Until: time.Unix(1, 0)}, // it is over
		} {
			if err := tx.PutHold(h); err != nil {
				return err
			}
		}
		_, err := tx.InsertExchange(store.ExchangeRow{Spec: "run.r", Execution: 1, USD: 7.5})
		return err
	}))
	got := f.scrape()
	for series, want := range map[string]string{
		`assayd_holds{target="run"}`: "2", `assayd_holds{target="provider"}`: "1", `assayd_holds{target="budget"}`: "1",
		`assayd_holds{target="all"}`: "0", `assayd_holds{target="mining"}`: "0",
		`assayd_budget_left_usd{period="day"}`: "0", `assayd_budget_left_usd{period="month"}`: "92.5", `assayd_spending_usd_per_hour`: "7.5",
	} {
		if got[series] != want {
			t.Errorf("%s is %q, want %s", series, got[series], want)
		}
	}
}

// What a scrape costs does not grow with what was done, and specs have a bounded number of series.
func TestAScrapeIsBounded(t *testing.T) {
	f := newFixture(t)
	work := func() (series int, cost store.Work) {
		f.scrape() // whatever is parsed once
		before := f.store.Work()
		series = len(f.scrape())
		after := f.store.Work()
		return series, store.Work{Queries: after.Queries - before.Queries, Rows: after.Rows - before.Rows}
	}
	f.gauges(benchmark + run("r", 1))
	emptySeries, empty := work()
	set := f.gauges(benchmark + run("r", 3000) + run("s", 3000))
	f.plant(set, 3000, true)
	series, cost := work()
	if series != emptySeries || cost != empty {
		t.Errorf("6,000 trials that are over make %d series of %+v; without them there are %d of %+v", series, cost, emptySeries, empty)
	}

	many := benchmark
	for i := range 130 {
		many += run(fmt.Sprintf("many%d", i), 2)
	}
	set = f.gauges(many)
	f.plant(set, 1, false)
	all := f.scrape()
	f.expect(all, map[string]string{"assayd_run_series_dropped": "30", `assayd_runs{state="running"}`: "130", `assayd_cells_waiting{why="turn"}`: "130"})
	specs := map[string]bool{}
	for name := range all {
		if _, after, ok := strings.Cut(name, `spec="`); ok {
			specs[after[:strings.IndexByte(after, '"')]] = true
		}
	}
	if len(specs) != 100 {
		t.Errorf("%d specs have series, want 100", len(specs))
	}
	if _, cost := work(); cost.Queries > 5*100+10 {
		t.Errorf("a scrape of 130 open executions makes %d queries", cost.Queries)
	}
}

func TestModelsAreLabelsOnlyWhereTheyAreDeclared(t *testing.T) {
	f := newFixture(t)
	ended := func(model string, declared bool, spec string, execution int) {
		f.metrics.ModelEnded(gateway.Ended{
			Account: gateway.Account{Spec: spec, Execution: execution}, Provider: "p", Model: model, Declared: declared, Outcome: gateway.OutcomeOK,
			Usage: gateway.Usage{InputTokens: 10, CostUSD: .25}, Took: 3 * time.Second, FirstByte: time.Second,
		})
	}
	f.expect(f.scrape(), map[string]string{`assayd_model_requests_total{model="priced",outcome="failed",provider="p"}`: "0"})
	ended("priced", true, "run.r", 1)
	ended("what an agent asks for", false, "run.r", 1)
	ended("of-a-run", true, "mining.m", 0)
	ended("of-a-run", true, "benchmark.b", 0)
	for i := range 200 {
		ended(fmt.Sprint("late-", i), true, "run.r", 1)
	}
	all := f.scrape()
	f.expect(all, map[string]string{
		`assayd_model_requests_total{model="priced",outcome="ok",provider="p"}`:   "1",
		`assayd_model_tokens_total{model="priced",provider="p",type="input"}`:     "10",
		`assayd_model_cost_usd_total{model="of-a-run",provider="p",use="mining"}`: "0.25",
		`assayd_model_cost_usd_total{model="of-a-run",provider="p",use="check"}`:  "0.25",
		`assayd_model_first_byte_seconds_sum{model="priced",provider="p"}`:        "1",
		`assayd_model_requests_total{model="other",outcome="ok",provider="p"}`:    "103", // 100 models are told apart
	})
	if _, there := all[`assayd_model_requests_total{model="any-*",outcome="ok",provider="p"}`]; there {
		t.Error("a pattern of prices is a model")
	}
}

func TestRoutesAreLabelsAndPathsAreNot(t *testing.T) {
	f := newFixture(t)
	inner := http.NewServeMux()
	inner.HandleFunc("GET /v1/runs/{run}", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	inner.HandleFunc("GET /v1/events", func(http.ResponseWriter, *http.Request) {
		f.expect(f.scrape(), map[string]string{"assayd_event_clients": "1"})
	})
	outer := http.NewServeMux()
	outer.Handle("/", inner)
	counted := f.metrics.HTTP(outer)
	for _, path := range []string{"/v1/runs/a", "/v1/runs/b", "/v1/events", "/none", "/another"} {
		counted.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	}
	all := f.scrape()
	f.expect(all, map[string]string{
		`assayd_http_requests_total{code="418",route="GET /v1/runs/{run}"}`: "2",
		`assayd_http_requests_total{code="404",route="other"}`:              "2",
		`assayd_http_requests_total{code="200",route="GET /v1/events"}`:     "1",
		`assayd_http_request_seconds_count{route="GET /v1/runs/{run}"}`:     "2",
		"assayd_event_clients": "0",
	})
	if _, there := all[`assayd_http_request_seconds_count{route="GET /v1/events"}`]; there {
		t.Error("how long somebody listens counts as the time of an answer")
	}
}
