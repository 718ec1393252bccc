package api

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"time"

	"github.com/tmaxmax/go-sse"
)

// Looks receives when something of the topics may have changed, from now until the context ends;
// then it is closed. What happens in a second that nobody looks is one pulse. It reconnects by
// itself, and says then that everything may have changed.
func (c *Client) Looks(ctx context.Context, topics ...string) <-chan struct{} {
	looks := make(chan struct{}, 1)
	go func() {
		defer close(looks)
		last := ""
		for ctx.Err() == nil {
			_ = c.Events(ctx, last, topics, func(e Event) bool { // a stream that breaks is opened again
				last = e.ID
				if e.Kind != "host" {
					select {
					case looks <- struct{}{}:
					default: // who has not looked yet will see this, too
					}
				}
				return true
			})
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
			}
		}
	}()
	return looks
}

// Event is an event of a stream.
type Event struct {
	ID   string // to go on from; that of an earlier event where this one has none
	Kind string // hello, look, host or reset
	Look Look   // of a look; of hello and host N alone
}

// Events opens a stream of events about topics, without any about all, that goes on behind the event
// with the id last, and calls each with its events until that returns false, or the stream breaks.
func (c *Client) Events(ctx context.Context, last string, topics []string, each func(Event) bool) (err error) {
	q := url.Values{"topic": topics}
	if last != "" {
		q.Set("last", last)
	}
	body, err := c.stream(ctx, "/v1/events?"+q.Encode())
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }() // only read
	for e, err := range sse.Read(body, &sse.ReadConfig{MaxEventSize: maxEvent}) {
		if err != nil {
			return fmt.Errorf("read the daemon's events: %w", err)
		}
		event := Event{ID: e.LastEventID, Kind: e.Type}
		if err := json.Unmarshal([]byte(e.Data), &event.Look); err != nil {
			return fmt.Errorf("read the daemon's event %s: %w", e.Type, err)
		}
		if !each(event) {
			return nil
		}
	}
	return io.ErrUnexpectedEOF // the daemon ends no stream by itself
}

// maxEvent is how long an event may be: a look names at most so many topics.
const maxEvent = 1 << 20
