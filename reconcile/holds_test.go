package reconcile

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/control"
	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/hold"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/reconcile/request"
	"github.com/assayd/assayd/reconcile/store"
)

// pauses has anna pause a target.
func (d *daemon) pauses(t *testing.T, target string) control.Changed {
	t.Helper()
	c, err := d.Desk.Hold(control.As(t.Context(), control.Actor{By: "anna", Via: control.CLI}), control.Asked{Target: target, Reason: "provider incident"})
	check(t, err)
	return c
}

// resumes has a target resumed.
func (d *daemon) resumes(t *testing.T, target string) control.Changed {
	t.Helper()
	c, err := d.Desk.Lift(t.Context(), target, hold.Pause, false)
	check(t, err)
	return c
}

// untilNote waits until run.r waits for something that its note names.
func (d *daemon) untilNote(t *testing.T, part string) query.RunStatus {
	t.Helper()
	return d.until(t, "with a note of "+part, func(r query.RunStatus) bool { return strings.Contains(r.Note, part) })
}

// told are the control records of a stream, in short.
func (h *fixture) controls(stream string) (all []string) {
	h.t.Helper()
	check(h.t, h.store.View(h.t.Context(), func(tx *store.Tx) error {
		s, err := tx.Stream(stream)
		if err != nil {
			return err
		}
		lines, err := tx.LinesFrom(s.ID, 1, 1000)
		for _, l := range lines {
			var r struct {
				Type, Spec, Action, Target, By, Via, Reason string
				Before, After                               *hold.Hold
			}
			err = errors.Join(err, json.Unmarshal(l.Data, &r))
			if r.Type == "control" {
				all = append(all, fmt.Sprintf("%s %s %s by %s via %s (%s) before %v after %v", r.Spec, r.Action, r.Target, r.By, r.Via, r.Reason, r.Before != nil, r.After != nil))
			}
		}
		return err
	}))
	return all
}

// The run is held before any of it works; what works goes on when it is held later.
func TestNothingBeginsUnderAHold(t *testing.T) {
	for _, target := range []string{"all", "run.r", "provider.acme"} {
		t.Run(target, func(t *testing.T) {
			h := newFixture(t)
			h.more = func(o *Options) {
				settings := config.DefaultSettings(nil)
				settings.Providers = map[string]config.Provider{"acme": {Protocol: "openai", BaseURL: "http://model.test/v1", APIKey: config.SecretText("key")}}
				o.Config.Settings = settings
			}
			text := strings.Replace(spec("x", "y"), "parallel = 4", "parallel = 1", 1)
			if target == "provider.acme" { // the first asks models; the second does not, and goes first
				text = benchmarkSpec + "agent \"asks\" {\n command = \"work\"\n api = \"openai\"\n}\n" +
					"run \"r\" {\n tasks = [benchmark.edge]\n auto_eval = \"0s\"\n agent \"asks\" {\n label = \"y\"\n provider = \"acme\"\n model = \"m\"\n }\n agent \"nop\" { label = \"x\" }\n}\n"
			}
			h.write("b.hcl", "locals {}\n")
			d := h.start()
			if c := d.pauses(t, "all"); !c.Changed || c.State != control.Paused {
				t.Errorf("a pause is answered with %+v", c)
			}
			h.write("a.hcl", text)
			d.look(t)
			run := d.untilNote(t, "all is paused by anna since ")
			if run.Execution != 1 || len(run.Trials) != 0 || !strings.Contains(run.Note, "would start") || !strings.Contains(run.Note, "provider incident") {
				t.Errorf("a held run is %+v", run)
			}
			d.pauses(t, target)
			if target != "all" {
				d.resumes(t, "all")
			}
			if target == "provider.acme" {
				d.untilTrials(t, "x/1 running")
				d.untilNote(t, "provider.acme is paused by anna")
			} else {
				d.resumes(t, target)
				d.untilTrials(t, "x/1 running")
				d.pauses(t, target)
			}
			close(h.let)
			d.untilTrials(t, "x/1 resolved")
			run = d.untilNote(t, "held: 1 would start; "+target+" is paused by anna")
			if diff := cmp.Diff([]string{target}, targetsOf(run.Holds)); diff != "" {
				t.Errorf("the status names holds (-want +got):\n%s", diff)
			}
			if len(run.Findings) < 2 || !strings.Contains(fmt.Sprint(run.Findings), "assayd resume "+target) {
				t.Errorf("it is explained by %v", run.Findings)
			}
			d.stop()
			d = h.start() // a hold survives the daemon
			if run := d.untilNote(t, target+" is paused by anna"); phases(run) != "x/1 resolved" {
				t.Errorf("after a restart: %s", phases(run))
			}
			if target == "provider.acme" {
				return // it would ask a model
			}
			if c := d.resumes(t, target); !c.Changed || c.State != control.Open {
				t.Errorf("a resume is answered with %+v", c)
			}
			d.untilState(t, "finished")
		})
	}
}

