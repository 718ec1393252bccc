package reconcile

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/reconcile/query/trialview"
	"github.com/assayd/assayd/reconcile/request"
	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/trial"
)

// once is a spec whose failures are final at once.
func once(text string) string {
	return strings.Replace(text, "auto_eval", "retry {\n infra = 0\n }\n auto_eval", 1)
}

func TestAMendedSetupErrorIsTriedAgainInTheSameExecution(t *testing.T) {
	for _, how := range []string{"handed in again", "retry of the run", "retry of the trial"} {
		t.Run(how, func(t *testing.T) {
			h := newFixture(t)
			close(h.let)
			dir := t.TempDir()
			put(t, dir, "a.hcl", once(strings.Replace(spec("x"), "work:1", "work:2", 1)))
			d := h.start()
			paths := []string{dir + "/a.hcl"}
			if _, ds, err := d.Submit(t.Context(), paths); err != nil || ds.HasErrors() {
				t.Fatal(ds, err)
			}
			failed := d.until(t, "failed", func(r query.RunStatus) bool { return r.State == "finished" && phases(r) == "x/1 setup_error" })
			h.fake.AddImage("work:2", container.ImageConfig{}, nil)
			var err error
			switch how {
			case "handed in again":
				_, _, err = d.Submit(t.Context(), paths)
			case "retry of the run":
				_, err = d.Retry(t.Context(), "run.r")
			default:
				_, err = d.Retry(t.Context(), failed.Trials[0].ID)
			}
			check(t, err)
			run := d.until(t, "mended", func(r query.RunStatus) bool {
				return r.State == "finished" && phases(r) == "x/2 resolved" && r.Execution == 1
			})
			h.numbers(d, run)
			if _, err := d.Retry(t.Context(), "run.r"); !errors.Is(err, request.ErrNothing) {
				t.Errorf("a run in which all counts is tried again: %v", err)
			}
			if _, err := d.Retry(t.Context(), run.Trials[0].ID); !errors.Is(err, request.ErrNothing) {
				t.Errorf("a trial that counts is tried again: %v", err)
			}
		})
	}
}

func TestWhatWasCancelledIsTriedAgainByNameOnly(t *testing.T) {
	h := newFixture(t)
	dir := t.TempDir()
	put(t, dir, "a.hcl", spec("x", "y"))
	d := h.start()
	paths := []string{dir + "/a.hcl"}
	submit := func() {
		t.Helper()
		if _, ds, err := d.Submit(t.Context(), paths); err != nil || ds.HasErrors() {
			t.Fatal(ds, err)
		}
	}
	submit()
	run := d.untilTrials(t, "x/1 running, y/1 running")
	at := slices.IndexFunc(run.Trials, func(x trialview.TrialStatus) bool { return x.Agent == "x" })
	check(t, d.cancel(t.Context(), run.Trials[at].ID))
	d.untilTrials(t, "x/1 cancelled, y/1 running")
	close(h.let)
	d.until(t, "over", func(r query.RunStatus) bool {
		return r.State == "finished" && phases(r) == "x/1 cancelled, y/1 resolved"
	})
	submit()
	d.until(t, "over still", func(r query.RunStatus) bool {
		return r.State == "finished" && phases(r) == "x/1 cancelled, y/1 resolved"
	})
	_, err := d.Retry(t.Context(), run.Trials[at].ID)
	check(t, err)
	run = d.until(t, "done", func(r query.RunStatus) bool {
		return r.State == "finished" && phases(r) == "x/2 resolved, y/1 resolved"
	})
	h.numbers(d, run)
}

// A task of which no verdict counts is pinned again when it is tried again, and no other.
func TestATaskWithoutAVerdictIsPinnedAgain(t *testing.T) {
	h := newFixture(t)
	close(h.let)
	two := strings.Replace(filed("x", "y"), "  task \"one\"", `  task "two" {
    image       = trimspace(file("image.txt"))
    instruction = file("prompt.md")
    judge {
      image   = "judge:1"
      command = "true"
      parser  = "pytest"
    }
  }
  task "one"`, 1)
	put(t, h.specs, "prompt.md", "first")
	put(t, h.specs, "image.txt", "misspelt:1")
	h.write("a.hcl", once(two))
	d := h.start()
	statuses := func(r query.RunStatus) string {
		var all []string
		for _, x := range r.Trials {
			if !x.Superseded {
				all = append(all, x.Task+" "+x.Agent+" "+string(x.Status))
			}
		}
		slices.Sort(all)
		return strings.Join(all, ", ")
	}
	over := func(want string) query.RunStatus {
		t.Helper()
		return d.until(t, want, func(r query.RunStatus) bool { return r.State == "finished" && statuses(r) == want })
	}
	over("one x resolved, one y resolved, two x setup_error, two y setup_error")
	put(t, h.specs, "image.txt", "work:1")
	put(t, h.specs, "prompt.md", "second")
	out, err := d.Retry(t.Context(), "run.r")
	check(t, err)
	if diff := cmp.Diff([]string{`benchmark.edge["two"]`}, out.Repinned); diff != "" || len(out.Trials) != 2 || out.Execution != 1 {
		t.Errorf("the retry says %+v", out)
	}
	mended := "one x resolved, one y resolved, two x resolved, two y resolved"
	is := func(run query.RunStatus) {
		t.Helper()
		h.numbers(d, run)
		said := map[string]string{}
		check(t, d.do(t.Context(), func() {
			for _, c := range d.runs.desired["run.r"].Cells() {
				said[c.Whole().Task.Name] = c.Whole().Task.Instruction
			}
		}))
		if diff := cmp.Diff(map[string]string{"one": "first", "two": "second"}, said); diff != "" {
			t.Errorf("content by task (-want +got):\n%s", diff)
		}
		if run.Stale == nil || !slices.Equal(run.Stale.Tasks, []string{`benchmark.edge["one"]`}) {
			t.Errorf("stale: %+v", run.Stale)
		}
		if run.Summary.Total != 4 || run.Execution != 1 {
			t.Errorf("%d trials count in e%d, want 4 in e1", run.Summary.Total, run.Execution)
		}
	}
	is(over(mended))
	d.stop()
	d = h.start()
	is(over(mended))
}

func TestARetryIsStoredBeforeItIsAnswered(t *testing.T) {
	h := newFixture(t)
	close(h.let)
	h.write("a.hcl", once(strings.Replace(spec("x"), "work:1", "work:2", 1)))
	d := h.start()
	d.until(t, "failed", func(r query.RunStatus) bool { return r.State == "finished" && phases(r) == "x/1 setup_error" })
	h.fake.AddImage("work:2", container.ImageConfig{}, nil)
	_, err := d.Retry(t.Context(), "run.r")
	check(t, err)
	d.stop()
	d = h.start()
	run := d.until(t, "mended", func(r query.RunStatus) bool {
		return r.State == "finished" && len(r.Trials) == 1 && r.Trials[0].Status == trial.Resolved
	})
	h.numbers(d, run)
}
