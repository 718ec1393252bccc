package reconcile

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assayd/assayd/reconcile/evaluate"
	"github.com/assayd/assayd/reconcile/request"
	"github.com/assayd/assayd/reconcile/taskcheck"
)

// Who judges anew gets the task as its file and folders are now, and leaves what is in
// force alone.
func TestATaskIsTakenAsItIsNow(t *testing.T) {
	h := newFixture(t)
	put(t, h.specs, "hidden/a.txt", "first")
	text := strings.Replace(benchmarkSpec, `image       = "work:1"`, "image       = \"work:1\"\n    solution {\n      context = \"hidden\"\n    }", 1)
	file := filepath.Join(h.specs, "a.hcl")
	h.write("a.hcl", text)
	run := strings.TrimPrefix(spec("x"), benchmarkSpec)
	h.write("b.hcl", run)
	d := h.start()
	d.untilTrials(t, "x/1 running")
	set := d.specs.InForce()
	inForce := func() string {
		previous, err := d.specs.Accepted(t.Context())
		check(t, err)
		all, err := json.Marshal([]any{previous, d.specs.InForce()})
		check(t, err)
		return string(all)
	}
	before := inForce()
	digest := set.Benchmark("edge").Tasks[0].Solution.Context.Digest

	put(t, h.specs, "hidden/a.txt", "second")
	for name, tc := range map[string]struct {
		ask  evaluate.Evaluation
		kept bool
	}{
		"a changed folder":     {ask: evaluate.Evaluation{Task: "benchmark.edge"}},
		"by the trial":         {ask: evaluate.Evaluation{Trial: d.trial(t)}},
		"an unknown benchmark": {ask: evaluate.Evaluation{Task: "benchmark.none"}, kept: true},
	} {
		now, ds, err := d.AsItIsNow(t.Context(), set, tc.ask)
		if err != nil || len(ds) > 0 {
			t.Fatalf("%s: %v, %v", name, ds, err)
		}
		if changed := now.Benchmark("edge").Tasks[0].Solution.Context.Digest != digest; changed != !tc.kept {
			t.Errorf("%s: read anew is %t", name, changed)
		}
		if now.Run("r") == nil {
			t.Errorf("%s: the run of another file is gone", name)
		}
	}
	for _, tc := range []struct{ text, says string }{
		{strings.Replace(text, "image ", "imag ", 1), "has errors."},
		{strings.Replace(text, `"hidden"`, `"nowhere"`, 1), "has errors."},
		{strings.Replace(text, `benchmark "edge"`, `benchmark "other"`, 1), "does not declare benchmark.edge any more."},
		{"", "is gone."},
	} {
		err := os.WriteFile(file, []byte(tc.text), 0o644) // nobody tells the daemon
		if tc.text == "" {
			err = os.Remove(file)
		}
		check(t, err)
		now, ds, err := d.AsItIsNow(t.Context(), set, evaluate.Evaluation{Task: "benchmark.edge.one"})
		if err != nil || now != set || len(ds) != 1 || ds.HasErrors() || ds[0].Detail != file+" "+tc.says {
			t.Errorf("%s: %v, %v", tc.says, ds, err)
		}
		check(t, os.WriteFile(file, []byte(text), 0o644)) // the daemon looks by itself, too, after a while
	}
	if after := inForce(); after != before {
		t.Errorf("what is in force has changed from\n%s\nto\n%s", before, after)
	}
	close(h.let)
	d.untilState(t, "finished")
}

// trial is the id of the only trial of run.r.
func (d *daemon) trial(t *testing.T) string {
	t.Helper()
	s, err := d.Status(t.Context(), "run.r")
	if err != nil || len(s.Runs) != 1 || len(s.Runs[0].Trials) != 1 {
		t.Fatalf("%+v, %v", s, err)
	}
	return s.Runs[0].Trials[0].ID
}

// Who cannot rate is told before anything is made.
func TestACheckWithoutAModelToAskBeginsNothing(t *testing.T) {
	h := newFixture(t)
	put(t, h.specs, "a.hcl", benchmarkSpec)
	d := h.start()
	_, _, err := d.CheckTask(t.Context(), taskcheck.Check{Task: "benchmark.edge.one", Rater: &taskcheck.Rater{Provider: "nobody", Model: "m"}})
	if _, ok := errors.AsType[*request.Mistake](err); !ok || !strings.Contains(err.Error(), `no provider "nobody"`) {
		t.Errorf("%v", err)
	}
	h.untilEmpty()
}