func targetsOf(set []hold.Hold) (all []string) {
	for _, h := range set {
		all = append(all, h.Target)
	}
	return all
}

// An edit of the file lifts no hold, and the file's own is lifted by no command.
func TestLatchesAreIndependent(t *testing.T) {
	h := newFixture(t)
	text := spec("x")
	h.write("a.hcl", strings.Replace(text, "parallel = 4", "parallel = 4\n paused = true", 1))
	d := h.start()
	d.untilNote(t, "its file says paused = true")
	d.pauses(t, "run.r")
	d.untilNote(t, "its file says paused = true; run.r is paused by anna")
	h.write("a.hcl", text)
	d.look(t)
	run := d.until(t, "held by anna alone", func(r query.RunStatus) bool { return strings.Contains(r.Note, "would start; run.r is paused") })
	if run.Execution != 1 || len(run.Trials) > 0 {
		t.Errorf("an edit of paused began something: %+v", run)
	}
	h.write("a.hcl", strings.Replace(text, "parallel = 4", "parallel = 4\n paused = true", 1))
	d.look(t)
	d.until(t, "held by its file, too", func(r query.RunStatus) bool { return r.Paused }) // a young file is given time
	d.resumes(t, "run.r")
	d.until(t, "held by its file alone", func(r query.RunStatus) bool {
		return strings.HasSuffix(r.Note, "would start; its file says paused = true")
	})
	h.write("a.hcl", text)
	d.look(t)
	d.untilTrials(t, "x/1 running")
	close(h.let)
	d.untilState(t, "finished")
	h.write("a.hcl", strings.Replace(text, "parallel = 4", "parallel = 4\n paused = true\n priority = 7", 1))
	d.look(t)
	d.until(t, "accepted", func(r query.RunStatus) bool { return r.Paused })
	h.write("a.hcl", strings.Replace(text, "parallel = 4", "parallel = 4\n priority = -7", 1))
	d.look(t)
	if run := d.until(t, "accepted", func(r query.RunStatus) bool { return !r.Paused }); run.Execution != 1 || run.State != "finished" {
		t.Errorf("editing paused and priority began something anew: %+v", run)
	}
}

func TestAThrottleBoundsWhatIsAtWork(t *testing.T) {
	h := newFixture(t)
	next, order := h.oneByOne()
	h.write("shared.hcl", benchmarkSpec)
	d := h.start()
	d.pauses(t, "all")
	h.write("a.hcl", manyRuns("r", 4))
	d.look(t)
	d.untilNote(t, "all is paused")
	c, err := d.Desk.Hold(t.Context(), control.Asked{Target: "run.r", Most: 1})
	check(t, err)
	if !c.Changed || c.State != control.Throttled {
		t.Errorf("a throttle is answered with %+v", c)
	}
	d.resumes(t, "all")
	run := d.untilNote(t, "held: 3 would start; run.r is throttled to 1 at once")
	if len(run.Trials) != 1 {
		t.Errorf("%d trials work under a throttle of 1", len(run.Trials))
	}
	next()
	d.until(t, "with a second trial", func(r query.RunStatus) bool { return len(r.Trials) == 2 })
	if c, err = d.Desk.Lift(t.Context(), "run.r", hold.Throttle, false); err != nil || !c.Changed || c.State != control.Open {
		t.Errorf("off is answered with %+v, %v", c, err)
	}
	d.until(t, "with all trials", func(r query.RunStatus) bool { return len(r.Trials) == 4 })
	for range 3 {
		next()
	}
	d.untilState(t, "finished")
	if n := len(order()); n != 4 {
		t.Errorf("%d trials began", n)
	}
}

// TestRoomIsOfferedByPriority: a run of a higher priority goes before those that wait longer, and takes nothing
// from what works.
func TestRoomIsOfferedByPriority(t *testing.T) {
	h := newFixture(t)
	h.most = 1
	next, order := h.oneByOne()
	h.write("shared.hcl", benchmarkSpec)
	d := h.start()
	h.accept(d, "first", 2)
	h.accept(d, "low", 2)
	h.write("high.hcl", strings.Replace(manyRuns("high", 2), "auto_eval", "priority = 5\n  auto_eval", 1))
	for waits := false; !waits; {
		d.look(t)
		check(t, d.do(t.Context(), func() { waits = d.runs.notes["run.high"] != "" }))
	}
	for range 6 {
		next()
	}
	for _, run := range []string{"first", "low", "high"} {
		d.untilOver(t, "run."+run)
	}
	if got := strings.Join(order(), " "); got != "first high high first low low" && got != "first high high low first low" {
		t.Errorf("trials began in the order %s", got)
	}
}

