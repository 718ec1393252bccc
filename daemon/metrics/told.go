package metrics

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/assayd/assayd/daemon/engines"
	"github.com/assayd/assayd/runtime/gateway"
	"github.com/assayd/assayd/runtime/mining"
	"github.com/assayd/assayd/runtime/mining/archive"
)

var miningStages = mining.Stages()

// Committed is told how long a transaction took.
func (m *Metrics) Committed(took time.Duration) {
	m.counters.storeCommit.WithLabelValues().Observe(took.Seconds())
}

// Turned is told how long a turn of the loop took.
func (m *Metrics) Turned(took time.Duration) {
	m.counters.loopTurn.WithLabelValues().Observe(took.Seconds())
}

// Failed is told of a pass over a spec that failed.
func (m *Metrics) Failed() { m.counters.loopErrors.WithLabelValues().Inc() }

// ResultsFailed is told of a result file that could not be written.
func (m *Metrics) ResultsFailed() { m.counters.resultsErrors.WithLabelValues().Inc() }

// JudgeRefused is told of a submission that was not accepted.
func (m *Metrics) JudgeRefused(code int) {
	m.counters.judgeRefused.WithLabelValues(among(refusals, strconv.Itoa(code))).Inc()
}

// JudgeRetried is told of a judging that is made again.
func (m *Metrics) JudgeRetried() { m.counters.judgeRetries.WithLabelValues().Inc() }

// EngineCalled is told of a call of the container engine.
func (m *Metrics) EngineCalled(call string, took time.Duration, err error) {
	m.counters.engineCall.WithLabelValues(m.engine, call).Observe(took.Seconds())
	if kind := engines.Failure(err); kind != "" {
		m.counters.engineErrors.WithLabelValues(m.engine, kind).Inc()
	}
}

// ImageMade is told of a build.
func (m *Metrics) ImageMade(role string, took time.Duration, err error) {
	role = among(roles, role)
	outcome := "built"
	if err != nil {
		outcome = "failed"
	}
	m.counters.imageBuilds.WithLabelValues(role, outcome).Inc()
	m.counters.imageBuild.WithLabelValues(role).Observe(took.Seconds())
}

// GitHubAsked is told of a request to GitHub.
func (m *Metrics) GitHubAsked(resource, outcome string) {
	m.counters.githubRequests.WithLabelValues(resource, outcome).Inc()
}

// HourEnded is told how the reading of an hour of an archive ended.
func (m *Metrics) HourEnded(err error) {
	outcome := "failed"
	_, damaged := errors.AsType[*archive.Damaged](err)
	switch {
	case err == nil:
		outcome = "read"
	case errors.Is(err, archive.ErrMissing):
		outcome = "missing"
	case damaged, errors.Is(err, archive.ErrTimeline):
		outcome = "damaged"
	}
	m.counters.archiveHours.WithLabelValues(outcome).Inc()
}

// LoggedIn is told of a try to log in: ok, wrong, limited.
func (m *Metrics) LoggedIn(outcome string) { m.counters.logins.WithLabelValues(outcome).Inc() }

// Notified is told what came of n notices, or of a call of a receiver.
func (m *Metrics) Notified(to, outcome string, n int) {
	m.counters.notifications.WithLabelValues(to, outcome).Add(float64(n))
}

// Traced is told what came of n spans.
func (m *Metrics) Traced(outcome string, n int) {
	m.counters.spans.WithLabelValues(outcome).Add(float64(n))
}

// ModelEnded is told of a request for a model.
func (m *Metrics) ModelEnded(e gateway.Ended) {
	c, model := &m.counters, m.model(e.Provider, e.Model, e.Declared)
	c.modelRequests.WithLabelValues(e.Provider, model, e.Outcome).Inc()
	c.modelRequest.WithLabelValues(e.Provider, model).Observe(e.Took.Seconds())
	c.modelWait.WithLabelValues(e.Provider).Observe(e.Waited.Seconds())
	if e.FirstByte > 0 {
		c.modelFirstByte.WithLabelValues(e.Provider, model).Observe(e.FirstByte.Seconds())
	}
	if e.Held {
		c.modelHeld.WithLabelValues(e.Provider).Inc()
	}
	u := e.Usage
	for kind, n := range map[string]int64{"input": u.InputTokens, "output": u.OutputTokens, "cached": u.CachedTokens, "estimated": u.EstimatedTokens} {
		c.modelTokens.WithLabelValues(e.Provider, model, kind).Add(float64(max(n, 0)))
	}
	c.modelCost.WithLabelValues(e.Provider, model, useOf(e.Account)).Add(max(u.CostUSD, 0))
}

// useOf says what a model was asked for.
func useOf(a gateway.Account) string {
	switch {
	case strings.HasPrefix(a.Spec, "mining."):
		return "mining"
	case a.Execution == 0:
		return "check"
	}
	return "trial"
}
