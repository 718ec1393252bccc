package trace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/assayd/assayd/config"
)

// Bounds of one call of a collector.
const (
	callTime  = 10 * time.Second
	maxAnswer = 64 << 10 // bytes
)

// newExporter sends spans to the collector of the settings. We try again ourselves: what was sent is stored.
func newExporter(ctx context.Context, o *Options) (sdk.SpanExporter, func(), error) {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 1, IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true}
	client := &http.Client{
		Timeout: callTime, Transport: &carrier{transport, o.Settings.Headers, o.Secret},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	e, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(strings.TrimSuffix(o.Settings.Endpoint, "/")+"/v1/traces"),
		otlptracehttp.WithHTTPClient(client), otlptracehttp.WithRetry(otlptracehttp.RetryConfig{}), otlptracehttp.WithTimeout(callTime),
		otlptracehttp.WithCompression(otlptracehttp.GzipCompression), otlptracehttp.WithHeaders(map[string]string{}))
	if err != nil {
		return nil, nil, fmt.Errorf("make the sender of traces: %w", err)
	}
	return e, transport.CloseIdleConnections, nil
}

// carrier adds the headers of the settings, whose secrets are read each time, and bounds answers.
type carrier struct {
	transport *http.Transport
	headers   map[string]config.Secret
	secret    func(string) (string, bool)
}

// RoundTrip implements http.RoundTripper.
func (c *carrier) RoundTrip(q *http.Request) (*http.Response, error) {
	q = q.Clone(q.Context())
	for name, s := range c.headers {
		text, ok := s.Value(c.secret)
		if !ok {
			return nil, errors.Join(fmt.Errorf("header %s: there is no secret %q", name, s.Name()), q.Body.Close())
		}
		q.Header.Set(name, strings.TrimSpace(text))
	}
	a, err := c.transport.RoundTrip(q)
	if err == nil {
		a.Body = bounded{io.LimitReader(a.Body, maxAnswer), a.Body}
	}
	return a, err
}

type bounded struct {
	io.Reader
	io.Closer
}

// converter makes spans of OpenTelemetry of ours: they begin and end at once, at their own times.
type converter struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	made     *collector
}

func newConverter(o *Options) *converter {
	c := &converter{made: &collector{}}
	c.provider = sdk.NewTracerProvider(sdk.WithIDGenerator(ids{}), sdk.WithSampler(sdk.AlwaysSample()), sdk.WithSpanProcessor(c.made), sdk.WithResource(
		resource.NewSchemaless(attribute.String("service.name", "assayd"), attribute.String("service.version", o.Version), attribute.String("service.instance.id", o.Owner)),
	))
	c.tracer = c.provider.Tracer("github.com/assayd/assayd")
	return c
}

type spanKey struct{}

func (c *converter) convert(s span) sdk.ReadOnlySpan {
	ctx := context.WithValue(context.Background(), spanKey{}, &s)
	if s.parent.IsValid() {
		ctx = trace.ContextWithSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{TraceID: s.trace, SpanID: s.parent, TraceFlags: trace.FlagsSampled}))
	}
	kind := trace.SpanKindInternal
	if s.client {
		kind = trace.SpanKindClient
	}
	_, x := c.tracer.Start(ctx, s.name, trace.WithTimestamp(s.start), trace.WithSpanKind(kind), trace.WithAttributes(s.attributes...))
	if s.event != "" {
		x.AddEvent(s.event, trace.WithTimestamp(s.at))
	}
	if s.failed != "" {
		x.SetStatus(codes.Error, s.failed)
	}
	x.End(trace.WithTimestamp(s.end))
	return c.made.take()
}

// ids gives spans the ids that they have.
type ids struct{}

// NewIDs implements sdk.IDGenerator.
func (ids) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	s := ctx.Value(spanKey{}).(*span) // convert alone makes spans
	return s.trace, s.id
}

// NewSpanID implements sdk.IDGenerator.
func (ids) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	return ctx.Value(spanKey{}).(*span).id
}

// collector keeps the span that has ended last. It is for one goroutine.
type collector struct{ last sdk.ReadOnlySpan }

func (c *collector) take() sdk.ReadOnlySpan {
	last := c.last
	c.last = nil
	return last
}

// OnStart implements sdk.SpanProcessor.
func (c *collector) OnStart(context.Context, sdk.ReadWriteSpan) {}

// OnEnd implements sdk.SpanProcessor.
func (c *collector) OnEnd(s sdk.ReadOnlySpan) { c.last = s }

// Shutdown implements sdk.SpanProcessor.
func (c *collector) Shutdown(context.Context) error { return nil }

// ForceFlush implements sdk.SpanProcessor.
func (c *collector) ForceFlush(context.Context) error { return nil }
