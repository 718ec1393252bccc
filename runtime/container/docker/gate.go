package docker

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/moby/moby/client"
	"golang.org/x/sync/semaphore"

	"github.com/assayd/assayd/runtime/clock"
)

// gates keep commands that are being started apart from freezes, for each container. Docker
// does not: the start of a command whose container is frozen meanwhile waits for the thaw, an
// inspection holds the container's lock and waits for the start, and the thaw waits for that
// lock. Nothing can be asked of the container then, and it can neither be thawed nor removed
// before the engine is started again.
type gates struct {
	mu  sync.Mutex
	all map[string]*gate // by the id of the container, which has no other name here
}

// gate is passed by many starts at once, or by one freeze. Who waits is served in turn.
type gate struct {
	users  int // that hold it or wait for it; without any it is forgotten
	places *semaphore.Weighted
}

// all places of a gate.
const allPlaces = math.MaxInt32

// enter takes places of the container's gate. Whoever got them must leave once.
func (g *gates) enter(ctx context.Context, id string, places int64) (leave func(), err error) {
	g.mu.Lock()
	if g.all == nil {
		g.all = map[string]*gate{}
	}
	at := g.all[id]
	if at == nil {
		at = &gate{places: semaphore.NewWeighted(allPlaces)}
		g.all[id] = at
	}
	at.users++
	g.mu.Unlock()

	forget := func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if at.users--; at.users == 0 {
			delete(g.all, id)
		}
	}
	if at.places.Acquire(ctx, places) != nil {
		forget()
		return nil, context.Cause(ctx)
	}
	return func() {
		at.places.Release(places)
		forget()
	}, nil
}

// freezing is entered by who freezes the container: no command is being started until leave.
func (g *gates) freezing(ctx context.Context, id string) (leave func(), err error) {
	leave, err = g.enter(ctx, id, allPlaces)
	if err != nil {
		return nil, fmt.Errorf("wait for commands that are being started: %w", err)
	}
	return leave, nil
}

// starting is entered by who starts a command: the container is not being frozen until leave.
func (g *gates) starting(ctx context.Context, id string) (leave func(), err error) {
	leave, err = g.enter(ctx, id, 1)
	if err != nil {
		return nil, fmt.Errorf("wait for a freeze under way: %w", err)
	}
	return leave, nil
}

// How long a command is given that nobody waits for any more: to arrive at the engine, and to
// be started there.
const (
	arrival  = 10 * time.Second
	starting = 5 * time.Minute
)

// leaveStarted leaves the gate for a caller who goes away while a command is being started,
// as soon as the engine says what became of it. One that the engine says nothing about for
// long never got there.
func (e *Engine) leaveStarted(exec string, leave func()) {
	e.work.Go(func() {
		defer leave()
		ctx, cancel := context.WithTimeout(e.life, starting)
		defer cancel()
		for began := time.Now(); ; {
			state, err := e.calls.ExecInspect(ctx, exec, client.ExecInspectOptions{})
			switch {
			case err != nil, begun(state):
				return
			case !state.Running && time.Since(began) > arrival:
				return
			}
			if clock.Sleep(ctx, minPoll) != nil {
				return
			}
		}
	})
}

// begun says whether the start of a command is over, be it that it failed.
func begun(state client.ExecInspectResult) bool { return state.PID != 0 || state.ExitCode != 0 }
