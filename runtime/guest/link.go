package guest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/assayd/assayd/runtime/clock"
	"github.com/assayd/assayd/runtime/guest/protocol"
)

const (
	// logChunk is the most output that one request carries.
	logChunk = 256 << 10
	// logGather is waited after a chunk that was not full, so that an agent that prints a
	// character at a time does not make a request of each.
	logGather = 100 * time.Millisecond
	// logAgain is waited when the daemon wants the same bytes again.
	logAgain = time.Second
	// lastWords is how long the event that the agent has ended waits for the output to be
	// sent before it.
	lastWords = 15 * time.Second
	// shortestBeat is from one heartbeat to the next, if the daemon does not hold them.
	shortestBeat = time.Second
	// endedBeat is the pause between heartbeats when there is nothing left to order.
	endedBeat = 5 * time.Second
	// manyZombies is worth an event.
	manyZombies = 100
)

// link is the guest's side of the protocol. The daemon may be away at any time, for any
// time: every request is repeated until it succeeds.
type link struct {
	client *http.Client
	log    *slog.Logger
	notes  *stateFile
	output *output
	boot   string

	change  func(func(*memory))         // of notes
	trouble func(reason, detail string) // reports
	running func() bool                 // whether the agent runs
}

// dialLink prepares a link over the socket; it sends nothing yet.
func dialLink(socket string) *http.Client {
	return &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", socket)
		},
	}}
}

// talk says hello, hands the answer over, and then sends events, output and heartbeats
// until ctx ends. ordered is called when the daemon wants something.
func (l *link) talk(ctx context.Context, welcomed func(protocol.Welcome), ordered func(protocol.Order)) {
	defer l.client.CloseIdleConnections()
	w, err := l.hello(ctx)
	if err != nil {
		return // ctx ended
	}
	welcomed(w)
	var wg sync.WaitGroup
	wg.Go(func() { l.sendEvents(ctx) })
	wg.Go(func() { l.sendOutput(ctx, w.LogNext) })
	wg.Go(func() { l.beat(ctx, ordered) })
	wg.Wait()
}

func (l *link) hello(ctx context.Context) (w protocol.Welcome, err error) {
	err = insist(ctx, l.log, "say hello to the daemon", func(ctx context.Context) error {
		m := l.notes.look()
		h := protocol.Hello{Version: protocol.Version, Trial: m.Trial, Boot: l.boot, Starts: m.Starts, Deadline: m.Deadline, Ended: m.Ended}
		return l.post(ctx, "/v1/hello", h, &w)
	})
	return w, err
}

// sendEvents sends one event after the other, the oldest first.
func (l *link) sendEvents(ctx context.Context) {
	for {
		select {
		case <-l.notes.added:
		case <-ctx.Done():
			return
		}
		for events := l.notes.look().Events; len(events) > 0; events = l.notes.look().Events {
			e := events[0]
			if e.Type == protocol.EventEnded {
				l.flush(ctx)
			}
			if insist(ctx, l.log, "report an event", func(ctx context.Context) error {
				err := l.post(ctx, "/v1/event", e, nil)
				if r, ok := errors.AsType[rejection](err); ok && r.code == http.StatusBadRequest {
					// A daemon of another version, which will not know it later either; what comes after it counts.
					l.log.Error("the daemon does not take an event, which is dropped", "event", e.Type, "reason", e.Reason, "err", err)
					return nil
				}
				return err
			}) != nil {
				return
			}
			l.change(func(m *memory) { m.acknowledge(e.Seq + 1) })
		}
	}
}

// flush gives the output a while to arrive: the daemon may take the container away as soon
// as it knows that the agent has ended.
func (l *link) flush(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lastWords)
	defer cancel()
	_ = l.output.flushed(ctx) // what is not there by then is not worth waiting for
}

