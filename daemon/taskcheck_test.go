//go:build linux

package daemon_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/assayd/assayd/daemon/api"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/vet"
)

// sum is a task about one Python function, whose tests only the judge has.
type sum struct {
	name, instruction      string
	before, solution, test string
	command, parser        string
	setup                  string // of the work image
	more                   string // attributes of the task
}

const (
	wrongSum = "def add(a, b):\n    return 0\n"
	rightSum = "def add(a, b):\n    total = a\n    total += b\n    return total\n"
	sumTests = `import unittest
from answer import add

class Adding(unittest.TestCase):
    def test_small_numbers_are_added(self):
        self.assertEqual(add(20, 22), 42)

    def test_nothing_changes_a_number(self):
        for number in range(-5, 5):
            self.assertEqual(add(number, 0), number)

    def test_both_numbers_may_be_negative(self):
        self.assertEqual(add(-20, -22), -42)

if __name__ == "__main__":
    unittest.main()
`
	// Whether a coin shows heads twice is nobody's merit; that all of them do, no accident.
	coins = `import random, unittest
from answer import add

class Coins(unittest.TestCase):
    def test_sum(self):
        self.assertEqual(add(20, 22), 42)

for i in range(64):
    setattr(Coins, "test_coin_%d" % i, lambda self: self.assertTrue(random.random() < .5))
`
)

func (s sum) hcl() string {
	if s.command == "" {
		s.command, s.parser = "python3 -m pytest -q tests", "pytest"
	}
	if s.setup == "" {
		s.setup = "true"
	}
	return fmt.Sprintf(`
  task %q {
    image       = %q
    instruction = %q
    %s
    work {
      cpus  = 0.5
      files = { "answer.py" = %q }
      setup = [%q]
    }
    judge {
      cpus    = 0.5
      files   = { "tests/test_answer.py" = %q, "tests/__init__.py" = "" }
      command = %q
      parser  = %q
      timeout = "2m"
    }
    solution {
      script = %q
    }
  }
`, s.name, base, s.instruction, s.more, s.before, s.setup, s.test, s.command, s.parser, "cat >answer.py <<'END'\n"+s.solution+"END\n")
}

// checked runs `assayd task check` and returns what it says of each task, by name.
func (w *fixture) checked(code int, args ...string) map[string]api.Checked {
	w.Helper()
	var out, problems bytes.Buffer
	cmd := exec.CommandContext(w.Context(), binary, append([]string{"task", "check", "--json", "--state", w.state}, args...)...)
	cmd.Stdout, cmd.Stderr = &out, &problems
	err := cmd.Run()
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended || cmd.ProcessState.ExitCode() != code {
		w.Fatalf("assayd task check: %v, want exit code %d\n%s%s", err, code, problems.String(), out.String())
	}
	var answer struct{ Tasks []api.Checked }
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil {
		w.Fatalf("%v\n%s", err, out.String())
	}
	all := map[string]api.Checked{}
	for _, c := range answer.Tasks {
		_, name, _ := strings.Cut(c.Task, "[")
		all[strings.Trim(name, `]"`)] = c
	}
	return all
}

// has reports whether a check has a finding of that kind with all of the words.
func has(c api.Checked, check string, severity vet.Severity, words ...string) bool {
	return slices.ContainsFunc(c.Findings, func(f vet.Finding) bool {
		return f.Check == check && f.Severity == severity && !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(f.Text, word) })
	})
}

