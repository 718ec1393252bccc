package metrics

import (
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/daemon/engines"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/reconcile/store/change"
)

// prefix of all names.
const prefix = "assayd_"

// Definition is one metric.
type Definition struct {
	Name   string // with the prefix; that of a histogram is without _bucket, _sum and _count
	Type   string // counter, gauge, histogram
	Labels []string
	Help   string
}

// Metrics are the numbers of one process. Any goroutine may use them.
type Metrics struct {
	registry *prometheus.Registry
	engine   string // name of the one that containers run on
	defined  []Definition
	counters counters
	gauges   gauges
	store    *store.Store
	watcher  *change.Watcher
	n        int64 // number of the last record that is counted; of Run alone

	mu     sync.Mutex
	models map[string]bool // that have been labels so far, by provider and model
}

// counters are the counters and histograms.
type counters struct {
	loopTurn                                                    *prometheus.HistogramVec
	loopErrors                                                  *prometheus.CounterVec
	trialsFinished, triesLost, resumes, events, flags           *prometheus.CounterVec
	trialSetup, trialAgent                                      *prometheus.HistogramVec
	submissions, judgeRetries, judgeRefused                     *prometheus.CounterVec
	judgeQueue, judgeCommand, judgeOverhead                     *prometheus.HistogramVec
	engineCall, imageBuild                                      *prometheus.HistogramVec
	engineErrors, imageBuilds                                   *prometheus.CounterVec
	modelRequests, modelTokens, modelCost, modelHeld            *prometheus.CounterVec
	modelRequest, modelFirstByte, modelWait                     *prometheus.HistogramVec
	pulls, tasksMined, miningCost, githubRequests, archiveHours *prometheus.CounterVec
	storeCommit, httpRequest                                    *prometheus.HistogramVec
	records, resultsErrors, httpRequests, logins                *prometheus.CounterVec
	notifications, spans                                        *prometheus.CounterVec
	clients                                                     prometheus.Gauge // of streams of events
}

// Bounds of histograms, in seconds.
var (
	short = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}
	calls = []float64{.005, .025, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120}
	waits = []float64{.1, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900, 3600}
	work  = []float64{1, 10, 60, 300, 900, 1800, 3600, 7200, 14400, 28800, 43200}
)

// New returns the numbers of a process of a version, with the providers and models of the settings.
func New(version string, settings *config.Settings) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), engine: engines.Used(settings), models: map[string]bool{}}
	m.defineWork()
	m.defineMachine()
	m.defineOutside()
	m.defineGauges(version)
	m.seed(settings)
	m.registry.MustRegister(&m.gauges)
	return m
}

// Definitions are all metrics, by name.
func (m *Metrics) Definitions() []Definition {
	return slices.SortedFunc(slices.Values(m.defined), func(a, b Definition) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
}

// Handler answers GET /metrics. Two who ask at once are enough: others are told to come again.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorHandling: promhttp.ContinueOnError, MaxRequestsInFlight: 2, Timeout: 30 * time.Second,
	})
}

func (m *Metrics) define(kind, name, help string, labels []string) {
	m.defined = append(m.defined, Definition{prefix + name, kind, labels, help})
}

func (m *Metrics) counter(name, help string, labels ...string) *prometheus.CounterVec {
	m.define("counter", name, help, labels)
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + name, Help: help}, labels)
	m.registry.MustRegister(c)
	return c
}

func (m *Metrics) histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	m.define("histogram", name, help, labels)
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: prefix + name, Help: help, Buckets: buckets}, labels)
	m.registry.MustRegister(h)
	return h
}

func (m *Metrics) gauge(name, help string, labels ...string) *prometheus.Desc {
	m.define("gauge", name, help, labels)
	return prometheus.NewDesc(prefix+name, help, labels, nil)
}

