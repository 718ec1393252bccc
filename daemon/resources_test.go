//go:build linux

package daemon_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assayd/assayd/reconcile/query/trialview"
)

// greedy is an agent that takes all of something.
func (w *fixture) greedy(name string, args ...string) string {
	w.Helper()
	program, err := os.ReadFile("testdata/greedy.py")
	if err != nil {
		w.Fatal(err)
	}
	w.write(name+"/greedy.py", string(program))
	return w.agent(name, "echo 1 >src/level\nexec python3 -u /agent/greedy.py "+strings.Join(args, " ")+"\n")
}

// strain is what a daemon was put to at most.
type strain struct {
	answer   time.Duration // to a question at the control socket
	memory   int64         // KiB, resident
	files    int           // open
	failures int           // questions without an answer
}

// peak is the most memory that a process was ever resident with, in KiB; 0 when it is over.
func peak(proc string) (memory int64) {
	status, _ := os.ReadFile(proc + "/status")
	for line := range strings.Lines(string(status)) {
		if field := strings.Fields(line); len(field) > 1 && field[0] == "VmHWM:" {
			memory, _ = strconv.ParseInt(field[1], 10, 64)
		}
	}
	return memory
}

// strained asks the daemon again and again until stop is called, which tells how that went.
func (w *fixture) strained() (stop func() strain) {
	ctx, cancel := context.WithCancel(w.Context())
	var most strain
	var wg sync.WaitGroup
	wg.Go(func() {
		proc := fmt.Sprintf("/proc/%d", w.daemon.cmd.Process.Pid)
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			began := time.Now()
			if _, err := w.client.Status(ctx, ""); err != nil && ctx.Err() == nil {
				most.failures++
			}
			most.answer = max(most.answer, time.Since(began))
			open, _ := os.ReadDir(proc + "/fd")
			most.files = max(most.files, len(open))
			most.memory = max(most.memory, peak(proc))
		}
	})
	return func() strain {
		cancel()
		wg.Wait()
		return most
	}
}

// bore fails unless the daemon has stayed what it is. The machine may be busy with other
// tests; one that hangs answers never.
func (w *fixture) bore(s strain) {
	w.Helper()
	w.Logf("at most: an answer in %s, %d MiB of memory, %d open files", s.answer.Round(time.Millisecond), s.memory>>10, s.files)
	if s.failures > 0 || s.answer > time.Minute {
		w.Errorf("the daemon answered within %s, and %d times not at all", s.answer, s.failures)
	}
	if s.memory > 512<<10 || s.memory == 0 {
		w.Errorf("the daemon used %d MiB of memory", s.memory>>10)
	}
	if s.files > 3000 || s.files == 0 { // to measure a tree takes one for each level, of one tree at a time
		w.Errorf("the daemon had %d files open", s.files)
	}
}

// TestAGreedyAgentHarmsOnlyItself: each takes all of something, and one beside them works.
func TestAGreedyAgentHarmsOnlyItself(t *testing.T) {
	t.Parallel()
	greed(t, 2<<30, "0.25", map[string]string{
		"connections": "agent_exit", "output": "agent_exit", "processes": "agent_error", "memory": "agent_error", "files": "disk", "calm": "agent_exit",
		"crowd": "agent_exit", "swell": "agent_exit", "inodes": "disk", "elsewhere": "disk",
	})
}

