package reconcile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/assayd/assayd/reconcile/cheatscan"
	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
	"github.com/assayd/assayd/runtime/trial"
	"github.com/assayd/assayd/runtime/trial/record"
)

// cheats has agents leave code that ends the runner of the tests. While gate holds, what they
// left cannot be read by those who look through it; asked counts how often they wanted to.
func (h *fixture) cheats() (gate chan struct{}, asked *atomic.Int32) {
	gate, asked = make(chan struct{}), &atomic.Int32{}
	h.fake.AddImage("work:1", container.ImageConfig{}, map[string]string{"/workspace/x": ""})
	h.fake.Handle(func(ctx context.Context, c *containertest.FakeContainer) int {
		if c.Workload().Labels[container.LabelRole] == container.RoleWork {
			c.WriteFile("/workspace/a.py", []byte("import atexit, os\natexit.register(lambda: os._exit(0))\n"))
			h.work(ctx, c)
		}
		<-ctx.Done()
		return 137
	})
	h.more = func(o *Options) {
		open := o.Host.OpenBlob
		o.Host.OpenBlob = func(digest string) (io.ReadCloser, error) {
			asked.Add(1)
			<-gate
			return open(digest)
		}
	}
	close(h.let)
	return gate, asked
}

func (h *fixture) marks() (marks map[string]string) {
	h.t.Helper()
	check(h.t, h.store.View(h.t.Context(), func(tx *store.Tx) (err error) {
		marks, err = tx.MetaBelow(cheatscan.Prefix)
		return err
	}))
	return marks
}

// flagged are the records trial.flagged of run.r.
func (h *fixture) flagged() (all []record.Flagged) {
	h.t.Helper()
	check(h.t, h.store.View(h.t.Context(), func(tx *store.Tx) error {
		stream, err := tx.Stream("run.r")
		if err != nil {
			return err
		}
		lines, err := tx.LinesFrom(stream.ID, 1, 1000)
		for _, l := range lines {
			var f struct {
				Type string
				record.Flagged
			}
			err = errors.Join(err, json.Unmarshal(l.Data, &f))
			if f.Type == "trial.flagged" {
				all = append(all, f.Flagged)
			}
		}
		return err
	}))
	return all
}

// TestAVerdictWaitsForNoLookAtWhatTheAgentDid: it is recorded, the findings come after it, exactly
// once, whatever is restarted in between, and the run is over after them.
func TestAVerdictWaitsForNoLookAtWhatTheAgentDid(t *testing.T) {
	h := newFixture(t)
	gate, asked := h.cheats()
	h.write("a.hcl", spec("x"))
	d := h.start()
	run := d.until(t, "judged, and looked at", func(r query.RunStatus) bool { return phases(r) == "x/1 resolved" && asked.Load() > 0 && r.Note != "" })
	if run.State != "running" || !strings.Contains(run.Note, "trials to go: 1") || strings.Contains(fmt.Sprint(run.Trials[0].Flags), "cheat") {
		t.Errorf("meanwhile the run is %s (%s), and the trial has the flags %v", run.State, run.Note, run.Trials[0].Flags)
	}
	if got := h.records(); got != "run.started trial.started submission trial.finished" {
		t.Errorf("records %s", got)
	}
	stopped := make(chan struct{})
	go func() { d.stop(); close(stopped) }()
	<-d.beside.life.Done()
	close(gate)
	<-stopped
	if got := h.flagged(); len(got) > 0 || len(h.marks()) != 1 {
		t.Errorf("a look that broke off left %+v and the marks %v", got, h.marks())
	}

	d = h.start()
	run = d.untilState(t, "finished")
	want := []string{"no_manifest", "cheat:result_markers"}
	if !slices.Equal(run.Trials[0].Flags, want) || run.Trials[0].Status != trial.Resolved {
		t.Errorf("%s with the flags %v", run.Trials[0].Status, run.Trials[0].Flags)
	}
	id, told := run.Trials[0].ID, h.flagged()
	if len(told) != 1 || told[0].Trial != id || told[0].Try != 1 || !slices.Equal(told[0].Flags, want[1:]) ||
		len(told[0].Findings) == 0 || told[0].Findings[0].Rule != "result_markers" || told[0].Findings[0].Where != "patch" || told[0].Findings[0].Evidence == "" {
		t.Errorf("records trial.flagged: %+v", told)
	}
	if got := h.records(); got != "run.started trial.started submission trial.finished trial.flagged run.settled run.finished" {
		t.Errorf("records %s", got)
	}
	check(t, h.store.View(t.Context(), func(tx *store.Tx) error {
		c, err := tx.Cell(id)
		if !slices.Equal(c.Flags, want) {
			t.Errorf("lists show the flags %v", c.Flags)
		}
		return err
	}))
	d.stop()
	if len(h.marks()) > 0 {
		t.Errorf("there is left to do: %v", h.marks())
	}
	d = h.start()
	d.untilState(t, "finished")
	if len(h.flagged()) != 1 {
		t.Error("it was looked at again")
	}
}
