package trace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strconv"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/reconcile/store/change"
	"github.com/assayd/assayd/runtime/clock"
	"github.com/assayd/assayd/runtime/pause"
)

// How records are read and spans are sent.
const (
	atOnce   = 200         // records in one transaction
	maxSpans = 512         // in one call; more are not kept in memory
	rest     = time.Second // after what there was is sent
	giveUp   = time.Hour   // spans that are not taken for so long are dropped
	keepAt   = time.Minute // how often the cursor is stored where nothing is sent
)

// Outcomes of spans.
const (
	Sent    = "sent"
	Dropped = "dropped" // the collector rejected them, or did not take them for an hour
)

// Outcomes are all of them.
func Outcomes() []string { return []string{Sent, Dropped} }

// deliveryName is under what name the cursor is stored.
const deliveryName = "traces"

// Options are what a tracer works with.
type Options struct {
	Settings config.Traces
	Store    *store.Store
	Owner    string // of the state directory
	StateDir string
	Secret   func(name string) (string, bool)
	Told     func(outcome string, n int)
	Version  string
	Log      *slog.Logger
}

// Tracer sends spans of the records that are stored. Its fields are of the goroutine that runs it.
type Tracer struct {
	o        Options
	exporter sdk.SpanExporter
	hangUp   func()
	convert  *converter
	watcher  *change.Watcher

	builder builder
	read    int64 // number of the last change that is read
	at      store.Delivery
	kept    time.Time
	queue   []sdk.ReadOnlySpan
}

// Open reads how far was sent. Without a cursor, the records that are stored from now on are sent.
func Open(ctx context.Context, o Options) (*Tracer, error) {
	t := &Tracer{o: o, convert: newConverter(&o), builder: builder{o.Owner, known{}}}
	var err error
	if t.exporter, t.hangUp, err = newExporter(ctx, &o); err != nil {
		return nil, err
	}
	t.watcher = o.Store.Watch()
	err = o.Store.Do(ctx, func(tx *store.Tx) (err error) {
		t.at, err = tx.BeginDelivery(deliveryName)
		return err
	})
	if err != nil {
		t.watcher.Close()
		return nil, fmt.Errorf("open the traces: %w", err)
	}
	t.read = t.at.N
	if json.Unmarshal([]byte(t.at.State), &t.builder.known) != nil || t.builder.known == nil {
		t.builder.known = known{} // of another version
	}
	return t, nil
}

// Forget has a later Open begin with what is stored then: the settings have no traces now.
func Forget(ctx context.Context, s *store.Store) error {
	return s.Do(ctx, func(tx *store.Tx) error { return tx.DropDelivery(deliveryName) })
}

// Run sends spans until the context ends.
func (t *Tracer) Run(ctx context.Context) error {
	defer t.watcher.Close()
	defer t.hangUp()
	again := pause.Growing{}
	for ctx.Err() == nil {
		more, err := t.step(ctx)
		if err != nil {
			if ctx.Err() == nil {
				t.o.Log.Warn("read records for traces; it is tried again", "error", err)
			}
			again.Wait(ctx)
			continue
		}
		if again.Reset(); !more && t.watcher.Await(ctx, change.Records) == nil {
			_ = clock.Sleep(ctx, rest) // the loop looks at the context
		}
	}
	return nil
}

// step reads some records and sends their spans, and says whether there were any. What was read and not sent, because
// the context has ended, is read again by the next process.
func (t *Tracer) step(ctx context.Context) (more bool, err error) {
	var lines []store.NumberedLine
	err = t.o.Store.View(ctx, func(tx *store.Tx) (err error) {
		lines, err = tx.LinesAfter(t.read, atOnce)
		return err
	})
	if err != nil || len(lines) == 0 {
		return false, err
	}
	for _, line := range lines {
		if err := t.line(ctx, line); err != nil {
			return true, err
		}
		t.read = line.N
	}
	sent := len(t.queue) > 0
	if err := t.flush(ctx); err != nil {
		return true, err
	}
	if sent || time.Since(t.kept) > keepAt {
		return true, t.keep(ctx)
	}
	return true, nil
}

