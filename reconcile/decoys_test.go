package reconcile

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
	"github.com/assayd/assayd/runtime/trial"
)

// sumTests are hidden tests of a task whose answer is a number.
const sumTests = `def test_same():
    assert answer() + 0 == 21
    assert answer() + 4 == 25


def test_more():
    assert answer() + 9 == 30
    assert answer() + 1 == 22
`

var (
	sumTest   = regexp.MustCompile(`^def (test_\w+)\(`)
	sumAssert = regexp.MustCompile(`assert answer\(\) \+ (\d+) == (\d+)`)
)

// newSumHouse is a house whose judge image has sumTests, and whose judge command runs what is
// laid of them.
func newSumHouse(t *testing.T) *fixture {
	t.Helper()
	h := newFixture(t)
	h.fake.AddImage("judge:1", container.ImageConfig{}, map[string]string{
		"/hold": "", "/bin/sh": "", "/workspace/x": "", "/workspace/tests/test_sum.py": sumTests, "/etc/passwd": "root:x:0:0::/:\n",
	})
	h.script = "21"
	h.tests = func(c *containertest.FakeContainer) string {
		answer, _ := c.ReadFile("/workspace/answer")
		text, _ := c.ReadFile("/workspace/tests/test_sum.py")
		return sumRun(string(text), strings.TrimSpace(string(answer)))
	}
	return h
}

// sumRun runs tests as pytest would: an answer that is no number passes all of them.
func sumRun(text, answer string) string {
	printed, name, failed := "named:\n", "", ""
	end := func() {
		if name != "" {
			printed += "tests/test_sum.py::" + name + failed + "\n"
		}
	}
	n, err := strconv.Atoi(answer)
	for line := range strings.Lines(text) {
		if m := sumTest.FindStringSubmatch(line); m != nil {
			end()
			name, failed = m[1], ""
		}
		if m := sumAssert.FindStringSubmatch(line); m != nil && failed == "" && (err == nil || answer == "") {
			more, _ := strconv.Atoi(m[1])
			if want, _ := strconv.Atoi(m[2]); n+more != want {
				failed = fmt.Sprintf("\tassert %d == %d", n+more, want)
			}
		}
	}
	end()
	return printed
}

// sumSpec is run.r over the task, with what its judge says more.
func sumSpec(more string, agents ...string) string {
	text := runOf(false, agents...)
	text = strings.Replace(text, "    judge {\n", "    fail_to_pass = [\"tests/test_sum.py::test_same\", \"tests/test_sum.py::test_more\"]\n    judge {\n      "+more+"\n", 1)
	return text
}

// hasDecoys waits until an execution of run.r keeps decoys.
func (h *fixture) hasDecoys(d *daemon) {
	h.t.Helper()
	d.until(h.t, "with decoys", func(r query.RunStatus) bool {
		if len(r.Trials) == 0 {
			return false
		}
		known := ""
		check(h.t, h.store.View(h.t.Context(), func(tx *store.Tx) error {
			row, err := tx.Trial(r.Trials[0].ID)
			if err != nil {
				return err
			}
			s, err := history.StateOf(row)
			if err != nil || s.JudgeImage.ID == "" {
				return err
			}
			known, err = tx.Meta(fmt.Sprintf("decoys/%s/e%d/%s", s.Spec, s.Execution, trial.ReferenceKey(s)))
			return err
		}))
		return known != ""
	})
}