// What is held ends when its time is over, and with the block that no file declares.
func TestHoldsEnd(t *testing.T) {
	h := newFixture(t)
	h.write("a.hcl", spec("x"))
	d := h.start()
	d.untilTrials(t, "x/1 running")
	soon := time.Now().Add(300 * time.Millisecond)
	_, err := d.Desk.Hold(t.Context(), control.Asked{Target: "all", Until: soon})
	check(t, err)
	d.pauses(t, "run.r")
	d.until(t, "held by anna alone", func(r query.RunStatus) bool { return slices.Equal(targetsOf(r.Holds), []string{"run.r"}) })
	check(t, os.Remove(filepath.Join(h.specs, "a.hcl")))
	close(h.let)
	d.untilState(t, "finished")
	for deadline := time.Now().Add(patience); ; <-time.After(2 * time.Millisecond) {
		d.look(t)
		if set, _ := d.Desk.Holds(); len(set) == 0 {
			break
		}
		if !time.Now().Before(deadline) {
			t.Fatal("the hold of a block that is gone never ends")
		}
	}
	if diff := cmp.Diff([]string{
		"all pause all by unknown via api () before false after true",
		"all expire all by unknown via daemon (its time is over) before true after false",
	}, h.controls(controlStream)); diff != "" {
		t.Errorf("records of the host (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{
		"run.r pause run.r by anna via cli (provider incident) before false after true",
		"run.r expire run.r by anna via daemon (no file declares it) before true after false",
	}, h.controls("run.r")); diff != "" {
		t.Errorf("records of the run (-want +got):\n%s", diff)
	}
	var rows []store.HoldRow
	check(t, h.store.View(t.Context(), func(tx *store.Tx) (err error) { rows, err = tx.Holds(); return err }))
	if len(rows) > 0 {
		t.Errorf("the store still has %v", rows)
	}
}

// A hold ends with its block also where nothing of that is open, and no daemon was there to see it go.
func TestAHoldOfWhatIsGoneEndsAtTheNextStart(t *testing.T) {
	h := newFixture(t)
	h.write("a.hcl", spec("x"))
	close(h.let)
	d := h.start()
	d.untilState(t, "finished")
	d.pauses(t, "run.r")
	d.stop()
	h.write("a.hcl", "locals {}\n")
	d = h.start()
	for deadline := time.Now().Add(patience); ; <-time.After(2 * time.Millisecond) {
		d.look(t)
		check(t, d.do(t.Context(), func() {
			if _, missed := d.runs.gone["run.r"]; missed {
				d.runs.gone["run.r"] = d.runs.now().Add(-plan.RemovalGrace)
				d.runs.queue.Add("run.r", d.runs.now())
			}
		}))
		if set, _ := d.Desk.Holds(); len(set) == 0 {
			return
		}
		if !time.Now().Before(deadline) {
			t.Fatal("it never ends: another run of that name would be held unasked")
		}
	}
}

func TestWhatCannotBeHeldIsRefused(t *testing.T) {
	h := newFixture(t)
	h.write("a.hcl", spec("x"))
	d := h.start()
	d.untilTrials(t, "x/1 running")
	for _, tt := range []struct {
		asked   control.Asked
		unknown bool
		want    string
	}{
		{control.Asked{Target: "run.rr"}, true, "did you mean run.r?"},
		{control.Asked{Target: "r"}, true, "did you mean run.r?"},
		{control.Asked{Target: "benchmark.edge"}, true, "a hold is of all, a run, a mining spec, or provider.NAME"},
		{control.Asked{Target: "provider.acme"}, true, "no provider is called \"acme\""},
		{control.Asked{Target: "mining.none"}, true, "mining.none"},
		{control.Asked{Target: "engine.docker"}, false, "assayd pause all"},
		{control.Asked{Target: "run.r", Until: time.Now().Add(-time.Minute)}, false, "that is over"},
		{control.Asked{Target: "run.r", Reason: strings.Repeat("x", 501)}, false, "at most 500 bytes"},
		{control.Asked{Target: "run.r", Most: 4}, false, "its file says parallel = 4"},
		{control.Asked{Target: "run.r", Most: -1}, false, "whole number"},
		{control.Asked{Target: "all", Most: 1}, false, "only a run can be throttled"},
	} {
		_, err := d.Desk.Hold(t.Context(), tt.asked)
		_, mistake := errors.AsType[*request.Mistake](err)
		if err == nil || !strings.Contains(err.Error(), tt.want) || errors.Is(err, history.ErrUnknown) != tt.unknown || mistake == tt.unknown {
			t.Errorf("%+v is answered with %v, want %q", tt.asked, err, tt.want)
		}
	}
	if _, err := d.Desk.Lift(t.Context(), "run.rr", hold.Pause, false); !errors.Is(err, history.ErrUnknown) {
		t.Errorf("a resume of nothing is answered with %v", err)
	}
	close(h.let)
}

