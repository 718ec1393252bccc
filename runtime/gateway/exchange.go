package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/assayd/assayd/runtime/gateway/transcript"
	"github.com/assayd/assayd/runtime/gateway/transcript/values"
	"github.com/assayd/assayd/runtime/gateway/wire"
)

// Bounds on what passes.
const (
	maxBodies = 2 * wire.MaxBody // of all requests of a session that are under way
	leastRoom = 128 << 10        // that each of them takes of that
	valueRoom = 64               // that each of them takes beside its text
	maxError  = 1 << 20          // of an answer that tells of an error
	bodyTime  = 2 * time.Minute  // for a request to come in
	writeTime = 2 * time.Minute  // for a piece of an answer to be taken
)

// exchange is one request of an agent, and what comes of it. It belongs to the goroutine of
// the request.
type exchange struct {
	ctx     context.Context
	cancel  context.CancelCauseFunc
	far     *far // nil = a question of our own
	s       *Session
	w       http.ResponseWriter
	control *http.ResponseController
	from    *http.Request
	at      wire.Endpoint
	path    string // as the provider knows it
	body    []byte
	room    int64 // that it takes of the session's

	q        *wire.Question // nil where no model answers
	meter    wire.Meter
	n        int // in the transcript
	began    time.Time
	waited   time.Duration // in the provider's line
	gated    bool          // users held it back
	first    time.Time     // when the answer began; zero = it has not
	cut      bool          // the answer ended before its end
	attempts int
	sent     *atomic.Bool // a provider has the request; nil = or has refused it
	key      string       // that it was sent with
	pauses   *pauses      // between attempts
	entered  int64        // tokens that the provider's line knows of
	placed   bool         // there is a place in it to be given back
	charge   int64        // in the ledger
	charged  Usage
	bound    wire.Tokens // what it takes at most
	held     reservation // of the budgets
	listed   Price       // by the provider's own list, if isListed is set
	isListed bool
	lost     bool // nothing of the answer was passed on
	unheard  bool // the agent takes nothing more
	status   int  // that the agent was answered with
}

// serve answers one request.
func serve(ctx context.Context, cancel context.CancelCauseFunc, s *Session, w http.ResponseWriter, r *http.Request) {
	x := &exchange{
		ctx: ctx, cancel: cancel, s: s, w: w, control: http.NewResponseController(w), from: r, began: time.Now(), pauses: newPauses(),
	}
	defer func() { s.room.Release(x.room) }()
	x.far = newFar(ctx, s)
	defer x.far.close()
	bad := x.find()
	if bad == nil {
		bad = x.read()
	}
	switch {
	case bad != nil:
		bad.write(x.w)
	case x.q == nil:
		x.pass()
	default:
		defer x.tell() // also of one that breaks off
		x.generate()
	}
}

func (x *exchange) protocol() string { return x.s.provider.Protocol }

// find finds out what is asked for.
func (x *exchange) find() *refusal {
	path, ours := strings.CutPrefix(x.from.URL.Path, x.s.prefix())
	for _, e := range wire.Endpoints(x.protocol()) {
		if ours && e.Method == x.from.Method && e.Path == path {
			x.at, x.path = e, path
			return nil
		}
	}
	return unknown(x.protocol(), wire.Clip([]byte(x.from.Method+" "+x.from.URL.Path)))
}

// read takes the request in.
func (x *exchange) read() *refusal {
	if e := x.from.Header.Get("Content-Encoding"); e != "" && e != "identity" {
		return malformed(x.protocol(), 415, "The body is encoded as %s: send it as it is.", e)
	}
	size := x.from.ContentLength // -1 where it is not told
	if size > wire.MaxBody {
		return malformed(x.protocol(), 413, "The body has more than %d bytes.", wire.MaxBody)
	}
	if size < 0 {
		size = wire.MaxBody
	}
	size = max(size, leastRoom)
	waiting, cancel := context.WithTimeout(x.ctx, bodyTime)
	defer cancel()
	if err := x.s.room.Acquire(waiting, size); err != nil {
		return overloaded(x.protocol(), "there is no room for the request: "+broken(x.ctx, err))
	}
	x.room = size
	body, err := x.take()
	if _, huge := errors.AsType[*http.MaxBytesError](err); huge {
		return malformed(x.protocol(), 413, "The body has more than %d bytes.", wire.MaxBody)
	}
	if err != nil {
		return malformed(x.protocol(), 400, "The body cannot be read: %v.", err)
	}
	x.body = body
	if bad := x.weigh(); bad != nil || x.at.Generates == nil {
		return bad
	}
	if x.q, err = wire.ReadQuestion(body); err != nil {
		return malformed(x.protocol(), 400, "The body is no JSON object of a request: %v.", err)
	}
	return nil
}

