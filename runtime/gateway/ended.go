package gateway

import (
	"net/http"
	"time"
)

// Outcomes of requests for a model.
const (
	OutcomeOK       = "ok"
	OutcomeBroken   = "broken"   // the answer ended before its end
	OutcomeLeft     = "left"     // the agent did not wait for the end
	OutcomeRejected = "rejected" // the provider does not take the request
	OutcomeRefused  = "refused"  // the gateway does not: no budget, what a closed network forbids, or users hold it
	OutcomeFailed   = "failed"   // the provider did not answer, or has no capacity
)

// Outcomes are all of them.
func Outcomes() []string {
	return []string{OutcomeOK, OutcomeBroken, OutcomeLeft, OutcomeRejected, OutcomeRefused, OutcomeFailed}
}

// Ended is a request for a model that is over.
type Ended struct {
	Account
	Provider  string
	Model     string // that was asked for: an agent may name any
	Declared  bool   // the model is the run's, or has a price of its own in the settings
	Outcome   string
	Usage     Usage         // that was charged
	Held      bool          // it was kept back and tried again, or held by users
	Took      time.Duration // from the request to the end of the answer
	FirstByte time.Duration // from the request to the beginning of the answer; 0 = there was none
	Waited    time.Duration // in the provider's line
}

// tell says that the exchange is over.
func (x *exchange) tell() {
	p := x.s.provider
	_, priced := p.Prices[x.q.Model]
	e := Ended{
		Account: x.s.grant.Account, Provider: p.Name, Model: x.q.Model, Declared: priced || x.q.Model == x.s.grant.Model,
		Outcome: x.outcome(), Usage: x.charged, Held: x.attempts > 1 || x.gated, Took: time.Since(x.began), Waited: x.waited,
	}
	if !x.first.IsZero() {
		e.FirstByte = x.first.Sub(x.began)
	}
	x.s.gateway.opts.Ended(e)
}

func (x *exchange) outcome() string {
	cut := x.cut || x.meter.Err != ""
	switch {
	case x.from.Context().Err() != nil && (cut || x.status/100 != 2):
		return OutcomeLeft
	case cut:
		return OutcomeBroken
	case x.attempts == 0 && (x.gated || x.status < http.StatusInternalServerError):
		return OutcomeRefused
	case x.status >= http.StatusInternalServerError:
		return OutcomeFailed
	case x.status/100 != 2:
		return OutcomeRejected
	}
	return OutcomeOK
}

// Load is what there is to do at a provider now.
type Load struct {
	InFlight int // requests that have a place
	InLine   int // that wait for one
	Paused   int // models that the provider wants no request for now
}

// Load tells for each provider what there is to do. Any goroutine may ask.
func (g *Gateway) Load() map[string]Load {
	all := map[string]Load{}
	for name, p := range g.providers {
		all[name] = p.line.load(time.Now())
	}
	return all
}

func (l *line) load(now time.Time) Load {
	l.mu.Lock()
	defer l.mu.Unlock()
	load := Load{InFlight: l.taken}
	for _, waiting := range l.waiting {
		load.InLine += len(waiting)
	}
	for _, until := range l.pauses {
		if until.After(now) {
			load.Paused++
		}
	}
	return load
}
