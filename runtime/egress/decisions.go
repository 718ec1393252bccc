package egress

import (
	"cmp"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
)

// maxDestinations is how many admitted destinations, and how many refused ones, are kept
// apart. An agent decides how many there are.
const maxDestinations = 500

// Decision is what was decided about a destination when it was first asked for.
type Decision struct {
	Host     string // "" = no destination could be read, or it is beyond those that are kept apart
	Port     int
	Admitted bool
	Why      string // the entry of the list, or what was wrong
}

// Count is how often a destination was asked for, and what passed. The one without a host
// stands for requests that named no destination and for all beyond the first 500.
type Count struct {
	Host     string
	Port     int
	Admitted int64 // requests
	Refused  int64 // requests
	Failed   int64 // requests that were admitted, and the destination did not answer
	Sent     int64 // bytes to the destination
	Received int64 // bytes from it
}

// tally counts one destination under one of the two decisions.
type tally struct {
	requests, failed, sent, received atomic.Int64
}

// book keeps the decisions of one proxy. What is said of them is bounded: the first about
// each destination is told, the others are counted.
type book struct {
	log     *slog.Logger
	decided func(Decision)

	mu       sync.Mutex
	admitted map[destination]*tally
	refused  map[destination]*tally
}

func newBook(log *slog.Logger, decided func(Decision)) *book {
	if decided == nil {
		decided = func(Decision) {}
	}
	return &book{log: log, decided: decided, admitted: map[destination]*tally{}, refused: map[destination]*tally{}}
}

// admit counts a request that may pass, and returns where its bytes are counted.
func (b *book) admit(d destination, e entry) *tally {
	return b.enter(b.admitted, d, Decision{Admitted: true, Why: "listed as " + e.text})
}

// refuse counts a request that may not; the zero destination is one that cannot be read.
func (b *book) refuse(d destination, why string) {
	b.enter(b.refused, d, Decision{Why: why})
}

func (b *book) enter(side map[destination]*tally, d destination, n Decision) *tally {
	t, d, first := b.find(side, d)
	t.requests.Add(1)
	if first {
		n.Host, n.Port = d.host(), int(d.port)
		b.log.Info("decided what the network lets through", "host", n.Host, "port", n.Port, "admitted", n.Admitted, "why", n.Why)
		b.decided(n)
	}
	return t
}

// find returns the tally of a destination, or the one for all that are not kept apart, and
// whether it is new.
func (b *book) find(side map[destination]*tally, d destination) (*tally, destination, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if side[d] == nil && len(side) >= maxDestinations {
		d = destination{}
	}
	t, known := side[d]
	if !known {
		t = &tally{}
		side[d] = t
	}
	return t, d, !known
}

// fail counts an admitted request that came to nothing. The first of a destination is
// logged, because the agent is not told the cause.
func (b *book) fail(t *tally, d destination, err error) {
	if t.failed.Add(1) == 1 {
		b.log.Warn("an admitted destination did not answer", "host", d.host(), "port", int(d.port), "err", err)
	}
}

// counts returns one line for each destination, by host and port.
func (b *book) counts() []Count {
	b.mu.Lock()
	defer b.mu.Unlock()
	lines := map[destination]*Count{}
	line := func(d destination) *Count {
		if lines[d] == nil {
			lines[d] = &Count{Host: d.host(), Port: int(d.port)}
		}
		return lines[d]
	}
	for d, t := range b.admitted {
		c := line(d)
		c.Admitted, c.Failed, c.Sent, c.Received = t.requests.Load(), t.failed.Load(), t.sent.Load(), t.received.Load()
	}
	for d, t := range b.refused {
		line(d).Refused = t.requests.Load()
	}
	all := make([]Count, 0, len(lines))
	for _, c := range lines {
		all = append(all, *c)
	}
	slices.SortFunc(all, func(x, y Count) int { return cmp.Or(cmp.Compare(x.Host, y.Host), cmp.Compare(x.Port, y.Port)) })
	return all
}
