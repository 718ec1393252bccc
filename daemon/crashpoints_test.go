package daemon_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/assayd/assayd/runtime/fault"
)

// lap is one crash: the daemon is told where to die, something is done that leads there, and
// the next daemon has to put it right.
type lap struct {
	at    fault.Point
	times int  // the how manieth time is meant; 0 = the first
	start bool // it dies while it starts
	lead  func(*crashes)
}

// crashes is a world whose daemon dies at one point after the other. Meanwhile agents work
// in it who must not notice.
type crashes struct {
	*vigil
	armed string // file that tells the daemon where to die
	torn  string // result file whose end is cut off after each crash
	extra int    // runs begun by laps
}

func newCrashes(t *testing.T) *crashes {
	t.Helper()
	w := newWorld(t)
	w.breakable()
	dir := filepath.Dir(w.state)
	c := &crashes{vigil: w.vigil(), armed: filepath.Join(dir, "armed")}
	settings := filepath.Join(dir, "assayd.hcl") // work for more CPUs than there may be
	if err := os.WriteFile(settings, []byte("limits {\n  cpus = 16\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.flags = append(w.flags, "--config", settings)
	w.env = append(w.env, "ASSAYD_FAULT_KILL_FILE="+c.armed)
	return c
}

// start starts a daemon that lives until it is told to die.
func (c *crashes) start() {
	c.Helper()
	c.launched = time.Now()
	c.serve()
}

// through goes from crash to crash, and looks after each that nothing was lost or left.
func (c *crashes) through(laps []lap) {
	c.Helper()
	for _, l := range laps {
		began := time.Now()
		c.crash(l)
		c.look()
		c.damage()
		c.start()
		c.tidy()
		c.look()
		c.Logf("%-25s %5.1f s", l.at, time.Since(began).Seconds())
	}
}

// crash has the daemon die at the lap's point.
func (c *crashes) crash(l lap) {
	c.Helper()
	if l.start {
		c.kill()
	}
	where := string(l.at)
	if l.times > 0 {
		where = fmt.Sprintf("%s:%d", l.at, l.times)
	}
	if err := errors.Join(os.WriteFile(c.armed+".new", []byte(where), 0o600), os.Rename(c.armed+".new", c.armed)); err != nil {
		c.Fatal(err)
	}
	if l.start {
		c.launched = time.Now()
		c.launch()
	}
	if l.lead != nil {
		l.lead(c)
	}
	select {
	case <-c.daemon.exited:
	case <-time.After(3 * patience):
		c.Fatalf("the daemon never came to %q", l.at)
	}
	status, ok := c.daemon.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !ok || status.Signal() != syscall.SIGKILL {
		c.Fatalf("the daemon was to die at %q and ended with %v", l.at, c.daemon.err)
	}
	c.daemon = nil
	if err := os.Remove(c.armed); err != nil {
		c.Fatal(err)
	}
}

// damage leaves what a crash in an unlucky moment leaves: half a line at the end of a
// result file, and temporary files of every kind.
func (c *crashes) damage() {
	c.Helper()
	path := filepath.Join(c.specs, c.torn)
	if info, err := os.Stat(path); err == nil && info.Size() > 0 {
		if err := os.Truncate(path, info.Size()-info.Size()%97%40-1); err != nil {
			c.Fatal(err)
		}
	}
	for _, pattern := range temporary {
		name := strings.ReplaceAll(pattern, "*", "stray")
		if strings.HasPrefix(name, "spool/") {
			name = "spool/assayd-clean-stray"
		}
		if dir := filepath.Join(c.state, filepath.Dir(name)); strings.HasPrefix(name, "trials/") {
			continue // a folder of each trial, which is made anew or removed with it
		} else if err := os.MkdirAll(dir, 0o700); err != nil {
			c.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(c.state, name), []byte("half of"), 0o600); err != nil {
			c.Fatal(err)
		}
	}
}

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
// when it is let go, or has made its steps.
const striver = `
echo "born $$"
echo "cooldown of ${COOLDOWN:-0}"
n=0
until [ -e /var/tmp/go ] || [ $n -ge ${STEPS:-1000000} ]; do
	n=$((n+1))
	echo $n >src/level
	if ! assay-submit 2>/var/tmp/trouble; then
		echo "refused at $(date +%s)"
		grep -q COOLDOWN /var/tmp/trouble || grep -q 'LIMIT REACHED' /var/tmp/trouble || echo "submit failed: $(cat /var/tmp/trouble)"
	fi
	echo "step $n of $$"
	sleep ${PAUSE:-0.5}
done
echo "done $$"
`

// Wherever in the life of a trial the daemon is killed, the agents do not notice, nothing
// that was acknowledged is lost or judged twice, and nothing is left over.
func TestACrashAtAnyPointOfATrialCostsNothing(t *testing.T) {
	t.Parallel()
	c := newCrashes(t)
	c.torn = "r.run.steady.jsonl"
	c.write("r.hcl", c.withPrivateSet()+c.agent("striver", striver)+
		c.run("steady", []string{`agent "striver" {}`}, `timeout = "30m"`, `auto_eval = "2s"`)+
		c.run("limited", []string{`agent "striver" { env = { COOLDOWN = "20" } }`}, `timeout = "30m"`, `auto_eval = "0s"`,
			"submissions {\n    max      = 3\n    cooldown = \"20s\"\n  }"))
	c.start()
	steady := c.begun("r.run.steady.jsonl")
	limited := c.begun("r.run.limited.jsonl")
	for _, id := range []string{steady, limited} {
		c.said(id, "Accepted")
	}
	c.look()
	c.through(ofATrial)
	c.Logf("%d rounds of the steady agent", len(c.rounds()[steady]))
	c.said(limited, "exhausted")
	c.letGo(limited)
	c.letGo(steady)
	c.finished()
	if n := len(c.agents); n < 2+c.extra/2 {
		t.Errorf("saw the agents of %d trials", n)
	}
	c.limitsHeld(limited, 3, 20*time.Second)
	c.over()
}

// ofATrial are the points that the daemon of a run comes by.
var ofATrial = []lap{
	{at: fault.StoreOpened, start: true},
	{at: fault.SocketOpened, start: true},
	{at: fault.RoundsRestored, start: true},
	{at: fault.DoorOpened, start: true},
	{at: fault.ImageLookedAt, start: true},
	{at: fault.ContextStored, lead: anew},
	{at: fault.SpecsAccepted, lead: anew},
	{at: fault.RunBegun, lead: anew},
	{at: fault.StateWritten, lead: anew},
	{at: fault.AgentStaged, lead: anew},
	{at: fault.FolderMade, lead: anew},
	{at: fault.ContainerCreated, lead: anew},
	{at: fault.ContainerStarted, lead: anew},
	{at: fault.TrialStarted, lead: anew},
	{at: fault.GuestHeard, lead: anew},
	{at: fault.LogAppended},
	{at: fault.RoundReserved},
	{at: fault.SpoolMade},
	{at: fault.BlobWritten},
	{at: fault.ArchiveStored},
	{at: fault.RoundAccepted},
	{at: fault.RoundRunning},
	{at: fault.JudgeStarted},
	{at: fault.ArchivePlaced},
	{at: fault.VerdictParsed},
	{at: fault.VerdictStored},
	{at: fault.JudgeRemoved},
	{at: fault.LineAppended},
	{at: fault.LineFlushed},
	{at: fault.LineMarked},
	{at: fault.WarmStarted},
	{at: fault.TrialFrozen},
	{at: fault.AutoTaken},
	{at: fault.FinalTaken, lead: anew},
	{at: fault.PrivateAsked, lead: anew},
	{at: fault.PrivateJudged, lead: anew},
	{at: fault.TrialFinished, lead: anew},
	{at: fault.ContainerRemoved, lead: anew},
	{at: fault.TrialCleaned, lead: anew},
	{at: fault.RunFinished, lead: anew},
}

// The same for what is not in the life of each trial: games, judges in two stages, images,
// archives judged without a trial, and the collection of garbage.
func TestACrashAtAnyPointOfOtherWorkCostsNothing(t *testing.T) {
	t.Parallel()
	c := newCrashes(t)
	c.torn = "r.run.games.jsonl"
	c.write("r.hcl", c.arcade()+c.staged()+c.withPrivateSet()+c.agent("player", player)+
		fmt.Sprintf("\nrun \"games\" {\n  tasks = [benchmark.%s-games]\n  agent \"player\" {}\n  timeout = \"30m\"\n}\n", c.bench))
	c.start()
	games := c.begun("r.run.games.jsonl")
	c.said(games, "closed")
	c.look()
	c.through(ofOtherWork)
	c.letGo(games)
	c.finished()
	c.everyGameHasItsVerdict(games, c.records("r.run.games.jsonl"))
	c.over()
}

var ofOtherWork = []lap{
	{at: fault.GameReserved},
	{at: fault.GameStarted},
	{at: fault.GameOpened},
	{at: fault.GameMoved},
	{at: fault.GameSaved},
	{at: fault.GameKept},
	{at: fault.GameJudged},
	{at: fault.GameRemoved},
	{at: fault.OutputsTaken, lead: inStages},
	{at: fault.StageRemoved, lead: inStages},
	{at: fault.BuildStarted, lead: build},
	{at: fault.WorkdirTaken, lead: build},
	{at: fault.ImageBuilt, lead: build},
	{at: fault.EvalOpened, lead: eval},
	{at: fault.EvalAccepted, lead: eval},
	{at: fault.ImageRemoved, lead: collect},
	{at: fault.BlobRemoved, lead: collect},
	{at: fault.StraySwept, start: true},
}

// Every point that the program has is one at which it was killed.
func TestTheCrashSuiteKnowsEveryPoint(t *testing.T) {
	t.Parallel()
	killed := map[fault.Point]bool{}
	for _, l := range slices.Concat(ofATrial, ofOtherWork) {
		killed[l.at] = true
	}
	for _, p := range fault.Points {
		if !killed[p] {
			t.Errorf("no lap of the crash suite ends at %q", p)
		}
		delete(killed, p)
	}
	for _, p := range slices.Sorted(maps.Keys(killed)) {
		t.Errorf("%q is not in fault.Points", p)
	}
}

// begun waits until the one trial of a run has started, and returns its id.
func (c *crashes) begun(file string) string {
	c.Helper()
	return c.recorded(file, "the trial's start", func(r record) bool { return r.Type == "trial.started" }).Trial
}

// finished waits for the end of all runs and checks what they left in their files.
func (c *crashes) finished() {
	c.Helper()
	var files []string
	for _, name := range c.files() {
		if strings.Contains(name, ".run.") {
			files = append(files, name)
		}
	}
	c.settledWell(files...)
	if want := c.extra; len(files) < want {
		c.Errorf("there are results of %d runs, and laps began %d", len(files), want)
	}
}

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

func inStages(c *crashes) { c.another(c.bench+"-staged", quick) }

// arcade declares a game in which each move is a point.
func (c *crashes) arcade() string {
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
`, c.bench, base)
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
func (c *crashes) everyGameHasItsVerdict(trial string, all []record) {
	c.Helper()
	reached := map[string]float64{}
	for line := range strings.Lines(c.agentLog(trial)) {
		var id string
		var score float64
		if n, _ := fmt.Sscanf(line, "opened %s", &id); n == 1 {
			reached[id] = max(reached[id], 0)
		} else if n, _ := fmt.Sscanf(line, "reached %s %f", &id, &score); n == 2 {
			reached[id] = score
		}
	}
	if len(reached) < 5 {
		c.Errorf("the agent played %d games", len(reached))
	}
	for _, sub := range c.rounds()[trial] {
		if told, ok := reached[sub.ID]; ok && (sub.Report.Score == nil || *sub.Report.Score < told) {
			c.Errorf("%s is judged %+v, and its agent was told of %g", sub.Round, sub.Report, told)
		}
		delete(reached, sub.ID)
	}
	for id := range reached {
		c.Errorf("session %s was opened and is forgotten", id)
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
