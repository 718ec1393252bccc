//go:build linux

package daemon_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/runtime/gateway/modeltest"
	"github.com/assayd/assayd/runtime/mining"
)

// mining is the status of the spec.
func (q *fakeForge) mining() (m query.MiningStatus, err error) {
	s, err := q.client.Status(q.Context(), q.address())
	if err != nil {
		return m, err
	}
	return s.Minings[0], nil
}

// ends runs a command of the program with the settings of the daemon, and checks how it ends
// and what it says.
func (q *fakeForge) ends(code int, says []string, args ...string) {
	q.Helper()
	stdout, stderr, got := q.assayd(append(args, q.flags...)...)
	if got != code {
		q.Errorf("assayd %s: exit %d, not %d\n%s%s", strings.Join(args, " "), got, code, stdout, stderr)
	}
	for _, words := range says {
		if !strings.Contains(stdout+stderr, words) {
			q.Errorf("assayd %s does not say %q:\n%s%s", strings.Join(args, " "), words, stdout, stderr)
		}
	}
}

// A mining spec takes the commands that a run does: it is planned, run, cancelled and begun
// again. A run over it settles while it goes on, is over when it is, and takes up what an edit
// makes it mine in addition.
func TestAMiningSpecTakesCommands(t *testing.T) {
	t.Parallel()
	first, second := good("first"), good("second")
	goOn := make(chan struct{})
	second.hold = modeltest.HoldAt(0, goOn)
	q := newFakeForge(t, first, second, rejection("docs"))
	declare := func(most int) {
		q.write("m.hcl", q.spec(fmt.Sprintf("max_tasks = %d", most), "validation { repeats = 1 }")+q.over())
	}
	file := filepath.Join(q.specs, "m.hcl")
	declare(2)
	q.ends(0, []string{q.address() + ": begin (the spec is new)\n"}, "plan", file)
	q.serve()

	// The second one is held up by the model: the spec goes on when the run has nothing to do.
	q.untilWithin(10*time.Minute, "run.over has settled", func() error {
		if len(ofType("run.settled", q.records("m.run.over.jsonl"))) == 0 {
			return errors.New("it has not")
		}
		return nil
	})
	if run, err := q.status("run.over"); err != nil || run.State == "finished" || len(run.Trials) != 2 {
		t.Errorf("%+v, %v", run, err)
	}
	if m, err := q.mining(); err != nil || m.State != "running" || m.Progress.Open != 1 {
		t.Errorf("%+v, %v", m, err)
	}
	q.ends(1, []string{"is at work"}, "rerun", q.address())
	q.ends(0, nil, "cancel", q.address())
	q.until("it is cancelled", func() error {
		m, err := q.mining()
		if err == nil && m.State != "cancelled" {
			err = fmt.Errorf("it is %s", m.State)
		}
		return err
	})
	q.ends(0, []string{"is cancelled (nothing changed)"}, "cancel", q.address())
	q.ends(0, []string{q.address() + ": cancelled", "3 pull requests: 1 accepted, 1 rejected, 0 failed, 1 open", "tasks: " + first.task()}, "status", q.address())
	q.solves("run.over", first.task())

	// Edited: what it has is enough, and what is not wanted now is taken up when it is again.
	declare(1)
	q.isOver(1, "the spec has as many tasks as it wants")
	q.ends(0, nil, "rerun", q.address())
	q.isOver(1, "the spec has as many tasks as it wants")
	q.ends(0, []string{"Nothing to do"}, "plan", file)
	close(goOn)
	declare(0)
	m := q.isOver(2, "the source has nothing more")
	q.solves("run.over", first.task(), second.task())
	prs, last := q.miningRecords(m.Results)
	all := prs[second.ref().String()]
	for i, r := range all {
		if final := i == len(all)-1; final && r.Verdict != mining.Accepted || !final && r.Reason != mining.ReasonEnough {
			t.Errorf("record %d of %d about the second one: %+v", i+1, len(all), r)
		}
	}
	if len(all) < 2 || last.Accepted != 2 || last.Rejected != 1 || last.Seen != 3 {
		t.Errorf("%d records about the second one; at last %+v", len(all), last)
	}
	q.ends(0, []string{q.address() + ": finished (the source has nothing more)", "2 accepted", "run.over e1: finished"}, "run", file)
}

// isOver waits until the spec is over with so many tasks, and says why it is.
func (q *fakeForge) isOver(tasks int, cause string) (m query.MiningStatus) {
	q.Helper()
	q.untilWithin(10*time.Minute, q.address()+" is over", func() (err error) {
		if m, err = q.mining(); err == nil && (m.State != "finished" || m.Note != cause || len(m.Tasks) != tasks || m.Progress.Open != 0) {
			err = fmt.Errorf("it is %s (%s), with %v: %+v", m.State, m.Note, m.Tasks, m.Progress)
		}
		return err
	})
	return m
}

// assayd run is the daemon for a mining spec, too, and fails if it makes no task.
func TestMiningThatMakesNoTaskFails(t *testing.T) {
	t.Parallel()
	cheap := slices.DeleteFunc(rejections(), func(p *planted) bool {
		return !strings.HasPrefix(p.want, "filter") && !strings.HasPrefix(p.want, "source")
	})
	q := newFakeForge(t, cheap...)
	q.write("m.hcl", q.spec("validation { repeats = 1 }"))
	q.ends(1, []string{
		q.address() + ": finished (the source has nothing more)",
		fmt.Sprintf("%d pull requests: 0 accepted, %[1]d rejected, 0 failed, 0 open", len(cheap)),
	}, "run", filepath.Join(q.specs, "m.hcl"))
	prs, _ := q.miningRecords(filepath.Join(q.specs, "m.mining."+q.bench+".jsonl"))
	q.eachHasOneRecord(prs)
}