// greed has agents of these kinds work side by side, one of which prints so many bytes, and
// checks how their trials end.
func greed(t *testing.T, printed int64, cpus string, kinds map[string]string) {
	w := newFixture(t)
	spec := strings.Replace(w.benchmark(), "cpus   = 0.25\n      memory = \"256MiB\"", "cpus   = "+cpus+"\n      memory = \"256MiB\"\n      pids   = 100\n      disk   = \"128MiB\"", 1)
	var agents []string
	for name := range kinds {
		agents = append(agents, fmt.Sprintf("agent %q {}", name))
		if name != "calm" {
			spec += w.greedy(name, name, strconv.FormatInt(printed, 10))
		}
	}
	spec += w.agent("calm", "STEPS=4; PAUSE=4\n"+climber)
	w.write("r.hcl", spec+w.run("greed", agents, `timeout = "20m"`, fmt.Sprintf("parallel = %d", len(agents)), `auto_eval = "0s"`))
	const file = "r.run.greed.jsonl"
	w.serve()
	stop := w.strained()
	run := w.settled("run.greed", 15*time.Minute)
	w.bore(stop())
	finished := ofType("trial.finished", w.history(file))
	for _, x := range run.Trials {
		log := w.agentLog(x.ID)
		i := slices.IndexFunc(finished, func(r record) bool { return r.Trial == x.ID && r.Final })
		if i < 0 || finished[i].Reason != kinds[x.Agent] {
			t.Errorf("the trial of %s ended by %+v, want %s", x.Agent, finished[max(i, 0)], kinds[x.Agent])
		}
		switch x.Agent {
		case "calm":
			if x.Best == "" || strings.Contains(log, "submit failed") || !strings.Contains(log, "done") || len(x.Rounds) < 4 {
				t.Errorf("who works beside them was disturbed: %+v\n%s", x, tail([]byte(log), 1000))
			}
		case "connections":
			if !strings.Contains(log, "MADE") || !strings.Contains(log, "OVER") {
				t.Errorf("the connections were not made:\n%s", tail([]byte(log), 1000))
			}
		case "crowd", "swell":
			ran := map[string]string{"crowd": "pids", "swell": "oom"}[x.Agent] // into this limit, of which it lived to tell
			if !slices.Contains(finished[i].Flags, ran) || !strings.Contains(log, "OVER") {
				t.Errorf("%s is flagged as %v\n%s", x.Agent, finished[i].Flags, tail([]byte(log), 1000))
			}
		case "elsewhere":
			var kept int64
			if _, after, ok := strings.Cut(log, "KEPT "); ok {
				kept, _ = strconv.ParseInt(strings.Fields(after)[0], 10, 64)
			}
			if kept == 0 || kept > 200<<20 { // in /dev and /dev/shm, which count as its memory
				t.Errorf("%d bytes were written outside of the layer\n%s", kept, tail([]byte(log), 1000))
			}
		case "output":
			w.keptOutput(x, printed)
		}
	}
	w.oneVerdictEach(w.history(file))
	w.noContainerIsLeft()
}

// keptOutput: of what an agent prints without end, the first gigabyte is kept at most.
func (w *fixture) keptOutput(x trialview.TrialStatus, printed int64) {
	w.Helper()
	info, err := os.Stat(filepath.Join(w.state, "trials", x.ID, "try-1", "agent.log"))
	if err != nil {
		w.Fatal(err)
	}
	w.Logf("%d MiB of output kept of %d printed", info.Size()>>20, printed>>20)
	if info.Size() > 1<<30 {
		w.Errorf("%d bytes of output are kept", info.Size())
	}
}

// hoggish submits programs that take all of something, one after the other.
const hoggish = `
put() { cat >src/hog; echo "$1:"; assay-submit --details; }
put processes <<'END'
bomb() { bomb | bomb & }
(bomb) & # by one fork: a second one may already fail
exec sleep 1000
END
put output <<'END'
exec yes 'all work and no play'
END
put memory <<'END'
exec python3 -c 'b = [bytearray(1 << 20) for _ in range(1 << 20)]'
END
put files <<'END'
exec python3 -c '
import os
for n in range(1500):
    os.mkdir("ddd"); os.chdir("ddd")
n = 0
while True:
    open(str(n), "w").close(); n += 1
'
END
put honest <<'END'
exit 0
END
`

// TestAGreedySubmissionHarmsOnlyItself: each gets one verdict, and the next one is judged.
func TestAGreedySubmissionHarmsOnlyItself(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.write("r.hcl", fmt.Sprintf(`
benchmark %q {
  task "hog" {
    image       = %q
    instruction = "Write src/hog."
    submit {
      paths = ["src/"]
    }
    work {
      files  = { "src/hog" = "exit 1" }
      cpus   = 0.25
      memory = "256MiB"
    }
    judge {
      command = "sh src/hog"
      parser  = "exit_code"
      timeout = "20s"
      cpus    = 0.5
      memory  = "128MiB"
      pids    = 60
      disk    = "16MiB"
    }
  }
}
`, w.bench, base)+w.agent("hoggish", hoggish)+w.run("hogs", []string{`agent "hoggish" {}`}, `timeout = "5m"`, `auto_eval = "0s"`))
	w.serve()
	stop := w.strained()
	trial := w.settled("run.hogs", 12*time.Minute).Trials[0]
	w.bore(stop())
	judged := ofType("submission", w.history("r.run.hogs.jsonl"))
	var got []string
	for _, r := range judged {
		got = append(got, r.Round+" "+r.Status)
	}
	want := []string{"agent-1 timeout", "agent-2 timeout", "agent-3 invalid", "agent-4 invalid", "agent-5 ok"}
	if !slices.Equal(got, want) || trial.Best != "agent-5" || trial.Status != "resolved" {
		t.Errorf("judged were %q, want %q; the trial is %s with best round %q", got, want, trial.Status, trial.Best)
	}
	w.noContainerIsLeft()
}
