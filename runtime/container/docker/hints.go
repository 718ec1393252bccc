package docker

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/moby/moby/api/types/events"
	"github.com/moby/moby/client"

	"github.com/assayd/assayd/runtime/clock"
	"github.com/assayd/assayd/runtime/container"
)

// pendingHints is how many ids are kept for a slow reader before they become one "look
// at all of them".
const pendingHints = 64

// Hints implements container.Hinter with Docker's events, of which only the id is passed
// on, for their order and number prove little:
//
//   - A process that ends gives die. If it was out of memory, oom comes before it, or
//     after, or not at all; oom also comes when only a child was killed.
//   - Stop gives kill, die and stop, where stop and die may change places. A frozen
//     container that is killed gives unpause as well.
//   - Remove of a running container gives kill, die, destroy.
//   - create without start is a start that failed, or was cut short.
//   - A container that ended while the engine was down gives no die, ever, and after a
//     restart of the engine no event tells what happened meanwhile. Hence the empty id
//     after every connect, the first one included.
func (e *Engine) Hints(ctx context.Context, owner string) <-chan string {
	out := make(chan string)
	go func() {
		defer close(out)
		pauses := growing(minBackoff, maxBackoff)
		pauses.RandomizationFactor = 0.5
		for {
			began := time.Now()
			err := e.subscribe(ctx, owner, out)
			if ctx.Err() != nil {
				return
			}
			if time.Since(began) > maxBackoff {
				pauses.Reset() // it had worked for a while
			}
			wait := pauses.NextBackOff()
			e.log.Info("Docker's events ended, subscribing again", "in", wait, "error", err)
			if clock.Sleep(ctx, wait) != nil {
				return
			}
		}
	}()
	return out
}

// subscribe passes hints on until the stream of events ends, and returns why.
func (e *Engine) subscribe(ctx context.Context, owner string, out chan<- string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream := e.streams.Events(ctx, client.EventsListOptions{Filters: hintFilter(owner)})
	// A failure to subscribe is in the channel before Events returns.
	select {
	case err := <-stream.Err:
		return err
	default:
	}
	pending := []string{""}
	for {
		var send chan<- string
		next := ""
		if len(pending) > 0 {
			send, next = out, pending[0]
		}
		select {
		case send <- next:
			pending = pending[1:]
		case event := <-stream.Messages:
			pending = enqueue(pending, event.Actor.ID)
		case err := <-stream.Err:
			if err == nil { // closed: the client had nothing more to say
				err = errors.New("the stream was closed")
			}
			return err
		}
	}
}

func hintFilter(owner string) client.Filters {
	filter := client.Filters{}.Add("type", string(events.ContainerEventType)).
		Add("label", container.LabelOwner+"="+owner)
	for _, action := range []events.Action{
		events.ActionCreate, events.ActionStart, events.ActionDie, events.ActionOOM,
		events.ActionPause, events.ActionUnPause, events.ActionDestroy,
	} {
		filter.Add("event", string(action))
	}
	return filter
}

// enqueue adds an id that is not waiting already; too many become one for all.
func enqueue(pending []string, id string) []string {
	switch {
	case slices.Contains(pending, id) || slices.Contains(pending, ""):
		return pending
	case len(pending) >= pendingHints:
		return []string{""}
	}
	return append(pending, id)
}
