//go:build linux

package daemon_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/judge/round"
)

// another declares a run of its own, with an agent in a folder of its own, over the tasks of
// a benchmark; its trials are short.
func (c *crashes) another(benchmark, script string, lines ...string) {
	c.Helper()
	c.extra++
	name := fmt.Sprintf("extra%d", c.extra)
	c.write(name+".hcl", c.agent(name, script+"\n# "+name)+fmt.Sprintf(`
run %q {
  tasks = [benchmark.%s]
  agent %q {}
  timeout   = "5m"
  auto_eval = "0s"
  %s
}
`, name, benchmark, name, strings.Join(lines, "\n  ")))
}

// quick submits once and is done.
const quick = `
echo 3 >src/level
assay-submit || echo "submit failed"
echo 4 >src/level
`

// anew leads to a point by a trial of its own.
func anew(c *crashes) { c.another(c.bench, quick) }

// once leads to a point by a trial in single mode.
func once(c *crashes) { c.another(c.bench, "echo 4 >src/level\n", `mode = "single"`) }

// build leads to a point by an image that is not there yet, made for a user that is not root.
func build(c *crashes) {
	name := fmt.Sprintf("%s-b%d", c.bench, c.extra)
	c.write(name+".hcl", strings.NewReplacer(
		fmt.Sprintf("benchmark %q", c.bench), fmt.Sprintf("benchmark %q", name),
		`"src/level" = "0"`, fmt.Sprintf(`"src/level" = "0", "src/name" = %q`, name),
		`cpus   = 0.25`, "cpus   = 0.25\n      user   = \"65534:65534\"",
	).Replace(c.withPrivateSet()))
	c.another(name, quick)
}

// withPrivateSet is the world's benchmark with tests that nobody is told of.
func (c *crashes) withPrivateSet() string {
	return strings.Replace(c.benchmark(), "    judge {\n", `    private {
      command = "sh tests/check.sh"
      timeout = "30s"
    }
    judge {
`, 1)
}

// striver submits again and again, counts its steps, and says when it was refused. It ends
// when it is let go or, if it is THRIFTY, when it has spent what it may submit.
const striver = `
echo "born $$"
echo "cooldown of ${COOLDOWN:-0}"
n=0
until [ -e /var/tmp/go ]; do
	n=$((n+1))
	echo $n >src/level
	if ! assay-submit 2>/var/tmp/trouble; then
		echo "refused at $(date +%s)"
		grep -q COOLDOWN /var/tmp/trouble || grep -q 'LIMIT REACHED' /var/tmp/trouble || echo "submit failed: $(cat /var/tmp/trouble)"
	fi
	echo "step $n of $$"
	[ -n "$THRIFTY" ] && grep -q 'LIMIT REACHED' /var/tmp/trouble && break
	sleep ${PAUSE:-0.5}
done
echo "done $$"
`

// staged declares a task that is judged in two stages.
func (c *crashes) staged() string {
	return fmt.Sprintf(`
benchmark "%s-staged" {
  task "stages" {
    image       = %q
    instruction = "Raise the number in src/level."
    submit {
      paths = ["src/"]
    }
    work {
      files = { "src/level" = "0" }
      cpus  = 0.25
    }
    judge {
      parser = "structured_json"
      cpus   = 0.5
      stage "run" {
        command = "cp src/level out.txt"
        outputs = ["out.txt"]
        timeout = "30s"
      }
      stage "grade" {
        command = "echo \"{\\\"score\\\": $(cat out.txt)}\""
        timeout = "30s"
      }
    }
  }
}
`, c.bench, base)
}

// withDecoys declares a task whose deciding rounds are judged again with tests changed.
func (c *crashes) withDecoys() string {
	const tests = "def level():\n    return int(open('src/level').read())\n\n\ndef test_level():\n    assert level() == 4\n\n\ndef test_half():\n    assert level() / 2 == 2\n"
	return fmt.Sprintf(`
benchmark "%s-decoys" {
  task "level" {
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
      files   = { "tests/test_level.py" = %q }
      command = "python3 -m pytest -q tests"
      parser  = "pytest"
      timeout = "1m"
      cpus    = 0.5
      memory  = "256MiB"
      decoys  = 4
    }
    solution {
      script = "echo 4 >src/level"
    }
    fail_to_pass = ["tests/test_level.py::test_level", "tests/test_level.py::test_half"]
  }
}
`, c.bench, base, tests)
}

func mixedUp(c *crashes) { c.another(c.bench+"-decoys", quick) }

// everyMixedRunCountsOnce fails unless each of that many trials with decoys is resolved by four
// mixed runs, each of another draw of the trial's.
func (c *crashes) everyMixedRunCountsOnce(trials int) {
	c.Helper()
	found := 0
	for id, rounds := range c.rounds() {
		if strings.HasPrefix(id, "eval.") { // decoys were proved there
			continue
		}
		keys := map[string]bool{}
		for _, sub := range rounds {
			if sub.Kind == round.KindMixed {
				keys[sub.Key] = true
			}
		}
		if len(keys) == 0 {
			continue
		}
		found++
		mixed := slices.DeleteFunc(slices.Clone(rounds), func(s round.Submission) bool { return s.Kind != round.KindMixed })
		if len(mixed) != 4 || len(keys) != 4 {
			c.Errorf("trial %s has %d mixed runs of %d draws, want 4", id, len(mixed), len(keys))
		}
	}
	if found < trials {
		c.Errorf("%d trials have mixed runs, want %d", found, trials)
	}
	for _, name := range c.files() {
		if !strings.Contains(name, ".run.extra") {
			continue
		}
		for _, r := range ofType("trial.finished", c.records(name)) {
			if r.Decoys != nil && (r.Status != "resolved" || len(r.Decoys.Rounds) != 1 || r.Decoys.Rounds[0].Runs != 4 || r.Decoys.Rounds[0].Passed != 0) {
				c.Errorf("trial %s ended %s with %+v", r.Trial, r.Status, r.Decoys)
			}
		}
	}
}

