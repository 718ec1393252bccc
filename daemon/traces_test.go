//go:build linux

package daemon_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/assayd/assayd/daemon/trace/tracetest"
	"github.com/assayd/assayd/runtime/gateway/modeltest"
)

// A trial is one trace with its set-up, its agent, its exchanges with models, and its judgings, also where the daemon was
// killed while it worked. The log names the trace. When the run is finished, a receiver is told, by the next daemon.
func TestATrialIsOneTraceAcrossAKill(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.crowded()
	collector := tracetest.New(t)
	var mu sync.Mutex
	var told []string
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body) // what is missing is told below
		mu.Lock()
		defer mu.Unlock()
		told = append(told, q.Header.Get("Webhook-Id")+" "+string(body))
	}))
	t.Cleanup(receiver.Close)
	w.configured(fmt.Sprintf("traces {\n  endpoint = %q\n}\nnotifier \"team\" {\n  url = %q\n  on  = [\"run.finished\"]\n}\n", collector.URL, receiver.URL+"/a-secret-path"))
	w.knows(modeltest.Shell("echo 3 > src/level && assay-submit", "sleep 8", "echo 7 > src/level && assay-submit"))
	w.write("r.hcl", w.benchmark()+w.worker()+w.run("traced", []string{`agent "worker" { model = "scripted" }`}, `timeout = "5m"`, `auto_eval = "0s"`, `idle = 1`))
	w.serve()
	w.until("the first round is told", func() error {
		if !slices.ContainsFunc(collector.Spans(), func(s tracetest.Span) bool { return s.Name == "trial.judge" }) {
			return errors.New("it is not")
		}
		return nil
	})
	w.kill()
	w.serve()
	trial := w.settled("run.traced", patience).Trials[0].ID
	w.until("the trace is whole", func() error {
		if !slices.ContainsFunc(collector.Spans(), func(s tracetest.Span) bool { return s.Name == "trial" }) {
			return errors.New("it has no root")
		}
		return nil
	})
	w.until("the receiver is told", func() error {
		mu.Lock()
		defer mu.Unlock()
		if !slices.ContainsFunc(told, func(s string) bool {
			return strings.Contains(s, `"type":"run.finished"`) && strings.Contains(s, "run.traced e1 is finished")
		}) {
			return fmt.Errorf("it heard %q", told)
		}
		return nil
	})
	w.traced(collector, trial)
	if strings.Contains(w.daemonLog(), "a-secret-path") {
		t.Error("the log has the address of the receiver")
	}
	w.terminate()
}

// traced checks the trace of a trial.
func (w *fixture) traced(collector *tracetest.Collector, trial string) {
	w.Helper()
	all := collector.Spans()
	names, id, root := map[string]int{}, "", ""
	for _, s := range all {
		names[s.Name]++
		if s.Name == "trial" {
			id, root = s.Trace, s.ID
		}
	}
	for _, s := range all {
		if s.Trace != id || s.Name != "trial" && s.Parent != root || s.Attributes["assayd.trial"] != trial || s.End < s.Start {
			w.Errorf("a span of another trace, or below another: %s", s.Raw)
		}
		if text := s.Raw.String(); strings.Contains(text, "src/level") || strings.Contains(text, "assay-submit") {
			w.Errorf("a span has what was said: %s", text)
		}
	}
	for _, want := range []string{"trial.images", "trial.setup", "trial.agent", "trial.judge", "chat scripted"} {
		if names[want] == 0 {
			w.Errorf("the trace has no %s", want)
		}
	}
	if names["trial"] != 1 || names["trial.setup"] != 1 || names["chat scripted"] < 3 || names["trial.judge"] < 2 {
		w.Errorf("the trace has %v", names)
	}
	if n := strings.Count(w.daemonLog(), "trace_id="+id); n < 2 {
		w.Errorf("the log names the trace %d times", n)
	}
}