// A task is sound, or the check says what is wrong with it, and writes it beside the spec.
func TestATaskIsCheckedForWhatWouldSpoilItsVerdicts(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	plain := sum{instruction: "Write add.", before: wrongSum, solution: rightSum, test: sumTests}
	task := func(name string, change func(*sum)) string {
		s := plain
		s.name = name
		change(&s)
		return s.hcl()
	}
	spec := fmt.Sprintf("benchmark %q {\n", w.bench) +
		task("sound", func(*sum) {}) +
		task("done", func(s *sum) { s.before = rightSum }) +
		task("flaky", func(s *sum) { s.test = coins }) +
		task("leaky", func(s *sum) {
			s.command, s.parser = "python3 -m unittest -v tests.test_answer", "unittest" // nothing is added to what names its tests itself
			s.instruction = "Make test_small_numbers_are_added pass, as https://forge.example/a/b/pull/7 does."
			s.more = `fail_to_pass = ["test_small_numbers_are_added (tests.test_answer.Adding.test_small_numbers_are_added)"]`
			s.setup = "mkdir -p /opt/old && cd /opt/old && cat >notes.txt <<'END'\n" + sumTests + "END\n" +
				"git init -q -b main . && git config user.name a && git config user.email a@example.org && git commit -q --allow-empty -m now && " +
				"git checkout -q -b later && git commit -q --allow-empty -m later && git checkout -q main"
		}) +
		task("fooled", func(s *sum) { s.command, s.parser = "python3 -m tests.test_answer", "exit_code" }) + "}\n"
	w.write("t.hcl", spec)
	w.serve()
	all := w.checked(1, "--repeat", "2", "benchmark."+w.bench)

	if c := all["sound"]; c.Verdict != vet.Sound || c.Oracle == nil || !*c.Oracle || !c.Nop || !c.Stable || len(c.Gained) > 0 || c.JudgeMS == 0 ||
		!slices.Equal(c.Adversaries, []string{"exit-at-import", "exit-at-end", "conftest-skip", "conftest-pass", "configuration", "patched-runner", "printed-marks", "printed-run", "flooded-output", "expected-failures", "startup-hooks", "derived-files", "test-helpers"}) {
		t.Errorf("sound: %+v", c)
	}
	if c := all["done"]; c.Verdict != "broken" || c.Nop || !has(c, vet.Nop, vet.Breaks, "all tests pass before any change") || !has(c, vet.Empty, vet.Breaks) {
		t.Errorf("done: %+v", c)
	}
	if c := all["flaky"]; c.Verdict != "broken" || c.Stable || len(c.Flips) == 0 || !has(c, vet.Stable, vet.Breaks, "test_coin_", "with the solution", "failed 1×, passed 1×") {
		t.Errorf("flaky: %+v", c)
	}
	if c := all["leaky"]; c.Verdict != "flagged" || !*c.Oracle || !has(c, vet.Leak, vet.Flags, "/workspace/tests/test_answer.py", "/opt/old/notes.txt") ||
		!has(c, vet.Git, vet.Flags, "/opt/old/.git", "holds 1 commits", "refs/heads/later") || !has(c, vet.Instruction, vet.Flags, "pull/7") ||
		!has(c, vet.Instruction, vet.Flags, "test_small_numbers_are_added") || !slices.Equal(c.Gained, []string{"patched-runner", "printed-marks"}) {
		t.Errorf("leaky: %+v", c)
	}
	if c := all["fooled"]; c.Verdict != "flagged" || !slices.Contains(c.Gained, "exit-at-import") || !has(c, vet.Cheating, vet.Flags, "exit-at-import passes") {
		t.Errorf("fooled: %+v", c)
	}
	file := "t.benchmark." + w.bench + ".jsonl"
	w.recorded(file, "the last check", func(r record) bool { return r.Seq == len(all) })
	for _, r := range w.records(file) {
		if r.Type != "task.validated" || r.Spec != "benchmark."+w.bench {
			t.Errorf("a record of a check is %+v", r)
		}
	}
	text, err := os.ReadFile(filepath.Join(w.specs, file))
	if err != nil || !strings.Contains(string(text), `"task":"sound"`) || !strings.Contains(string(text), `"oracle":true,"nop":true,"stable":true`) {
		t.Errorf("%v\n%s", err, text)
	}
	w.noContainerIsLeft()
	if left := w.found("spool/*"); len(left) > 0 {
		t.Errorf("the spool holds %q", left)
	}
}

// Who interrupts a check leaves no container and no round behind.
func TestAnInterruptedCheckLeavesNothing(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.write("r.hcl", w.slow())
	w.serve()
	cmd := exec.Command(binary, "task", "check", "benchmark."+w.bench, "--state", w.state)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.untilWithin(5*patience, "a round runs", func() error {
		running, err := w.manual(round.StateRunning)
		if err == nil && len(running) == 0 {
			err = errors.New("none does")
		}
		return err
	})
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 1 {
		t.Errorf("exit %d", code)
	}
	w.until("nothing runs", func() error {
		running, err := w.manual(round.StateRunning)
		if len(running) > 0 {
			err = fmt.Errorf("%d rounds do", len(running))
		}
		return err
	})
	w.noContainerIsLeft()
	w.terminate() // what it had begun to start by then is there now
	w.noContainerIsLeft()
}
