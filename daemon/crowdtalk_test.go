//go:build linux

package daemon_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assayd/assayd/reconcile/store"
)

const (
	talkEvents = 100                   // of an answer of the model
	talkPace   = 50 * time.Millisecond // from one to the next
)

// talkative is a model that takes half of the time between two questions for its answer.
func talkative(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	to := http.NewResponseController(w)
	for range talkEvents {
		_, _ = io.WriteString(w, `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","model":"scripted","choices":[{"index":0,"delta":{"content":" word"}}]}`+"\n\n")
		if to.Flush() != nil {
			return
		}
		wait(r.Context(), talkPace)
	}
	_, _ = io.WriteString(w, `data: {"choices":[],"usage":{"prompt_tokens":2000,"completion_tokens":100}}`+"\n\ndata: [DONE]\n\n")
}

// talks has so many trials talk at once, over real sockets, and returns how many cores the daemon takes
// for that.
func talks(t *testing.T, trials int, during time.Duration) (cores float64) {
	t.Helper()
	model := httptest.NewServer(http.HandlerFunc(talkative))
	t.Cleanup(model.Close)
	c := newTalkingCrowd(t, trials, trials, model.URL)
	t.Cleanup(func() { c.daemon.kill(); c.daemon = nil }) // before the model, which waits for its answers to end
	c.launch()
	c.untilWithin(10*time.Minute, "all of them have asked their model", func() error {
		if now := c.exchanges(); now < trials {
			return fmt.Errorf("%d have", now)
		}
		return nil
	})
	asked := c.exchanges()
	began, before := time.Now(), c.used()
	<-time.After(during)
	took := time.Since(began)
	cores = (c.used() - before).Seconds() / took.Seconds()
	answered := c.exchanges() - asked
	t.Logf("%d trials took %.2f cores for %.0f questions a second, and as many events of answers times %d", trials, cores, float64(answered)/took.Seconds(), talkEvents)
	if least := trials * int(during/talkEvery) / 2; answered < least {
		t.Errorf("%d questions were asked meanwhile, want %d", answered, least)
	}
	logs, err := filepath.Glob(filepath.Join(c.state, "trials", "*", "try-1", "agent.log"))
	if err != nil || len(logs) != trials {
		t.Errorf("%d trials have a log, %v", len(logs), err)
	}
	for _, log := range logs {
		if text := c.agentLog(filepath.Base(filepath.Dir(filepath.Dir(log)))); strings.Count(text, "step ") < int(during/time.Second)/2 {
			t.Fatalf("%s has %d bytes", log, len(text))
		}
	}
	return cores
}

// exchanges counts the questions of all trials that were answered, beside the daemon.
func (c *crowd) exchanges() (n int) {
	c.Helper()
	s, err := store.Open(c.Context(), c.state, store.Options{ReadOnly: true})
	if err != nil {
		c.Fatal(err)
	}
	defer func() { _ = s.Close() }() // only read
	err = s.View(c.Context(), func(tx *store.Tx) error {
		spent, err := tx.SpentByExecution("run.crowd", 1)
		n = int(spent.Exchanges)
		return err
	})
	if err != nil {
		c.Fatal(err)
	}
	return n
}

// Trials that all talk at once are heard, each of them.
func TestTrialsThatTalkAtOnceAreHeard(t *testing.T) {
	t.Parallel()
	talks(t, 40, 10*time.Second)
}