// weigh takes the room that the request needs, which is more where it is made of many values.
func (x *exchange) weigh() *refusal {
	values := values.Count(x.body, wire.MaxValues)
	if values > wire.MaxValues {
		return malformed(x.protocol(), 413, "The body has more than %d values.", wire.MaxValues)
	}
	need := max(int64(len(x.body)+valueRoom*values), leastRoom)
	if need > x.room && !x.s.room.TryAcquire(need-x.room) { // to wait for it might be in vain
		return overloaded(x.protocol(), "there is no room for the request")
	}
	x.s.room.Release(max(x.room-need, 0))
	x.room = need
	return nil
}

// take reads the body, as long as the session is open. One that breaks off ends its
// connection, too.
func (x *exchange) take() ([]byte, error) {
	_ = x.control.SetReadDeadline(time.Now().Add(bodyTime)) // a server without deadlines is a test
	late := make(chan struct{})
	watch := context.AfterFunc(x.ctx, func() {
		defer close(late)
		_ = x.control.SetReadDeadline(time.Now())
	})
	body, err := io.ReadAll(http.MaxBytesReader(x.w, x.from.Body, x.room))
	if !watch() {
		<-late
	}
	if err == nil {
		_ = x.control.SetReadDeadline(time.Time{})
	}
	return body, err
}

// generate has a model answer.
func (x *exchange) generate() {
	if bad := x.broke(); bad != nil {
		bad.write(x.w)
		return
	}
	x.n = x.begin()
	if what := x.beyond(x.q.Fields); what != "" {
		x.deny(what)
		return
	}
	each, total := x.s.limits()
	changed := (each.USD > 0 || total.USD > 0) && wire.UseStandardTier(x.q.Fields)
	if prepare := x.at.Generates.Prepare; prepare != nil {
		var more bool
		more, x.meter.Asked = prepare(x.q, x.s.provider.tellsCost)
		changed = changed || more
	}
	if changed {
		x.body, _ = json.Marshal(x.q.Fields) // they were JSON
	}
	x.s.asks(x)
	if bad := x.gate(); bad != nil {
		x.refuse(bad)
		return
	}
	defer x.release()
	if bad := x.reserve(); bad != nil {
		x.refuse(bad)
		return
	}
	x.q.Fields = nil // it may be long until there is an answer
	x.far.model.Store(true)
	x.goesOut()
	a, bad := x.forward()
	defer x.leave()
	switch {
	case bad != nil && x.sent != nil && x.sent.Load():
		x.abandon(bad)
	case bad != nil:
		x.got(bad.text)
		x.refuse(bad)
	case a.StatusCode/100 != 2:
		x.fail(a)
	case a.frames != nil:
		x.stream(a)
	default:
		x.whole(a)
	}
}

// broke refuses what there is no money for.
func (x *exchange) broke() *refusal {
	if reason, detail := x.s.Reason(); reason != "" {
		return spentUp(x.protocol(), detail)
	}
	return nil
}

// begin appends the request to the transcript, as the agent sent it.
func (x *exchange) begin() int {
	if x.s.file == nil {
		return 0
	}
	n, err := x.s.file.Begin(x.began.UTC(), x.at.Generates.Name, x.q.Model, x.q.Stream, x.q.Fields)
	x.s.kept(err)
	return n
}

// refuse answers in the provider's place.
func (x *exchange) refuse(bad *refusal) {
	x.status = bad.status
	x.over(transcript.Response{Error: bad.text})
	bad.write(x.w)
}

// beyond names what the request would have the provider do where the network is closed.
func (x *exchange) beyond(fields map[string]json.RawMessage) string {
	if !x.s.grant.Closed {
		return ""
	}
	return wire.HostedTools(fields)
}

// deny refuses what the network is closed to.
func (x *exchange) deny(what string) {
	bad := closedTo(x.protocol(), what)
	x.status = bad.status
	x.over(transcript.Response{Error: bad.text, Denied: what})
	bad.write(x.w)
}

// abandon ends a request that nobody waits for any more. The provider has it and works on
// it: it is charged with its prompt.
func (x *exchange) abandon(bad *refusal) {
	x.status = bad.status
	if x.book() == nil {
		x.settle(bad.text)
	}
	bad.write(x.w)
}

// fail passes on that the provider refuses the request.
func (x *exchange) fail(a *answer) {
	defer a.close()
	body, err := io.ReadAll(io.LimitReader(a.Body, maxError))
	body = x.masked(body)
	x.status = a.StatusCode
	x.got(x.objection(a.StatusCode, body))
	if wire.Refusing(a.StatusCode, body) {
		x.s.suspect(x)
	} else {
		x.s.answers()
	}
	x.over(transcript.Response{Error: wire.Clip(body), Broken: text(err)})
	x.give(a, body)
}

// over appends what came of the exchange to the transcript.
func (x *exchange) over(r transcript.Response) {
	if x.n == 0 { // it is not there
		return
	}
	now := time.Now()
	r.Status, r.Attempts, r.Millis = x.status, x.attempts, now.Sub(x.began).Milliseconds()
	x.s.kept(x.s.file.End(now.UTC(), x.n, r))
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
