package trace

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// span is one span before it is one of OpenTelemetry.
type span struct {
	trace      trace.TraceID
	id, parent trace.SpanID // a parent of zeros is none
	name       string
	client     bool // it is a call of another system
	start, end time.Time
	attributes []attribute.KeyValue
	event      string // within it, "" = there is none
	at         time.Time
	failed     string // why it failed, one word; "" = it did not
}

// hashed is a hash of parts, which cannot be taken for other parts.
func hashed(parts ...any) [sha256.Size]byte {
	var text strings.Builder
	for _, part := range parts {
		fmt.Fprintf(&text, "%v\x00", part)
	}
	return sha256.Sum256([]byte(text.String()))
}

// traceID is that of a try of a trial, or of a pull request.
func traceID(owner, trial string, try int) (id trace.TraceID) {
	sum := hashed(owner, trial, try)
	copy(id[:], sum[:])
	return id
}

// spanID is that of what parts name within a trace.
func spanID(of trace.TraceID, parts ...any) (id trace.SpanID) {
	sum := hashed(append([]any{of}, parts...)...)
	copy(id[:], sum[:])
	return id
}

// sampled reports whether a trace is one of a share of all; each daemon says the same.
func sampled(id trace.TraceID, share float64) bool {
	return share >= 1 || float64(binary.BigEndian.Uint64(id[:8])) < share*math.MaxUint64
}

// maxName bounds the names that come from elsewhere, in characters.
const maxName = 200

// name is a name that comes from elsewhere, in one line of bounded length.
func name(text string) string {
	clean := []rune(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "")))
	return string(clean[:min(len(clean), maxName)])
}

// ID is the id of the trace of a try of a trial, as logs have it.
func (t *Tracer) ID(trial string, try int) string {
	return traceID(t.o.Owner, trial, try).String()
}
