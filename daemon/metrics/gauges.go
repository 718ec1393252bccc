package metrics

import (
	"context"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/admission"
	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/gateway"
	"github.com/assayd/assayd/runtime/judge"
	"github.com/assayd/assayd/runtime/mining/github"
)

// maxSeries is how many open executions have series of their own.
const maxSeries = 100

// askTime bounds the reading of gauges.
const askTime = 10 * time.Second

// Sources are what gauges are read from. A function may be called by any goroutine.
type Sources struct {
	Admission interface{ Load() admission.Load }
	Judge     interface{ Load() judge.Load }
	Gateway   interface {
		Load() map[string]gateway.Load
	}
	GitHub  interface{ Left() []github.Left }
	Store   *store.Store
	Reader  *query.Reader
	LoopAge func() time.Duration
	Ready   func() bool
	Engine  func() (up, known bool) // whether the container engine answers
	Free    func() int64            // bytes that are free at the state directory; negative = that is not known
}

// gauges implements prometheus.Collector. What is not known yet is left out.
type gauges struct {
	of      atomic.Pointer[Sources]
	metrics *Metrics
	version string

	build, ready, loopAge, files, diagnostics, runs, gitUp, gitFetched      *prometheus.Desc
	trials, waiting, queued, oldest, judging, warm, capacity, held          *prometheus.Desc
	engineUp, containers, bytes, free                                       *prometheus.Desc
	inFlight, inLine, paused, spending, holds, left                         *prometheus.Desc
	cells, resolved, cost, budget, dropped, mining, githubLeft, resultsLags *prometheus.Desc
}

// Gauges says what gauges are read from.
func (m *Metrics) Gauges(s Sources) { m.gauges.of.Store(&s) }

func (m *Metrics) defineGauges(version string) {
	g := &m.gauges
	g.metrics, g.version = m, version
	g.build = m.gauge("build_info", "1, with the version of the daemon.", "version")
	g.ready = m.gauge("ready", "1 while the daemon is fit for work, as /readyz says.")
	g.loopAge = m.gauge("loop_age_seconds", "For how long the reconcile loop has been at its present turn; 0 while it waits.")
	g.files = m.gauge("spec_files", "Spec files.", "state")
	g.diagnostics = m.gauge("spec_diagnostics", "What is wrong with spec files.", "severity")
	g.runs = m.gauge("runs", "Runs.", "state")
	g.gitUp = m.gauge("git_up", "1 while the repository of specs is followed without an error.")
	g.gitFetched = m.gauge("git_fetched_timestamp_seconds", "When the repository of specs was last asked with success.")
	g.trials = m.gauge("trials", "Open trials.", "phase")
	g.waiting = m.gauge("cells_waiting", "Cells of open executions that have not begun.", "why")
	g.queued = m.gauge("judge_queued", "Rounds and games in the judge's line.")
	g.oldest = m.gauge("judge_oldest_seconds", "For how long the one has been in the judge's line that came first.")
	g.judging = m.gauge("judge_running", "Judgings.")
	g.warm = m.gauge("judge_warm", "Containers of the judge that were started ahead.")
	g.capacity = m.gauge("capacity", "What the machine has: CPUs, bytes, containers.", "resource", "share")
	g.held = m.gauge("held", "CPUs, bytes, and containers of the machine that are held.", "resource", "by")
	g.engineUp = m.gauge("engine_up", "1 while the container engine answers.", "engine")
	g.containers = m.gauge("containers", "Containers that hold a part of the machine.", "role")
	g.bytes = m.gauge("state_bytes", "Size of the database and of its log.", "kind")
	g.free = m.gauge("state_free_bytes", "Bytes that are free at the state directory.")
	g.inFlight = m.gauge("model_in_flight", "Requests that providers are at work on.", "provider")
	g.inLine = m.gauge("model_in_line", "Requests that wait for their provider's limits.", "provider")
	g.paused = m.gauge("model_paused", "Models that a provider wants no request for now.", "provider")
	g.spending = m.gauge("spending_usd_per_hour", "What models cost in the last hour.")
	g.holds = m.gauge("holds", "Holds in force, by what they are on.", "target")
	g.left = m.gauge("budget_left_usd", "What models may still cost in a day or a month of UTC, where the settings bound that.", "period")
	g.cells = m.gauge("run_cells", "Cells of an open execution.", "spec", "state")
	g.resolved = m.gauge("run_resolved_ratio", "Resolved rate of an open execution, of the summary that was made last.", "spec")
	g.cost = m.gauge("run_cost_usd", "What models cost in an open execution.", "spec")
	g.budget = m.gauge("run_budget_usd", "What models may cost in an open execution, where that is bounded.", "spec")
	g.dropped = m.gauge("run_series_dropped", "Open executions beyond the hundred that have series of their own.")
	g.mining = m.gauge("mining_open", "Pull requests that are not decided.", "stage")
	g.githubLeft = m.gauge("github_left", "Requests that a token of GitHub has left, by its place and by limit.", "token", "resource")
	g.resultsLags = m.gauge("results_lag_records", "Records that are stored and not in their file yet.")
}

// Describe implements prometheus.Collector.
func (g *gauges) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		g.build, g.ready, g.loopAge, g.files, g.diagnostics, g.runs, g.gitUp, g.gitFetched, g.trials, g.waiting, g.queued, g.oldest, g.judging, g.warm,
		g.capacity, g.held, g.engineUp, g.containers, g.bytes, g.free, g.inFlight, g.inLine, g.paused, g.spending, g.holds, g.left, g.cells, g.resolved, g.cost, g.budget,
		g.dropped, g.mining, g.githubLeft, g.resultsLags,
	} {
		to <- d
	}
}

