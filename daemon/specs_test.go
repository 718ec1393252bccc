//go:build linux

package daemon_test

import (
	"fmt"
	"strings"
)

// benchmark declares one task: write a number from 0 to 10 into src/level. A judge that
// the agent cannot see turns it into that many of ten tests passed.
func (w *fixture) benchmark() string {
	return fmt.Sprintf(`
benchmark %q {
  task "climb" {
    image       = %q
    instruction = "Raise the number in src/level."
    submit {
      paths = ["src/"]
    }
    work {
      files  = { "src/level" = "0" }
      cpus   = 0.25
      memory = "256MiB"
    }
    judge {
      files = {
        "tests/check.sh" = <<-EOT
          i=0
          while [ $i -lt 10 ]; do
            i=$((i+1)); status=FAILED
            [ $i -le "$(cat src/level)" ] && status=PASSED # not where a snapshot finds it empty
            list="$list$${list:+,}{\"name\":\"step $i\",\"status\":\"$status\"}"
          done
          echo "{\"details\":[$list]}"
        EOT
      }
      command = "sh tests/check.sh"
      parser  = "structured_json"
      timeout = "30s"
      cpus    = 0.5
      memory  = "256MiB"
    }
  }
}
`, w.bench, w.image)
}

// pytest is the world's benchmark with a task that pytest judges, by these tests of the module
// answer.
func (w *fixture) pytest(paths, tests string, judge ...string) string {
	return fmt.Sprintf(`
benchmark %q {
  task "answer" {
    image       = %q
    instruction = "Make src/answer.py right."
    submit {
      paths = [%q]
    }
    work {
      files  = { "src/answer.py" = "" }
      cpus   = 0.5
      memory = "256MiB"
    }
    judge {
      files   = { "tests/test_answer.py" = %q }
      command = "python3 -m pytest -q tests"
      parser  = "pytest"
      cpus    = 0.5
      memory  = "256MiB"
      %s
    }
  }
}
`, w.bench, base, paths, "import sys\nsys.path.insert(0, 'src')\nimport answer\n"+tests, strings.Join(judge, "\n      "))
}

// agent declares an agent and writes its program.
func (w *fixture) agent(name, script string, lines ...string) string {
	w.write(name+"/agent.sh", script)
	return fmt.Sprintf(`
agent %q {
  dir     = %q
  command = ["sh", "/agent/agent.sh"]
  %s
}
`, name, name, strings.Join(lines, "\n  "))
}

// run declares a run of these agents over the world's benchmark.
func (w *fixture) run(name string, agents []string, lines ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\nrun %q {\n  tasks = [benchmark.%s]\n", name, w.bench)
	for _, a := range agents {
		fmt.Fprintf(&b, "  %s\n", a)
	}
	for _, l := range lines {
		fmt.Fprintf(&b, "  %s\n", l)
	}
	b.WriteString("}\n")
	return b.String()
}

// climber counts its own steps and submits something better at each.
const climber = `
echo "born $$"
n=0
while [ $n -lt ${STEPS:-8} ]; do
	n=$((n+1))
	echo $n >src/level
	assay-submit || echo "submit failed"
	echo "step $n of $$"
	sleep ${PAUSE:-2}
done
echo "done $$"
`

// waiter submits once, notes that it was started, and works until it is let go.
const waiter = `
echo start >>/var/tmp/starts
echo "start $(wc -l </var/tmp/starts)"
echo 3 >src/level
assay-submit
echo waiting
until [ -e /var/tmp/go ]; do sleep 0.2; done
echo 10 >src/level
assay-submit
echo bye
`

// letGo lets the waiter of a trial finish.
func (w *fixture) letGo(trial string) {
	w.Helper()
	w.inside(w.body(trial).ID, "touch /var/tmp/go")
}
