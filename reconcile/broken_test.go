package reconcile

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/reconcile/query"
)

// TestABrokenJudgeIsTheTasksDefect, with its place, and in no rate: one that tells nothing of
// the solution and of the untouched tree alike. What a submission breaks stays the agent's.
func TestABrokenJudgeIsTheTasksDefect(t *testing.T) {
	missing := func(string) (string, int) { return "sh: nothing: not found", 127 }
	silent := func(string) (string, int) { return "", 1 }
	mute := func(string) (string, int) { return "", 0 }
	// The runner starts where there is an answer that does not break it.
	picky := func(answer string) (string, int) {
		if answer == "" || answer == "breaks" {
			return "", 2
		}
		return answer, 0
	}
	breaks := func(answer string) (string, int) {
		if answer == "breaks" {
			return "sh: python: not found", 127
		}
		return "tests:Ab", 0
	}
	expect := func(text string) string {
		return strings.Replace(text, "parser  =", "expect = [\"A\", \"B\"]\n      parser  =", 1)
	}
	one, two := []string{"m"}, []string{"m", "n"}
	for name, tt := range map[string]struct {
		text    string
		agents  []string
		runner  func(string) (string, int)
		status  string
		judging int32 // of the task rather than of a trial
	}{
		"no such command, and no solution":           {spec(), one, missing, "setup_error judge", 1},
		"for two trials it is asked once":            {spec(), two, missing, "setup_error judge", 1},
		"no such command, with a list":               {expect(spec()), one, missing, "setup_error judge", 1},
		"it ends well and says nothing":              {spec(), one, mute, "setup_error judge", 1},
		"it says nothing of its list":                {expect(spec()), one, mute, "setup_error judge", 1},
		"it fails on the solution, too":              {runOf(false), two, silent, "setup_error judge", 3},
		"and with a list":                            {expect(runOf(false)), two, silent, "setup_error judge", 2},
		"the untouched tree may break a runner":      {spec(), one, picky, "unresolved", 1},
		"the solution shows that the judge is sound": {expect(runOf(false)), one, picky, "unresolved", 2},
		"the submission breaks the runner":           {expect(spec()), one, breaks, "test_error judge", 1},
	} {
		t.Run(name, func(t *testing.T) {
			h := newFixture(t)
			h.script = "tests:AB"
			h.answers = map[string]string{"m": "breaks", "n": "breaks"}
			h.runner = tt.runner
			close(h.let)
			text := tt.text
			for _, a := range tt.agents {
				text = strings.Replace(text, " parallel = 4\n", fmt.Sprintf(" parallel = 4\n agent \"mine\" { label = %q }\n", a), 1)
			}
			h.write("a.hcl", text+mine)
			d := h.start()
			d.look(t)
			run := d.untilState(t, "finished")
			began := 0
			for _, x := range run.Trials {
				got := strings.TrimSpace(fmt.Sprintf("%s %s", x.Status, x.Reason))
				if !strings.HasPrefix(got, tt.status) || x.Try != 1 {
					t.Errorf("%s in try %d: %s", got, x.Try, x.Detail)
				}
				if broken := strings.HasPrefix(tt.status, "setup_error"); broken && !strings.Contains(x.Detail, "a.hcl:") {
					t.Errorf("where is the command? %s", x.Detail)
				} else if broken != (run.Summary.ResolvedRate == nil) {
					t.Errorf("%+v", run.Summary)
				}
				if !x.Started.IsZero() {
					began++
				}
			}
			if strings.Contains(name, "fails on the solution") && began > 0 {
				t.Errorf("%d agents worked for nothing", began)
			}
			rounds := int32(len(linesOf(t, h.store, "run.r", "submission"))) //nolint:gosec // few
			if n := h.judged.Load() - rounds; n != tt.judging {
				t.Errorf("%d judgings of the task itself, want %d", n, tt.judging)
			}
		})
	}
}

// TestAMendedJudgeIsAskedAgain: a later try finds out for itself, before any agent works.
func TestAMendedJudgeIsAskedAgain(t *testing.T) {
	h := newFixture(t)
	h.runner = func(string) (string, int) { return "", 127 }
	close(h.let)
	h.write("a.hcl", spec("x"))
	d := h.start()
	d.look(t)
	if got := phases(d.untilState(t, "finished")); got != "x/1 setup_error" {
		t.Error(got)
	}
	d.stop()
	h.runner = nil
	d = h.start()
	_, err := d.Rerun(t.Context(), "run.r")
	check(t, err)
	d.until(t, "resolved", func(r query.RunStatus) bool {
		return r.State == "finished" && r.Summary != nil && r.Summary.Resolved == 1
	})
}

// TestControlsStandBesideTheRates in every number that is made of several agents.
func TestControlsStandBesideTheRates(t *testing.T) {
	h := newFixture(t)
	h.script = "tests:AB"
	h.answers = map[string]string{"m": "tests:Ab", "o": "tests:AB", "n": "tests:ab"}
	close(h.let)
	h.write("a.hcl", strings.Replace(runOf(true, "n"), " parallel = 4\n", " parallel = 4\n agent \"mine\" { label = \"m\" }\n", 1)+mine)
	d := h.start()
	d.look(t)
	run := d.untilState(t, "finished")
	report, err := d.Summaries.Report(t.Context(), "run.r")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(*run.Summary, report.Summary); diff != "" {
		t.Errorf("status and report: %s", diff)
	}
	s := report.Summary
	if s.Total != 3 || s.ResolvedRate.N != 1 || s.ResolvedRate.Value != 0 || s.PassRate.Value != 0.5 || s.Agents != nil {
		t.Errorf("%+v", s)
	}
	if len(s.Controls) != 2 || s.Controls["o"].PassRate.Value != 1 || s.Controls["n"].PassRate.Value != 0 {
		t.Errorf("%+v", s.Controls)
	}
	var controls []string
	for _, a := range report.Agents {
		if a.Control {
			controls = append(controls, a.Agent)
		}
	}
	var recorded []string
	for _, line := range linesOf(t, h.store, "run.r", "trial.finished") {
		if line["control"] == true {
			recorded = append(recorded, line["agent"].(string))
		}
	}
	slices.Sort(recorded)
	if diff := cmp.Diff([]string{"n", "o"}, controls) + cmp.Diff([]string{"n", "o"}, recorded); diff != "" {
		t.Error(diff)
	}
}
