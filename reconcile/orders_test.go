package reconcile

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/reconcile/control"
	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/reconcile/query/trialview"
	"github.com/assayd/assayd/reconcile/request"
	"github.com/assayd/assayd/reconcile/store"
)

// of is the trial of an agent.
func of(t *testing.T, r query.RunStatus, agent string) trialview.TrialStatus {
	t.Helper()
	i := slices.IndexFunc(r.Trials, func(x trialview.TrialStatus) bool { return x.Agent == agent })
	if i < 0 {
		t.Fatalf("agent %s has no trial: %+v", agent, r.Trials)
	}
	return r.Trials[i]
}

// answered has the agent of a trial leave an answer, and go on.
func (h *fixture) answered(id, answer string) {
	h.t.Helper()
	h.container(query.RunStatus{Trials: []trialview.TrialStatus{{ID: id}}}).WriteFile("/workspace/answer", []byte(answer))
}

// What a stopped trial has is judged, and it counts, with the reason and a flag; the others go on.
func TestAStoppedTrialIsJudgedAsItStands(t *testing.T) {
	h := newFixture(t)
	h.write("a.hcl", spec("x", "y"))
	d := h.start()
	run := d.untilTrials(t, "x/1 running, y/1 running")
	id := of(t, run, "x").ID
	h.answered(id, "failed")
	ctx := control.As(t.Context(), control.Actor{By: "anna", Via: control.CLI})
	for _, tt := range []struct {
		ask     control.Ask
		changed bool
		state   string
	}{
		{control.Ask{Target: id, DryRun: true}, true, control.Stopping},
		{control.Ask{Target: id, Reason: "it only waits"}, true, control.Stopping},
		{control.Ask{Target: id, Reason: "another"}, false, control.Stopping},
	} {
		c, err := d.StopTrial(ctx, tt.ask)
		if err == nil && c.State == control.Stopped { // it was quick
			c.State = control.Stopping
		}
		if err != nil || c.Changed != tt.changed || c.State != tt.state || !strings.Contains(c.Says, "stopped by anna") {
			t.Errorf("%+v is answered with %+v, %v", tt.ask, c, err)
		}
	}
	run = d.untilTrials(t, "x/1 unresolved, y/1 running")
	x := of(t, run, "x")
	if x.Reason != "stopped" || x.Detail != "stopped by anna: it only waits" || !slices.Contains(x.Flags, "stopped") || len(x.Rounds) != 1 {
		t.Errorf("the stopped trial is %+v", x)
	}
	if c, err := d.StopTrial(ctx, control.Ask{Target: id}); err != nil || c.Changed || c.State != control.Stopped {
		t.Errorf("stopped once more: %+v, %v", c, err)
	}
	close(h.let)
	run = d.untilState(t, "finished")
	if phases(run) != "x/1 unresolved, y/1 resolved" || run.Summary.Total != 2 || run.Summary.Unresolved != 1 {
		t.Errorf("%s, %+v", phases(run), run.Summary)
	}
	if diff := cmp.Diff([]string{"run.r stop " + id + " by anna via cli (it only waits) before true after true"}, h.controls("run.r")); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	check(t, h.store.View(t.Context(), func(tx *store.Tx) error {
		left, err := tx.MetaBelow("order/")
		if len(left) > 0 {
			t.Errorf("orders are left: %v", left)
		}
		return err
	}))
}

