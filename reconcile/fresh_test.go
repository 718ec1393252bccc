package reconcile

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/query"
)

// filed is the spec with an instruction in a file of its own.
func filed(agents ...string) string {
	return strings.Replace(spec(agents...), `"do it"`, `file("prompt.md")`, 1)
}

// instructions are those of the cells of run.r that are wanted.
func (d *daemon) instructions(t *testing.T) (all []string) {
	t.Helper()
	check(t, d.do(t.Context(), func() {
		for _, c := range d.runs.desired["run.r"].Cells() {
			all = append(all, c.Whole().Task.Instruction)
		}
	}))
	return all
}

// preview is the plan for the house's a.hcl.
func (h *fixture) preview(d *daemon) string {
	h.t.Helper()
	inputs, err := config.ReadAll([]string{h.specs + "/a.hcl"})
	check(h.t, err)
	p, _, err := d.Preview(h.t.Context(), inputs)
	check(h.t, err)
	return p.Plan
}

// Content is fixed when an execution begins: whatever is read anew changes no execution that is
// there, open or over, and all that tells of the run says so.
func TestAnExecutionKeepsItsContent(t *testing.T) {
	h := newFixture(t)
	put(t, h.specs, "prompt.md", "first")
	h.write("a.hcl", filed("x"))
	d := h.start()
	d.untilTrials(t, "x/1 running")
	put(t, h.specs, "prompt.md", "second")
	check(t, d.Look(t.Context(), true))
	is := func(when string) {
		t.Helper()
		if diff := cmp.Diff([]string{"first"}, d.instructions(t)); diff != "" {
			t.Errorf("%s the execution is done with other content (-want +got):\n%s", when, diff)
		}
		run := d.until(t, "stale", func(r query.RunStatus) bool { return r.Stale != nil })
		want := &plan.Stale{Files: []string{h.specs + "/prompt.md"}, Tasks: []string{`benchmark.edge["one"]`}}
		if diff := cmp.Diff(want, run.Stale); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
		if plan := h.preview(d); !strings.HasPrefix(plan, "run.r: stale (") || strings.Contains(plan, "start") {
			t.Errorf("%s the plan is\n%s", when, plan)
		}
	}
	is("while it runs")
	close(h.let)
	d.untilState(t, "finished")
	check(t, d.Look(t.Context(), true))
	is("when it is over")
	d.stop()
	d = h.start()
	is("under another daemon")
	if n := strings.Count(h.records(), "run.stale"); n != 1 {
		t.Errorf("it is recorded %d times", n)
	}
	put(t, h.specs, "prompt.md", "first")
	check(t, d.Look(t.Context(), true))
	d.until(t, "as it was", func(r query.RunStatus) bool { return r.Stale == nil && r.State == "finished" && len(r.Trials) == 1 })
}

// An edit of the spec takes effect in the present execution, and content does not come with it.
func TestAnEditOfTheSpecKeepsTheContent(t *testing.T) {
	h := newFixture(t)
	close(h.let)
	put(t, h.specs, "prompt.md", "first")
	h.write("a.hcl", filed("x"))
	d := h.start()
	d.untilState(t, "finished")
	put(t, h.specs, "prompt.md", "second")
	h.write("a.hcl", filed("x", "y"))
	d.look(t)
	run := d.until(t, "edited", func(r query.RunStatus) bool { return r.State == "finished" && len(r.Trials) == 2 })
	if diff := cmp.Diff([]string{"first", "first"}, d.instructions(t)); diff != "" {
		t.Errorf("instructions of the execution (-want +got):\n%s", diff)
	}
	h.numbers(d, run)
	d.stop()
	d = h.start()
	run = d.untilState(t, "finished")
	if diff := cmp.Diff([]string{"first", "first"}, d.instructions(t)); diff != "" || len(run.Trials) != 2 || run.Stale == nil {
		t.Errorf("after a restart: %d trials, stale %v, instructions (-want +got):\n%s", len(run.Trials), run.Stale, diff)
	}
}

// A rerun reads content for its own run, and starts nothing of others.
func TestARerunIsOfTheRunThatItNames(t *testing.T) {
	h := newFixture(t)
	put(t, h.specs, "prompt.md", "first")
	other := "run \"other\" {\n tasks = [benchmark.edge]\n auto_eval = \"0s\"\n agent \"nop\" { label = \"o\" }\n}\n"
	h.write("a.hcl", filed("x")+other)
	close(h.let)
	d := h.start()
	finished := func(address string, n int) {
		t.Helper()
		d.until(t, address+" over", func(query.RunStatus) bool {
			s, err := d.Status(t.Context(), address)
			return err == nil && len(s.Runs) == 1 && s.Runs[0].State == "finished" && s.Runs[0].Execution == n
		})
	}
	finished("run.r", 1)
	finished("run.other", 1)
	put(t, h.specs, "prompt.md", "second")
	differs, err := d.Rerun(t.Context(), "run.r")
	if err != nil || differs == nil || len(differs.Files) != 1 {
		t.Fatalf("the rerun says %+v, %v", differs, err)
	}
	finished("run.r", 2)
	finished("run.other", 1)
	if diff := cmp.Diff([]string{"second"}, d.instructions(t)); diff != "" {
		t.Errorf("instructions of the rerun (-want +got):\n%s", diff)
	}
	s, err := d.Status(t.Context(), "")
	check(t, err)
	for _, run := range s.Runs {
		if stale := run.Address == "run.other"; (run.Stale != nil) != stale || len(run.Trials) != 1 {
			t.Errorf("%s: stale %v, %d trials", run.Address, run.Stale, len(run.Trials))
		}
	}
}

