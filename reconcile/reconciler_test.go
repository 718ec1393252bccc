package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/admission"
	"github.com/assayd/assayd/reconcile/control"
	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/container"
)

func TestARunFromFileToVerdict(t *testing.T) {
	h := newFixture(t)
	h.write("a.hcl", spec("x", "y"))
	close(h.let)
	d := h.start()
	run := d.untilState(t, "finished")
	if got := phases(run); got != "x/1 resolved, y/1 resolved" {
		t.Error(got)
	}
	got := strings.Fields(h.records())
	slices.Sort(got[1 : len(got)-2]) // trials run beside each other
	if want := "run.started submission submission trial.finished trial.finished trial.started trial.started run.settled run.finished"; strings.Join(got, " ") != want {
		t.Errorf("records %v", got)
	}
	d.look(t)
	d.stop()
	again := h.start()
	if run := again.untilState(t, "finished"); run.Execution != 1 || len(strings.Fields(h.records())) != len(got) {
		t.Errorf("the same files a second time: execution %d, records %s", run.Execution, h.records())
	}
	h.write("a.hcl", spec("x", "y", "z"))
	again.look(t)
	again.until(t, "reopened and finished", func(r query.RunStatus) bool { return r.State == "finished" && len(r.Trials) == 3 })
	if n := strings.Count(h.records(), "trial.finished"); n != 3 {
		t.Errorf("an agent added after the end makes %d verdicts out of two", n)
	}
	_, err := again.Rerun(t.Context(), "run.r")
	check(t, err)
	check(t, h.store.View(t.Context(), func(tx *store.Tx) error {
		e, err := tx.LatestExecution("run.r")
		if err == nil && e.N != 2 {
			t.Error("the request was answered, and a crash would have lost it")
		}
		return err
	}))
	again.until(t, "done again", func(r query.RunStatus) bool { return r.Execution == 2 && r.State == "finished" })
}

func TestARestartAdoptsWhatRuns(t *testing.T) {
	h := newFixture(t)
	h.write("a.hcl", spec("x"))
	first := h.start()
	before := first.untilTrials(t, "x/1 running")
	first.stop()
	second := h.start()
	second.untilTrials(t, "x/1 running")
	rest := admission.Need{CPUs: 5} // of the six that agents have
	if !second.o.Admission.TryWork(rest) || second.o.Admission.TryWork(admission.Need{CPUs: 0.5}) {
		t.Error("the trial that runs does not hold exactly one CPU")
	}
	second.o.Admission.ReleaseWork(rest)
	close(h.let)
	run := second.untilState(t, "finished")
	if got := phases(run); got != "x/1 resolved" || !run.Trials[0].Deadline.Equal(before.Trials[0].Deadline) {
		t.Errorf("%s, deadline %s, was %s", got, run.Trials[0].Deadline, before.Trials[0].Deadline)
	}
	if n := strings.Count(h.records(), "trial.started"); n != 1 {
		t.Errorf("the trial started %d times", n)
	}
}

// TestABrokenFileIsFrozen: also after a restart, and also after the file was away.
func TestABrokenFileIsFrozen(t *testing.T) {
	h := newFixture(t)
	h.write("a.hcl", spec("x"))
	h.write("b.hcl", "locals {}")
	d := h.start()
	d.untilTrials(t, "x/1 running")
	h.write("a.hcl", "")
	d.look(t)
	d.until(t, "missed", func(r query.RunStatus) bool { return r.Note == "no file declares it" })
	h.write("a.hcl", spec("x"))
	d.look(t)
	d.until(t, "there again", func(r query.RunStatus) bool { return r.Note == "" && phases(r) == "x/1 running" })
	h.write("a.hcl", spec("x")+"run \"broken\" {")
	for range 2 {
		d.look(t)
		d.untilComplaints(t, 1)
		run := d.untilTrials(t, "x/1 running")
		s, err := d.Status(t.Context(), "")
		check(t, err)
		if run.Note != "" || !slices.Contains(s.Files, query.FileStatus{File: "a.hcl", Status: config.Frozen}) || !s.Diagnostics.HasErrors() {
			t.Errorf("note %q, files %v, %d diagnostics", run.Note, s.Files, len(s.Diagnostics))
		}
		d.stop()
		d = h.start()
	}
	close(h.let)
	d.untilState(t, "finished")
}

func TestABlockThatMovesTakesItsResultsAlong(t *testing.T) {
	h := newFixture(t)
	h.write("a.hcl", benchmarkSpec)
	h.write("b.hcl", strings.TrimPrefix(spec("x"), benchmarkSpec))
	d := h.start()
	before := d.untilTrials(t, "x/1 running")
	h.write("c.hcl", strings.TrimPrefix(spec("x"), benchmarkSpec))
	h.write("b.hcl", "# moved to c.hcl")
	d.look(t)
	after := d.until(t, "moved", func(r query.RunStatus) bool { return strings.HasSuffix(r.Results, "/c.run.r.jsonl") })
	if before.Trials[0].ID != after.Trials[0].ID || phases(after) != "x/1 running" || !strings.HasSuffix(before.Results, "/b.run.r.jsonl") {
		t.Errorf("%s in %s, then %s in %s", phases(before), before.Results, phases(after), after.Results)
	}
	close(h.let)
	d.untilState(t, "finished")
}

