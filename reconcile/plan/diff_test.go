package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/robfig/cron/v3"

	"github.com/assayd/assayd/runtime/agent"
	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/trial"
)

// noon is the present of these tests.
var noon = time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)

// wantedRun is run.r with one cell for each letter: its task, and its key.
func wantedRun(cells string, change ...func(*Run)) *Run {
	d := &Run{Name: "r", Parallel: 9, Retries: 2}
	for _, c := range cells {
		d.cells = cellsOf(append(d.Cells(), cellOf(string(c))))
	}
	for _, f := range change {
		f(d)
	}
	return d
}

func cellOf(name string) Cell {
	return Cell{Key: strings.Repeat(name, 64), whole: func() trial.Cell {
		return trial.Cell{Task: task.Task{Name: name}, Agent: agent.Agent{Name: "nop"}, Attempt: 1}
	}}
}

func parallel(n int) func(*Run)             { return func(d *Run) { d.Parallel = n } }
func stagger(s time.Duration) func(*Run)    { return func(d *Run) { d.Stagger = s } }
func blocked(why string) func(*Run)         { return func(d *Run) { d.Blocked = why } }
func ago(d time.Duration) time.Time         { return noon.Add(-d) }
func execution(n int) *Execution            { return &Execution{N: n, StartedAt: ago(time.Hour)} }
func finished(e *Execution) *Execution      { e.Finished = true; return e }
func userCancelled(e *Execution) *Execution { e.Cancelled = true; return e }

func growing(d *Run) { d.Grows = true }

func pausedInFile(d *Run) { d.Paused = true }

// paused is what a user holds back of run.r.
var paused = Hold{Bounded: true, Why: "run.r is paused by anna"}

// asking has the agent of a cell ask models of a provider.
func asking(cell, provider string) func(*Run) {
	return func(d *Run) {
		for i, c := range d.cells.listed {
			if c.Key == cellOf(cell).Key {
				d.cells.listed[i].whole = func() trial.Cell {
					whole := c.Whole()
					whole.Agent.API, whole.Agent.Provider = "openai", provider
					return whole
				}
			}
		}
	}
}

// only is an execution of that cell alone.
func only(e *Execution, cell string) *Execution {
	e.Only = []string{cellOf(cell).Key}
	return e
}

func scheduled(t *testing.T, spec string) func(*Run) {
	s, err := cron.ParseStandard("TZ=UTC " + spec)
	if err != nil {
		t.Fatal(err)
	}
	return func(d *Run) { d.Schedule = s }
}

// known is a trial of e1 for the cell of that name.
func known(name string, change ...func(*Trial)) Trial {
	t := Trial{ID: trial.ID("r", 1, cellOf(name).Key), Key: cellOf(name).Key, Try: 1}
	for _, f := range change {
		f(&t)
	}
	return t
}

func live(t *Trial)      { t.Live = true }
func windsDown(t *Trial) { t.Live, t.Cancelled = true, true }

func ended(s trial.Status, at time.Time) func(*Trial) {
	return func(t *Trial) { t.Status, t.Final, t.EndedAt = s, !s.Retryable(), at }
}
func final(t *Trial)      { t.Final = true }
func unwanted(t *Trial)   { t.Unwanted, t.Final, t.Status = true, true, trial.Cancelled }
func superseded(t *Trial) { t.Superseded = true }
func slotAs(name string) func(*Trial) {
	return func(t *Trial) { t.Slot = cellOf(name).Slot() }
}

func try(n int) func(*Trial) {
	return func(t *Trial) { t.Try = n }
}