// A rerun beside an open run of the same benchmark judges with what there is now.
func TestARerunBesideAnOpenRunReadsItsContent(t *testing.T) {
	h := newFixture(t)
	put(t, h.specs, "prompt.md", "first")
	h.write("a.hcl", filed("x"))
	close(h.let)
	d := h.start()
	d.untilState(t, "finished")
	h.let = make(chan struct{})
	h.write("b.hcl", "run \"open\" {\n tasks = [benchmark.edge]\n auto_eval = \"0s\"\n agent \"nop\" {}\n}\n")
	d.look(t)
	d.until(t, "open running", func(query.RunStatus) bool {
		s, err := d.Status(t.Context(), "run.open")
		return err == nil && phases(s.Runs[0]) == "nop/1 running"
	})
	put(t, h.specs, "prompt.md", "second")
	if differs, err := d.Rerun(t.Context(), "run.r"); err != nil || differs == nil {
		t.Fatalf("the rerun says %+v, %v", differs, err)
	}
	d.untilTrials(t, "x/1 running")
	if diff := cmp.Diff([]string{"second"}, d.instructions(t)); diff != "" {
		t.Errorf("instructions of the rerun (-want +got):\n%s", diff)
	}
	s, err := d.Status(t.Context(), "run.open")
	if err != nil || s.Runs[0].Stale == nil || phases(s.Runs[0]) != "nop/1 running" {
		t.Errorf("the open run: %+v, %v", s.Runs, err)
	}
	close(h.let)
	d.untilState(t, "finished")
}

// Where files are handed in again, other content begins another execution and more cells do not.
func TestHandingInAgain(t *testing.T) {
	h := newFixture(t)
	close(h.let)
	dir := t.TempDir()
	put(t, dir, "prompt.md", "first")
	put(t, dir, "a.hcl", filed("x"))
	d := h.start()
	handIn := func(execution, trials int) {
		t.Helper()
		if _, ds, err := d.Submit(t.Context(), []string{dir + "/a.hcl"}); err != nil || ds.HasErrors() {
			t.Fatal(ds, err)
		}
		run := d.until(t, "done", func(r query.RunStatus) bool {
			return r.State == "finished" && r.Execution == execution && len(r.Trials) == trials
		})
		h.numbers(d, run)
		if run.Summary.Total != trials {
			t.Errorf("e%d: %d trials count, want %d", execution, run.Summary.Total, trials)
		}
	}
	handIn(1, 1)
	handIn(1, 1)
	put(t, dir, "a.hcl", filed("x", "y"))
	handIn(1, 2)
	put(t, dir, "prompt.md", "second")
	handIn(2, 2)
	put(t, dir, "prompt.md", "third")
	put(t, dir, "a.hcl", filed("x", "y", "z"))
	handIn(3, 3)
}

func TestARunCanBeDoneAgainWheneverContentChanges(t *testing.T) {
	h := newFixture(t)
	close(h.let)
	put(t, h.specs, "prompt.md", "first")
	h.write("a.hcl", strings.Replace(filed("x"), "auto_eval", "on_change = \"rerun\"\n auto_eval", 1))
	d := h.start()
	d.untilState(t, "finished")
	put(t, h.specs, "prompt.md", "second")
	check(t, d.Look(t.Context(), true))
	d.until(t, "done again", func(r query.RunStatus) bool { return r.State == "finished" && r.Execution == 2 && r.Stale == nil })
	if diff := cmp.Diff([]string{"second"}, d.instructions(t)); diff != "" {
		t.Errorf("instructions (-want +got):\n%s", diff)
	}
}

// Nobody needs to ask: an edit of content under a daemon is seen when it has come to rest.
func TestADaemonTellsThatContentChanged(t *testing.T) {
	h := newFixture(t)
	close(h.let)
	put(t, h.specs, "prompt.md", "first")
	h.write("a.hcl", filed("x"))
	d := h.start()
	d.untilState(t, "finished")
	d.stop()
	put(t, h.specs, "prompt.md", "second") // while none runs
	d = h.start()
	d.until(t, "stale", func(r query.RunStatus) bool { return r.Stale != nil })
	put(t, h.specs, "prompt.md", "first")
	check(t, d.do(t.Context(), func() { d.specs.Pulse(t.Context()) }))
	run := d.until(t, "as it was", func(r query.RunStatus) bool { return r.Stale == nil })
	if run.State != "finished" || run.Execution != 1 || len(run.Trials) != 1 {
		t.Errorf("%s, e%d, %d trials", run.State, run.Execution, len(run.Trials))
	}
	if n := strings.Count(h.records(), "run.stale"); n != 1 {
		t.Errorf("run.stale is recorded %d times", n)
	}
}
