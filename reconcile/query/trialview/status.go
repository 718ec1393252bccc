package trialview

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/ledger"
	"github.com/assayd/assayd/reconcile/request"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/gateway"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/trial"
	"github.com/assayd/assayd/runtime/trial/mixedruns"
)

// TrialStatus is the state of one trial.
type TrialStatus struct {
	ID       string       `json:"id"`
	Task     string       `json:"task"`
	Agent    string       `json:"agent"`
	Model    string       `json:"model"`
	Attempt  int          `json:"attempt"`
	Mode     string       `json:"mode"` // iterative or single
	Try      int          `json:"try"`
	Phase    trial.Phase  `json:"phase"`
	Status   trial.Status `json:"status,omitempty"`
	Reason   string       `json:"reason,omitempty"`
	Detail   string       `json:"detail,omitempty"`
	Started  time.Time    `json:"started,omitzero"`
	Deadline time.Time    `json:"deadline,omitzero"` // in force
	Declared time.Time    `json:"declared,omitzero"` // of an extended trial: the deadline by its spec, which its numbers are of
	Now      time.Time    `json:"now,omitzero"`      // while the agent works: what the time is for the trial, whatever the wall clock was set to
	Ended    time.Time    `json:"ended,omitzero"`
	Rounds   []Round      `json:"rounds"`
	Private  []Round      `json:"private,omitempty"` // what the private set and the untouched tree say; in no best, rate or curve
	Best     string       `json:"best,omitempty"`    // round
	Flags    []string     `json:"flags,omitempty"`
	// What mixed runs have shown of the deciding rounds; nil = there is no verdict, or none were wanted.
	Decoys *mixedruns.Record `json:"decoys,omitempty"`
	// Extended is what the trial came to beyond the declared deadline; nil = there is no verdict, or it did not go on.
	Extended *trial.Extended `json:"extended,omitempty"`
	// What the try has spent on models, and what it may; nil = it has none, or no budget.
	Usage  *gateway.Usage  `json:"usage,omitempty"`
	Budget *gateway.Budget `json:"budget,omitempty"`
	Wanted bool            `json:"wanted"` // the run as it is declared now has this cell
	// HeldS is for how many seconds a hold kept requests of its agent for models back, within a minute while it works.
	HeldS float64 `json:"held_s,omitempty"`
	// An edit or a retry has put other trials in its place: it is in no number.
	Superseded bool `json:"superseded,omitempty"`
}

// Counted are the rounds of which the trial's numbers are: of an extended one those until its declared deadline.
func (t TrialStatus) Counted() []Round {
	return slices.DeleteFunc(slices.Clone(t.Rounds), func(r Round) bool { return r.Beyond })
}

// Judgings are all rounds and, after them, what the private set and the untouched tree say.
func (t TrialStatus) Judgings() []Round { return append(slices.Clip(t.Rounds), t.Private...) }

// Round is one submission as tables show it.
type Round struct {
	ID       string        `json:"id"`
	Round    string        `json:"round"`
	State    round.State   `json:"state"`
	Try      int           `json:"try"`
	ElapsedS float64       `json:"elapsed_s"`
	Beyond   bool          `json:"beyond,omitempty"` // made beyond the declared deadline of an extended trial: in no best, rate or curve
	Report   *round.Report `json:"report,omitempty"`
	Archive  string        `json:"archive"` // SHA-256
}

// StatusOf is the status of a trial with its submissions, whose reports come without tests where these do.
func StatusOf(tx *store.Tx, s trial.State, subs []round.Submission) (TrialStatus, error) {
	t := TrialStatus{
		ID: s.ID, Task: s.Cell.Task.Name, Agent: s.Cell.Agent.Title(), Model: s.Cell.Agent.Model, Attempt: s.Cell.Attempt, Mode: s.Cell.Mode,
		Try: s.Try, Phase: s.Phase, Reason: s.Reason, Detail: s.Detail, Started: s.StartedAt, Deadline: s.Deadline,
		Ended: s.EndedAt, Flags: s.Flags, Rounds: []Round{},
	}
	if !s.StartedAt.IsZero() && s.EndedAt.IsZero() {
		t.Now = s.Line.Now()
	}
	if s.Extension != nil {
		t.Declared = s.Extension.Declared
	}
	t.HeldS = s.Held.Seconds()
	if s.Result != nil {
		t.HeldS = s.Result.HeldS
		t.Status, t.Reason, t.Flags, t.Decoys = s.Result.Status, s.Result.Reason, s.Result.Flags, s.Result.Decoys
		t.Extended = s.Result.Extended
		if t.Detail = s.Result.Detail; t.Extended == nil {
			t.Detail = cmp.Or(t.Detail, s.Detail)
		}
		if s.Result.Best != nil {
			t.Best = s.Result.Best.Round
		}
	}
	if s.Cell.Agent.Asks() {
		spent, err := tx.SpentByTry(s.Spec, s.Execution, s.ID, s.Try)
		if err != nil {
			return t, err
		}
		usage := ledger.UsageOf(spent)
		t.Usage = &usage
	}
	if s.Cell.Each != (gateway.Budget{}) {
		t.Budget = &s.Cell.Each
	}
	for _, sub := range subs {
		if sub.Kind.Internal() {
			t.Private = append(t.Private, roundOf(s, sub))
		} else {
			t.Rounds = append(t.Rounds, roundOf(s, sub))
		}
	}
	return t, nil
}

// Status reads the state of one trial, of any execution.
func (r *Trials) Status(ctx context.Context, id string) (t TrialStatus, err error) {
	err = r.store.View(ctx, func(tx *store.Tx) error {
		s, err := history.KnownTrial(tx, id)
		if err != nil {
			return err
		}
		subs, err := ledger.OfTrial(tx, s.ID)
		if err != nil {
			return err
		}
		if t, err = StatusOf(tx, s, subs); err != nil {
			return err
		}
		for _, rounds := range [][]Round{t.Rounds, t.Private} { // tests are asked for a trial at a time
			for i, round := range rounds {
				sub, err := ledger.Whole(tx, round.ID)
				if err != nil {
					return err
				}
				rounds[i].Report = sub.Report
			}
		}
		return nil
	})
	if request.HidesContent(ctx) {
		t.Mute()
	}
	return t, err
}

func roundOf(s trial.State, sub round.Submission) Round {
	round := Round{ID: sub.ID, Round: sub.Round, State: sub.State, Try: sub.Try, Report: sub.Report, Archive: sub.Archive}
	if !s.StartedAt.IsZero() && !sub.AcceptedAt.IsZero() {
		round.Beyond = s.Beyond(sub)
		round.ElapsedS = float64(sub.AcceptedAt.Sub(s.StartedAt).Milliseconds()) / 1000
	}
	return round
}