// line sends the spans of a record.
func (t *Tracer) line(ctx context.Context, line store.NumberedLine) error {
	r, ok := read(line.Data)
	if !ok {
		return nil
	}
	emit := func(s span) error { return t.emit(ctx, s) }
	var private []span
	if r.Type == "trial.finished" && sampled(traceID(t.o.Owner, r.Trial, r.Try), t.o.Settings.Sample) {
		err := t.o.Store.View(ctx, func(tx *store.Tx) (err error) {
			if r.Provider, err = tx.ProviderOf(r.Trial, r.Try); err != nil && !errors.Is(err, store.ErrNotFound) {
				return err
			}
			private, err = privates(tx, t.o.Owner, r)
			return err
		})
		if err == nil {
			err = t.chats(r, emit)
		}
		if err != nil {
			return err
		}
	}
	for _, s := range t.builder.spans(line, r, private) {
		if err := emit(s); err != nil {
			return err
		}
	}
	return nil
}

// emit has a span sent with others, if it is one of the sample.
func (t *Tracer) emit(ctx context.Context, s span) error {
	if !sampled(s.trace, t.o.Settings.Sample) {
		return nil
	}
	t.queue = append(t.queue, t.convert.convert(s))
	if len(t.queue) < maxSpans {
		return nil
	}
	return t.flush(ctx)
}

// flush sends what waits; it returns an error only with the context. Spans that are not taken for an hour are dropped.
func (t *Tracer) flush(ctx context.Context) error {
	if len(t.queue) == 0 {
		return nil
	}
	again, began, n := pause.Growing{}, time.Now(), len(t.queue)
	for {
		err := t.exporter.ExportSpans(ctx, t.queue)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err == nil {
			t.at.Failing, t.at.Why = time.Time{}, ""
			break
		}
		if lost, final := rejected(err, n); final {
			t.o.Log.Warn("the collector rejects spans", "spans", lost, "of", n, "error", name(err.Error()))
			t.o.Told(Dropped, lost)
			n -= lost
			break
		}
		t.failed(ctx, err)
		if time.Since(began) > giveUp {
			t.o.Log.Error("spans are dropped: the collector did not take them for an hour", "spans", n)
			t.o.Told(Dropped, n)
			t.queue = t.queue[:0]
			return nil
		}
		again.Wait(ctx)
	}
	t.o.Told(Sent, n)
	t.queue = t.queue[:0]
	return nil
}

// What the exporter says of an answer that the protocol (OTLP 1.10, "Partial Success" and "Failures") forbids to answer by
// sending the same again. It has no type for either.
var (
	partly  = regexp.MustCompile(`OTLP partial success: .*\((\d+) spans rejected\)`)
	malform = regexp.MustCompile(`failed to send to \S+: 400 `)
)

// rejected is how many of n spans a collector has rejected for good.
func rejected(err error, n int) (lost int, final bool) {
	if m := partly.FindStringSubmatch(err.Error()); m != nil {
		lost, err := strconv.Atoi(m[1])
		return min(max(lost, 0), n), err == nil
	}
	return n, malform.MatchString(err.Error())
}

// failed notes that the collector does not take spans, for what looks wrong.
func (t *Tracer) failed(ctx context.Context, err error) {
	if !t.at.Failing.IsZero() {
		return
	}
	t.at.Failing, t.at.Why = clock.Now(), name(err.Error())
	t.o.Log.Warn("the collector does not take traces; they are sent again", "error", t.at.Why)
	if err := t.o.Store.Do(ctx, func(tx *store.Tx) error { return tx.PutDelivery(t.at) }); err != nil && ctx.Err() == nil {
		t.o.Log.Warn("store why traces are not taken", "error", err)
	}
}

// keep stores how far was sent.
func (t *Tracer) keep(ctx context.Context) error {
	state, err := json.Marshal(t.builder.known)
	if err != nil {
		return fmt.Errorf("encode the open trials: %w", err)
	}
	t.at.N, t.at.State = t.read, string(state)
	if err := t.o.Store.Do(ctx, func(tx *store.Tx) error { return tx.PutDelivery(t.at) }); err != nil {
		return err
	}
	t.kept = time.Now()
	return nil
}
