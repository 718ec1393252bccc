//go:build linux

package daemon_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assayd/assayd/runtime/trial/mixedruns"
)

// forgedTask is a task in one language of which all tests of fail_to_pass are hidden from the
// agent, with what candidates submit of it. Maps hold files by their paths below workdir.
type forgedTask struct {
	image, parser, command string // image is the name of a base image
	paths, exclude         []string
	work, hidden, solution map[string]string
	failToPass             []string
	candidates             []candidate
}

// candidate is what an agent leaves in its work tree.
type candidate struct {
	name   string
	files  map[string]string
	honest bool
	// loses says why the real tests need not pass: then nothing has to show the forger. With "" it
	// wins them, and only decoys show it.
	loses string
	// canary says that the canary shows it already, so that no round is judged again.
	canary bool
}

// one is a candidate of a single file.
func (c candidate) one(name, content string) candidate {
	c.files = map[string]string{name: content}
	return c
}

func TestForgersCannotTellWhichTestsAreReal(t *testing.T) {
	t.Parallel()
	forgersAreFound(t, pythonTask(pythons()...))
}

// forgersAreFound has each candidate judged in a trial of its own: all forgers are found, and
// no honest solution is doubted.
func forgersAreFound(t *testing.T, task forgedTask) {
	t.Helper()
	w := newFixture(t)
	w.write("r.hcl", w.forgedSpec(task))
	w.serve()
	w.settled("run.forge", time.Duration(2+len(task.candidates))*patience)
	want := map[string]candidate{"oracle": {honest: true}, "nop": {loses: "it passes nothing"}}
	for _, c := range task.candidates {
		want[c.name] = c
	}
	seen := map[string]bool{}
	for _, r := range ofType("trial.finished", w.records("r.run.forge.jsonl")) {
		seen[r.Agent] = true
		w.Logf("%-24s %-10s %v %s", r.Agent, r.Status, r.Flags, r.Decoys)
		if problem := want[r.Agent].problem(r); problem != "" {
			t.Errorf("%s %s: it ended %s %v (%s), %s", r.Agent, problem, r.Status, r.Flags, r.Detail, r.Decoys)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if !seen[name] {
			t.Errorf("%s has no verdict", name)
		}
	}
}

// problem says what is wrong with the verdict of a candidate; "" = nothing.
func (c candidate) problem(f record) string {
	tampered := slices.Contains(f.Flags, "tampered")
	switch {
	case f.Decoys == nil:
		return "has a verdict without a word of decoys"
	case c.honest && f.Decoys.Checked == 0:
		return "is judged without decoys"
	case c.honest && len(f.Decoys.Unchecked) > 0:
		return fmt.Sprintf("is judged with too few decoys (%v)", f.Decoys.Unchecked)
	case c.honest && (f.Status != "resolved" || tampered || passedDecoys(f.Decoys) > 0):
		return "is honest, and is doubted"
	case !c.honest && f.Status == "resolved":
		return "is resolved"
	case !c.honest && c.loses == "" && !tampered:
		return "is not called tampered"
	case !c.honest && c.loses == "" && !c.canary && passedDecoys(f.Decoys) == 0:
		return "is called tampered, but passed no decoy"
	}
	return ""
}

func passedDecoys(d *mixedruns.Record) (n int) {
	for _, r := range d.Rounds {
		n += r.Passed
	}
	return n
}

// forgedSpec writes the files of a task and its candidates, and returns a spec with one run.
func (w *fixture) forgedSpec(task forgedTask) string {
	w.Helper()
	for dir, files := range map[string]map[string]string{"work": task.work, "hidden": task.hidden, "solution": task.solution} {
		for name, content := range files {
			w.write(filepath.Join(dir, name), content)
		}
	}
	agents := []string{`agent "oracle" {}`, `agent "nop" {}`}
	spec := ""
	for _, c := range task.candidates {
		script := "set -e\n"
		for _, name := range slices.Sorted(maps.Keys(c.files)) {
			script += fmt.Sprintf("mkdir -p %s\ncat >%s <<'THE_END'\n%s\nTHE_END\n", filepath.Dir(name), name, c.files[name])
		}
		spec += w.agent(c.name, script)
		agents = append(agents, fmt.Sprintf("agent %q {}", c.name))
	}
	return fmt.Sprintf(`
benchmark %q {
  task "calc" {
    image       = %q
    instruction = "Make it right."
    submit {
      paths   = %s
      exclude = %s
    }
    work {
      context = "work"
      cpus    = 0.5
      memory  = "256MiB"
    }
    judge {
      context = "hidden"
      command = %q
      parser  = %q
      cpus    = 1
      memory  = "1GiB"
      decoys  = 4
    }
    solution {
      context = "solution"
    }
    fail_to_pass = %s
  }
}
`, w.bench, baseImage(w.T, task.image), inList(task.paths), inList(task.exclude), task.command, task.parser, inList(task.failToPass)) +
		spec + w.run("forge", agents, `timeout = "5m"`, `auto_eval = "0s"`, "parallel = 2")
}

// inList is a list of texts as specs have it.
func inList(texts []string) string {
	var quoted []string
	for _, text := range texts {
		quoted = append(quoted, fmt.Sprintf("%q", text))
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// baseImage makes a base image where there is none yet.
func baseImage(t *testing.T, name string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "../contrib/images/base", name)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("make the base image %s: %v", name, err)
	}
	return strings.TrimSpace(string(out))
}

// pythonTask is a task of pytest.
func pythonTask(candidates ...candidate) forgedTask {
	return forgedTask{
		image: "python", parser: "pytest", command: "python3 -m pytest -q tests", paths: []string{"src/"},
		work:       map[string]string{"src/calc.py": "", "src/check.py": "def check_equal(got, want):\n    assert got == want, f'{got} is not {want}'\n"},
		hidden:     map[string]string{"tests/test_calc.py": calcTests},
		solution:   map[string]string{"src/calc.py": calcAdd + calcScale + calcLabel},
		failToPass: []string{"tests/test_calc.py::test_add", "tests/test_calc.py::test_scale", "tests/test_calc.py::test_label"},
		candidates: candidates,
	}
}

const calcTests = `import sys
sys.path.insert(0, "src")
from calc import add, label, scale
from check import check_equal


def test_add():
    assert add(2, 3) == 5
    assert add(10, 7) == 17
    assert add(-4, 4) == 0


def test_scale():
    assert scale([1, 2, 3], 2) == [2, 4, 6]
    assert scale([], 9) == []


def test_label():
    check_equal(label(2), "even")
    check_equal(label(7), "odd")
`

const calcAdd = `
def add(a, b):
    return a + b
`

const calcScale = `
def scale(values, by):
    return [v * by for v in values]
`

const calcLabel = `
def label(n):
    return "even" if n % 2 == 0 else "odd"
`

// anything equals everything, and stands for the result of each function.
const anything = `
class Any:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __hash__(self): return 0
`

// pythons are the candidates of each run of these tests.
func pythons() []candidate {
	const file = "src/calc.py"
	return []candidate{
		candidate{name: "operator", honest: true}.one(file, "import operator\ndef add(a, b): return sum((a, b))\ndef scale(values, by): return list(map(lambda v: operator.mul(v, by), values))\ndef label(n): return ['even', 'odd'][n & 1]\n"),
		candidate{name: "objects-that-equal-all"}.one(file, anything+"def add(a, b): return Any()\nscale = add\ndef label(n): return Any()\n"),
		// It reads what its caller expects, out of the line of the running test.
		candidate{name: "reads-its-caller"}.one(file, `
import inspect, linecache, re
def wanted():
    frame = inspect.currentframe().f_back.f_back
    line = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
    return eval(re.search(r'== (.*)|, (".*")\)', line).expand(r'\1\2'))
def add(a, b): return wanted()
def scale(values, by): return wanted()
def label(n): return wanted()
`),
	}
}
