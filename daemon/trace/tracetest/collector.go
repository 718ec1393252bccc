package tracetest

import (
	"compress/gzip"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	span "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Span is a span as a collector gets it; ids are in hex.
type Span struct {
	Trace, ID, Parent string
	Name              string
	Start, End        uint64 // Unix nanoseconds
	Attributes        map[string]any
	Raw               *span.Span
}

// Collector keeps each span by its id.
type Collector struct {
	URL string

	mu      sync.Mutex
	spans   map[string]Span
	headers http.Header
	refuse  bool
	answer  int   // the status of an answer that is final; 0 = all is well
	reject  int64 // how many spans of each call are rejected
	calls   int
	new     chan struct{}
}

// New starts a collector for a test.
func New(t *testing.T) *Collector {
	t.Helper()
	c := &Collector{spans: map[string]Span{}, new: make(chan struct{}, 1)}
	s := httptest.NewServer(http.HandlerFunc(c.take))
	t.Cleanup(s.Close)
	c.URL = s.URL
	return c
}

func (c *Collector) take(w http.ResponseWriter, q *http.Request) {
	var body io.Reader = q.Body
	if q.Header.Get("Content-Encoding") == "gzip" {
		unpacked, err := gzip.NewReader(q.Body)
		if err != nil {
			http.Error(w, "no gzip", http.StatusBadRequest)
			return
		}
		body = unpacked
	}
	data, err := io.ReadAll(body)
	var all collector.ExportTraceServiceRequest
	if err != nil || q.URL.Path != "/v1/traces" || proto.Unmarshal(data, &all) != nil {
		http.Error(w, "no spans", http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	defer func() {
		select {
		case c.new <- struct{}{}:
		default:
		}
	}()
	c.calls++
	if c.headers = q.Header.Clone(); c.refuse {
		http.Error(w, "not now", http.StatusServiceUnavailable)
		return
	}
	if c.answer != 0 {
		http.Error(w, "never", c.answer)
		return
	}
	for _, resource := range all.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				c.spans[hex.EncodeToString(s.GetTraceId())+hex.EncodeToString(s.GetSpanId())] = spanOf(s)
			}
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
	if c.reject > 0 {
		answer := &collector.ExportTraceServiceResponse{PartialSuccess: &collector.ExportTracePartialSuccess{RejectedSpans: c.reject, ErrorMessage: "too old"}}
		if text, err := proto.Marshal(answer); err == nil {
			_, _ = w.Write(text) // a client that went away asks again
		}
	}
}

func spanOf(s *span.Span) Span {
	attributes := map[string]any{}
	for _, a := range s.GetAttributes() {
		switch v := a.GetValue().GetValue().(type) {
		case *common.AnyValue_StringValue:
			attributes[a.GetKey()] = v.StringValue
		case *common.AnyValue_IntValue:
			attributes[a.GetKey()] = v.IntValue
		case *common.AnyValue_BoolValue:
			attributes[a.GetKey()] = v.BoolValue
		}
	}
	return Span{
		Trace: hex.EncodeToString(s.GetTraceId()), ID: hex.EncodeToString(s.GetSpanId()), Parent: hex.EncodeToString(s.GetParentSpanId()),
		Name: s.GetName(), Start: s.GetStartTimeUnixNano(), End: s.GetEndTimeUnixNano(), Attributes: attributes, Raw: s,
	}
}

// Spans are those that came so far, each once.
func (c *Collector) Spans() (all []Span) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans {
		all = append(all, s)
	}
	return all
}

// Header is a header of the last call.
func (c *Collector) Header(name string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.headers.Get(name)
}

// Refuse has the collector answer that it cannot take spans, or take them again.
func (c *Collector) Refuse(does bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refuse = does
}

// Reject has the collector reject so many spans of each call for good, or answer each with a status.
func (c *Collector) Reject(spans int64, status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reject, c.answer = spans, status
}

// Calls is how often the collector was called.
func (c *Collector) Calls() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls
}

// New receives after calls.
func (c *Collector) New() <-chan struct{} { return c.new }
