package metrics

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/reconcile/store/change"
	"github.com/assayd/assayd/runtime/clock"
	"github.com/assayd/assayd/runtime/pause"
	"github.com/assayd/assayd/runtime/trial"
)

// How records are read.
const (
	atOnce = 1000                   // in one transaction
	rest   = 200 * time.Millisecond // after what there was is counted
)

// Follow takes the records that are stored from now on for those to be counted. It is called once, before anything
// is stored, and Run does the rest.
func (m *Metrics) Follow(ctx context.Context, s *store.Store) error {
	m.store, m.watcher = s, s.Watch() // before the number is read: nothing is missed between
	err := s.View(ctx, func(tx *store.Tx) (err error) {
		m.n, err = tx.Last()
		return err
	})
	if err != nil {
		return fmt.Errorf("read from where on records are counted: %w", err)
	}
	return nil
}

// Run counts records as they are stored, until the context ends. A store that cannot be read is tried again; no
// record is left out for it.
func (m *Metrics) Run(ctx context.Context, log *slog.Logger) error {
	defer m.watcher.Close()
	for {
		touched, err := m.watcher.Next(ctx)
		if err != nil {
			return nil //nolint:nilerr // that is how it ends
		}
		if !stored(touched) {
			continue
		}
		if m.countAll(ctx, log); clock.Sleep(ctx, rest) != nil {
			return nil
		}
	}
}

// stored reports whether records were stored.
func stored(touched change.Touched) bool {
	for _, what := range touched.Topics {
		if what&change.Records != 0 {
			return true
		}
	}
	return touched.All
}

// countAll counts what there is.
func (m *Metrics) countAll(ctx context.Context, log *slog.Logger) {
	again, told := pause.Growing{}, false
	for ctx.Err() == nil {
		lines, err := m.next(ctx)
		if err != nil {
			if !told && ctx.Err() == nil {
				log.Warn("count records for the metrics; it is tried again", "error", err)
				told = true
			}
			again.Wait(ctx)
			continue
		}
		for _, line := range lines {
			m.count(line.Data)
			m.n = line.N
		}
		if len(lines) == 0 {
			return
		}
	}
}

func (m *Metrics) next(ctx context.Context) (lines []store.NumberedLine, err error) {
	err = m.store.View(ctx, func(tx *store.Tx) error {
		lines, err = tx.LinesAfter(m.n, atOnce)
		return err
	})
	return lines, err
}

// record is what is counted of records, whatever their type.
type record struct {
	Type       string   `json:"type"`
	Status     string   `json:"status"`
	Reason     string   `json:"reason"`
	Final      bool     `json:"final"`
	AgentS     float64  `json:"agent_duration_s"`
	Flags      []string `json:"flags"`
	Event      string   `json:"event"`
	Kind       string   `json:"kind"`
	Cached     bool     `json:"cached"`
	QueuedMS   float64  `json:"queued_ms"`
	JudgeMS    float64  `json:"judge_ms"`
	DurationMS float64  `json:"duration_ms"`
	Stage      string   `json:"stage"`
	Verdict    string   `json:"verdict"`
	CostUSD    float64  `json:"cost_usd"`
}

// count counts one record.
func (m *Metrics) count(line []byte) {
	var r record
	if err := json.Unmarshal(line, &r); err != nil {
		if _, moved := errors.AsType[*json.UnmarshalTypeError](err); !moved { // a list that is too long is in a file of its own
			r = record{}
		}
	}
	c := &m.counters
	c.records.WithLabelValues(among(types, r.Type)).Inc()
	switch r.Type {
	case "submission":
		m.countSubmission(r)
	case "trial.resumed":
		c.resumes.WithLabelValues().Inc()
	case "trial.event":
		if r.Event != "cheat_unread" { // the same event under the name that it had first
			c.events.WithLabelValues(among(events, r.Event)).Inc()
		}
	case "trial.finished":
		m.countFinished(r)
	case "trial.flagged":
		m.countFlags(r.Flags)
	case "pr":
		c.pulls.WithLabelValues(among(miningStages, r.Stage), among(pullVerdicts, r.Verdict)).Inc()
		c.miningCost.WithLabelValues().Add(max(r.CostUSD, 0))
	case "task.mined":
		c.tasksMined.WithLabelValues().Inc()
	}
}

func (m *Metrics) countFinished(r record) {
	c := &m.counters
	if r.AgentS > 0 {
		c.trialAgent.WithLabelValues().Observe(r.AgentS)
	}
	if !r.Final {
		c.triesLost.WithLabelValues(among(lost, r.Status)).Inc()
		return
	}
	c.trialsFinished.WithLabelValues(among(statuses, r.Status), among(reasons, r.Reason)).Inc()
	m.countFlags(r.Flags)
}

func (m *Metrics) countFlags(all []string) {
	for _, flag := range all {
		m.counters.flags.WithLabelValues(among(flags, flag)).Inc()
	}
}

// countSubmission counts a round. One whose verdict is that of an equal archive was not judged by itself.
func (m *Metrics) countSubmission(r record) {
	c := &m.counters
	c.submissions.WithLabelValues(among(kinds, r.Kind), among(verdicts, r.Status)).Inc()
	if r.Cached {
		return
	}
	c.judgeQueue.WithLabelValues().Observe(r.QueuedMS / 1000)
	c.judgeCommand.WithLabelValues().Observe(r.JudgeMS / 1000)
	c.judgeOverhead.WithLabelValues().Observe(max(r.DurationMS-r.JudgeMS, 0) / 1000)
}

// Staged is told that a trial has left a phase.
func (m *Metrics) Staged(stage trial.Phase, took time.Duration) {
	if name := string(stage); among(stages, name) == name {
		m.counters.trialSetup.WithLabelValues(name).Observe(took.Seconds())
	}
}