// scrape is one reading of the gauges.
type scrape struct {
	*gauges
	*Sources
	to chan<- prometheus.Metric
}

func (s scrape) put(d *prometheus.Desc, value float64, labels ...string) {
	s.to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
}

// Collect implements prometheus.Collector.
func (g *gauges) Collect(to chan<- prometheus.Metric) {
	s := scrape{g, g.of.Load(), to}
	s.put(g.build, 1, g.version)
	if s.Sources == nil {
		return
	}
	s.put(g.ready, bit(s.Ready()))
	s.put(g.loopAge, s.LoopAge().Seconds())
	s.machine()
	s.outside()
	if s.Reader.Snapshots.Get() == nil {
		return // no look at the specs has succeeded yet
	}
	ctx, cancel := context.WithTimeout(context.Background(), askTime)
	defer cancel()
	load, err := s.Reader.Load(ctx, maxSeries)
	if err != nil {
		to <- prometheus.NewInvalidMetric(g.runs, err)
		return
	}
	s.work(load)
	s.open(load)
}

func bit(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

func (s scrape) machine() {
	a, j := s.Admission.Load(), s.Judge.Load()
	s.put(s.queued, float64(j.Queued))
	s.put(s.oldest, j.Oldest.Seconds())
	s.put(s.warm, float64(j.Warm))
	s.put(s.judging, float64(a.Judgings))
	for by, n := range map[string]admission.Need{"work": a.Work, "judge": a.Judge, "game": a.Game} {
		s.put(s.held, n.CPUs, "cpus", by)
		s.put(s.held, float64(n.Memory), "memory", by)
	}
	s.put(s.held, float64(a.Work.Disk), "disk", "work")
	s.put(s.held, float64(a.Containers), "containers", "work")
	for share, n := range map[string]admission.Need{
		"all": {CPUs: a.Limits.CPUs, Memory: a.Limits.Memory}, "work": a.WorkShare,
		"judge": {CPUs: a.Limits.CPUs - a.WorkShare.CPUs, Memory: a.Limits.Memory - a.WorkShare.Memory},
	} {
		s.put(s.capacity, n.CPUs, "cpus", share)
		s.put(s.capacity, float64(n.Memory), "memory", share)
	}
	if a.Limits.Disk > 0 {
		s.put(s.capacity, float64(a.Limits.Disk), "disk", "work")
	}
	if a.Limits.Containers > 0 {
		s.put(s.capacity, float64(a.Limits.Containers), "containers", "work")
	}
	for role, n := range map[string]int{"work": a.Containers, "judge": a.Judgings, "game": a.Games} {
		s.put(s.containers, float64(n), role)
	}
	if up, known := s.Engine(); known {
		s.put(s.engineUp, bit(up), s.metrics.engine)
	}
	size := s.Store.Load()
	s.put(s.bytes, float64(size.Database), "database")
	s.put(s.bytes, float64(size.Log), "log")
	if free := s.Free(); free >= 0 {
		s.put(s.free, float64(free))
	}
}

func (s scrape) outside() {
	for provider, load := range s.Gateway.Load() {
		s.put(s.inFlight, float64(load.InFlight), provider)
		s.put(s.inLine, float64(load.InLine), provider)
		s.put(s.paused, float64(load.Paused), provider)
	}
	for _, left := range s.GitHub.Left() {
		s.put(s.githubLeft, float64(left.Requests), strconv.Itoa(left.Token), left.Resource)
	}
	if git := s.Reader.GitNow(); git != nil {
		s.put(s.gitUp, bit(git.Error == ""))
		if !git.Fetched.IsZero() {
			s.put(s.gitFetched, float64(git.Fetched.Unix()))
		}
	}
}

func (s scrape) work(l query.Load) {
	for _, state := range []config.Status{config.OK, config.Frozen, config.Rejected, config.Unread} {
		s.put(s.files, float64(l.Files[state]), string(state))
	}
	for _, severity := range []config.Severity{config.Error, config.Warning} {
		s.put(s.diagnostics, float64(l.Diagnostics[severity]), string(severity))
	}
	for _, state := range query.RunStates() {
		s.put(s.runs, float64(l.Runs[state]), state)
	}
	for _, state := range history.OpenStates {
		s.put(s.trials, float64(l.Trials[state]), state)
	}
	for _, why := range query.WaitReasons() {
		s.put(s.waiting, float64(l.Waiting[why]), why)
	}
	for _, stage := range miningStages {
		s.put(s.mining, float64(l.Mining[stage]), stage)
	}
	s.put(s.resultsLags, float64(l.Unwritten))
	for _, target := range query.HoldTargets() {
		s.put(s.holds, float64(l.Holds[target]), target)
	}
	s.put(s.spending, l.HourUSD)
	for _, p := range l.Budgets {
		s.put(s.left, p.LeftUSD, p.Period)
	}
}

// open puts the series of open executions.
func (s scrape) open(l query.Load) {
	for _, run := range l.Open {
		for _, state := range append(query.CellStates(), "waiting") {
			s.put(s.cells, float64(run.Cells[state]), run.Address, state)
		}
		if run.Resolved != nil {
			s.put(s.resolved, *run.Resolved, run.Address)
		}
		s.put(s.cost, run.CostUSD, run.Address)
		if run.BudgetUSD > 0 {
			s.put(s.budget, run.BudgetUSD, run.Address)
		}
	}
	s.put(s.dropped, float64(l.Dropped))
}