func (m *Metrics) defineWork() {
	c := &m.counters
	c.loopTurn = m.histogram("loop_turn_seconds", "How long turns of the reconcile loop took.", short)
	c.loopErrors = m.counter("loop_errors_total", "Passes over a spec that failed and are made again.")
	c.trialsFinished = m.counter("trials_finished_total", "Trials that ended: the tries that count.", "status", "reason")
	c.triesLost = m.counter("tries_lost_total", "Tries that do not count, because another one follows.", "status")
	c.trialSetup = m.histogram("trial_setup_seconds", "How long trials were in a phase before their agent began.", waits, "stage")
	c.trialAgent = m.histogram("trial_agent_seconds", "How long agents worked.", work)
	c.resumes = m.counter("trial_resumes_total", "Agents that were started again within a trial.")
	c.events = m.counter("trial_events_total", "Records trial.event.", "event")
	c.flags = m.counter("trial_flags_total", "Flags of trials that ended.", "flag")
	c.submissions = m.counter("submissions_total", "Judged rounds.", "kind", "status")
	c.judgeRetries = m.counter("judge_retries_total", "Judgings that failed for the machine and are made again.")
	c.judgeRefused = m.counter("judge_refused_total", "Submissions that were not accepted, by the code of HTTP.", "code")
	c.judgeQueue = m.histogram("judge_queue_seconds", "From acceptance to the start of a judging.", waits)
	c.judgeCommand = m.histogram("judge_command_seconds", "Time of judge commands themselves.", waits)
	c.judgeOverhead = m.histogram("judge_overhead_seconds", "From the start of a judging to its verdict, less the judge command.", short)
	c.pulls = m.counter("mining_pulls_total", "Pull requests that were decided, by the stage that did so.", "stage", "verdict")
	c.tasksMined = m.counter("mining_tasks_total", "Tasks that were mined.")
	c.miningCost = m.counter("mining_cost_usd_total", "What models cost for pull requests that were decided.")
	c.records = m.counter("records_total", "Records that were stored.", "type")
}

func (m *Metrics) defineMachine() {
	c := &m.counters
	c.engineCall = m.histogram("engine_call_seconds", "How long calls of the container engine took, but for waits and commands in containers.", calls, "engine", "call")
	c.engineErrors = m.counter("engine_errors_total", "Calls of the container engine that failed.", "engine", "kind")
	c.imageBuilds = m.counter("image_builds_total", "Images that were built.", "role", "outcome")
	c.imageBuild = m.histogram("image_build_seconds", "How long builds of images took.", work, "role")
	c.storeCommit = m.histogram("store_commit_seconds", "How long transactions took to be durable.", short)
	c.resultsErrors = m.counter("results_errors_total", "Writes to result files that failed.")
}

func (m *Metrics) defineOutside() {
	c := &m.counters
	c.modelRequests = m.counter("model_requests_total", "Requests for a model.", "provider", "model", "outcome")
	c.modelTokens = m.counter("model_tokens_total", "Tokens that were charged.", "provider", "model", "type")
	c.modelCost = m.counter("model_cost_usd_total", "Charges of the provider, in dollars.", "provider", "model", "use")
	c.modelHeld = m.counter("model_held_total", "Requests that were kept back: tried again, or held by pause --calls.", "provider")
	c.modelRequest = m.histogram("model_request_seconds", "From a request to the end of the answer.", waits, "provider", "model")
	c.modelFirstByte = m.histogram("model_first_byte_seconds", "From a request to the beginning of the answer.", waits, "provider", "model")
	c.modelWait = m.histogram("model_wait_seconds", "How long requests waited in line for their provider.", waits, "provider")
	c.githubRequests = m.counter("github_requests_total", "Requests to GitHub, by the limit that they count for.", "kind", "outcome")
	c.archiveHours = m.counter("archive_hours_total", "Readings of an hour of the archive.", "outcome")
	c.httpRequests = m.counter("http_requests_total", "Requests that the daemon answered.", "route", "code")
	c.httpRequest = m.histogram("http_request_seconds", "How long answers took, but for streams.", short, "route")
	c.logins = m.counter("logins_total", "Tries to log in at the pages.", "outcome")
	c.notifications = m.counter("notifications_total", "Notices that were taken or dropped, and calls of receivers that failed.", "notifier", "outcome")
	c.spans = m.counter("spans_total", "Spans of traces.", "outcome")
	c.clients = prometheus.NewGauge(prometheus.GaugeOpts{Name: prefix + "event_clients", Help: "Streams of events that are open."})
	m.define("gauge", "event_clients", "Streams of events that are open.", nil)
	m.registry.MustRegister(c.clients)
}