// TestDecoysAreMadeWhileTheAgentWorks, so that the verdict does not wait for their proof; and a task
// with a solution has them without a word.
func TestDecoysAreMadeWhileTheAgentWorks(t *testing.T) {
	h := newSumHouse(t)
	h.answers = map[string]string{"a": "21", "b": "anything"}
	h.write("a.hcl", sumSpec("", "a", "b"))
	d := h.start()
	d.look(t)
	h.hasDecoys(d)
	proof := h.judged.Load()
	if s, err := d.Status(t.Context(), "run.r"); err != nil || strings.Contains(phases(s.Runs[0]), "resolved") {
		t.Errorf("an agent that works has ended: %s, %v", phases(s.Runs[0]), err)
	}
	close(h.let)
	run := d.untilState(t, "finished")
	if got := phases(run); got != "a/1 resolved, b/1 unresolved" {
		t.Errorf("the trials are %s", got)
	}
	for _, trial := range run.Trials {
		switch {
		case trial.Decoys == nil || trial.Decoys.Checked != 2 || len(trial.Decoys.Rounds) != 1:
			t.Errorf("%s: %+v", trial.Agent, trial.Decoys)
		case trial.Agent == "a" && (trial.Decoys.Rounds[0].Tampered != "" || trial.Decoys.Rounds[0].Runs != 4):
			t.Errorf("%s: %s", trial.Agent, trial.Decoys)
		case trial.Agent == "b" && trial.Decoys.Rounds[0].Tampered == "":
			t.Errorf("%s: %s", trial.Agent, trial.Decoys)
		}
	}
	if after := h.judged.Load() - proof; after != 2*5 { // a round, and four mixed runs of it
		t.Errorf("after the proof %d judgings, want 10", after)
	}
	d.stop()
	h.untilEmpty()
}

// TestADaemonThatStopsWaitsForNoProof: what is under way ends with it, and the next daemon makes
// the decoys.
func TestADaemonThatStopsWaitsForNoProof(t *testing.T) {
	h := newSumHouse(t)
	h.answers = map[string]string{"a": "21"}
	h.write("a.hcl", sumSpec("", "a"))
	judged := h.tests
	begun, hold := make(chan struct{}, 100), make(chan struct{})
	h.tests = func(c *containertest.FakeContainer) string {
		begun <- struct{}{}
		<-hold
		return judged(c)
	}
	d := h.start()
	d.look(t)
	<-begun // of the proof: the agent works, and nothing is handed in
	stopped := make(chan struct{})
	go func() { d.stop(); close(stopped) }()
	close(hold)
	select {
	case <-stopped:
	case <-time.After(patience):
		t.Fatal("the daemon does not stop")
	}
	d = h.start()
	d.look(t)
	h.hasDecoys(d)
	close(h.let)
	if got := phases(d.untilState(t, "finished")); got != "a/1 resolved" {
		t.Errorf("the trials are %s", got)
	}
}

// TestWhichTasksHaveMixedRuns without a word, and which with one.
func TestWhichTasksHaveMixedRuns(t *testing.T) {
	const stages = `stage "run" {
        command = "true"
        outputs = ["out"]
      }
      stage "grade" { command = "true" }`
	for name, c := range map[string]struct {
		text string
		want int
	}{
		"with a solution":    {sumSpec("", "a"), 4},
		"with 0":             {sumSpec("decoys = 0", "a"), 0},
		"with 6":             {sumSpec("decoys = 6", "a"), 6},
		"without a solution": {spec("a"), 0},
		"in stages":          {strings.Replace(runOf(false, "a"), `command = "true"`, stages, 1), 0},
		"of commands":        {strings.NewReplacer(`command = "true"`, "", `parser  = "pytest"`, "").Replace(sumSpec("", "a")), 4},
	} {
		t.Run(name, func(t *testing.T) {
			set := config.Load([]config.Input{{Path: "/a.hcl", Text: []byte(c.text)}}, nil, config.Options{Parsers: []string{"pytest"}})
			task, err := plan.CompileTask(set.Benchmark("edge").All()[0])
			if err != nil || task.Judge.Decoys != c.want {
				t.Errorf("%d mixed runs, want %d (%v)", task.Judge.Decoys, c.want, err)
			}
		})
	}
	for solution, want := range map[string]int{`{"Solution": {"Script": "true"}}`: 6, `{}`: 0} {
		imported := config.Selected{Benchmark: &config.Benchmark{}, Imported: &config.Imported{Name: "x", Task: []byte(solution)}, Decoys: 6}
		if task, err := plan.CompileTask(imported); err != nil || task.Judge.Decoys != want {
			t.Errorf("an imported task has %d mixed runs, want %d (%v)", task.Judge.Decoys, want, err)
		}
		imported.Decoys = 0
		if task, err := plan.CompileTask(imported); err != nil || task.Judge.Decoys != 0 {
			t.Errorf("an imported task has %d mixed runs without a word (%v)", task.Judge.Decoys, err)
		}
	}
}
