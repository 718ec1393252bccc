package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/assayd/assayd/runtime/gateway/wire"
)

// answer is one of the provider's that is passed on.
type answer struct {
	*http.Response
	frames *wire.Frames // of a stream
	first  []byte       // what it begins with, which the meter has read
	alarm  *time.Timer
}

func (a *answer) close() {
	a.alarm.Stop()
	_ = a.Body.Close()
}

var (
	errGone  = errors.New("the agent has hung up")
	errQuiet = errors.New("the provider has fallen silent")
)

// lingering is how long a stream may stay open after its last event; what it ends with is
// waited for because its connection can then be used again.
const lingering = time.Second

// opened takes up an answer. A stream whose first event is an error that may pass has not
// begun.
func (x *exchange) opened(res *http.Response) (*answer, error) {
	a := &answer{Response: res, alarm: time.AfterFunc(patience, func() { x.far.end(errQuiet); x.cancel(errQuiet) })}
	if x.q == nil || res.StatusCode/100 != 2 || !x.streams(res.Header.Get("Content-Type")) {
		return a, nil
	}
	a.frames = wire.NewFrames(res.Body)
	for {
		raw, data, err := x.next(a)
		if err != nil {
			a.close()
			if x.ctx.Err() == nil { // else it is at work
				x.sent = nil
			}
			return nil, fmt.Errorf("provider %s ended a stream before it began: %w", x.s.provider.Name, err)
		}
		a.first = append(a.first, raw...)
		if data != nil || len(a.first) > maxPrelude {
			break
		}
	}
	if x.meter.Err != "" && !wire.Lasting(x.meter.Err) {
		err := errors.New(x.objection(res.StatusCode, []byte(x.meter.Err)))
		x.meter, x.sent = wire.Meter{Asked: x.meter.Asked}, nil
		a.close()
		return nil, err
	}
	return a, nil
}

// maxPrelude bounds the comments that are held back until a stream has its first event, in
// bytes. Some providers send one each second while a request waits in their queue.
const maxPrelude = 4 << 10

// streams reports whether an answer comes event by event.
func (x *exchange) streams(kind string) bool {
	return strings.HasPrefix(kind, "text/event-stream") || x.q.Stream && !strings.HasPrefix(kind, "application/json")
}

// next reads the next event of a stream, without the key, and has it counted.
func (x *exchange) next(a *answer) (raw, data []byte, err error) {
	if !x.meter.Last {
		a.alarm.Reset(patience)
	}
	if raw, err = a.frames.Next(); err != nil {
		return nil, nil, err
	}
	raw = x.masked(raw)
	if data = wire.Data(raw); data != nil {
		x.at.Generates.Event(data, &x.meter)
	}
	return raw, data, nil
}

// whole passes on an answer that comes in one piece.
func (x *exchange) whole(a *answer) {
	defer a.close()
	if bad := x.book(); bad != nil {
		x.refuse(bad)
		return
	}
	body, err := x.slurp(a)
	x.at.Generates.Whole(body, &x.meter)
	if !x.meter.Told && x.meter.Err == "" && x.meter.TextBytes == 0 {
		x.meter.TextBytes = len(body) // it broke off, or is none that we can read
	}
	x.status = a.StatusCode
	x.s.answers()
	if err != nil {
		bad := overloaded(x.protocol(), "the answer broke off")
		x.status, x.lost = bad.status, true
		x.settle(broken(x.ctx, err))
		bad.write(x.w)
		return
	}
	x.settle("")
	x.give(a, body)
}

// slurp reads all of an answer, without the key.
func (x *exchange) slurp(a *answer) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(a.Body, wire.MaxBody+1))
	if err == nil && len(body) > wire.MaxBody {
		err = fmt.Errorf("an answer has more than %d bytes", wire.MaxBody)
	}
	return x.masked(body), err
}