// sendOutput streams the output from offset next on.
func (l *link) sendOutput(ctx context.Context, next int64) {
	l.output.skipTo(next)
	l.output.acknowledge(next)
	buf := make([]byte, logChunk)
	for l.output.beyond(ctx, next) == nil {
		at, n := l.output.read(next, buf)
		if at > next {
			l.trouble(protocol.TroubleLogTruncated, fmt.Sprintf("output from byte %d to %d was dropped", next, at))
		}
		wanted := at
		if n > 0 && insist(ctx, l.log, "send output", func(ctx context.Context) (err error) {
			wanted, err = l.sendChunk(ctx, at, buf[:n])
			return err
		}) != nil {
			return
		}
		next = wanted
		l.output.acknowledge(next)
		wait := time.Duration(0)
		switch {
		case wanted <= at: // and not a step further
			wait = logAgain
		case n < len(buf):
			wait = logGather
		}
		if clock.Sleep(ctx, wait) != nil {
			return
		}
	}
}

// sendChunk returns the offset that the daemon wants next. One that lies beyond what it
// was sent makes no sense.
func (l *link) sendChunk(ctx context.Context, at int64, chunk []byte) (int64, error) {
	var ack protocol.LogAck
	err := l.do(ctx, "/v1/log?offset="+strconv.FormatInt(at, 10), "application/octet-stream", chunk, &ack)
	if err != nil {
		return at, err
	}
	if ack.Next < 0 || ack.Next > at+int64(len(chunk)) {
		return at, fmt.Errorf("the daemon wants byte %d after %d", ack.Next, at+int64(len(chunk)))
	}
	return ack.Next, nil
}

// beat tells the daemon that the guest lives, and takes its orders.
func (l *link) beat(ctx context.Context, ordered func(protocol.Order)) {
	for {
		var order protocol.Order
		began := time.Now()
		if insist(ctx, l.log, "send a heartbeat", func(ctx context.Context) error {
			pids, zombies := census()
			if zombies >= manyZombies {
				l.trouble(protocol.TroubleZombies, fmt.Sprintf("%d processes ended and no process waits for them", zombies))
			}
			for _, limit := range limits {
				if n := limit.hit(cgroups); n > 0 {
					l.trouble(limit.trouble, fmt.Sprintf(limit.text, n))
				}
			}
			return l.post(ctx, "/v1/poll", protocol.Beat{Boot: l.boot, Running: l.running(), PIDs: pids, Zombies: zombies, Deadline: l.notes.look().Deadline}, &order)
		}) != nil {
			return
		}
		wait := shortestBeat - time.Since(began)
		if order != (protocol.Order{}) {
			ordered(order)
		}
		if order.End {
			wait = endedBeat
		}
		if clock.Sleep(ctx, wait) != nil {
			return
		}
	}
}

// rejection is an answer with an error.
type rejection struct {
	code int
	text string
}

func (r rejection) Error() string { return r.text }

func (l *link) post(ctx context.Context, path string, question, answer any) error {
	body, err := json.Marshal(question)
	if err != nil {
		return fmt.Errorf("encode a request to %s: %w", path, err)
	}
	return l.do(ctx, path, "application/json", body, answer)
}

const (
	requestTimeout = time.Minute // the daemon holds a heartbeat for 20 s at most
	answerBytes    = 1 << 20
)

func (l *link) do(ctx context.Context, path, kind string, body []byte, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://daemon"+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", kind)
	res, err := l.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close() //nolint:errcheck // only read
	text, err := io.ReadAll(io.LimitReader(res.Body, answerBytes))
	if err != nil {
		return fmt.Errorf("read the answer to %s: %w", path, err)
	}
	if res.StatusCode/100 != 2 {
		return rejection{res.StatusCode, fmt.Sprintf("%s: %s: %.200s", path, res.Status, text)}
	}
	if answer == nil {
		return nil
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return fmt.Errorf("decode the answer to %s: %w", path, err)
	}
	return nil
}

// insist repeats try until it succeeds or ctx ends, with pauses that double from 50 ms to
// 5 s. It logs the first failure and the success after it, not what lies between: a daemon
// may be away for days.
func insist(ctx context.Context, log *slog.Logger, what string, try func(context.Context) error) error {
	wait, failed := 50*time.Millisecond, false
	for {
		err := try(ctx)
		if err == nil {
			if failed {
				log.Info("works again: " + what)
			}
			return nil
		}
		if ctx.Err() != nil {
			return errors.Join(ctx.Err(), err)
		}
		if !failed {
			log.Warn("does not work, and is tried until it does: "+what, "err", err)
			failed = true
		}
		if err := clock.Sleep(ctx, wait); err != nil {
			return err
		}
		wait = min(2*wait, 5*time.Second)
	}
}
