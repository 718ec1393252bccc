package trace

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/gateway/transcript"
)

// maxAsked is how many exchanges of a try may be under way at a time and still be told.
const maxAsked = 10000

// asked is a request whose answer is not read yet.
type asked struct {
	at     time.Time
	model  string
	stream bool
}

// The names of attributes below are those of OpenTelemetry's conventions for generative AI, 1.41, which may still
// change; they stand here alone.

// chats calls emit with a span for each exchange of a try. What was said is not looked at.
func chats(r io.Reader, owner string, of record, emit func(span) error) error {
	id := traceID(owner, of.Trial, of.Try)
	open := map[int]asked{}
	return transcript.Each(r, func(line transcript.Line) error {
		if q := line.Request; q != nil && len(open) < maxAsked {
			open[line.N] = asked{line.Time, modelOf(q.Model, of.Model), q.Stream}
		}
		q, was := open[line.N]
		if line.Response == nil || !was {
			return nil
		}
		delete(open, line.N)
		return emit(chat(id, of, line, q))
	})
}

// modelOf is the model that an agent asked for: an agent may write anything there, so another one than that of its
// trial has no name.
func modelOf(asked, declared string) string {
	if asked == declared {
		return name(asked)
	}
	return "other"
}

func chat(id trace.TraceID, of record, line transcript.Line, q asked) span {
	a := line.Response
	attributes := []attribute.KeyValue{
		attribute.String("gen_ai.operation.name", "chat"), attribute.String("gen_ai.request.model", q.model),
		attribute.Bool("gen_ai.request.stream", q.stream), attribute.String("gen_ai.conversation.id", of.Trial),
		attribute.Int64("gen_ai.usage.input_tokens", a.Tokens.Input), attribute.Int64("gen_ai.usage.output_tokens", a.Tokens.Output),
		attribute.Int64("gen_ai.usage.cache_read.input_tokens", a.Tokens.Cached),
		attribute.String("assayd.spec", of.Spec), attribute.String("assayd.trial", of.Trial), attribute.Int("assayd.try", of.Try),
		attribute.Int("assayd.exchange", line.N), attribute.Int("assayd.attempts", a.Attempts),
	}
	add := func(key, value string) {
		if value != "" {
			attributes = append(attributes, attribute.String(key, value))
		}
	}
	add("gen_ai.provider.name", of.Provider)
	add("gen_ai.response.model", name(a.Model))
	if a.Reply != nil && a.Reply.Stop != "" {
		attributes = append(attributes, attribute.StringSlice("gen_ai.response.finish_reasons", []string{name(a.Reply.Stop)}))
	}
	s := span{
		trace: id, id: spanID(id, "exchange", line.N), parent: root(id), name: "chat " + q.model, client: true, start: q.at, end: line.Time, failed: failure(*a),
	}
	add("error.type", s.failed)
	s.attributes = attributes
	if s.start.After(s.end) {
		s.start = s.end
	}
	return s
}

// failure is what went wrong with an exchange, in a word of ours or a status of HTTP; "" = nothing.
func failure(a transcript.Response) string {
	switch {
	case a.Broken != "":
		return "broken"
	case a.Status == 0:
		return "left"
	case a.Status/100 != 2:
		return strconv.Itoa(a.Status)
	}
	return ""
}

// chats tells the exchanges of a try that is over. A transcript that is not there any more is none.
func (t *Tracer) chats(of record, emit func(span) error) error {
	if !t.o.Settings.Models || of.Transcript == nil || !filepath.IsLocal(of.Transcript.File) {
		return nil
	}
	f, err := os.Open(filepath.Join(t.o.StateDir, of.Transcript.File))
	if err != nil {
		return nil //nolint:nilerr // it was removed
	}
	defer f.Close()
	var sending error
	err = chats(f, t.o.Owner, of, func(s span) error {
		sending = emit(s)
		return sending
	})
	if err != nil && sending == nil { // what cannot be read keeps no other trace from being sent
		t.o.Log.Warn("read the exchanges of a trial for its trace; the rest of them is left out", "trial", of.Trial, "error", err)
	}
	return sending
}

// maxPrivate is how many rounds of the private set of a trial are told.
const maxPrivate = 100

// privates are the spans of the private set, of a try that is over: it has no record of its own.
func privates(tx *store.Tx, owner string, r record) (all []span, err error) {
	id := traceID(owner, r.Trial, r.Try)
	for number := 1; number <= maxPrivate; number++ {
		row, err := tx.SubmissionOf(r.Trial, "private", number)
		if errors.Is(err, store.ErrNotFound) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		var x struct {
			Try                             int
			AcceptedAt, StartedAt, JudgedAt time.Time
		}
		if err := json.Unmarshal(row.Data, &x); err != nil || x.Try != r.Try || x.JudgedAt.IsZero() {
			continue
		}
		all = append(all, span{
			trace: id, id: spanID(id, "private", number), parent: root(id), name: "trial.private", start: x.AcceptedAt, end: x.JudgedAt, event: "judging begins", at: x.StartedAt,
			attributes: []attribute.KeyValue{
				attribute.String("assayd.spec", r.Spec), attribute.String("assayd.trial", r.Trial), attribute.Int("assayd.try", r.Try), attribute.String("assayd.kind", "private"),
			},
		})
	}
	return all, nil
}