// stream passes on an answer event by event. What it cost is in the ledger before its last
// event is passed on.
func (x *exchange) stream(a *answer) {
	defer a.close()
	if bad := x.book(); bad != nil {
		x.refuse(bad)
		return
	}
	x.status = a.StatusCode
	x.s.answers()
	x.header(a.Response)
	settled, err := x.relay(a)
	ended := errors.Is(err, io.EOF) && len(a.frames.Rest()) == 0
	switch {
	case settled:
	case ended && (x.meter.Told || x.meter.Err != ""): // without a word on its end
		x.settle("")
	default:
		x.settle(broken(x.ctx, err))
		panic(http.ErrAbortHandler) // the agent must not take it for a whole answer
	}
}

// relay passes events on until there are no more, and says whether the exchange is settled
// by then.
func (x *exchange) relay(a *answer) (settled bool, err error) {
	for raw := a.first; ; {
		if x.meter.Last && !settled {
			x.settle("")
			settled = true
			a.alarm.Reset(lingering)
		}
		if !x.meter.Hide && !x.unheard {
			if err := x.write(raw, !a.frames.More()); err != nil {
				if settled || x.s.life.Err() != nil {
					return settled, err
				}
				x.unheard = true // it is read on for what it takes
				x.cancel(errGone)
			}
		}
		x.meter.Hide = false
		if raw, _, err = x.next(a); err != nil {
			return settled, err
		}
	}
}

// write passes a piece of an answer on, at once where nothing more is there yet.
func (x *exchange) write(piece []byte, flush bool) error {
	_ = x.control.SetWriteDeadline(time.Now().Add(writeTime)) // a server without deadlines is a test
	if x.ctx.Err() != nil {                                   // else whoever ended it finds the deadline there
		return context.Cause(x.ctx)
	}
	_, err := x.w.Write(piece)
	if err == nil && flush {
		err = x.control.Flush()
	}
	if err != nil {
		return errors.Join(errGone, err)
	}
	return nil
}

// broken says why an answer ended before its end.
func broken(ctx context.Context, err error) string {
	if ctx.Err() != nil {
		err = context.Cause(ctx)
		if errors.Is(err, context.Canceled) {
			err = errGone
		}
	}
	return text(err)
}

// pass passes on what no model answers, such as the list of models.
func (x *exchange) pass() {
	if len(x.body) > 0 {
		fields, err := wire.Fields(x.body)
		if err != nil {
			malformed(x.protocol(), 400, "The body is no JSON object of a request: %v.", err).write(x.w)
			return
		}
		if what := x.beyond(fields); what != "" {
			closedTo(x.protocol(), what).write(x.w)
			return
		}
	}
	if x.path == wire.ModelsPath && x.s.grant.Closed {
		x.w.Header().Set("Content-Type", "application/json")
		_, _ = x.w.Write(wire.ModelList(x.protocol(), x.s.grant.Model)) // who has gone needs no answer
		return
	}
	a, bad := x.forward()
	defer x.leave()
	if bad != nil {
		bad.write(x.w)
		return
	}
	defer a.close()
	body, err := x.slurp(a)
	if err != nil {
		overloaded(x.protocol(), "the answer broke off").write(x.w)
		return
	}
	x.give(a, body)
}

// give passes an answer on that came in one piece.
func (x *exchange) give(a *answer, body []byte) {
	x.header(a.Response)
	if x.write(body, false) != nil {
		panic(http.ErrAbortHandler) // the agent must not take it for a whole answer
	}
}

// header begins the answer with what agents need to know of the provider's.
func (x *exchange) header(res *http.Response) {
	for name, values := range res.Header {
		if !answerHeader(name) {
			continue
		}
		for _, value := range values {
			x.w.Header().Add(name, string(x.masked([]byte(value))))
		}
	}
	x.w.WriteHeader(res.StatusCode)
}

// leastKey is how long a key is at least, in bytes. What is shorter is a placeholder of a
// provider that needs none, and may well be a word of the answer.
const leastKey = 8

// masked is what a provider says without the key, should it quote it.
func (x *exchange) masked(body []byte) []byte {
	if len(x.key) < leastKey || !bytes.Contains(body, []byte(x.key)) {
		return body
	}
	return bytes.ReplaceAll(body, []byte(x.key), []byte("***"))
}