// An extended trial has more time, says so, and is reported as of its declared deadline; asking for the same again
// changes nothing, and nobody takes time away.
func TestATrialIsExtended(t *testing.T) {
	h := newFixture(t)
	h.write("a.hcl", spec("x"))
	d := h.start()
	id := d.untilTrials(t, "x/1 running").Trials[0].ID
	h.answered(id, "failed")
	before, err := d.Trials.Status(t.Context(), id)
	check(t, err)
	ctx := control.As(t.Context(), control.Actor{By: "anna", Via: control.Page})
	more := func(target string, seconds int64, dry bool) control.MoreTime {
		return control.MoreTime{Ask: control.Ask{Target: target, Reason: "disk", DryRun: dry}, Seconds: seconds}
	}
	var mistake *request.Mistake
	for _, m := range []control.MoreTime{more("run.r", 60, false), more(id, 0, false), more(id, -1, false), more(id, 1<<40, false)} {
		if _, err := d.ExtendTrial(ctx, m); !errors.As(err, &mistake) {
			t.Errorf("%+v is answered with %v", m, err)
		}
	}
	for _, tt := range []struct {
		more    control.MoreTime
		changed bool
	}{{more(id, 3600, true), true}, {more(id, 3600, false), true}, {more(id, 3600, false), false}, {more(id, 7200, false), true}} {
		if c, err := d.ExtendTrial(ctx, tt.more); err != nil || c.Changed != tt.changed || c.State != control.Extended || !strings.Contains(c.Says, "extended until ") {
			t.Errorf("%+v is answered with %+v, %v", tt.more, c, err)
		}
	}
	var conflict *request.Conflict
	if _, err := d.ExtendTrial(ctx, more(id, 60, false)); !errors.As(err, &conflict) || !strings.Contains(err.Error(), "is not taken away") {
		t.Errorf("an earlier deadline: %v", err)
	}
	d.stop()
	d = h.start() // the next daemon holds to it
	d.until(t, "two hours more", func(run query.RunStatus) bool {
		return of(t, run, "x").Deadline.Equal(before.Deadline.Add(2 * time.Hour))
	})
	x, err := d.Trials.Status(t.Context(), id)
	if check(t, err); !x.Declared.Equal(before.Deadline) || !slices.Contains(x.Flags, "extended") {
		t.Errorf("the extended trial is %+v", x)
	}
	if c, err := d.StopTrial(ctx, control.Ask{Target: id}); err != nil || !c.Changed {
		t.Errorf("stopped after all: %+v, %v", c, err)
	}
	run := d.untilState(t, "finished")
	if got := of(t, run, "x"); got.Reason != "stopped" || got.Extended != nil || run.Summary.Controls["x"].Extended != 1 {
		t.Errorf("the trial is %+v, %+v", got, run.Summary)
	}
	if _, err := d.ExtendTrial(ctx, more(id, 3600, false)); !errors.As(err, &conflict) || !strings.Contains(err.Error(), "it is over") {
		t.Errorf("what is over is extended: %v", err)
	}
	record := "run.r extend " + id + " by anna via page (disk) before true after true"
	if diff := cmp.Diff([]string{record, record, "run.r stop " + id + " by anna via page () before true after true"}, h.controls("run.r")); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

// Only what works can be stopped, by a reason that can be shown.
func TestWhatCannotBeStopped(t *testing.T) {
	h := newFixture(t)
	h.write("a.hcl", spec("x"))
	d := h.start()
	id := d.untilTrials(t, "x/1 running").Trials[0].ID
	var mistake *request.Mistake
	for _, a := range []control.Ask{{Target: "run.r"}, {Target: id, Reason: "two\nlines"}, {Target: id, Reason: strings.Repeat("x", 501)}} {
		if _, err := d.StopTrial(t.Context(), a); !errors.As(err, &mistake) {
			t.Errorf("stop %q is answered with %v", a.Target, err)
		}
	}
	close(h.let)
	d.untilState(t, "finished")
	var conflict *request.Conflict
	if _, err := d.StopTrial(t.Context(), control.Ask{Target: id}); !errors.As(err, &conflict) || !strings.Contains(err.Error(), "it is over") {
		t.Errorf("a stop of what is over is answered with %v", err)
	}
	if got := h.controls("run.r"); got != nil {
		t.Errorf("records of what did nothing: %v", got)
	}
}

// What was asked of a trial before its daemon died is done by the next one.
func TestAnOrderOutlivesTheDaemon(t *testing.T) {
	for action, want := range map[string]string{control.Stop: "x/1 unresolved", control.Cancel: "x/1 cancelled"} {
		t.Run(action, func(t *testing.T) {
			h := newFixture(t)
			h.write("a.hcl", spec("x"))
			d := h.start()
			id := d.untilTrials(t, "x/1 running").Trials[0].ID
			h.answered(id, "failed")
			d.pauses(t, "all") // which keeps no order from being done
			d.stop()
			check(t, h.store.Do(t.Context(), func(tx *store.Tx) error {
				return tx.PutMeta("order/"+id, `{"action":"`+action+`","by":"anna","via":"cli","at":"2030-05-01T12:00:00Z"}`)
			}))
			d = h.start()
			run := d.untilTrials(t, want)
			if !strings.HasSuffix(run.Trials[0].Detail, "ed by anna") {
				t.Errorf("%+v", run.Trials[0])
			}
		})
	}
}
