//go:build linux

package daemon_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assayd/assayd/reconcile/control"
	"github.com/assayd/assayd/reconcile/query/trialview"
	"github.com/assayd/assayd/runtime/fault"
)

// ofOrders are the points of asking something of a trial: before it is stored with its record, and after.
var ofOrders = []lap{{at: fault.OrderWritten}, {at: fault.OrderStored}}

// Wherever the daemon is killed while a trial is stopped, cancelled, or extended, the order and its record are there both or
// neither, and what is stored is done by the next daemon, which nobody asks again.
func TestACrashLosesAndDoublesNoOrder(t *testing.T) {
	t.Parallel()
	c := newCrashes(t)
	agents := []string{"stop/order written", "stop/order stored", "cancel/order written", "cancel/order stored", "extend/order written", "extend/order stored"}
	var blocks []string
	for _, a := range agents {
		blocks = append(blocks, fmt.Sprintf("agent \"waiter\" { label = %q }", a))
	}
	c.write("r.hcl", c.benchmark()+c.agent("waiter", waiter)+c.run("quit", blocks, `timeout = "30m"`, `auto_eval = "0s"`, "parallel = 6"))
	c.start()
	for _, agent := range agents {
		c.until("the agent works", func() error {
			x, err := c.trial("run.quit", agent)
			if err == nil && len(x.Rounds) == 0 {
				err = fmt.Errorf("nothing of %s is judged", agent)
			}
			return err
		})
	}
	for _, agent := range agents {
		verb, point, _ := strings.Cut(agent, "/")
		x, err := c.trial("run.quit", agent)
		if err != nil {
			t.Fatal(err)
		}
		args := []string{verb, x.ID}
		if verb == control.Extend {
			args = append(args, "1h")
		}
		args = append(args, "--reason", "incident", "--json")
		l := ofOrders[slices.IndexFunc(ofOrders, func(l lap) bool { return string(l.at) == point })]
		l.lead = func(c *crashes) {
			if out, _, code := c.assayd(args...); code == 0 {
				t.Errorf("%s was answered by a daemon that was killed: %s", agent, out)
			}
		}
		c.crash(l)
		c.start()
		var got control.Changed
		if point == string(fault.OrderWritten) {
			if err := json.Unmarshal([]byte(c.ok(args...)), &got); err != nil || !got.Changed {
				t.Errorf("%s, which was not stored, is asked again: %+v, %v", agent, got, err)
			}
		}
		c.until(agent+" is done", func() error {
			x, err := c.trial("run.quit", agent)
			if err == nil && verb == control.Extend {
				return c.isExtended(x, time.Hour)
			}
			if err == nil && x.Status == "" {
				err = fmt.Errorf("it is in %s", x.Phase)
			}
			return err
		})
		if err := json.Unmarshal([]byte(c.ok(args...)), &got); err != nil || got.Changed {
			t.Errorf("%s, repeated: %+v, %v", agent, got, err)
		}
		if verb == control.Extend { // it goes on, and so it is ended
			c.ok(control.Stop, x.ID, "--reason", "incident")
		}
	}
	c.settled("run.quit", patience)
	c.ordered(agents)
	c.oneVerdictEach(c.history("r.run.quit.jsonl"))
	c.noContainerIsLeft() // what the engine made late for a daemon that was killed is swept by one that lives
	c.over()
}

// ordered fails unless each trial has one record of what was asked of it, and ended as it was asked.
func (c *crashes) ordered(agents []string) {
	c.Helper()
	orders := map[string]int{}
	for line := range strings.Lines(c.ok("results", "run.quit")) {
		var r struct {
			Type string
			control.Record
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			c.Fatal(err)
		}
		if r.Type == "control" {
			orders[r.Action+" "+r.Target+" via "+string(r.Via)+": "+r.Reason]++
		}
	}
	for _, agent := range agents {
		verb, _, _ := strings.Cut(agent, "/")
		x, err := c.trial("run.quit", agent)
		if err != nil {
			c.Fatal(err)
		}
		if n := orders[verb+" "+x.ID+" via cli: incident"]; n != 1 {
			c.Errorf("%s has %d records of %v", agent, n, orders)
		}
		status, flagged := "unresolved", verb != control.Cancel
		if verb == control.Extend && (!slices.Contains(x.Flags, "extended") || x.Extended != nil) {
			c.Errorf("%s is %+v", agent, x)
		}
		if verb == control.Cancel {
			status = "cancelled"
		}
		if string(x.Status) != status || slices.Contains(x.Flags, "stopped") != flagged || !strings.Contains(x.Detail, "incident") || flagged && x.Best == "" {
			c.Errorf("%s is %+v", agent, x)
		}
	}
}

// isExtended fails until a trial has so much time beyond its declared deadline.
func (c *crashes) isExtended(x trialview.TrialStatus, more time.Duration) error {
	if x.Declared.IsZero() || !x.Deadline.Equal(x.Declared.Add(more)) {
		return fmt.Errorf("its deadline is %s, and by its spec %s", x.Deadline, x.Declared)
	}
	return nil
}
