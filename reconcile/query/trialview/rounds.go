package trialview

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/ledger"
	"github.com/assayd/assayd/reconcile/note"
	"github.com/assayd/assayd/reconcile/request"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/gateway"
	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/judge/scoring"
	"github.com/assayd/assayd/runtime/trial"
	"github.com/assayd/assayd/runtime/trial/record"
)

// TrialInfo is a trial without its rounds, of which there may be thousands.
type TrialInfo struct {
	ID        string       `json:"id"`
	Run       string       `json:"run"` // address
	Execution int          `json:"execution"`
	Benchmark string       `json:"benchmark,omitempty"`
	Task      string       `json:"task"`
	Agent     string       `json:"agent"`
	Model     string       `json:"model"`
	Attempt   int          `json:"attempt"`
	Mode      string       `json:"mode"` // iterative or single
	Try       int          `json:"try"`
	Phase     trial.Phase  `json:"phase"`
	Status    trial.Status `json:"status,omitempty"`
	Reason    string       `json:"reason,omitempty"`
	Detail    string       `json:"detail,omitempty"`
	Started   time.Time    `json:"started,omitzero"`
	Deadline  time.Time    `json:"deadline,omitzero"` // in force
	Declared  time.Time    `json:"declared,omitzero"` // of an extended trial: the deadline by its spec, which its numbers are of
	Now       time.Time    `json:"now,omitzero"`      // while the agent works: what the time is for the trial
	Ended     time.Time    `json:"ended,omitzero"`
	Best      string       `json:"best,omitempty"` // round
	Flags     []string     `json:"flags"`
	note.Set               // what users noted of it
	// Extended is what the trial came to beyond the declared deadline; nil = there is no verdict, or it did not go on.
	Extended *trial.Extended `json:"extended,omitempty"`
	// What the try has spent on models, and what it may; absent = it asks none, or has no budget.
	Usage  *gateway.Usage  `json:"usage,omitempty"`
	Budget *gateway.Budget `json:"budget,omitempty"`
	About  About           `json:"about"`
}

// About is of what a trial is made.
type About struct {
	Key        string            `json:"key"`        // of its cell: what it depends on
	Generation string            `json:"generation"` // of the spec, when the try began
	Images     map[string]string `json:"images"`     // ids by role; empty = they are not made yet
	Limits     record.Limits     `json:"limits"`     // of its work container
	Manifest   record.Manifest   `json:"manifest"`
	Isolation  string            `json:"isolation"` // of its judge: shared or staged
	Resumes    int               `json:"resumes"`   // of the agent in this try
	Restarts   int               `json:"restarts"`  // of its container, from its own layer
}

func aboutOf(s trial.State) About {
	t := s.Cell.Task
	names, source := scoring.Manifest(t, s.Reference)
	a := About{
		Key: s.Key, Generation: s.Generation, Images: map[string]string{}, Isolation: scoring.Isolation(t), Resumes: s.Resumes, Restarts: s.Restarts,
		Limits:   record.Limits{CPUs: t.Work.CPUs, Memory: t.Work.Memory, PIDs: t.Work.PIDs, Disk: t.Work.Disk},
		Manifest: record.Manifest{Source: source, Tests: len(names)},
	}
	for role, id := range map[string]string{"work": s.WorkImage.ID, "judge": s.JudgeImage.ID, "run": s.RunImage, "grade": s.GradeImage} {
		if id != "" {
			a.Images[role] = id
		}
	}
	return a
}