func inStages(c *crashes) { c.another(c.bench+"-staged", quick) }

// arcade declares a game in which each move is a point.
func (w *fixture) arcade() string {
	return fmt.Sprintf(`
benchmark "%s-games" {
  task "count" {
    image       = %q
    instruction = "Play."
    work {
      cpus = 0.25
    }
    judge {
      game   = "python3 server.py"
      select = "score_first"
      cpus   = 0.5
      files  = { "server.py" = <<-EOT
        import json
        from http.server import BaseHTTPRequestHandler, HTTPServer
        moves = 0
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            def log_message(self, *args):
                pass
            def answer(self):
                body = json.dumps({"observation": "", "score": moves, "max_score": 100, "done": False, "moves": moves}).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
            def do_GET(self):
                self.answer()
            def do_POST(self):
                global moves
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                if self.path == "/step":
                    moves += 1
                self.answer()
        HTTPServer(("127.0.0.1", 8000), Handler).serve_forever()
      EOT
      }
    }
  }
}
`, w.bench, base)
}

// player plays one short game after the other, whatever becomes of them.
const player = `
echo "born $$"
python3 -u - <<'PY'
import json, os, time, urllib.error, urllib.request
def call(path, body={}):
    r = urllib.request.Request(os.environ["GAME_SERVER_URL"] + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(r, timeout=60) as answer:
        return json.load(answer)
n = 0
while not os.path.exists("/var/tmp/go"):
    n += 1
    try:
        session = call("/new")["session_id"]
        print("opened", session)
        for _ in range(3):
            print("reached", session, int(call(f"/{session}/step", {"action": "on"})["peak_score"]))
        call(f"/{session}/close")
        print("closed", session)
    except (OSError, urllib.error.HTTPError) as trouble:
        print("trouble", trouble)
    print("step", n, "of", os.getpid())
    time.sleep(0.3)
PY
`

// everyGameHasItsVerdict fails unless each session that the agent was told of is stored as
// judged and recorded, by at least the score that the agent was told.
func (w *fixture) everyGameHasItsVerdict(trial string, all []record) {
	w.Helper()
	reached := map[string]float64{}
	for line := range strings.Lines(w.agentLog(trial)) {
		var id string
		var score float64
		if n, _ := fmt.Sscanf(line, "opened %s", &id); n == 1 {
			reached[id] = max(reached[id], 0)
		} else if n, _ := fmt.Sscanf(line, "reached %s %f", &id, &score); n == 2 {
			reached[id] = score
		}
	}
	if len(reached) < 5 {
		w.Errorf("the agent played %d games", len(reached))
	}
	for _, sub := range w.rounds()[trial] {
		if told, ok := reached[sub.ID]; ok && (sub.Report.Score == nil || *sub.Report.Score < told) {
			w.Errorf("%s is judged %+v, and its agent was told of %g", sub.Round, sub.Report, told)
		}
		delete(reached, sub.ID)
	}
	for id := range reached {
		w.Errorf("session %s was opened and is forgotten", id)
	}
}

// stray leaves a container as of a judging.
func stray(c *crashes) {
	c.Helper()
	w := container.Workload{
		Name: "assayd-stray-" + c.owner, Image: base, Argv: []string{"sleep", "1000"}, User: "0:0", Network: container.NetworkNone,
		Labels: map[string]string{container.LabelOwner: c.owner, container.LabelRole: container.RoleJudge},
	}
	if _, err := c.engine.Start(c.Context(), w); err != nil {
		c.Fatal(err)
	}
}

// eval asks for a round without a trial, which ends with the daemon.
func eval(c *crashes) {
	c.Helper()
	cmd := exec.CommandContext(c.Context(), binary, "eval", "--task", "benchmark."+c.bench+".climb", "--archive", c.levelArchive("3"), "--state", c.state)
	if err := cmd.Run(); err == nil {
		c.Error("assayd eval has a verdict of a daemon that was killed")
	}
}

// collect leaves garbage of both kinds and asks for its removal.
func collect(c *crashes) {
	c.Helper()
	// An image of a benchmark that is gone, and a blob that nothing speaks of.
	digest := fmt.Sprintf("%064x", c.extra+1)
	blob := filepath.Join(c.state, "blobs", digest[:2], digest)
	old := time.Now().Add(-48 * time.Hour)
	if err := errors.Join(os.MkdirAll(filepath.Dir(blob), 0o700), os.WriteFile(blob, nil, 0o600), os.Chtimes(blob, old, old)); err != nil {
		c.Fatal(err)
	}
	cmd := exec.CommandContext(c.Context(), binary, "gc", "--keep", "0", "--state", c.state)
	if err := cmd.Run(); err == nil {
		c.Error("assayd gc was answered by a daemon that was killed")
	}
}
