package modeltest

import (
	"compress/gzip"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// largestBody bounds what is read of a request, in bytes after it was unpacked.
const largestBody = 64 << 20

// object is JSON in the making.
type object = map[string]any

// dialect is how one protocol says what all of them say.
type dialect interface {
	// read understands a request; its error is one that the client is told.
	read(body []byte) (Request, error)
	// whole is the answer at once.
	whole(reply) object
	// events are the answer as a stream, the last of which ends it.
	events(reply) []event
	// fault is the body of an error.
	fault(status int, message string) object
}

// reply is an answer with what a protocol adds to it.
type reply struct {
	Answer
	to Request
	id string
	at int64 // Unix time
}

// event is one of a stream.
type event struct {
	name  string // none when empty
	data  any    // a string stands for itself, the rest for its JSON
	text  string // what it has of the answer's text
	usage Usage  // what it tells
	final bool   // that is all there is to tell
}

// visit is one request on its way through the server.
type visit struct {
	server   *Server
	w        http.ResponseWriter
	r        *http.Request
	speaks   dialect
	exchange *Exchange
	text     strings.Builder // what was sent of the answer's text
}

// answer asks the script and sends what it says.
func (v *visit) answer(body []byte) {
	request, ok := v.read(body)
	if !ok {
		return
	}
	request = v.server.numbered(v.exchange, request)
	answer := v.server.script(request)
	if request.Protocol != Messages {
		answer.Usage.Input, answer.Usage.CacheCreation = answer.Usage.Input+answer.Usage.CacheCreation, 0
	}
	answer.Calls = slices.Clone(answer.Calls)
	for i := range answer.Calls {
		call := &answer.Calls[i]
		if call.ID == "" {
			call.ID = "call_" + rand.Text()
		}
		if call.Arguments == nil {
			call.Arguments = object{}
		}
	}
	to := reply{Answer: answer, to: request, id: rand.Text(), at: time.Now().Unix()}

	v.hold(to, 0)
	switch {
	case answer.Refuse:
		v.cut()
	case answer.Status != 0 && answer.Status != http.StatusOK:
		if answer.RetryAfter != "" {
			v.w.Header().Set("Retry-After", answer.RetryAfter)
		}
		v.fault(answer.Status, answer.Message)
	case request.Stream:
		v.stream(to)
	default:
		v.whole(to)
	}
}

// count answers how long a prompt is: a token for every four bytes, for nobody counts here.
func (v *visit) count(body []byte) {
	if _, ok := v.read(body); ok {
		v.json(http.StatusOK, object{"input_tokens": len(body) / 4})
	}
}

// read understands the request, or answers why not.
func (v *visit) read(body []byte) (Request, bool) {
	request, err := v.speaks.read(body)
	switch {
	case err != nil:
		v.fault(http.StatusBadRequest, err.Error())
	case request.Model == "":
		v.fault(http.StatusBadRequest, "model: it is required")
	case request.Protocol == Messages && v.r.Header.Get("Anthropic-Version") == "":
		v.fault(http.StatusBadRequest, "anthropic-version: header is required")
	default:
		return request, true
	}
	return Request{}, false
}

func (v *visit) whole(to reply) {
	v.text.WriteString(to.Text)
	body := v.speaks.whole(to)
	if to.Break != nil {
		data := encode(body)
		v.begin(http.StatusOK, "application/json")
		_, _ = v.w.Write(data[:len(data)/2]) // it is cut in any case
		v.text.Reset()
		v.flush()
		v.cut()
	}
	v.note(func(x *Exchange) { x.Text, x.Usage, x.Final = to.Text, to.Usage, true })
	v.json(http.StatusOK, body)
}

func (v *visit) stream(to reply) {
	v.begin(http.StatusOK, "text/event-stream; charset=utf-8")
	v.flush()
	events := v.speaks.events(to)
	for i, e := range events {
		last := i == len(events)-1
		if to.Break.due(i, v.text.Len()) || to.Break != nil && (e.final || last) {
			v.cut()
		}
		v.hold(to, i+1)
		v.text.WriteString(e.text)
		if e.usage != (Usage{}) || e.final || last {
			v.note(func(x *Exchange) {
				x.Text, x.Final = v.text.String(), x.Final || e.final
				if e.usage != (Usage{}) {
					x.Usage = e.usage
				}
			})
		}
		if err := e.write(v.w); err != nil {
			v.left()
		}
		v.flush()
	}
}

// hold waits as the script wants it, and goes no further when nobody is there any more.
func (v *visit) hold(to reply, event int) {
	if to.Hold != nil {
		to.Hold(v.r.Context(), event)
	}
	if v.r.Context().Err() != nil {
		v.left()
	}
}

// fault answers with an error in the provider's words.
func (v *visit) fault(status int, message string) {
	v.json(status, v.speaks.fault(status, message))
}

func (v *visit) json(status int, body object) {
	data := encode(body)
	v.w.Header().Set("Content-Length", fmt.Sprint(len(data)))
	v.begin(status, "application/json")
	if _, err := v.w.Write(data); err != nil {
		v.left()
	}
}

// begin sends the headers of an answer, with the one that providers ask for when something
// is reported to them.
func (v *visit) begin(status int, kind string) {
	v.note(func(x *Exchange) { x.Status = status })
	v.w.Header().Set("Content-Type", kind)
	id := "X-Request-Id"
	if v.speaks == (messages{}) {
		id = "Request-Id"
	}
	v.w.Header().Set(id, "req_"+rand.Text())
	v.w.WriteHeader(status)
}

func (v *visit) flush() {
	if http.NewResponseController(v.w).Flush() != nil {
		v.left()
	}
}

// note changes the record of the request.
func (v *visit) note(how func(*Exchange)) {
	v.server.change(func() { how(v.exchange) })
}

// left ends the visit of a client that has gone, or whom the server's end has cut off.
func (v *visit) left() {
	closed := errors.Is(context.Cause(v.r.Context()), errClosed)
	v.note(func(x *Exchange) { x.Gone, x.Final = !closed, false })
	v.cut()
}

// cut closes the connection without anything more, which is what net/http makes of this
// panic.
func (v *visit) cut() {
	v.note(func(x *Exchange) { x.Text = v.text.String() })
	panic(http.ErrAbortHandler)
}

// write sends an event.
func (e event) write(w io.Writer) error {
	data, plain := e.data.(string)
	if !plain {
		data = string(encode(e.data))
	}
	if e.name != "" {
		data = e.name + "\ndata: " + data
		_, err := io.WriteString(w, "event: "+data+"\n\n")
		return err
	}
	_, err := io.WriteString(w, "data: "+data+"\n\n")
	return err
}

// readBody reads all of a request, so that net/http sees from then on when the client goes
// away. Codex packs its requests with zstd when it has a login of ChatGPT and asks OpenAI
// itself; with a key it does not, and so that is not understood here.
func readBody(r *http.Request) ([]byte, error) {
	body := io.Reader(r.Body)
	switch packed := r.Header.Get("Content-Encoding"); packed {
	case "", "identity":
	case "gzip":
		unpacked, err := gzip.NewReader(r.Body)
		if err != nil {
			return nil, fmt.Errorf("the body is no gzip: %w", err)
		}
		body = unpacked
	default:
		return nil, fmt.Errorf("the encoding %s of the body is not understood", packed)
	}
	data, err := io.ReadAll(io.LimitReader(body, largestBody+1))
	if err == nil && len(data) > largestBody {
		err = errors.New("the body is too large")
	}
	return data, err
}

// encode writes JSON. A script whose arguments have none is a mistake in a test.
func encode(value any) []byte {
	data, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("modeltest: a script's answer as JSON: %v", err))
	}
	return data
}

// pieces cuts a text into so many parts that are about equally long, between characters.
func pieces(text string, count int) []string {
	characters := []rune(text)
	parts := make([]string, max(1, min(count, len(characters))))
	for i := range parts {
		parts[i] = string(characters[i*len(characters)/len(parts) : (i+1)*len(characters)/len(parts)])
	}
	return parts
}