func TestTwoDeclarationsChangeNothing(t *testing.T) {
	h := newFixture(t)
	h.write("a.hcl", spec("x"))
	d := h.start()
	d.untilTrials(t, "x/1 running")
	h.write("b.hcl", strings.TrimPrefix(spec("y"), benchmarkSpec))
	d.look(t)
	d.untilComplaints(t, 2)
	d.until(t, "left alone", func(r query.RunStatus) bool { return phases(r) == "x/1 running" && r.Wanted == 1 })
	s, err := d.Status(t.Context(), "")
	check(t, err)
	if n := strings.Count(fmt.Sprint(s.Diagnostics), "Duplicate name"); n != 2 {
		t.Errorf("%d complaints about two files: %v", n, s.Diagnostics)
	}
	close(h.let)
	d.untilState(t, "finished")
}

func TestACellThatIsWantedAgainStartsAgain(t *testing.T) {
	h := newFixture(t)
	h.write("a.hcl", spec("x", "y"))
	d := h.start()
	d.untilTrials(t, "x/1 running, y/1 running")
	h.write("a.hcl", spec("x"))
	d.look(t)
	d.untilTrials(t, "x/1 running, y/1 cancelled")
	h.write("a.hcl", spec("x", "y"))
	d.look(t)
	d.untilTrials(t, "x/1 running, y/2 running")
	close(h.let)
	d.untilState(t, "finished")
}

// TestABlockRemovedWhileNoDaemonRan is waited for like any other, and what it left is
// ended by the daemon that finds it, not by the request that asks for it.
func TestABlockRemovedWhileNoDaemonRan(t *testing.T) {
	for _, end := range []string{"after the grace", "by a request that goes away"} {
		t.Run(end, func(t *testing.T) {
			h := newFixture(t)
			h.write("a.hcl", spec("x"))
			first := h.start()
			first.untilTrials(t, "x/1 running")
			first.stop()
			h.write("a.hcl", benchmarkSpec)
			d := h.start()
			run := d.until(t, "waited for", func(r query.RunStatus) bool { return r.Note == "no file declares it" && phases(r) == "x/1 running" })
			c := h.container(run)
			if c == nil {
				t.Fatal("the container was not waited for")
			}
			if end == "after the grace" {
				check(t, d.do(t.Context(), func() {
					d.runs.gone["run.r"] = time.Now().Add(-plan.RemovalGrace)
					d.runs.queue.Add("run.r", time.Now())
				}))
			} else {
				request, over := context.WithCancel(t.Context())
				check(t, d.cancel(request, run.Trials[0].ID))
				over()
			}
			d.untilState(t, "forgotten")
			if h.fake.Container(c.Name()) != nil {
				t.Error("the container is still there")
			}
			got, want := h.records(), "run.started trial.started trial.finished run.settled run.finished"
			if end != "after the grace" {
				want = strings.Replace(want, "trial.finished", "control trial.finished", 1)
			}
			if got != want {
				t.Errorf("records %s", got)
			}
		})
	}
}

func TestCancel(t *testing.T) {
	h := newFixture(t)
	h.write("a.hcl", spec("x", "y"))
	d := h.start()
	run := d.untilTrials(t, "x/1 running, y/1 running")
	check(t, d.cancel(t.Context(), run.Trials[0].ID))
	d.untilTrials(t, "x/1 cancelled, y/1 running")
	if c, err := d.Cancel(t.Context(), control.Ask{Target: run.Trials[0].ID}); err != nil || c.Changed || c.State != control.Cancelled {
		t.Errorf("a trial that is cancelled was so once more: %+v, %v", c, err)
	}
	if n := strings.Count(h.records(), "control"); n != 1 {
		t.Errorf("two cancels of a trial made %d records", n)
	}
	if _, err := d.Rerun(t.Context(), "run.r"); err == nil {
		t.Error("an open run was done again")
	}
	check(t, d.cancel(t.Context(), "run.r"))
	run = d.untilState(t, "finished")
	if got := phases(run); got != "x/1 cancelled, y/1 cancelled" || run.Summary.Cancelled != 2 || strings.Count(h.records(), "trial.finished") != 2 {
		t.Errorf("%s, %+v, %s", got, run.Summary, h.records())
	}
	if err := d.cancel(t.Context(), "run.none"); !errors.Is(err, history.ErrUnknown) {
		t.Errorf("cancel of what nobody knows: %v", err)
	}
}

