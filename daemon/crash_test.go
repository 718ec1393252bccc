package daemon_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// A kill -9 costs nothing: not an agent, not a submission, not a second.
func TestTenCrashesOfTheDaemonCostNothing(t *testing.T) {
	t.Parallel()
	hail(t, uint64(time.Now().UnixNano()), 4, 10)
}

// hail kills the daemon so often at random moments of a run of so many trials, all of which
// submit as fast as they may.
func hail(t *testing.T, seed uint64, trials, kills int) {
	t.Helper()
	t.Logf("random moments from seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	const limit, pause = 4, 3 * time.Second
	c := newCrashes(t)
	c.program, c.env = binary, nil
	var agents []string
	for i := range trials {
		agents = append(agents, fmt.Sprintf(`agent "striver" {
    label = "a%d"
    env   = { COOLDOWN = "3", STEPS = "%d", PAUSE = "%.1f" }
  }`, i, 2*kills, 0.6+0.1*float64(i%4)))
	}
	c.write("r.hcl", c.benchmark()+c.agent("striver", striver)+c.run("crash", agents, `timeout = "10m"`, `auto_eval = "5s"`,
		fmt.Sprintf("parallel = %d", trials), fmt.Sprintf("submissions {\n    max      = %d\n    cooldown = %q\n  }", limit, pause)))
	const file = "r.run.crash.jsonl"
	for i := range kills {
		c.launched = time.Now()
		c.launch()
		if i == 0 { // the worst of moments: a container is made, and nothing of it stored
			c.until("there is a container", func() error {
				if len(c.bodies()) == 0 {
					return errors.New("there is none")
				}
				return nil
			})
			c.kill()
			continue
		}
		select {
		case <-time.After(time.Duration(random.IntN(3500)) * time.Millisecond):
		case <-c.daemon.exited:
			t.Fatalf("daemon %d ended by itself: %v", i+1, c.daemon.err)
		}
		c.kill()
		c.look()
	}
	c.start()
	c.tidy()
	c.look()
	if len(c.agents) != trials {
		t.Errorf("saw the agents of %d trials while the daemon crashed, want %d", len(c.agents), trials)
	}
	run := c.settled("run.crash", 5*time.Minute)
	c.settledWell(file)
	for _, trial := range run.Trials {
		c.limitsHeld(trial.ID, limit, pause)
		if !trial.Deadline.Equal(c.deadlines[trial.ID+"/1"]) {
			t.Errorf("the deadline of %s moved from %s to %s", trial.ID, c.deadlines[trial.ID+"/1"], trial.Deadline)
		}
	}
	if len(run.Trials) != trials {
		t.Errorf("the run has %d trials, want %d", len(run.Trials), trials)
	}
	c.over()
}
