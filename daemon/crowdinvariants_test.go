//go:build linux

package daemon_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/assayd/assayd/runtime/judge/round"
)

// endedWell checks after a run what the crash suite checks, for very many trials: each record and
// each log is looked at once.
func (c *crowd) endedWell() {
	c.Helper()
	all := c.records(crowdFile) // seq without a gap
	c.firstTriesCount(all)
	c.oneVerdictEach(all)
	c.everyRoundHasItsVerdict(all)
	finished := ofType("trial.finished", all)
	if len(finished) != c.cells {
		c.Errorf("%d trials are over, want %d", len(finished), c.cells)
	}
	deadlines := map[string]time.Time{}
	for _, r := range ofType("trial.started", all) {
		key := fmt.Sprintf("%s/%d", r.Trial, r.Try)
		if old, known := deadlines[key]; known && !old.Equal(r.Deadline) {
			c.Errorf("trial %s has the deadline %s and had %s", key, r.Deadline, old)
		}
		deadlines[key] = r.Deadline
	}
	for _, r := range finished {
		c.keptCounting(r.Trial)
	}
	c.roundsAreTold(all)
	c.terminate()
	c.nothingIsLeft()
}

// firstTriesCount ends the test if a try was lost: what comes of that would be told a thousand times.
func (c *crowd) firstTriesCount(all []record) {
	c.Helper()
	lost := 0
	for _, r := range ofType("trial.finished", all) {
		if r.Try == 1 && r.Status == "resolved" {
			continue
		}
		if lost++; lost <= 5 {
			c.Errorf("trial %s ended %s (%s: %s) in try %d", r.Trial, r.Status, r.Reason, r.Detail, r.Try)
		}
	}
	if lost > 0 {
		c.Fatalf("%d tries ended otherwise than in the first one, and resolved", lost)
	}
}

// roundsAreTold compares what is stored of all rounds with what the result file tells.
func (c *crowd) roundsAreTold(all []record) {
	c.Helper()
	told := map[string]bool{}
	for _, r := range ofType("submission", all) {
		told[r.Trial+" "+r.Round] = true
	}
	agents := map[string]int{}
	for _, rounds := range c.rounds() {
		for _, sub := range rounds {
			key := sub.Trial + " " + sub.Round
			if sub.State != round.StateJudged || sub.Report.Status == round.StatusError {
				c.Errorf("round %s is %s: %+v", key, sub.State, sub.Report)
			}
			if told[key] == sub.Kind.Internal() {
				c.Errorf("round %s: told of is %t", key, told[key])
			}
			if sub.Kind == round.KindAgent {
				agents[sub.Trial]++
			}
		}
	}
	if len(agents) != c.cells {
		c.Errorf("%d trials have rounds, want %d", len(agents), c.cells)
	}
	for trial, n := range agents {
		if n != crowdRounds {
			c.Errorf("trial %s has %d rounds of its agent, want %d", trial, n, crowdRounds)
		}
	}
}

// nothingIsLeft fails if the daemons left a container or a file that is only there for a while.
func (c *crowd) nothingIsLeft() {
	c.Helper()
	c.until("no container is left", func() error {
		left, err := c.remote.Observe(c.Context(), c.owner)
		for _, x := range left {
			err = fmt.Errorf("%s is %s", x.Name, x.Phase)
		}
		return err
	})
	v := &vigil{fixture: c.fixture, launched: time.Now().Add(time.Hour)} // everything is from before
	if err := errors.Join(v.strayFiles(nil), v.torn()); err != nil {
		c.Error(err)
	}
	for _, path := range c.found("*.sock") {
		c.Errorf("%s was left", path)
	}
	if names, err := filepath.Glob(filepath.Join(c.specs, "*.jsonl")); err != nil || len(names) != 2 {
		c.Errorf("result files are %s, %v", strings.Join(names, ", "), err)
	}
}
