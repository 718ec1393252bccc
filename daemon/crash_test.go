//go:build linux

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
	const pause = 3 * time.Second
	limit := kills * 2 / 3
	v := newFixture(t).vigil()
	v.crowded()
	v.declaresVolume()
	var agents []string
	for i := range trials {
		agents = append(agents, fmt.Sprintf(`agent "striver" {
    label = "a%d"
    env   = { COOLDOWN = "3", THRIFTY = "yes", PAUSE = "%.1f" }
  }`, i, 0.6+0.1*float64(i%4)))
	}
	v.write("r.hcl", v.benchmark()+v.agent("striver", striver)+v.run("crash", agents, `timeout = "10m"`, `auto_eval = "5s"`,
		fmt.Sprintf("parallel = %d", trials), fmt.Sprintf("submissions {\n    max      = %d\n    cooldown = %q\n  }", limit, pause)))
	const file = "r.run.crash.jsonl"
	for i := range kills {
		v.launched = time.Now()
		v.launch()
		if i == 0 { // the worst of moments: a container is made, and nothing of it stored
			v.until("there is a container", func() error {
				if len(v.bodies()) == 0 {
					return errors.New("there is none")
				}
				return nil
			})
			v.kill()
			continue
		}
		if i == kills/4 { // until now agents were about to begin
			v.until("all agents work", func() error {
				if v.look(); len(v.agents) < trials {
					return fmt.Errorf("%d do", len(v.agents))
				}
				if volumes, err := v.volumes(); err != nil || len(volumes) < trials {
					return fmt.Errorf("their containers have %d volumes, %w", len(volumes), err)
				}
				return nil
			})
		}
		select {
		case <-time.After(time.Duration(random.IntN(3500)) * time.Millisecond):
		case <-v.daemon.exited:
			t.Fatalf("daemon %d ended by itself: %v", i+1, v.daemon.err)
		}
		v.kill()
		v.look()
	}
	v.start()
	v.tidy()
	v.look()
	run := v.settled("run.crash", 12*time.Minute)
	v.settledWell(file)
	v.look()
	for _, trial := range run.Trials {
		v.limitsHeld(trial.ID, limit, pause)
		if !trial.Deadline.Equal(v.deadlines[trial.ID+"/1"]) {
			t.Errorf("the deadline of %s moved from %s to %s", trial.ID, v.deadlines[trial.ID+"/1"], trial.Deadline)
		}
	}
	if len(run.Trials) != trials {
		t.Errorf("the run has %d trials, want %d", len(run.Trials), trials)
	}
	v.over()
}
