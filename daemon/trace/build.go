package trace

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/assayd/assayd/reconcile/store"
)

// maxOpen is how many tries are known whose end is not read yet.
const maxOpen = 10000

// open is what the records of a try have said so far.
type open struct {
	Try     int       `json:"try"`
	Begun   time.Time `json:"begun"`
	Started time.Time `json:"started"`
	Since   time.Time `json:"since"` // the agent runs
	Runs    int       `json:"runs"`  // of the agent, that are over
	N       int64     `json:"n"`     // number of the last change
}

// known is what records have said of tries that are not over, by trial.
type known map[string]*open

// record is what is read of records, whatever their type.
type record struct {
	Seq        int       `json:"seq"`
	Time       time.Time `json:"time"`
	Type       string    `json:"type"`
	Spec       string    `json:"spec"`
	Execution  string    `json:"execution"`
	Trial      string    `json:"trial"`
	Try        int       `json:"try"`
	Task       string    `json:"task"`
	Agent      string    `json:"agent"`
	Model      string    `json:"model"`
	Provider   string    `json:"-"` // of the model, where it is known
	SetupS     float64   `json:"setup_s"`
	ImagesS    float64   `json:"images_s"`
	Round      string    `json:"round"`
	Kind       string    `json:"kind"`
	Status     string    `json:"status"`
	Reason     string    `json:"reason"`
	Cached     bool      `json:"cached"`
	QueuedMS   float64   `json:"queued_ms"`
	DurationMS float64   `json:"duration_ms"`
	AgentS     float64   `json:"agent_duration_s"`
	ExitCode   int       `json:"exit_code"`
	Transcript *struct {
		File string `json:"file"`
	} `json:"transcript"`

	Repo      string  `json:"repo"`
	Number    int     `json:"number"`
	Verdict   string  `json:"verdict"`
	Stage     string  `json:"stage"`
	DurationS float64 `json:"duration_s"`
}

// builder makes spans of records.
type builder struct {
	owner string
	known known
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// read reads a line. What has another type than expected, as a list that is in a file of its own, is left out.
func read(line []byte) (record, bool) {
	var r record
	if err := json.Unmarshal(line, &r); err != nil {
		if _, moved := errors.AsType[*json.UnmarshalTypeError](err); !moved {
			return r, false
		}
	}
	return r, true
}

// spans are those that end with a record; private are those of the private set, which has no record.
func (b *builder) spans(line store.NumberedLine, r record, private []span) []span {
	made := &making{builder: b, record: r, stream: line.Stream}
	switch r.Type {
	case "trial.started":
		made.started(b.begin(r, line.N))
	case "trial.resumed":
		if o := b.known[r.Trial]; o != nil {
			made.of(o)
			made.agent(o, r.Time)
			o.Since, o.N = r.Time, line.N
		}
	case "submission":
		made.judged(b.known[r.Trial])
	case "trial.finished":
		made.finished(b.known[r.Trial], private)
		delete(b.known, r.Trial)
	case "pr":
		made.pull()
	}
	return made.all
}

// begin notes that a try begins.
func (b *builder) begin(r record, n int64) *open {
	if len(b.known) >= maxOpen {
		oldest := ""
		for id, o := range b.known {
			if oldest == "" || o.N < b.known[oldest].N {
				oldest = id
			}
		}
		delete(b.known, oldest)
	}
	o := &open{Try: r.Try, Begun: r.Time.Add(-seconds(r.SetupS)), Started: r.Time, Since: r.Time, N: n}
	b.known[r.Trial] = o
	return o
}

// making are the spans of one record.
type making struct {
	*builder
	record
	stream string
	trace  trace.TraceID
	all    []span
}

// of says what trace the spans belong to.
func (m *making) of(o *open) {
	try := m.Try
	if o != nil && try == 0 {
		try = o.Try
	}
	m.Try, m.trace = try, traceID(m.owner, m.Trial, try)
}

// root is the id of the span of the whole try.
func root(of trace.TraceID) trace.SpanID { return spanID(of, "trial") }

// add adds a span below the one of the try, with what each has.
func (m *making) add(name string, start, end time.Time, more ...attribute.KeyValue) *span {
	if start.After(end) {
		start = end
	}
	m.all = append(m.all, span{
		trace: m.trace, parent: root(m.trace), id: spanID(m.trace, m.stream, m.Seq, name), name: name, start: start, end: end,
		attributes: append([]attribute.KeyValue{
			attribute.String("assayd.spec", m.Spec), attribute.String("assayd.execution", m.Execution),
			attribute.String("assayd.trial", m.Trial), attribute.Int("assayd.try", m.Try),
		}, more...),
	})
	return &m.all[len(m.all)-1]
}

func (m *making) started(o *open) {
	m.of(o)
	ready := o.Begun.Add(seconds(m.ImagesS))
	m.add("trial.images", o.Begun, ready)
	m.add("trial.setup", ready, o.Started)
}

// agent is a run of the agent that is over.
func (m *making) agent(o *open, end time.Time) {
	o.Runs++
	m.add("trial.agent", o.Since, end, attribute.Int("assayd.agent.run", o.Runs))
}

func (m *making) judged(o *open) {
	m.of(o)
	start := m.Time
	if !m.Cached { // else it has the verdict of an equal archive
		start = m.Time.Add(-time.Duration((m.DurationMS + m.QueuedMS) * float64(time.Millisecond)))
	}
	s := m.add("trial.judge", start, m.Time, attribute.String("assayd.round", m.Round), attribute.String("assayd.kind", m.Kind),
		attribute.String("assayd.status", m.Status), attribute.Bool("assayd.cached", m.Cached))
	if !m.Cached {
		s.event, s.at = "judging begins", m.Time.Add(-time.Duration(m.DurationMS*float64(time.Millisecond)))
	}
	if m.Status == "error" {
		s.failed = m.Status
	}
}

func (m *making) finished(o *open, private []span) {
	m.of(o)
	begun := m.Time
	if o != nil && o.Try == m.Try {
		begun = o.Begun
		end := o.Started.Add(seconds(m.AgentS))
		if m.AgentS == 0 || end.After(m.Time) {
			end = m.Time
		}
		m.agent(o, end)
	}
	m.all = append(m.all, private...)
	s := m.add("trial", begun, m.Time, attribute.String("assayd.task", m.Task), attribute.String("assayd.agent", m.Agent),
		attribute.String("assayd.status", m.Status), attribute.String("assayd.reason", m.Reason))
	s.id, s.parent = root(m.trace), trace.SpanID{}
	if m.Status == "infra_error" || m.Status == "setup_error" {
		s.failed = m.Status
	}
}

// pull is a pull request that mining has decided; each is a trace.
func (m *making) pull() {
	id := fmt.Sprintf("%s#%d", m.Repo, m.Number)
	m.trace = traceID(m.owner, m.Spec+" "+id, 0)
	s := span{
		trace: m.trace, id: spanID(m.trace, m.stream, m.Seq), name: "mining.pull", start: m.Time.Add(-seconds(m.DurationS)), end: m.Time,
		attributes: []attribute.KeyValue{
			attribute.String("assayd.spec", m.Spec), attribute.String("assayd.pull", id), attribute.String("assayd.stage", m.Stage),
			attribute.String("assayd.status", m.Verdict), attribute.String("assayd.reason", m.Reason),
		},
	}
	if m.Verdict == "failed" {
		s.failed = m.Verdict
	}
	m.all = append(m.all, s)
}
