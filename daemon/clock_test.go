//go:build linux

package daemon_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/assayd/assayd/runtime/container"
)

// The container's own clock cannot be stepped here, nor the machine booted: a test build
// reads what is added to the wall clock, and the id of the boot, from a file.

// faultClock is what the daemon's test build, and in a container the guest's, reads at each
// look at a clock.
func faultClock(step, boot string) string {
	return fmt.Sprintf(`{"step":%q,"boot":%q}`, step, boot)
}

// clocked makes the world's daemons test builds whose clock set changes.
func (w *fixture) clocked() (set func(step, boot string)) {
	w.breakable()
	file := filepath.Join(filepath.Dir(w.state), "clock")
	w.env = append(w.env, "ASSAYD_FAULT_CLOCK="+file)
	return func(step, boot string) {
		w.Helper()
		err := os.WriteFile(file+".new", []byte(faultClock(step, boot)), 0o644)
		if err := errors.Join(err, os.Rename(file+".new", file)); err != nil {
			w.Fatal(err)
		}
	}
}

// inWork gives the work container of the world's benchmark an environment.
func inWork(benchmark, env string) string {
	const files = `files  = { "src/level" = "0" }`
	return strings.Replace(benchmark, files, files+"\n      env    = { "+env+" }", 1)
}

// pacer submits as often as it may and changes its tree all the time. It tells of each
// round by a clock that nobody sets when it was asked for and when it was judged.
const pacer = `
up() { cut -d. -f1 /proc/uptime; }
n=0
until [ -e /var/tmp/go ]; do
	n=$((n+1))
	echo $((n%10)) >src/level
	echo $n >src/turn
	asked=$(up)
	if out=$(assay-submit 2>&1); then
		echo "asked $asked, judged $(up), left $(assay-submit --time)"
	elif echo "$out" | grep -q exhausted; then
		echo "exhausted $asked, left $(assay-submit --time)"
	fi
	sleep 1
done
`

var (
	paces     = regexp.MustCompile(`(?m)^asked (\d+), judged (\d+), left (\d+)$`)
	exhausted = regexp.MustCompile(`(?m)^exhausted (\d+), left (\d+)$`)
)

// A wall clock that is set by an hour, forward or back, under a daemon or without one, moves
// no deadline, no cooldown and no elapsed time, and fires no schedule twice.
func TestAStepOfTheWallClockMovesNothing(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	set := w.clocked()
	bench := inWork(w.benchmark(), `ASSAYD_FAULT_CLOCK = "/var/tmp/clock"`)
	inHalfAnHour := (time.Now().UTC().Minute() + 30) % 60
	w.write("r.hcl", bench+w.agent("pacer", pacer)+
		w.run("paced", []string{`agent "pacer" {}`}, `timeout = "15m"`, `auto_eval = "2s"`, `submissions {
    max      = 4
    cooldown = "5s"
  }`)+
		w.run("hourly", []string{`agent "nop" {}`}, fmt.Sprintf(`schedule = "%d * * * *"`, inHalfAnHour)))
	const paced, hourly = "r.run.paced.jsonl", "r.run.hourly.jsonl"
	w.serve()
	started := w.recorded(paced, "the trial's start", func(r record) bool { return r.Type == "trial.started" })
	seen := time.Now()
	id := w.body(started.Trial).ID
	goesOn := func(step, when string) {
		t.Helper()
		set(step, "")
		w.inside(id, "echo '"+faultClock(step, "")+"' >/var/tmp/clock.new; mv /var/tmp/clock.new /var/tmp/clock")
		if w.daemon == nil {
			w.serve()
		}
		before := w.snapshots(paced)
		w.until("snapshots are judged after "+when, func() error {
			if w.snapshots(paced) < before+2 {
				return errors.New("there are none")
			}
			return nil
		})
		x, err := w.trial("run.paced", "pacer")
		if err != nil {
			t.Fatal(err)
		}
		passed := time.Since(seen)
		if left := x.Deadline.Sub(x.Now); !x.Deadline.Equal(started.Deadline) || (15*time.Minute-passed-left).Abs() > time.Minute {
			t.Errorf("%s: %s after its start the trial, which has 15m until %s, has %s until %s", when, passed, started.Deadline, left, x.Deadline)
		}
	}
	w.said(started.Trial, "asked")
	goesOn("1h", "a step forward")
	w.kill()
	goesOn("-1h", "a step back without a daemon")
	goesOn("0s", "a step forward again")
	w.said(started.Trial, "exhausted")
	w.letGo(started.Trial)
	run := w.settled("run.paced", patience)
	took := time.Since(seen).Seconds() + 30
	if x := run.Trials[0]; x.Reason != "agent_exit" || x.Try != 1 {
		t.Errorf("it ended for %s in try %d", x.Reason, x.Try)
	}
	w.keptPace(started.Trial)
	w.oneVerdictEach(w.history(paced))
	for _, m := range w.measured(paced) {
		if m.Elapsed < 0 || m.Elapsed > took || m.Queued < 0 || m.Queued > 60_000 || m.Agent < 0 || m.Agent > took {
			t.Errorf("times that cannot be: %+v", m)
		}
	}
	w.settled("run.hourly", patience)
	if fired := ofType("run.started", w.records(hourly)); len(fired) != 1 {
		t.Errorf("the schedule fired %d times: %+v", len(fired), fired)
	}
	w.noContainerIsLeft()
}