// Info returns a trial of any execution; another is an ErrUnknown.
func (r *Trials) Info(ctx context.Context, id string) (info TrialInfo, err error) {
	err = r.store.View(ctx, func(tx *store.Tx) error {
		s, err := history.KnownTrial(tx, id)
		if err != nil {
			return err
		}
		t, err := StatusOf(tx, s, nil)
		if request.HidesContent(ctx) {
			t.Mute()
		}
		info = TrialInfo{
			ID: t.ID, Run: s.Spec, Execution: s.Execution, Benchmark: s.Cell.Task.Benchmark, Task: t.Task, Agent: t.Agent, Model: t.Model, Attempt: t.Attempt, Mode: t.Mode,
			Try: t.Try, Phase: t.Phase, Status: t.Status, Reason: t.Reason, Detail: t.Detail, Started: t.Started, Deadline: t.Deadline, Declared: t.Declared, Extended: t.Extended,
			Now: t.Now, Ended: t.Ended, Best: t.Best, Flags: append([]string{}, t.Flags...), Usage: t.Usage, Budget: t.Budget, About: aboutOf(s),
		}
		if err == nil {
			info.Set, err = note.For(ctx, tx, s.ID)
		}
		return err
	})
	return info, err
}

// RoundInfo is one submission of a trial, whose report comes without tests.
type RoundInfo struct {
	N int `json:"n"` // in the order of all submissions
	Round
	Kind round.Kind `json:"kind"`
}

// Rounds returns at most limit submissions of a trial behind the one numbered after, in the
// order in which they were made, also those that are in no number: of the private set, and of the
// untouched tree. A trial that is not known is an ErrUnknown.
func (r *Trials) Rounds(ctx context.Context, id string, after, limit int) (infos []RoundInfo, err error) {
	err = r.store.View(ctx, func(tx *store.Tx) error {
		s, err := history.KnownTrial(tx, id)
		if err != nil {
			return err
		}
		rows, err := tx.SubmissionsAfter(id, after, limit)
		for _, row := range rows {
			sub, err := ledger.Decode(row)
			if err != nil {
				return err
			}
			info := RoundInfo{row.N, roundOf(s, sub), sub.Kind}
			if request.HidesContent(ctx) {
				info.Report = muted(info.Report)
			}
			infos = append(infos, info)
		}
		return err
	})
	return infos, err
}

// Round returns one submission of a trial by the name of its round, such as agent-3. One that is
// not known is an ErrUnknown.
func (r *Trials) Round(ctx context.Context, id, roundName string) (info RoundInfo, err error) {
	err = r.store.View(ctx, func(tx *store.Tx) error {
		s, err := history.KnownTrial(tx, id)
		if err != nil {
			return err
		}
		row, sub, err := history.KnownRound(tx, id, roundName)
		info = RoundInfo{row.N, roundOf(s, sub), sub.Kind}
		return err
	})
	if request.HidesContent(ctx) {
		info.Report = muted(info.Report)
	}
	return info, err
}

// TestInfo is one test of a round.
type TestInfo struct {
	N int `json:"n"` // its place in the report, from 1
	parser.Test
}

// Tests returns at most limit tests of a round behind the one numbered after: of a status, ""
// being any, and with part of a name in whatever case. A round that is not known is an ErrUnknown,
// one without a verdict a *request.Conflict.
func (r *Trials) Tests(ctx context.Context, id, roundName, status, name string, after, limit int) (infos []TestInfo, err error) {
	if name != "" { // who asks for names again and again learns them
		if err := request.NeedsContent(ctx, "names of tests"); err != nil {
			return nil, err
		}
	}
	var sub round.Submission
	if err := r.store.View(ctx, func(tx *store.Tx) error {
		if _, err := history.KnownTrial(tx, id); err != nil {
			return err
		}
		_, known, err := history.KnownRound(tx, id, roundName)
		if err == nil {
			sub, err = ledger.Whole(tx, known.ID)
		}
		return err
	}); err != nil {
		return nil, err
	}
	if sub.Report == nil {
		return nil, request.Conflictf("%s of %s: %w", roundName, id, errNotJudged)
	}
	name = strings.ToLower(name)
	for i, t := range sub.Report.Tests {
		if len(infos) == limit {
			break
		}
		if i >= after && (status == "" || string(t.Status) == status) && strings.Contains(strings.ToLower(t.Name), name) {
			infos = append(infos, TestInfo{i + 1, t})
		}
	}
	if request.HidesContent(ctx) {
		muteTests(infos)
	}
	return infos, nil
}

// errNotJudged says that a round has no verdict yet.
var errNotJudged = errors.New("it has no verdict yet")
