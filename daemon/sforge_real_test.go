//go:build real

package daemon_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/daemon"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/query/trialview"
	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
	"github.com/assayd/assayd/runtime/image"
	"github.com/assayd/assayd/runtime/judge/round"
)

// realTasks is the folder of task files as they were released.
func realTasks(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(os.Getenv("ASSAYD_DATA"), "sforge-tasks")
	if _, err := os.Stat(dir); err != nil {
		t.Fatalf("ASSAYD_DATA names the folder with sforge-tasks: %v", err)
	}
	return dir
}

// The released files are read without a change, and each asks for the images that are
// published under its tag.
func TestRealSForgeTasksLoadUnchanged(t *testing.T) {
	tasks, problems := daemon.Importer{}.Import(config.Import{Format: "sforge", Path: realTasks(t), Include: []string{"*"}})
	if len(problems) > 0 {
		t.Fatalf("%+v", problems)
	}
	got := map[string][]string{}
	for i := range tasks {
		one, err := plan.CompileTask(config.Selected{Benchmark: &config.Benchmark{}, Imported: &tasks[i]})
		if err != nil {
			t.Fatal(err)
		}
		got[one.Name] = []string{one.Work.Image, one.Judge.Image, one.Metadata["category"], one.Judge.Rescale.Kind, one.Judge.Parser, one.Network.Mode}
	}
	want := map[string][]string{}
	for _, s := range standIns() {
		want[s.task] = []string{"edgebench.work." + s.task + ":" + s.workTag, "edgebench.judge." + s.task + ":" + s.judgeTag, s.category, s.rescale, s.parser, "none"}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// standIn is a task whose images are not to be had here: small ones of our own stand under
// the names that its file asks for.
type standIn struct {
	task, workTag, judgeTag   string
	category, rescale, parser string
	work, judge               string // commands that make them
	play                      string // what the agent does
	round                     string
	rate, score, rescaled     float64
}

func standIns() []standIn {
	return []standIn{
		{
			task: "ad_placement_optimization", workTag: "49747cad3ebd", judgeTag: "56cbfc81cfa1",
			category: "Combinatorial Optimization", rescale: "piecewise_max", parser: "score_sum",
			work: "mkdir -p /home/workspace/ad-placement/tools", judge: adJudge,
			play:  "echo 'int main() { return 0; }' >solution.cpp; assay-submit",
			round: "agent-1", rate: 2. / 3, score: 49_702_568_341, rescaled: 80,
		},
		{
			task: "git_rewrite_in_zig", workTag: "3e1aae9f830c", judgeTag: "0d404251e9c9",
			category: "Systems & Software Engineering", rescale: "linear", parser: "pytest_v",
			work: "mkdir -p /home/workspace/zig-port /home/workspace/git-src", judge: gitJudge,
			play:  "mkdir -p src zig-out .zig-cache; echo 'pub fn main' >src/main.zig; touch zig-out/git .zig-cache/x; assay-submit --details",
			round: "agent-1", rate: 2. / 3, score: 0.25, rescaled: 25,
		},
		{
			task: "smt_solver", workTag: "ce487a98870f", judgeTag: "fdce54253c61",
			category: "Combinatorial Optimization", rescale: "linear", parser: "structured_json",
			work: "mkdir -p /home/workspace/smt_solver/src", judge: smtJudge,
			play:  "printf '#!/bin/sh\\necho built\\n' >build.sh; printf '#!/bin/sh\\necho unsat\\n' >solve; touch src/main.c own.log; assay-submit",
			round: "agent-1", rate: 0.5, score: 0.5, rescaled: 50,
		},
		{
			task: "trinity_text_adventure", workTag: "61ded5caecc2", judgeTag: "fcaad5fa630f",
			category: "Interactive Games & Simulators", rescale: "linear", parser: "",
			work: "mkdir -p /home/jericho_agent", judge: trinityJudge,
			play:  "python3 /agent/play.py",
			round: "game-1", rate: 0.4, score: 40, rescaled: 40,
		},
	}
}

// What the four judge images hold that their files call.
const (
	adJudge = `mkdir -p /home/workspace/ad-placement
cat >/tmp/eval_ahc.sh <<'E'
[ -f solution.cpp ] || { echo "CE: no solution"; exit 1; }
echo "CASE 0 OK score=24851284170"
echo "CASE 1 OK score=24851284171"
echo "CASE 2 TLE score=0"
echo "CASES_OK 2"
echo "CASES_TOTAL 3"
echo "TOTAL_SCORE 49702568341"
E`
	gitJudge = `mkdir -p /home/workspace/zig-port /opt/tests
cat >/opt/tests/test.sh <<'E'
cd "$APP_DIR/zig-port" || exit 1
[ -e zig-out ] || [ -e .zig-cache ] && exit 3
grep -q main src/main.zig && echo '{"reward": 0.25}' >"$VERIFIER_DIR/reward.json"
exit 1
E
cat >/opt/tests/pytest_shim.sh <<'E'
[ -f "$1" ] || { echo "ERROR tests/test_git.py"; echo "=== 1 error in 0.01s ==="; exit 1; }
echo "tests/test_git.py::test_init PASSED"
echo "tests/test_git.py::test_add PASSED"
echo "tests/test_git.py::test_clone FAILED"
echo "=== 1 failed, 2 passed in 0.01s ==="
echo "TOTAL_SCORE $(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["reward"])' "$1")"
E`
	smtJudge = `mkdir -p /home/workspace/smt_solver /home/workspace/smt_judge/scripts
cd /home/workspace/smt_judge
python3 - <<'E'
import zipfile
with zipfile.ZipFile("SMT-hidden_benchmarks.zip", "w") as z:
    z.writestr("expected_answers.json", '{"a": "unsat", "b": "sat"}')
    z.writestr("selection_manifest.json", "{}")
    z.writestr("a.smt2", "(check-sat)")
    z.writestr("b.smt2", "(check-sat)")
E
cat >scripts/evaluate.py <<'E'
import argparse, json, pathlib, subprocess
flags = argparse.ArgumentParser()
for name in "solver benchmarks expected manifest timeout parallel perturb-salt submission-root output".split():
    flags.add_argument("--" + name, required=True)
flags.add_argument("--perturb", action="store_true")
given = flags.parse_args()
expected = json.load(open(given.expected))
right = sum(subprocess.run([given.solver, str(p)], capture_output=True, text=True).stdout.strip() == expected[p.stem]
            for p in pathlib.Path(given.benchmarks).glob("*.smt2"))
total = len(expected)
json.dump({"final_score": 100 * right / total, "logic_summary": {"QF_UF": {"total": total, "correct": right}}}, open(given.output, "w"))
E`
	trinityJudge = `mkdir -p /home/jericho_agent /home/roms
echo "a story" >/home/roms/trinity.z4
cat >/usr/lib/python3/dist-packages/jericho.py <<'E'
class FrotzEnv:
    """As much of a game as a test needs: north scores, south loses it again, quit ends it."""
    def __init__(self, story):
        open(story).close()
        self.score = self.moves = 0
    def get_max_score(self):
        return 100
    def reset(self):
        return "You are in a garden.", {"score": 0, "moves": 0}
    def step(self, action):
        self.moves += 1
        self.score += {"north": 20, "south": -20}.get(action, 0)
        return "You did: " + repr(action), 20, action == "quit", {"score": self.score, "moves": self.moves}
E`
)

// playGame reaches 40 of 100, loses half of it again, and ends the game.
const playGame = `import json, os, urllib.request

def call(path, body):
    request = urllib.request.Request(os.environ["GAME_SERVER_URL"] + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    return json.load(urllib.request.urlopen(request, timeout=120))

game = call("/new", {})
print(game["observation"], game["max_score"])
for action in ["north", " ", "north", "south", "quit"]:
    game.update(call("/" + game["session_id"] + "/step", {"action": action}))
    print(game["observation"], game["score"], game["peak_score"], game["moves"], game["done"])
`

// Each of the released files runs from end to end: cleaned by its own lists, judged by its
// own command and parser, rescaled by its own anchors.
func TestRealSForgeTasksRunOnStandIns(t *testing.T) {
	w := newFixture(t)
	if err := os.CopyFS(filepath.Join(w.specs, "tasks"), os.DirFS(realTasks(t))); err != nil {
		t.Fatal(err)
	}
	script := "case $ASSAYD_TASK in\n"
	for _, s := range standIns() {
		w.standIn("edgebench.work."+s.task+":"+s.workTag, s.work+"\nuseradd -m -s /bin/bash agent\nfor d in /home/workspace /home/jericho_agent; do [ ! -d $d ] || chown -R agent $d; done", "agent")
		w.standIn("edgebench.judge."+s.task+":"+s.judgeTag, s.judge, "root")
		script += s.task + ") " + s.play + ";;\n"
	}
	w.write("player/play.sh", script+"esac\n")
	w.write("player/play.py", playGame)
	w.write("real.hcl", `
benchmark "edge" {
  import "sforge" { path = "tasks" }
}
agent "player" {
  command = ["/bin/bash", "/agent/play.sh"]
  dir     = "player"
}
run "real" {
  tasks     = [benchmark.edge]
  timeout   = "5m"
  auto_eval = "0s"
  stop_hook = false
  agent "player" {}
  agent "nop" {}
  resume { max = 0 }
}`)
	run := w.makeTrue(filepath.Join(w.specs, "real.hcl"))
	for _, s := range standIns() {
		t.Run(s.task, func(t *testing.T) {
			i := slices.IndexFunc(run.Trials, func(x trialview.TrialStatus) bool { return x.Task == s.task && x.Agent == "player" })
			if i < 0 {
				t.Fatal("there is no trial")
			}
			s.check(t, run.Trials[i])
			if t.Failed() {
				t.Logf("the agent said:\n%s", w.agentLog(run.Trials[i].ID))
			}
		})
	}
}

func (s standIn) check(t *testing.T, x trialview.TrialStatus) {
	t.Helper()
	i := slices.IndexFunc(x.Rounds, func(r trialview.Round) bool { return r.Round == s.round })
	if i < 0 || x.Rounds[i].Report == nil {
		t.Fatalf("%s (%s) has no report of %s: %+v", x.Status, x.Detail, s.round, x.Rounds)
	}
	r := x.Rounds[i].Report
	if r.Status != round.StatusOK || !r.Valid || r.Tampered || r.Problem != "" || x.Best != s.round {
		t.Errorf("the report is %s, valid %v, tampered %v, problem %q; best is %q", r.Status, r.Valid, r.Tampered, r.Problem, x.Best)
	}
	if r.PassRate != s.rate {
		t.Errorf("the pass rate is %v, want %v", r.PassRate, s.rate)
	}
	if r.Score == nil || *r.Score != s.score || r.Score100 == nil || *r.Score100 != s.rescaled {
		t.Errorf("score %s, rescaled %s; want %v and %v", show(r.Score), show(r.Score100), s.score, s.rescaled)
	}
}

func show(f *float64) string {
	if f == nil {
		return "none"
	}
	return fmt.Sprint(*f)
}

// labelStandIn is on the images that these tests make under names of others.
const labelStandIn = "assayd.standin"

// standIn makes an image under a name that somebody else's may have: such a one is left
// alone, and the test fails.
func (w *fixture) standIn(ref, script, user string) {
	w.Helper()
	switch img, err := w.engine.Image(w.Context(), ref); {
	case err == nil && img.Config.Labels[labelStandIn] == "":
		w.Fatalf("%s is here already, and it is no stand-in: this test needs its name", ref)
	case err != nil && !errors.Is(err, container.ErrNotFound):
		w.Fatal(err)
	}
	c, err := w.engine.Start(w.Context(), container.Workload{
		Name: "assayd-standin-" + strings.ToLower(containertest.Unique()), Image: base, Argv: []string{"sleep", "10m"}, Network: container.NetworkNone,
		User: "0:0", Workdir: "/", Labels: map[string]string{container.LabelOwner: w.owner},
	})
	if err != nil {
		w.Fatal(err)
	}
	w.inside(c.ID, script)
	_, err = w.engine.Commit(w.Context(), c.ID, ref, container.ImageConfig{
		User: user, Workdir: "/home", Labels: map[string]string{labelStandIn: "yes", image.LabelImageOwner: w.owner, container.LabelOwner: ""},
	})
	if err = errors.Join(err, w.engine.Remove(context.WithoutCancel(w.Context()), c.ID)); err != nil {
		w.Fatal(err)
	}
}