// A plan says how much a hold keeps from starting.
func TestAPlanNamesHolds(t *testing.T) {
	h := newFixture(t)
	h.write("b.hcl", strings.Replace(benchmarkSpec, `"edge"`, `"other"`, 1))
	d := h.start()
	d.pauses(t, "all")
	h.write("a.hcl", spec("x", "y"))
	p := h.preview(d)
	if !strings.Contains(p, "run.r: begin e1") || !strings.Contains(p, "run.r: wait (held: 2 would start; all is paused by anna since ") || strings.Contains(p, "start r.e1") {
		t.Errorf("the plan is\n%s", p)
	}
}

// A mining spec that is held reads no more pull requests, and goes on where it was.
func TestMiningIsHeld(t *testing.T) {
	for _, by := range []string{"mining.x", "provider.p", "the file"} {
		t.Run(by, func(t *testing.T) {
			p := newPit(t)
			close(p.tell)
			set, lifted := pulls(""), pulls("")
			if by == "the file" {
				set = pulls("paused = true")
			}
			d := p.start()
			d.pauses(t, "all")
			p.write("m.hcl", set)
			d.look(t)
			if by != "the file" {
				d.untilMiningWaits(t, "all is paused")
				d.pauses(t, by)
				d.resumes(t, "all")
				d.untilMiningWaits(t, by+" is paused by anna")
				d.resumes(t, by)
			} else {
				d.resumes(t, "all")
				d.untilMiningWaits(t, "its file says paused = true")
				p.write("m.hcl", lifted)
				d.look(t)
			}
			for deadline := time.Now().Add(patience); ; <-time.After(2 * time.Millisecond) {
				s, err := d.Status(t.Context(), "mining.x")
				check(t, err)
				if s.Minings[0].State == "finished" {
					break
				}
				if !time.Now().Before(deadline) {
					t.Fatalf("mining never goes on: %+v", s.Minings)
				}
			}
		})
	}
}

func (d *daemon) untilMiningWaits(t *testing.T, note string) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; <-time.After(2 * time.Millisecond) {
		s, err := d.Status(t.Context(), "mining.x")
		if err == nil && len(s.Minings) == 1 && strings.Contains(s.Minings[0].Note, note) {
			return
		}
		if !time.Now().Before(deadline) {
			t.Fatalf("mining is never %q: %+v, %v", note, s.Minings, err)
		}
		d.look(t)
	}
}

// Each command leaves one record of who has asked; one that does nothing leaves none.
func TestCommandsAreRecorded(t *testing.T) {
	h := newFixture(t)
	h.write("a.hcl", spec("x"))
	d := h.start()
	d.untilTrials(t, "x/1 running")
	ctx := control.As(t.Context(), control.Actor{By: "anna", Via: control.API})
	if err := d.cancel(ctx, "run.s"); err == nil {
		t.Error("a run that is not there was cancelled")
	}
	check(t, d.cancel(ctx, "run.r"))
	for range 2 { // while it ends, and when it has
		if c, err := d.Cancel(ctx, control.Ask{Target: "run.r"}); err != nil || c.Changed {
			t.Errorf("cancelled once more: %+v, %v", c, err)
		}
		d.untilState(t, "finished")
	}
	if _, err := d.Retry(ctx, "run.r"); err != nil {
		t.Error(err)
	}
	close(h.let)
	run := d.until(t, "resolved", func(r query.RunStatus) bool { return r.State == "finished" && strings.HasSuffix(phases(r), "resolved") })
	if _, err := d.Rerun(ctx, "run.r"); err != nil {
		t.Error(err)
	}
	d.until(t, "done once more", func(r query.RunStatus) bool { return r.State == "finished" && r.Execution == run.Execution+1 })
	if diff := cmp.Diff([]string{
		"run.r cancel run.r by anna via api () before false after false",
		"run.r retry run.r by anna via api () before false after false",
		"run.r rerun run.r by anna via api () before false after false",
	}, h.controls("run.r")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