func TestDiff(t *testing.T) {
	done := ended(trial.Resolved, ago(time.Minute))
	broken := func(d time.Duration) func(*Trial) { return ended(trial.InfraError, ago(d)) }
	daily := scheduled(t, "0 2 * * *")
	for _, tt := range []struct {
		name     string
		desired  *Run
		observed Observed
		want     string
	}{
		{"a new run begins", wantedRun("ab"), Observed{}, `
			begin e1 (the run is new)`},
		{"an execution starts its cells", wantedRun("ab"), Observed{Execution: execution(1)}, `
			start r.e1.aaaaaaaa try 1: task a, agent nop, attempt 1 (new cell)
			start r.e1.bbbbbbbb try 1: task b, agent nop, attempt 1 (new cell)`},
		{"what runs is left alone", wantedRun("ab"), Observed{Execution: execution(1), Trials: []Trial{known("a", live), known("b", live)}}, ``},
		{"parallel bounds what runs at once", wantedRun("abc", parallel(2)), Observed{Execution: execution(1), Trials: []Trial{known("b", live)}}, `
			start r.e1.aaaaaaaa try 1: task a, agent nop, attempt 1 (new cell)`},
		{"after a restart a trial goes on, at once and in its own place", wantedRun("ab", parallel(1)), Observed{Execution: execution(1), Trials: []Trial{known("b", try(2))}}, `
			start r.e1.bbbbbbbb try 2: task b, agent nop, attempt 1 (go on where the trial was)`},
		{"a parallel that shrank stops nothing", wantedRun("abc", parallel(1)), Observed{Execution: execution(1), Trials: []Trial{known("a"), known("b")}}, `
			start r.e1.aaaaaaaa try 1: task a, agent nop, attempt 1 (go on where the trial was)
			start r.e1.bbbbbbbb try 1: task b, agent nop, attempt 1 (go on where the trial was)`},
		{"a run that this version does not do starts nothing and stops nothing", wantedRun("ab", blocked("mining")), Observed{Execution: execution(1), Trials: []Trial{known("a"), known("x", live)}}, `
			blocked (mining)
			start r.e1.aaaaaaaa try 1: task a, agent nop, attempt 1 (go on where the trial was)`},
		{"one that selects no task any more takes up what still runs", wantedRun("", blocked("it selects no task")), Observed{Execution: execution(1), Trials: []Trial{known("a", try(2)), known("b", live)}}, `
			blocked (it selects no task)
			start r.e1.aaaaaaaa try 2 (go on where the trial was)`},
		{"what a user cancelled ends, also if the run is not done any more", wantedRun("a", blocked("it selects no task")), Observed{Execution: userCancelled(execution(1)), Trials: []Trial{known("a", live)}}, `
			cancel r.e1.aaaaaaaa (cancelled by a user)`},
		{"a run that may have more cells settles", wantedRun("a", growing), Observed{Execution: execution(1), Trials: []Trial{known("a", done)}}, `
			settle e1 (no cell is open, and more may come)`},
		{"an execution of one cell of it has no more", wantedRun("ab", growing), Observed{Execution: only(execution(2), "a"), Trials: []Trial{known("a", done)}}, `
			finish e2 (no cell is open)`},
		{"a run whose dataset is not here begins nothing", wantedRun("", waitingFor("b is not here")), Observed{}, `
			wait (b is not here)`},
		{"one whose dataset is looked up anew ends nothing and takes up what runs", wantedRun("a", waitingFor("b is not here")), Observed{Execution: execution(1), Trials: []Trial{known("a"), known("x", live)}}, `
			wait (b is not here)
			start r.e1.aaaaaaaa try 1: task a, agent nop, attempt 1 (go on where the trial was)`},
		{"and is not over when all that it had is", wantedRun("a", waitingFor("b is not here")), Observed{Execution: execution(1), Trials: []Trial{known("a", done)}}, `
			wait (b is not here)`},
		{"what a user cancelled ends, whatever comes", wantedRun("a", waitingFor("b is not here")), Observed{Execution: userCancelled(execution(1)), Trials: []Trial{known("a", live)}}, `
			cancel r.e1.aaaaaaaa (cancelled by a user)`},
		{"stagger spreads the starts", wantedRun("abcd", stagger(2*time.Hour)), Observed{Execution: execution(1), Trials: []Trial{known("a", done)}}, `
			start r.e1.bbbbbbbb try 1: task b, agent nop, attempt 1 (new cell)
			start r.e1.cccccccc try 1: task c, agent nop, attempt 1 (new cell)
			look again at 2030-05-01T12:30:00Z`},
		{"a failed try is followed by another after a pause", wantedRun("a"), Observed{Execution: execution(1), Trials: []Trial{known("a", broken(4*time.Second))}}, `
			look again at 2030-05-01T12:00:01Z`},
		{"and the pause ends", wantedRun("a"), Observed{Execution: execution(1), Trials: []Trial{known("a", broken(5*time.Second))}}, `
			start r.e1.aaaaaaaa try 2: task a, agent nop, attempt 1 (try again after infra_error)`},
		{"the pause grows with the tries", wantedRun("a"), Observed{Execution: execution(1), Trials: []Trial{known("a", broken(0), try(4))}}, `
			look again at 2030-05-01T12:00:40Z`},
		{"a setup error is tried again as well", wantedRun("a"), Observed{Execution: execution(1), Trials: []Trial{known("a", ended(trial.SetupError, ago(time.Hour)))}}, `
			start r.e1.aaaaaaaa try 2: task a, agent nop, attempt 1 (try again after setup_error)`},
		{"the last try counts", wantedRun("a"), Observed{Execution: execution(1), Trials: []Trial{known("a", broken(0), final)}}, `
			finish e1 (no cell is open)`},
		{"a trial that a user cancelled is not started again", wantedRun("a"), Observed{Execution: execution(1), Trials: []Trial{known("a", ended(trial.Cancelled, ago(0)))}}, `
			finish e1 (no cell is open)`},
		{"what has finished stays finished", wantedRun("a"), Observed{Execution: finished(execution(1)), Trials: []Trial{known("a", done)}}, ``},
		{"a held run begins, and its cells wait", wantedRun("abc", parallel(2)), Observed{Execution: execution(1), Hold: paused}, `
			wait (held: 2 would start; run.r is paused by anna)`},
		{"what works goes on under a hold, and is taken up", wantedRun("abc"), Observed{Execution: execution(1), Hold: paused, Trials: []Trial{known("a"), known("b", live)}}, `
			start r.e1.aaaaaaaa try 1: task a, agent nop, attempt 1 (go on where the trial was)
			wait (held: 1 would start; run.r is paused by anna)`},
		{"no other try begins under a hold", wantedRun("a"), Observed{Execution: execution(1), Hold: paused, Trials: []Trial{known("a", broken(time.Minute))}}, `
			wait (held: 1 would start; run.r is paused by anna)`},
		{"a held run of which nothing is open finishes", wantedRun("a"), Observed{Execution: execution(1), Hold: paused, Trials: []Trial{known("a", done)}}, `
			finish e1 (no cell is open)`},
		{"a firing begins an execution of a held run", wantedRun("a", daily), Observed{Execution: finished(execution(1)), LastFired: ago(24 * time.Hour), Hold: paused}, `
			begin e2 (the schedule fired at 2030-05-01T02:00:00Z)`},
		{"its file holds a run", wantedRun("a", pausedInFile), Observed{Execution: execution(1)}, `
			wait (held: 1 would start; its file says paused = true)`},
		{"a file and a user hold a run", wantedRun("a", pausedInFile), Observed{Execution: execution(1), Hold: paused}, `
			wait (held: 1 would start; its file says paused = true; run.r is paused by anna)`},
		{"a throttle bounds what is at work", wantedRun("abcd", parallel(3)), Observed{Execution: execution(1), Hold: Hold{Bounded: true, Most: 2, Why: "throttled"}, Trials: []Trial{known("a", live)}}, `
			start r.e1.bbbbbbbb try 1: task b, agent nop, attempt 1 (new cell)
			wait (held: 1 would start; throttled)`},
		{"a throttle that bounds nothing is not told of", wantedRun("ab", parallel(3)), Observed{Execution: execution(1), Hold: Hold{Bounded: true, Most: 2, Why: "throttled"}}, `
			start r.e1.aaaaaaaa try 1: task a, agent nop, attempt 1 (new cell)
			start r.e1.bbbbbbbb try 1: task b, agent nop, attempt 1 (new cell)`},
		{"a provider that is held leaves its places to others", wantedRun("abc", parallel(1), asking("a", "acme")), Observed{Execution: execution(1), Hold: Hold{Providers: []string{"acme"}, Why: "provider.acme is paused"}}, `
			start r.e1.bbbbbbbb try 1: task b, agent nop, attempt 1 (new cell)
			wait (held: 1 would start; provider.acme is paused)`},
		{"a run without cells finishes", wantedRun(""), Observed{Execution: execution(1)}, `
			finish e1 (no cell is open)`},

		{"cells no longer wanted are cancelled, equal ones left alone", wantedRun("bc"), Observed{Execution: execution(1), Trials: []Trial{known("a", live), known("b", live)}}, `
			cancel r.e1.aaaaaaaa (the run no longer wants this cell)
			start r.e1.cccccccc try 1: task c, agent nop, attempt 1 (new cell)`},
		{"once, and the end waits for them", wantedRun("b"), Observed{Execution: execution(1), Trials: []Trial{known("a", windsDown), known("b", done)}}, ``},
		{"an unwanted cell between two tries is given up", wantedRun("b"), Observed{Execution: execution(1), Trials: []Trial{known("a", broken(0)), known("b", done)}}, `
			cancel r.e1.aaaaaaaa (the run no longer wants this cell)`},
		{"a verdict outlives the wish for it", wantedRun("b"), Observed{Execution: execution(1), Trials: []Trial{known("a", done), known("b", done)}}, `
			supersede r.e1.aaaaaaaa (the run no longer wants this cell)
			finish e1 (no cell is open)`},
		{"and names what takes its place", wantedRun("b"), Observed{Execution: execution(1), Trials: []Trial{known("a", done, slotAs("b")), known("b", done)}}, `
			supersede r.e1.aaaaaaaa by r.e1.bbbbbbbb (an edit or a retry changed this cell)
			finish e1 (no cell is open)`},
		{"once", wantedRun("b"), Observed{Execution: finished(execution(1)), Trials: []Trial{known("a", done, superseded), known("b", done)}}, ``},
		{"an execution that was over ends once more", wantedRun("b"), Observed{Execution: finished(execution(1)), Trials: []Trial{known("a", done), known("b", done)}}, `
			supersede r.e1.aaaaaaaa (the run no longer wants this cell)
			finish e1 (no cell is open)`},
		{"a superseded trial that is wanted again counts again", wantedRun("ab"), Observed{Execution: execution(1), Trials: []Trial{known("a", done, superseded), known("b", done)}}, `
			reinstate r.e1.aaaaaaaa (the run wants this cell again)
			finish e1 (no cell is open)`},
		{"a cell that is wanted again starts again", wantedRun("a"), Observed{Execution: finished(execution(1)), Trials: []Trial{known("a", unwanted)}}, `
			start r.e1.aaaaaaaa try 2: task a, agent nop, attempt 1 (the cell is wanted again)`},
		{"but not while it still winds down", wantedRun("a"), Observed{Execution: execution(1), Trials: []Trial{known("a", windsDown)}}, ``},
		{"an agent added after the end goes into the same execution", wantedRun("ab"), Observed{Execution: finished(execution(1)), Trials: []Trial{known("a", done)}}, `
			start r.e1.bbbbbbbb try 1: task b, agent nop, attempt 1 (new cell)`},

		{"a vanished block with running trials is waited for", nil, Observed{GoneSince: ago(59 * time.Second), Execution: execution(1), Trials: []Trial{known("a", live), known("b", done)}}, `
			wait (the block is gone; its running trials are cancelled at 2030-05-01T12:00:01Z)
			look again at 2030-05-01T12:00:01Z`},
		{"also with trials that a former daemon left", nil, Observed{GoneSince: ago(59 * time.Second), Execution: execution(1), Trials: []Trial{known("a")}}, `
			wait (the block is gone; its running trials are cancelled at 2030-05-01T12:00:01Z)
			start r.e1.aaaaaaaa try 1 (go on where the trial was)
			look again at 2030-05-01T12:00:01Z`},
		{"for a minute", nil, Observed{GoneSince: ago(time.Minute), Execution: execution(1), Trials: []Trial{known("a", live), known("b"), known("c", done)}}, `
			cancel r.e1.aaaaaaaa (the block is gone)
			cancel r.e1.bbbbbbbb (the block is gone)`},
		{"its end waits for their end", nil, Observed{GoneSince: ago(time.Hour), Execution: execution(1), Trials: []Trial{known("a", windsDown)}}, ``},
		{"a vanished block of which nothing runs is forgotten at once", nil, Observed{GoneSince: noon, Execution: execution(1), Trials: []Trial{known("a", done)}}, `
			finish e1 (the block is gone)
			forget (no file declares it)`},
		{"after what waits for another try is given up", nil, Observed{GoneSince: noon, Execution: execution(1), Trials: []Trial{known("a", broken(0))}}, `
			cancel r.e1.aaaaaaaa (the block is gone)`},
		{"one that has finished is only forgotten", nil, Observed{GoneSince: noon, Execution: finished(execution(1))}, `
			forget (no file declares it)`},
		{"back within the grace, nothing has happened", wantedRun("a"), Observed{Execution: execution(1), Trials: []Trial{known("a", live)}}, ``},
		{"a block that returns later goes on in its execution", wantedRun("ab"), Observed{Execution: finished(execution(1)), Trials: []Trial{known("a", unwanted), known("b", done)}}, `
			start r.e1.aaaaaaaa try 2: task a, agent nop, attempt 1 (the cell is wanted again)`},

		{"a cancelled execution winds down", wantedRun("abc"), Observed{Execution: userCancelled(execution(1)), Trials: []Trial{known("a", live), known("b", windsDown), known("c", broken(time.Hour))}}, `
			cancel r.e1.aaaaaaaa (cancelled by a user)
			cancel r.e1.cccccccc (cancelled by a user)`},
		{"starts nothing, and ends", wantedRun("abc"), Observed{Execution: userCancelled(execution(1)), Trials: []Trial{known("a", ended(trial.Cancelled, noon))}}, `
			finish e1 (cancelled by a user)`},
		{"for good", wantedRun("abc"), Observed{Execution: finished(userCancelled(execution(1)))}, ``},

		{"rerun begins the next execution", wantedRun("a"), Observed{Execution: finished(execution(3)), Rerun: &Rerun{}}, `
			begin e4 (rerun was asked for)`},
		{"also of a run that has none", wantedRun("a"), Observed{Rerun: &Rerun{}}, `
			begin e1 (rerun was asked for)`},
		{"but waits for the open one", wantedRun("a"), Observed{Execution: execution(3), Rerun: &Rerun{}, Trials: []Trial{known("a", live)}}, ``},
		{"an execution can be limited to some cells", wantedRun("abc"), Observed{Execution: &Execution{N: 1, StartedAt: noon, Only: []string{cellOf("b").Key}}}, `
			start r.e1.bbbbbbbb try 1: task b, agent nop, attempt 1 (new cell)`},
		{"and ends with them", wantedRun("abc"), Observed{Execution: &Execution{N: 1, StartedAt: noon, Only: []string{cellOf("b").Key}}, Trials: []Trial{known("b", done)}}, `
			finish e1 (no cell is open)`},

		{"a scheduled run waits for its first firing", wantedRun("a", daily), Observed{LastFired: noon}, `
			look again at 2030-05-02T02:00:00Z`},
		{"and begins when it is due", wantedRun("a", daily), Observed{LastFired: ago(11 * time.Hour)}, `
			begin e1 (the schedule fired at 2030-05-01T02:00:00Z)`},
		{"missed firings are made up once", wantedRun("a", daily), Observed{Execution: finished(execution(7)), LastFired: ago(30 * 24 * time.Hour)}, `
			begin e8 (the schedule fired at 2030-05-01T02:00:00Z)`},
		{"a firing while the last one runs is skipped", wantedRun("a", daily), Observed{Execution: execution(7), LastFired: ago(11 * time.Hour), Trials: []Trial{known("a", live)}}, `
			skip e7 (the last execution still runs)`},
		{"a scheduled run that has finished waits", wantedRun("a", daily), Observed{Execution: finished(execution(1)), LastFired: noon, Trials: []Trial{known("a", done)}}, `
			look again at 2030-05-02T02:00:00Z`},
		{"rerun does not wait for the schedule", wantedRun("a", daily), Observed{Execution: finished(execution(1)), LastFired: noon, Rerun: &Rerun{}}, `
			begin e2 (rerun was asked for)`},
		{"a schedule that fires no more", wantedRun("a", func(d *Run) { d.Schedule = never{} }), Observed{LastFired: noon}, ``},
		{"goes on with what is open", wantedRun("a", func(d *Run) { d.Schedule = never{} }), Observed{Execution: execution(1), LastFired: noon}, `
			start r.e1.aaaaaaaa try 1: task a, agent nop, attempt 1 (new cell)`},

		{"what this version cannot do is told, not begun", wantedRun("a", blocked("task a: it has stages")), Observed{}, `
			blocked (task a: it has stages)`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			plan := Diff("run.r", tt.desired, tt.observed, noon)
			if diff := cmp.Diff(planText(tt.want), plan.String()); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

// planText is a plan as Plan.String gives it, out of its indented form.
func planText(lines string) string {
	var b strings.Builder
	for line := range strings.Lines(lines) {
		if line = strings.TrimSpace(line); line != "" {
			fmt.Fprintf(&b, "run.r: %s\n", line)
		}
	}
	return b.String()
}

func TestSkippedAndMadeUpFiringsAreTakenUp(t *testing.T) {
	d := wantedRun("a", scheduled(t, "0 * * * *"))
	for name, o := range map[string]Observed{
		"begin": {LastFired: ago(5 * time.Hour)},
		"skip":  {LastFired: ago(5 * time.Hour), Execution: execution(1), Trials: []Trial{known("a", live)}},
	} {
		plan := Diff("run.r", d, o, noon)
		if a := plan.Actions[0]; string(a.Kind) != name || !a.At.Equal(noon) {
			t.Errorf("%s: %s at %s, want the firing of %s", name, a.Kind, a.At, noon)
		}
	}
}

func TestForeseeGoesOnPastTheBeginning(t *testing.T) {
	plan := Foresee("run.r", wantedRun("ab", parallel(1)), Observed{}, noon)
	want := planText(`
		begin e1 (the run is new)
		start r.e1.aaaaaaaa try 1: task a, agent nop, attempt 1 (new cell)
		start r.e1.bbbbbbbb try 1: task b, agent nop, attempt 1 (new cell)`)
	if diff := cmp.Diff(want, plan.String()); diff != "" {
		t.Error(diff)
	}
	edited := Foresee("run.r", wantedRun("abc", parallel(1)), Observed{Execution: execution(1), Trials: []Trial{known("a", live)}}, noon)
	if n := strings.Count(edited.String(), "start r.e1."); n != 2 {
		t.Errorf("of an execution under way %d starts are foreseen, want 2:\n%s", n, edited)
	}
	only := Foresee("run.r", wantedRun("ab"), Observed{Execution: finished(execution(1)), Rerun: &Rerun{Only: []string{cellOf("b").Key}}}, noon)
	starts := slices.DeleteFunc(only.Actions, func(a Action) bool { return a.Kind != StartTrial })
	if len(starts) != 1 || starts[0].Trial != "r.e2.bbbbbbbb" {
		t.Errorf("a limited rerun starts %v", starts)
	}
}

func waitingFor(why string) func(*Run) { return func(r *Run) { r.Waits = why } }

// No time of day fires twice for a clock that was set back a little; one that was wrong by
// days does not silence a schedule for as long.
func TestAScheduleWhoseLastFiringIsYetToCome(t *testing.T) {
	d := wantedRun("a", scheduled(t, "0 * * * *"))
	for name, tt := range map[string]struct {
		fired time.Time
		now   time.Time
		want  string
	}{
		"set back an hour":             {noon, noon.Add(-50 * time.Minute), "look again at 2030-05-01T13:00:00Z"},
		"and there once more":          {noon, noon, "look again at 2030-05-01T13:00:00Z"},
		"set ahead an hour":            {noon.Add(-time.Hour), noon.Add(time.Minute), "begin e1 (the schedule fired at 2030-05-01T12:00:00Z)"},
		"set back by the year it lost": {noon.AddDate(1, 0, 0), noon, "recount (the last firing was at 2031-05-01T12:00:00Z, which is yet to come: the clock was wrong then)"},
	} {
		if got := Diff("run.r", d, Observed{LastFired: tt.fired}, tt.now).String(); got != "run.r: "+tt.want+"\n" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestATrialThatRunsIsTakenUpWhereThereIsNoRoom: another one of its run that waits for room is no
// reason to leave it alone.
func TestATrialThatRunsIsTakenUpWhereThereIsNoRoom(t *testing.T) {
	p := Plan{Address: "run.r", Actions: []Action{
		{Kind: StartTrial, Trial: "waits", Cause: goesOn}, {Kind: StartTrial, Trial: "fresh", Cause: "new cell"}, {Kind: StartTrial, Trial: "runs", Cause: goesOn},
	}}
	var tried []string
	if err := p.CarryOut(func(a Action) (bool, error) {
		tried = append(tried, a.Trial)
		return a.Trial == "runs", nil
	}); err != nil || strings.Join(tried, " ") != "waits runs" {
		t.Errorf("tried %v (%v)", tried, err)
	}
}

// never is a schedule that fires no more.
type never struct{}

// Next implements cron.Schedule: the zero time is no time.
func (never) Next(time.Time) time.Time { return time.Time{} }
