//go:build linux

package daemon_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/reconcile/query/trialview"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/trial"
)

// dataset lays out a folder in SForge's format, with an agent that uses SForge's client.
func (w *fixture) dataset(benchmark string) {
	w.Helper()
	for to, from := range map[string]string{"tasks": "testdata/sforge/tasks", "player": "testdata/sforge"} {
		if err := os.CopyFS(filepath.Join(w.specs, to), os.DirFS(from)); err != nil {
			w.Fatal(err)
		}
	}
	w.write("tasks/BENCHMARK.yaml", benchmark)
}

// baseYAML is a base that is made with packages of the distribution.
const baseYAML = `name: %s
base_images:
  python:
    official_image: assayd-base/python:1
    extra_packages: [git, curl, jq]
`

// A benchmark in SForge's format is built under the names that SForge computes, and its
// client, unchanged, works against the judge: results, details, history, limits, errors.
// What the client must see is what the agent's log says.
func TestABenchmarkInSForgesFormatAndItsClient(t *testing.T) {
	w := newFixture(t)
	w.dataset(fmt.Sprintf(baseYAML, w.bench))
	w.write("tasks/broken.json", `{"task_id": "broken"`)
	w.write("sforge.hcl", fmt.Sprintf(`
benchmark %[1]q {
  import "sforge" { path = "tasks" }
}
agent "player" {
  command = ["/bin/bash", "/agent/play.sh"]
  dir     = "player"
}
run "quick" {
  tasks     = [benchmark.%[1]s]
  include   = ["numbers"]
  timeout   = "5m"
  auto_eval = "0s"
  stop_hook = false
  agent "player" {}
  resume { max = 0 }
  submissions {
    max      = 2
    cooldown = "15s"
  }
}
run "small" {
  tasks   = [benchmark.%[1]s]
  include = ["small"]
  timeout = "5m"
  judge { memory = "64MiB" }
  agent "nop" {}
}`, w.bench))
	w.write("troubled.hcl", fmt.Sprintf(`
run "troubled" {
  tasks   = [benchmark.%[1]s]
  include = ["small"]
  agent "player" {}
}`, w.bench))
	w.serve()
	numbers := w.settled("run.quick", 3*patience).Trials[0]
	checkNumbers(t, w, numbers)
	w.settled("run.small", patience)
	_, told, _ := w.assayd("status")
	for _, want := range []string{"broken.json", `task "small", which the run can exclude or size otherwise: judge.memory asks for 4 MiB`} {
		if !strings.Contains(told, want) {
			t.Errorf("the status does not tell %q:\n%s", want, told)
		}
	}
	w.builtUnder(".base.python:adbbed52c0d7", ".work.numbers:c746765edc1a", ".judge.numbers:920a57b7adc3", ".work.small:c746765edc1a", ".judge.small:920a57b7adc3")
}

// builtUnder checks the names of all images of the world's benchmark.
func (w *fixture) builtUnder(want ...string) {
	w.Helper()
	got := map[string]bool{}
	images, err := w.engine.ListImages(w.Context(), "assayd.image.owner", w.owner)
	if err != nil {
		w.Fatal(err)
	}
	for _, img := range images {
		for _, ref := range img.Refs {
			if rest, ok := strings.CutPrefix(ref, w.bench); ok {
				got[rest] = true
			}
		}
	}
	for _, name := range want {
		if !got[name] {
			w.Errorf("there is no image %s%s; there are %v", w.bench, name, got)
		}
	}
}

func checkNumbers(t *testing.T, w *fixture, x trialview.TrialStatus) {
	t.Helper()
	if x.Status != trial.Resolved {
		t.Errorf("numbers is %s", x.Status)
	}
	rounds := slices.DeleteFunc(slices.Clone(x.Rounds), func(r trialview.Round) bool { return !strings.HasPrefix(r.Round, "agent-") })
	if len(rounds) != 2 || rounds[0].Report == nil || rounds[0].Report.Status != round.StatusOK || *rounds[0].Report.Score != 1 || *rounds[1].Report.Score != 3 {
		t.Errorf("rounds %+v", rounds)
	}
	for _, part := range []string{"pipefail is on", "Start Structured Result"} {
		if out := w.ok("submissions", "--output", "agent-1", x.ID); !strings.Contains(out, part) {
			t.Errorf("the judge's output lacks %q:\n%s", part, out)
		}
	}
	want := `I am agent in /home/workspace/numbers
$ sforge-submit --list
Submissions: 0
Best pass rate: 0
ROUND	STATUS	VALID	PASS_RATE	SCORE	SUMMARY
exit 0
$ sforge-submit 
=== Submitting (N bytes) ===
Round: agent-1
Remaining: 1
=== Result: agent-1 ===
Score: 1
Pass rate: 33.3%
Passed: 1/3
Summary: 1 numbers are right in /home/workspace/numbers
right: 1
root: 1
Failed:
  number 2
  number 3
exit 0
$ sforge-submit 
=== Submitting (N bytes) ===
cooldown: wait N seconds before the next submission
stderr: COOLDOWN: cooldown: wait N seconds before the next submission
exit 1
$ sforge-submit --details
=== Submitting (N bytes) ===
Round: agent-2
Remaining: 0
=== Result: agent-2 ===
Score: 3
Pass rate: 100%
Passed: 3/3
Summary: 3 numbers are right in /home/workspace/numbers
right: 3
root: 1
All tests passed
[PASSED] number 1: one where one is wanted
[PASSED] number 2: two where two is wanted
[PASSED] number 3: three where three is wanted
exit 0
$ sforge-submit 
=== Submitting (N bytes) ===
the submission budget is exhausted: 2 of 2 used
stderr: SUBMISSION LIMIT REACHED: the submission budget is exhausted: 2 of 2 used
exit 1
$ sforge-submit --list
Submissions: 2
Best pass rate: 1
Best score: 3
ROUND	STATUS	VALID	PASS_RATE	SCORE	SUMMARY
agent-1	completed	yes	0.333333	1	1 numbers are right in /home/workspace/n
agent-2	completed	yes	1	3	3 numbers are right in /home/workspace/n
exit 0
$ sforge-submit --verbose
stderr: unknown option: --verbose
stderr: usage: sforge-submit [--details|-d | --list|-l | --help|-h]
exit 1
SFORGE_TOKEN is not set
exit 1
["agent-2",3,2]
`
	if diff := cmp.Diff(want, steady(w.agentLog(x.ID))); diff != "" {
		t.Errorf("the agent's log (-want +got):\n%s", diff)
	}
}

// steady takes out of a log what differs from time to time.
func steady(log string) string {
	for _, c := range []struct{ shape, text string }{
		{`\(\d+ bytes\)`, "(N bytes)"}, {`wait \d+ seconds`, "wait N seconds"}, {`0\.3{6,}`, "0.333333"},
	} {
		log = regexp.MustCompile(c.shape).ReplaceAllString(log, c.text)
	}
	return log
}