// snapshots counts the rounds of auto-eval.
func (w *fixture) snapshots(file string) (n int) {
	for _, r := range ofType("submission", w.records(file)) {
		if r.Kind == "auto" {
			n++
		}
	}
	return n
}

// keptPace fails unless a pacer was let submit four times, each at least 5 s and at most 45 s
// after the one before, and was told the truth about the time that was left.
func (w *fixture) keptPace(trial string) {
	w.Helper()
	log := w.agentLog(trial)
	var asked, judged, left []int
	number := func(text string) int {
		n, _ := strconv.Atoi(text)
		return n
	}
	for _, m := range paces.FindAllStringSubmatch(log, -1) {
		asked, judged, left = append(asked, number(m[1])), append(judged, number(m[2])), append(left, number(m[3]))
	}
	if len(asked) != 4 {
		w.Fatalf("let submit at %v:\n%s", asked, log)
	}
	for i := range asked[1:] { // accepted is it in between
		if judged[i+1]-asked[i] < 5-1 || asked[i+1]-judged[i] > 45 {
			w.Errorf("with a cooldown of 5 s it asked at %v and was judged at %v", asked, judged)
		}
	}
	end := exhausted.FindAllStringSubmatch(log, -1)
	for i := range end {
		judged, left = append(judged, number(end[i][1])), append(left, number(end[i][2]))
	}
	for i := range left {
		if off := (judged[i] - judged[0]) - (left[0] - left[i]); off < -15 || off > 15 || left[i] > 15*60 {
			w.Errorf("at %v it was told that %v s were left", judged, left)
			break
		}
	}
}

// measure is what a record says of time.
type measure struct {
	Type    string
	Round   string
	Elapsed float64 `json:"elapsed_s"`
	Queued  int64   `json:"queued_ms"`
	Agent   float64 `json:"agent_duration_s"`
}

// measured reads a result file for what it says of time.
func (w *fixture) measured(name string) (all []measure) {
	w.Helper()
	text, err := os.ReadFile(filepath.Join(w.specs, name))
	if err != nil {
		w.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var m measure
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			w.Fatal(err)
		}
		all = append(all, m)
	}
	return all
}

// reborn notes each of its starts, submits, and works until it is let go.
const reborn = `
echo start >>/var/tmp/starts
n=$(wc -l </var/tmp/starts)
echo "start $n, $(assay-submit --time) left"
echo $((n+2)) >src/level
assay-submit
echo waiting
until [ -e /var/tmp/go ]; do sleep 0.2; done
echo 10 >src/level
assay-submit
echo bye
`

