package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/assayd/assayd/runtime/fault"
	"github.com/assayd/assayd/runtime/gateway/transcript"
)

// Bounds on what passes.
const (
	maxBody   = 64 << 20        // of a request, and of an answer that is not streamed
	maxError  = 1 << 20         // of an answer that tells of an error
	bodyTime  = 2 * time.Minute // for a request to come in
	writeTime = 2 * time.Minute // for a piece of an answer to be taken
)

// exchange is one request of an agent, and what comes of it. It belongs to the goroutine of
// the request.
type exchange struct {
	ctx  context.Context
	s    *Session
	w    http.ResponseWriter
	from *http.Request
	at   endpoint
	path string // as the provider knows it
	body []byte

	q        *question // nil where no model answers
	meter    meter
	n        int // in the transcript
	began    time.Time
	attempts int
	entered  int64 // tokens that the provider's line knows of
	placed   bool  // there is a place in it to be given back
	charge   int64 // in the ledger
	charged  Usage // so far
	status   int   // that the agent was answered with
}

// serve answers one request.
func serve(ctx context.Context, s *Session, w http.ResponseWriter, r *http.Request) {
	x := &exchange{ctx: ctx, s: s, w: w, from: r, began: time.Now()}
	if bad := x.read(); bad != nil {
		bad.write(w)
		return
	}
	if x.q == nil {
		x.pass()
		return
	}
	x.generate()
}

func (x *exchange) protocol() string { return x.s.provider.Protocol }

// read takes the request in and finds out what it is.
func (x *exchange) read() *refusal {
	path, ours := strings.CutPrefix(x.from.URL.Path, x.s.prefix())
	found := false
	for _, e := range endpointsOf(x.protocol()) {
		if ours && e.method == x.from.Method && e.path == path {
			x.at, x.path, found = e, path, true
		}
	}
	if !found {
		return unknown(x.protocol(), x.from.Method+" "+x.from.URL.Path)
	}
	if e := x.from.Header.Get("Content-Encoding"); e != "" && e != "identity" {
		return malformed(x.protocol(), 415, "The body is encoded as %s: send it as it is.", e)
	}
	control := http.NewResponseController(x.w)
	_ = control.SetReadDeadline(time.Now().Add(bodyTime)) // a server without deadlines is a test
	body, err := io.ReadAll(http.MaxBytesReader(x.w, x.from.Body, maxBody))
	_ = control.SetReadDeadline(time.Time{})
	if _, huge := errors.AsType[*http.MaxBytesError](err); huge {
		return malformed(x.protocol(), 413, "The body has more than %d bytes.", maxBody)
	}
	if err != nil {
		return malformed(x.protocol(), 400, "The body cannot be read: %v.", err)
	}
	x.body = body
	if x.at.generates == nil {
		return nil
	}
	if x.q, err = ask(body); err != nil {
		return malformed(x.protocol(), 400, "The body is no JSON object of a request: %v.", err)
	}
	return nil
}

// generate has a model answer.
func (x *exchange) generate() {
	if reason, detail := x.s.Reason(); reason != "" {
		spentUp(x.protocol(), detail).write(x.w)
		return
	}
	x.s.other(x.q.Model)
	x.n = x.begin()
	if x.at.generates.prepare(x.q) {
		x.meter.asked = true
		x.body, _ = json.Marshal(x.q.fields) // they were JSON
	}
	a, bad := x.forward()
	defer x.leave()
	switch {
	case bad != nil:
		x.refuse(bad)
	case a.StatusCode/100 != 2:
		x.fail(a)
	case a.frames != nil:
		x.stream(a)
	default:
		x.whole(a)
	}
}

// begin appends the request to the transcript, as the agent sent it.
func (x *exchange) begin() int {
	n, err := x.s.file.Begin(x.began.UTC(), x.at.generates.name, x.q.Model, x.q.Stream, x.q.fields)
	x.s.kept(err)
	return n
}

// refuse answers in the provider's place.
func (x *exchange) refuse(bad *refusal) {
	x.status = bad.status
	x.over(transcript.Response{Error: bad.text})
	bad.write(x.w)
}

// fail passes on that the provider refuses the request.
func (x *exchange) fail(a *answer) {
	defer a.close()
	body, err := io.ReadAll(io.LimitReader(a.Body, maxError))
	body = x.masked(body)
	x.status = a.StatusCode
	if a.StatusCode == http.StatusUnauthorized || a.StatusCode == http.StatusForbidden || a.StatusCode == http.StatusPaymentRequired {
		x.s.note(x.objection(a.StatusCode, body))
	} else {
		x.s.note("")
	}
	x.over(transcript.Response{Error: clip(body), Broken: text(err)})
	x.header(a.Response)
	_, _ = x.w.Write(body) // who has gone needs no answer
}

