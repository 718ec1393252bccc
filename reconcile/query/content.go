package query

import (
	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/plan"
)

// mute leaves out content of all trials, and names of files that tasks are made of.
func (s *Status) mute() {
	s.Diagnostics = mutedDiagnostics(s.Diagnostics)
	for i := range s.Runs {
		run := &s.Runs[i]
		run.Notes = nil // a note may quote something
		run.Stale, run.Differs = mutedStale(run.Stale), mutedStale(run.Differs)
		for j := range run.Trials {
			run.Trials[j].Mute()
		}
	}
}

func mutedStale(s *plan.Stale) *plan.Stale {
	if s == nil {
		return nil
	}
	return &plan.Stale{Files: []string{}, Tasks: s.Tasks}
}

// mutedDiagnostics leave out what they quote of a file: hidden tests may stand in it.
func mutedDiagnostics(ds config.Diagnostics) config.Diagnostics {
	muted := make(config.Diagnostics, len(ds))
	for i, d := range ds {
		d.Snippet, d.Detail = "", ""
		muted[i] = d
	}
	return muted
}