// A reboot stops every container, under trials and judgings alike, and takes sockets along;
// the clock may show another time after it. Nobody loses more than the time it took.
func TestAfterARebootTrialsGoOnWithTheTimeThatIsLeft(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	set := w.clocked()
	set("", "first")
	bench := strings.Replace(w.benchmark(), `command = "sh tests/check.sh"`, `command = "sleep 10; sh tests/check.sh"`, 1)
	w.write("r.hcl", bench+w.agent("reborn", reborn)+
		w.run("long", []string{`agent "reborn" {}`}, `timeout = "3h"`, `auto_eval = "0s"`)+
		w.run("short", []string{`agent "reborn" {}`}, `timeout = "30m"`, `auto_eval = "0s"`))
	const long, short = "r.run.long.jsonl", "r.run.short.jsonl"
	isStart := func(r record) bool { return r.Type == "trial.started" }
	w.serve()
	going, ending := w.recorded(long, "its trial's start", isStart), w.recorded(short, "its trial's start", isStart)
	before := map[string]body{going.Trial: w.body(going.Trial), ending.Trial: w.body(ending.Trial)}
	w.said(going.Trial, "Accepted as round agent-1")
	w.said(ending.Trial, "Accepted as round agent-1")
	w.until("a judging is under way", func() error {
		if n := w.judging(); n == 0 {
			return errors.New("there is none")
		}
		return nil
	})
	w.reboot()
	set("1h", "second")
	w.serve()

	w.settled("run.short", patience)
	all := w.history(short)
	finished := ofType("trial.finished", all)
	if len(finished) != 1 || finished[0].Try != 1 || finished[0].Reason != "deadline" || !finished[0].TimedOut || finished[0].Status != "unresolved" {
		t.Errorf("the trial whose time was over is %+v", finished)
	}
	if log := w.agentLog(ending.Trial); strings.Contains(log, "start 2") {
		t.Errorf("the agent ran after its deadline:\n%s", log)
	}
	w.keptDeadline("run.short", ending.Deadline)
	w.everyRoundHasItsVerdict(all)
	w.oneVerdictEach(all)

	w.said(going.Trial, "start 2")
	if now := w.body(going.Trial); now.ID != before[going.Trial].ID {
		t.Errorf("the container was %s and is %s", before[going.Trial].ID, now.ID)
	}
	left := regexp.MustCompile(`start 2, (\d+) left`).FindStringSubmatch(w.agentLog(going.Trial))
	if seconds, _ := strconv.Atoi(left[1]); seconds > 2*3600 || seconds < 2*3600-300 {
		t.Errorf("of 3 h there are %d s left an hour later", seconds)
	}
	w.letGo(going.Trial)
	run := w.settled("run.long", patience)
	if x := run.Trials[0]; x.Status != "resolved" || x.Try != 1 {
		t.Errorf("the trial is %s in try %d: %s", x.Status, x.Try, x.Detail)
	}
	w.keptDeadline("run.long", going.Deadline)
	all = w.history(long)
	w.everyRoundHasItsVerdict(all)
	w.oneVerdictEach(all)
	w.noContainerIsLeft()
}

// judging counts the judgings that are under way.
func (w *fixture) judging() (n int) {
	w.Helper()
	all, err := w.engine.Observe(w.Context(), w.owner)
	if err != nil {
		w.Fatal(err)
	}
	for _, c := range all {
		if c.Labels[container.LabelRole] == container.RoleJudge && c.Phase == container.PhaseRunning {
			for _, p := range processes(w.T, c.ID) {
				if strings.Contains(p.command, "check.sh") {
					n++
					break
				}
			}
		}
	}
	return n
}

// reboot leaves behind what a boot of the machine finds: no daemon, every container exited,
// no socket.
func (w *fixture) reboot() {
	w.Helper()
	w.kill()
	all, err := w.engine.Observe(w.Context(), w.owner)
	for _, c := range all {
		err = errors.Join(err, w.engine.Stop(w.Context(), c.ID, 0))
	}
	sockets, gerr := filepath.Glob(filepath.Join(w.state, "t", "*", "*.sock"))
	own, oerr := filepath.Glob(filepath.Join(w.state, "*.sock"))
	err = errors.Join(err, gerr, oerr)
	for _, name := range append(sockets, own...) {
		err = errors.Join(err, os.Remove(name))
	}
	if err != nil {
		w.Fatal(err)
	}
}

// keptDeadline fails unless the only trial of a run still has its deadline.
func (w *fixture) keptDeadline(address string, deadline time.Time) {
	w.Helper()
	run, err := w.status(address)
	if err != nil {
		w.Fatal(err)
	}
	if now := run.Trials[0].Deadline; !now.Equal(deadline) {
		w.Errorf("the deadline of %s moved from %s to %s", address, deadline, now)
	}
}
