package trace

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"

	"github.com/assayd/assayd/reconcile/store"
)

var began = time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)

// records are lines, one a minute.
func records(fields ...string) (lines []store.NumberedLine) {
	for i, text := range fields {
		at := began.Add(time.Duration(i+1) * time.Minute).Format(time.RFC3339)
		lines = append(lines, store.NumberedLine{N: int64(i + 1), Stream: "run.r", Data: fmt.Appendf(nil, `{"v":1,"seq":%d,"time":%q,"spec":"run.r","execution":"e1",%s}`, i+1, at, text)})
	}
	return lines
}

var ofATrial = []string{
	`"type":"trial.started","trial":"r.e1.0","try":2,"setup_s":30,"images_s":20`,
	`"type":"submission","trial":"r.e1.0","try":2,"round":"agent-1","kind":"agent","status":"ok","queued_ms":5000,"duration_ms":10000`,
	`"type":"submission","trial":"r.e1.0","try":2,"round":"agent-2","kind":"agent","status":"ok","cached":true,"queued_ms":5000,"duration_ms":10000`,
	`"type":"trial.resumed","trial":"r.e1.0","count":1`,
	`"type":"trial.finished","trial":"r.e1.0","try":2,"status":"infra_error","reason":"engine","agent_duration_s":210`,
}

// made are the spans of lines, as "name from to", in seconds of the first.
func made(b *builder, lines []store.NumberedLine) (all []span) {
	for _, line := range lines {
		r, _ := read(line.Data)
		all = append(all, b.spans(line, r, nil)...)
	}
	return all
}

func TestSpansAreMadeOfRecords(t *testing.T) {
	b := &builder{"owner", known{}}
	all := made(b, records(ofATrial...))
	var got []string
	ids := map[trace.SpanID]bool{}
	for _, s := range all {
		text := fmt.Sprintf("%s %.0f-%.0f", s.name, s.start.Sub(began).Seconds(), s.end.Sub(began).Seconds())
		if s.event != "" {
			text += fmt.Sprintf(" %s %.0f", s.event, s.at.Sub(began).Seconds())
		}
		got = append(got, strings.TrimSpace(text+" "+s.failed))
		if ids[s.id] || s.trace != traceID("owner", "r.e1.0", 2) || (s.name == "trial") != (s.parent == trace.SpanID{}) || s.name != "trial" && s.parent != root(s.trace) {
			t.Errorf("%s: id %s, parent %s, trace %s", s.name, s.id, s.parent, s.trace)
		}
		ids[s.id] = true
	}
	want := []string{
		"trial.images 30-50", "trial.setup 50-60", "trial.judge 105-120 judging begins 110", "trial.judge 180-180", "trial.agent 60-240",
		"trial.agent 240-270", "trial 30-300 infra_error",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(b.known) > 0 {
		t.Errorf("of a try that is over is kept %v", b.known)
	}
}

// A process that goes on with what another one knew makes the same spans, and so does one that reads a record again.
func TestIDsComeFromRecords(t *testing.T) {
	whole := made(&builder{"owner", known{}}, records(ofATrial...))
	b := &builder{"owner", known{}}
	first := made(b, records(ofATrial...)[:3])
	rest := made(&builder{"owner", b.known}, records(ofATrial...)[3:])
	if diff := cmp.Diff(fmt.Sprintf("%+v", whole), fmt.Sprintf("%+v", append(first, rest...))); diff != "" {
		t.Error(diff)
	}
	if traceID("a", "b", 1) == traceID("a", "b", 2) || traceID("a", "b", 1) == traceID("b", "b", 1) {
		t.Error("other tries and owners have the same trace")
	}
}

// A trace is of the sample or not, whoever asks, and the share is about what was asked for.
func TestASampleIsAShare(t *testing.T) {
	n := 0
	for i := range 2000 {
		if sampled(traceID("owner", fmt.Sprint(i), 1), 0.25) {
			n++
		}
	}
	if n < 400 || n > 600 || !sampled(trace.TraceID{0xff}, 1) || sampled(traceID("owner", "x", 1), 0) {
		t.Errorf("%d of 2000", n)
	}
}

// What was said is not in a span, nor what an agent wrote in place of a model's name.
func TestExchangesAreToldWithoutWhatWasSaid(t *testing.T) {
	text := strings.Join([]string{
		`{"n":1,"time":"2026-01-02T03:00:00Z","request":{"protocol":"messages","model":"good-1","stream":true,"new":[{"text":"SECRET"}]}}`,
		`{"n":2,"time":"2026-01-02T03:00:01Z","request":{"protocol":"messages","model":"SECRET SECRET","new":[]}}`,
		`{"n":1,"time":"2026-01-02T03:00:09Z","response":{"status":200,"attempts":1,"ms":9000,"model":"good-1-2026","reply":{"text":"SECRET","stop":"end_turn"},"tokens":{"input":100,"output":20,"cached":80}}}`,
		`{"n":2,"time":"2026-01-02T03:00:10Z","response":{"status":529,"error":"SECRET","attempts":2,"tokens":{}}}`,
		`{"n":3,"time":"2026-01-02T03:00:11Z","request":{"protocol":"messages","model":"good-1"}}`,
	}, "\n") + "\n"
	var got []string
	err := chats(bytes.NewBufferString(text), "owner", record{Spec: "run.r", Trial: "r.e1.0", Try: 1, Model: "good-1", Provider: "lab"}, func(s span) error {
		line := fmt.Sprintf("%s %s", s.name, s.end.Sub(s.start))
		for _, a := range s.attributes {
			line += fmt.Sprintf(" %s=%s", a.Key, a.Value.Emit())
		}
		got = append(got, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`chat good-1 9s gen_ai.operation.name=chat gen_ai.request.model=good-1 gen_ai.request.stream=true gen_ai.conversation.id=r.e1.0 gen_ai.usage.input_tokens=100 ` +
			`gen_ai.usage.output_tokens=20 gen_ai.usage.cache_read.input_tokens=80 assayd.spec=run.r assayd.trial=r.e1.0 assayd.try=1 assayd.exchange=1 assayd.attempts=1 ` +
			`gen_ai.provider.name=lab gen_ai.response.model=good-1-2026 gen_ai.response.finish_reasons=["end_turn"]`,
		`chat other 9s gen_ai.operation.name=chat gen_ai.request.model=other gen_ai.request.stream=false gen_ai.conversation.id=r.e1.0 gen_ai.usage.input_tokens=0 ` +
			`gen_ai.usage.output_tokens=0 gen_ai.usage.cache_read.input_tokens=0 assayd.spec=run.r assayd.trial=r.e1.0 assayd.try=1 assayd.exchange=2 assayd.attempts=2 ` +
			`gen_ai.provider.name=lab error.type=529`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAPullRequestIsATrace(t *testing.T) {
	all := made(&builder{"owner", known{}}, records(`"type":"pr","repo":"acme/x","number":7,"verdict":"rejected","stage":"filter","reason":"docs_only","duration_s":12`))
	if len(all) != 1 || all[0].name != "mining.pull" || all[0].end.Sub(all[0].start) != 12*time.Second || all[0].failed != "" {
		t.Errorf("%+v", all)
	}
}
