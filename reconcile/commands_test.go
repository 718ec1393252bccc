package reconcile

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/reconcile/request"
	"github.com/assayd/assayd/reconcile/specfiles"
)

func TestADrainingDaemonBeginsNothing(t *testing.T) {
	h := newFixture(t)
	h.write("a.hcl", spec("x"))
	d := h.start()
	d.untilTrials(t, "x/1 running")
	drained := make(chan error, 1)
	go func() { drained <- d.Drain(t.Context()) }()
	h.waitDraining(d)
	late := strings.NewReplacer(`"edge"`, `"late"`, "benchmark.edge", "benchmark.late", `run "r"`, `run "late"`)
	h.write("b.hcl", late.Replace(spec("y")))
	d.look(t)
	if _, _, err := d.Submit(t.Context(), []string{filepath.Join(h.specs, "b.hcl")}); !errors.Is(err, ErrDraining) {
		t.Errorf("handing in is answered with %v", err)
	}
	if _, err := d.Rerun(t.Context(), "run.late"); !errors.Is(err, ErrDraining) {
		t.Errorf("rerun is answered with %v", err)
	}
	close(h.let)
	check(t, <-drained)
	d.until(t, "there", func(query.RunStatus) bool { // a young file is given time
		s, err := d.Status(t.Context(), "run.late")
		if err == nil && s.Runs[0].State != "waiting" {
			t.Errorf("what was dropped meanwhile: %+v", s.Runs)
		}
		return err == nil
	})
	d.stop()
	next := h.start()
	next.until(t, "there", func(query.RunStatus) bool {
		s, err := next.Status(t.Context(), "run.late")
		return err == nil && s.Runs[0].State == "finished"
	})
}

// A drain hears of what it waits for: it does not ask for each run again and again.
func TestADrainIsToldOfItsEnd(t *testing.T) {
	h := newFixture(t)
	h.sleepers(50)
	h.write("a.hcl", strings.TrimPrefix(spec("x"), benchmarkSpec))
	d := h.start()
	d.untilTrials(t, "x/1 running")
	drained := make(chan error, 2)
	for range 2 {
		go func() { drained <- d.Drain(t.Context()) }()
	}
	h.waitDraining(d)
	before := h.store.Work().Queries
	<-time.After(6 * specfiles.YoungText) // nothing happens, and so nothing is asked
	if asked := h.store.Work().Queries - before; asked >= 50 {
		t.Errorf("a drain that waits for one trial made %d queries", asked)
	}
	check(t, d.do(t.Context(), func() {
		if len(d.drain.undone) != 1 || !d.drain.undone["run.r"] {
			t.Errorf("it waits for %v", d.drain.undone)
		}
	}))
	close(h.let)
	for range 2 {
		check(t, <-drained)
	}
	check(t, d.Drain(t.Context()))
	if phases(d.untilState(t, "finished")) != "x/1 resolved" {
		t.Error("the drain ended before the run")
	}
	d.stop()
	if err := d.Drain(t.Context()); !errors.Is(err, request.ErrStopped) {
		t.Errorf("a drain of a daemon that has ended: %v", err)
	}
}

func TestCancelSaysWhenThereIsNothing(t *testing.T) {
	h := newFixture(t)
	h.write("a.hcl", spec("x"))
	h.write("b.hcl", strings.Replace(strings.SplitAfter(spec(), "}\n}\n")[1], `run "r" {`, "run \"later\" {\n schedule = \"0 0 1 1 *\"\n agent \"nop\" {}", 1))
	d := h.start()
	d.untilTrials(t, "x/1 running")
	if err := d.cancel(t.Context(), "run.later"); !errors.Is(err, request.ErrNothing) {
		t.Errorf("before the first execution: %v", err)
	}
	close(h.let)
	d.untilState(t, "finished")
	if err := d.cancel(t.Context(), "run.r"); !errors.Is(err, request.ErrNothing) || !strings.Contains(err.Error(), "e1 is over") {
		t.Errorf("after the end: %v", err)
	}
}

func TestWithdrawnFilesAreGoneAtOnce(t *testing.T) {
	h := newFixture(t)
	d := h.start()
	dir := t.TempDir()
	put(t, dir, "a.hcl", strings.Replace(spec("x"), "auto_eval", "schedule = \"0 0 1 1 *\"\n auto_eval", 1))
	paths := []string{filepath.Join(dir, "a.hcl")}
	if addresses, ds, err := d.Submit(t.Context(), paths); err != nil || len(addresses) != 1 {
		t.Fatal(addresses, ds, err)
	}
	d.untilState(t, "waiting")
	check(t, d.Withdraw(t.Context(), paths))
	d.untilState(t, "forgotten")
	d.stop()
	if s, err := h.start().Status(t.Context(), ""); err != nil || len(s.Runs) != 0 {
		t.Errorf("the next daemon knows %+v, %v", s.Runs, err)
	}
}

func (h *fixture) waitDraining(d *daemon) {
	h.t.Helper()
	for draining := false; !draining; {
		check(h.t, d.do(h.t.Context(), func() { draining = d.drain.on }))
	}
}
