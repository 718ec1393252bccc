package cli

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/assayd/assayd/daemon/api"
	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/reconcile/query/trialview"
)

// followed is what a command waits for.
type followed struct {
	runs    []query.RunStatus
	minings []query.MiningStatus
	// Fresh are the trials that have changed since the last look, by the address of their run; nil =
	// all have.
	fresh map[string][]trialview.TrialStatus
}

func (f followed) addresses() (all []string) {
	for _, m := range f.minings {
		all = append(all, m.Address)
	}
	for _, r := range f.runs {
		all = append(all, r.Address)
	}
	return all
}

// aged is the same a while later: the clocks of open trials go on.
func (f followed) aged(by time.Duration) followed {
	for _, r := range f.runs {
		for i := range r.Trials {
			if t := &r.Trials[i]; !t.Now.IsZero() {
				t.Now = t.Now.Add(by)
			}
		}
	}
	return f
}

// changed are the trials of a run that have changed since the last look.
func (f followed) changed(r query.RunStatus) []trialview.TrialStatus {
	if f.fresh == nil {
		return r.Trials
	}
	return f.fresh[r.Address]
}

// begunOf is how many cells of a run have begun that are not superseded.
func begunOf(r query.RunStatus) (n int) {
	if r.Cells == nil { // an earlier daemon
		return len(r.Trials)
	}
	for state, cells := range r.Cells {
		if state != "waiting" && state != history.StateSuperseded {
			n += cells
		}
	}
	return n
}

// follower keeps up with what a command waits for: it asks for what has changed since it last did.
type follower struct {
	client    *api.Client
	addresses []string
	runs      map[string]*followedRun
}

// followedRun is a run as it was last told, with the trials that were told before.
type followedRun struct {
	execution int
	changed   int64 // the last change that was told
	trials    []seenTrial
	places    map[string]int // in trials, by id
}

// seenTrial is a trial and when it was told.
type seenTrial struct {
	trialview.TrialStatus
	at time.Time
}

// look asks for the runs and mining specs that are still declared, with the trials that they want as
// they are declared now.
func (f *follower) look(ctx context.Context) (followed, error) {
	now := followed{runs: []query.RunStatus{}, fresh: map[string][]trialview.TrialStatus{}}
	for _, address := range f.addresses {
		s, err := f.client.StatusSince(ctx, address, f.since(address))
		if errors.Is(err, api.NotFound) {
			continue
		}
		if err != nil {
			return now, err
		}
		now.minings = append(now.minings, s.Minings...)
		for _, r := range s.Runs {
			if r, err = f.take(ctx, r, now.fresh); err != nil {
				return now, err
			}
			now.runs = append(now.runs, r)
		}
	}
	return now, nil
}

func (f *follower) since(address string) int64 {
	if run := f.runs[address]; run != nil {
		return run.changed
	}
	return 0
}

// take takes in what was told of a run, and what else there is to be told, and returns the run with
// all trials that are known.
func (f *follower) take(ctx context.Context, r query.RunStatus, fresh map[string][]trialview.TrialStatus) (query.RunStatus, error) {
	run := f.runs[r.Address]
	again := run != nil && run.execution != r.Execution
	if run == nil || again || r.Changed == 0 { // an earlier daemon tells all trials each time
		if f.runs == nil {
			f.runs = map[string]*followedRun{}
		}
		run = &followedRun{execution: r.Execution, places: map[string]int{}}
		f.runs[r.Address] = run
	}
	if again {
		s, err := f.client.StatusSince(ctx, r.Address, 0)
		if err != nil || len(s.Runs) != 1 {
			return r, err
		}
		r = s.Runs[0]
	}
	first := run.changed == 0
	run.put(r)
	news := r.Trials
	for more := r.Truncated && !first; more; {
		s, err := f.client.StatusSince(ctx, r.Address, run.changed)
		if err != nil || len(s.Runs) != 1 || s.Runs[0].Execution != r.Execution {
			return r, err
		}
		more = s.Runs[0].Truncated
		run.put(s.Runs[0])
		news = append(news, s.Runs[0].Trials...)
	}
	fresh[r.Address] = wantedOf(news)
	r.Trials = wantedOf(run.now())
	return r, nil
}

func wantedOf(trials []trialview.TrialStatus) []trialview.TrialStatus {
	return slices.DeleteFunc(trials, func(t trialview.TrialStatus) bool { return !t.Wanted })
}

// put takes in trials as they are now.
func (run *followedRun) put(r query.RunStatus) {
	run.changed = max(run.changed, r.Changed)
	at := time.Now()
	for _, t := range r.Trials {
		place, known := run.places[t.ID]
		if !known {
			place = len(run.trials)
			run.places[t.ID] = place
			run.trials = append(run.trials, seenTrial{})
		}
		run.trials[place] = seenTrial{t, at}
	}
}

// now are all known trials; what has not changed has grown older.
func (run *followedRun) now() []trialview.TrialStatus {
	trials := make([]trialview.TrialStatus, len(run.trials))
	for i, t := range run.trials {
		trials[i] = t.TrialStatus
		if !t.Now.IsZero() {
			trials[i].Now = t.Now.Add(time.Since(t.at))
		}
	}
	return trials
}