// TestCancelBetweenTwoTries: nothing runs that could end, and the run ends all the same.
func TestCancelBetweenTwoTries(t *testing.T) {
	h := newFixture(t)
	h.write("a.hcl", spec("x"))
	d := h.start()
	run := d.untilTrials(t, "x/1 running")
	h.fake.Vanish(h.container(run).Name())
	d.untilTrials(t, "x/1 infra_error")
	check(t, d.cancel(t.Context(), "run.r"))
	d.untilState(t, "finished")
	if got := h.records(); got != "run.started trial.started trial.finished control trial.finished run.settled run.finished" {
		t.Errorf("records %s", got)
	}
}

func TestALostContainerCostsATry(t *testing.T) {
	h := newFixture(t)
	h.write("a.hcl", spec("x"))
	d := h.start()
	run := d.untilTrials(t, "x/1 running")
	h.fake.Vanish(h.container(run).Name())
	d.untilTrials(t, "x/1 infra_error")
	check(t, d.do(t.Context(), func() { // five seconds later
		check(t, h.store.Do(t.Context(), func(tx *store.Tx) error {
			row, err := tx.Trial(run.Trials[0].ID)
			if err != nil {
				return err
			}
			row.FinishedAt = row.FinishedAt.Add(-time.Minute)
			return tx.PutTrial(row)
		}))
		d.runs.queue.Add("run.r", time.Now())
	}))
	close(h.let)
	if run = d.untilState(t, "finished"); phases(run) != "x/2 resolved" || run.Summary.Total != 1 || run.Summary.Resolved != 1 {
		t.Errorf("%s, %+v", phases(run), run.Summary)
	}
}

func TestAScheduleCountsFromItsAcceptance(t *testing.T) {
	h := newFixture(t)
	h.write("a.hcl", strings.Replace(spec("x"), "parallel", "schedule = \"0 2 1 1 *\"\n parallel", 1))
	d := h.start()
	d.until(t, "waiting", func(r query.RunStatus) bool { return r.State == "waiting" && r.Execution == 0 })
	check(t, d.do(t.Context(), func() {
		check(t, h.store.Do(t.Context(), func(tx *store.Tx) error {
			return tx.PutMeta(history.FiredKey("run.r"), plan.Stamp(time.Now().AddDate(-3, 0, 0)))
		}))
		d.runs.queue.Add("run.r", time.Now())
	}))
	close(h.let)
	d.until(t, "made up once", func(r query.RunStatus) bool { return r.State == "finished" && r.Execution == 1 })
}

// TestStrayContainers: what belongs to no open trial is removed, what this daemon made or
// another state directory's is not.
func TestStrayContainers(t *testing.T) {
	h := newFixture(t)
	h.write("a.hcl", spec("x"))
	for name, labels := range map[string]map[string]string{
		"left":   {container.LabelOwner: h.store.Owner(), container.LabelRole: container.RoleJudge, container.LabelDaemon: "former"},
		"others": {container.LabelOwner: "other", container.LabelRole: container.RoleJudge},
	} {
		_, err := h.fake.Start(t.Context(), container.Workload{Name: name, Image: "work:1", Labels: labels})
		check(t, err)
	}
	d := h.start()
	d.untilTrials(t, "x/1 running")
	d.until(t, "swept", func(query.RunStatus) bool { return h.fake.Container("left") == nil })
	if h.fake.Container("others") == nil {
		t.Error("another daemon's container was removed")
	}
	// What a former daemon had asked for may be made after its end.
	labels := map[string]string{container.LabelOwner: h.store.Owner(), container.LabelRole: container.RoleJudge}
	for name, daemon := range map[string]string{"late": "former", "own": ""} {
		w := container.Workload{Name: name, Image: "work:1", Labels: labels}
		_, err := h.fake.Start(t.Context(), w.WithLabels(map[string]string{container.LabelDaemon: daemon}))
		check(t, err)
	}
	d.Retention.SweepFormer(t.Context(), nil, time.Now().Add(-time.Hour))
	if h.fake.Container("late") != nil || h.fake.Container("own") == nil {
		t.Errorf("late: %v, own: %v", h.fake.Container("late"), h.fake.Container("own"))
	}
	close(h.let)
	d.untilState(t, "finished")
}

func TestDrainBeginsNothing(t *testing.T) {
	h := newFixture(t)
	h.write("a.hcl", spec("x")+strings.Replace(strings.TrimPrefix(spec("x"), benchmarkSpec), `run "r" {`, "run \"later\" {\n schedule = \"0 2 1 1 *\"", 1))
	d := h.start()
	d.untilTrials(t, "x/1 running")
	drained := make(chan error, 1)
	go func() { drained <- d.Drain(t.Context()) }()
	close(h.let)
	check(t, <-drained)
	check(t, d.do(t.Context(), func() { d.runs.queue.Add("run.later", time.Now()) }))
	s, err := d.Status(t.Context(), "")
	check(t, err)
	for _, r := range s.Runs {
		if want := map[string]int{"run.r": 1, "run.later": 0}[r.Address]; r.Execution != want {
			t.Errorf("%s is at execution %d, want %d", r.Address, r.Execution, want)
		}
	}
}
