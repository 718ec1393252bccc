package reconcile

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/trial"
)

// blind makes every look fail until the returned function is called.
func (h *fixture) blind() (see func()) {
	h.t.Helper()
	set := func(value string) (before string) {
		check(h.t, h.store.Do(h.t.Context(), func(tx *store.Tx) (err error) {
			if before, err = tx.Meta("submissions"); err != nil {
				return err
			}
			return tx.PutMeta("submissions", value)
		}))
		return before
	}
	before := set("{")
	return func() { h.t.Helper(); set(before) }
}

// A look that fails is no look: what it does not see is not missed.
func TestALookThatFailsCountsNoFileAsWithdrawn(t *testing.T) {
	h := newFixture(t)
	d := h.start()
	dir := t.TempDir()
	put(t, dir, "a.hcl", spec("x"))
	if addresses, ds, err := d.Submit(t.Context(), []string{filepath.Join(dir, "a.hcl")}); err != nil || len(addresses) != 1 {
		t.Fatal(addresses, ds, err)
	}
	d.untilTrials(t, "x/1 running")
	see := h.blind()
	for range 3 {
		d.look(t)
		check(t, d.do(t.Context(), func() { // as if that look were long ago
			missed := d.specs.Deletions().Missed()
			for path := range missed {
				d.specs.Deletions().Gone(path)
			}
			if len(d.runs.gone) > 0 || d.runs.desired["run.r"] == nil || len(missed) > 0 {
				t.Errorf("after a look that failed: gone %v, missed %v", d.runs.gone, missed)
			}
		}))
	}
	if s, err := d.Status(t.Context(), ""); err != nil || len(s.Waits) != 1 || !strings.Contains(s.Waits[0], "handed in") {
		t.Errorf("the daemon waits for %q, %v", s.Waits, err)
	}
	see()
	d.look(t)
	close(h.let)
	if run := d.untilState(t, "finished"); phases(run) != "x/1 resolved" {
		t.Error(phases(run))
	}
	if s, err := d.Status(t.Context(), ""); err != nil || len(s.Waits) != 0 {
		t.Errorf("the daemon waits for %q, %v", s.Waits, err)
	}
}

// A daemon that starts knows of open trials before it knows whether a file wants them.
func TestNothingIsDoneBeforeALookHasSucceeded(t *testing.T) {
	h := newFixture(t)
	h.write("a.hcl", spec("x"))
	first := h.start()
	first.untilTrials(t, "x/1 running")
	first.stop()
	see := h.blind()
	d, ready := h.begin()
	if _, err := d.Rerun(t.Context(), "run.r"); !errors.Is(err, ErrBlind) {
		t.Errorf("a request is answered with %v", err)
	}
	if _, _, err := d.Submit(t.Context(), []string{filepath.Join(h.specs, "a.hcl")}); !errors.Is(err, ErrBlind) {
		t.Errorf("files that are handed in are answered with %v", err)
	}
	s, err := d.Status(t.Context(), "")
	if err != nil || len(s.Waits) != 1 || len(s.Runs) != 0 {
		t.Errorf("the status is %+v, %v", s, err)
	}
	d.look(t)
	check(t, d.do(t.Context(), func() {
		if len(d.runs.gone) > 0 || d.trials.Len() > 0 {
			t.Errorf("before a look: gone %v, live %v", d.runs.gone, d.trials.Len())
		}
	}))
	select {
	case <-ready:
		t.Error("it is ready without having looked")
	default:
	}
	see()
	d.look(t)
	close(h.let)
	if run := d.untilState(t, "finished"); phases(run) != "x/1 "+string(trial.Resolved) {
		t.Error(phases(run))
	}
	<-ready
}
