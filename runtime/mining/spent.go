package mining

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/mining/workbench"
	"github.com/assayd/assayd/runtime/task"
)

// Spent says where the time went, in seconds of the clock on the wall. What is done twice at
// once counts once, so that none is more than All; different things may overlap. What is under
// way counts when it is over.
type Spent struct {
	Archive  float64 `json:"archive"`  // hours of an archive were read
	GitHub   float64 `json:"github"`   // GitHub's API was asked
	Git      float64 `json:"git"`      // repositories were cloned and read
	Model    float64 `json:"model"`    // models were asked
	Commands float64 `json:"commands"` // tests were judged, or commands of models ran at the workbench
	Waits    float64 `json:"waits"`    // something outside had it wait: a limit, an engine that was away
	Other    float64 `json:"other"`    // none of these: images are built, containers started and removed
	All      float64 `json:"all"`      // without the time between two readings of the source
}

// doing is what a miner may be about.
type doing int

const (
	onArchive doing = iota
	onGitHub
	onGit
	onModel
	onCommands
	onWaits
	anything // any of those before
	doings
)

// hourglass adds up where the time goes.
type hourglass struct {
	mu      sync.Mutex
	was     [doings]stretches
	passes  time.Duration // that are over
	started time.Time     // of the present pass; zero = there is none
}

// pass notes the beginning of a pass; over notes its end.
func (h *hourglass) pass() (over func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.started = time.Now()
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.passes += time.Since(h.started)
		h.started = time.Time{}
	}
}

// since notes what was done from a time until now.
func (h *hourglass) since(what doing, from time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	to := time.Now()
	h.was[what].add(from, to)
	h.was[anything].add(from, to)
}

func (h *hourglass) spent() Spent {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := h.passes
	if !h.started.IsZero() {
		all += time.Since(h.started)
	}
	seconds := func(d time.Duration) float64 { return float64(d.Milliseconds()) / 1000 }
	of := func(what doing) float64 { return seconds(h.was[what].sum()) }
	return Spent{
		Archive: of(onArchive), GitHub: of(onGitHub), Git: of(onGit), Model: of(onModel), Commands: of(onCommands), Waits: of(onWaits),
		Other: seconds(max(all-h.was[anything].sum(), 0)), All: seconds(all),
	}
}

// mostStretches is how many are kept. What begins before those counts from their beginning on:
// it would have to have taken longer than thousands of others.
const mostStretches = 4096

// stretches are times in which something was done, each counted once.
type stretches struct {
	all  []stretch // in order, with gaps between them
	gone time.Duration
	from time.Time // when what is kept begins
}

type stretch struct{ from, to time.Time }

func (s *stretches) add(from, to time.Time) {
	if from.Before(s.from) {
		from = s.from
	}
	if !from.Before(to) {
		return
	}
	i, _ := slices.BinarySearchFunc(s.all, from, func(x stretch, t time.Time) int { return x.to.Compare(t) })
	j := i
	for ; j < len(s.all) && !s.all[j].from.After(to); j++ {
		if s.all[j].from.Before(from) {
			from = s.all[j].from
		}
		if s.all[j].to.After(to) {
			to = s.all[j].to
		}
	}
	s.all = slices.Replace(s.all, i, j, stretch{from, to})
	if len(s.all) <= mostStretches {
		return
	}
	const half = mostStretches / 2
	for _, x := range s.all[:half] {
		s.gone += x.to.Sub(x.from)
	}
	s.from = s.all[half-1].to
	s.all = slices.Delete(s.all, 0, half)
}

func (s *stretches) sum() time.Duration {
	sum := s.gone
	for _, x := range s.all {
		sum += x.to.Sub(x.from)
	}
	return sum
}

// timedJudge is Options.Judge, which notes how long the tests took. They end right before their
// report.
func (m *Miner) timedJudge(ctx context.Context, t task.Task, patch []byte) (round.Report, error) {
	r, err := m.o.Judge(ctx, t, patch)
	m.spent.since(onCommands, time.Now().Add(-time.Duration(r.JudgeMS)*time.Millisecond))
	return r, err
}

// timedRoom notes how long the commands of a room take.
type timedRoom struct {
	workbench.Room
	spent *hourglass
}

// Exec implements workbench.Room.
func (r timedRoom) Exec(ctx context.Context, argv []string, timeout time.Duration) (int, []byte, bool, error) {
	defer r.spent.since(onCommands, time.Now())
	return r.Room.Exec(ctx, argv, timeout)
}