// whole passes on an answer that comes in one piece.
func (x *exchange) whole(a *answer) {
	defer a.close()
	if bad := x.book(); bad != nil {
		x.refuse(bad)
		return
	}
	body, err := io.ReadAll(io.LimitReader(a.Body, maxBody))
	x.at.generates.whole(body, &x.meter)
	x.s.note("")
	x.status = a.StatusCode
	if err != nil {
		bad := overloaded(x.protocol(), "the answer broke off")
		x.status = bad.status
		x.settle(text(err))
		bad.write(x.w)
		return
	}
	x.settle("")
	x.header(a.Response)
	_, _ = x.w.Write(body)
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
	x.header(a.Response)
	control := http.NewResponseController(x.w)
	err, settled := error(nil), false
	for raw := a.first; ; {
		if x.meter.last && !settled {
			x.settle("")
			settled = true
		}
		if !x.meter.hide && len(raw) > 0 {
			_ = control.SetWriteDeadline(time.Now().Add(writeTime))
			if _, werr := x.w.Write(raw); werr != nil {
				err = errors.Join(errGone, werr)
				break
			}
			if a.frames.idle() {
				_ = control.Flush()
			}
		}
		x.meter.hide = false
		var data []byte
		if raw, data, err = a.frames.next(); err != nil {
			break
		}
		x.at.generates.event(data, &x.meter)
	}
	x.s.note("")
	if settled {
		return
	}
	if errors.Is(err, io.EOF) && len(a.frames.rest()) == 0 && x.meter.told { // it ends without a word on its end
		x.settle("")
		return
	}
	x.settle(broken(x.ctx, err))
	panic(http.ErrAbortHandler) // the agent must not take it for a whole answer
}

var errGone = errors.New("the agent has hung up")

// broken says why a stream ended before its end.
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
	a, bad := x.forward()
	defer x.leave()
	if bad != nil {
		bad.write(x.w)
		return
	}
	defer a.close()
	body, err := io.ReadAll(io.LimitReader(a.Body, maxBody))
	if err != nil {
		overloaded(x.protocol(), "the answer broke off").write(x.w)
		return
	}
	x.header(a.Response)
	_, _ = x.w.Write(x.masked(body))
}

// book enters the exchange into the ledger with what it costs at least.
func (x *exchange) book() *refusal {
	least := tokens{input: estimate(x.q.bytes), estimated: estimate(x.q.bytes)}
	c := x.bill(least)
	id, err := x.s.gateway.opts.Ledger.Begin(context.WithoutCancel(x.ctx), c)
	if err != nil {
		x.s.log.Error("an exchange with a model cannot be entered into the books, and is refused", "error", err)
		return overloaded(x.protocol(), "the gateway cannot keep its books")
	}
	fault.Reached(fault.ExchangeBooked)
	x.charge, x.charged = id, c.Usage
	x.s.gateway.spend(x.s, c.Usage)
	return nil
}

// bill is what tokens of this exchange cost.
func (x *exchange) bill(t tokens) Charge {
	price, priced := x.s.provider.price(x.q.Model)
	return Charge{Account: x.s.grant.Account, Provider: x.s.provider.Name, Model: x.q.Model, Usage: t.usage(price, priced)}
}

// settle enters what the exchange cost in the end.
func (x *exchange) settle(broken string) {
	x.meter.settle(x.q.bytes)
	c := x.bill(x.meter.tokens)
	if err := x.s.gateway.opts.Ledger.End(context.WithoutCancel(x.ctx), x.charge, c); err != nil {
		x.s.log.Error("what an exchange with a model cost cannot be entered into the books; its estimate stands", "error", err)
	}
	fault.Reached(fault.ExchangeSettled)
	x.s.gateway.spend(x.s, c.Usage.less(x.charged))
	x.charged = c.Usage
	u := c.Usage
	x.over(transcript.Response{
		Broken: broken, Model: x.meter.model, Error: clip([]byte(x.meter.err)), Reply: x.meter.Reply(),
		Tokens: transcript.Tokens{
			Input: u.InputTokens, Cached: u.CachedTokens, Output: u.OutputTokens, Estimated: u.EstimatedTokens, CostUSD: u.CostUSD,
		},
	})
}

// over appends what came of the exchange to the transcript.
func (x *exchange) over(r transcript.Response) {
	now := time.Now()
	r.Status, r.Attempts, r.Millis = x.status, x.attempts, now.Sub(x.began).Milliseconds()
	x.s.kept(x.s.file.End(now.UTC(), x.n, r))
}

// leave gives the place in the provider's line back.
func (x *exchange) leave() {
	if x.placed {
		x.placed = false
		x.s.provider.line.leave(x.charged.Tokens() - x.entered)
	}
}

// header begins the answer with what agents need to know of the provider's.
func (x *exchange) header(res *http.Response) {
	for name, values := range res.Header {
		if answerHeader(name) {
			x.w.Header()[name] = values
		}
	}
	x.w.WriteHeader(res.StatusCode)
}

// masked is a text of the provider's without the key, should it quote it.
func (x *exchange) masked(body []byte) []byte {
	key, err := x.s.provider.Key()
	if err != nil || key == "" {
		return body
	}
	return bytes.ReplaceAll(body, []byte(key), []byte("***"))
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// clip bounds what is quoted of others.
func clip(body []byte) string {
	const most = 2000
	if len(body) > most {
		body = body[:most]
	}
	return strings.ToValidUTF8(string(body), "?")
}
