package query

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/ledger"
	"github.com/assayd/assayd/reconcile/query/snapshot"
	"github.com/assayd/assayd/reconcile/request"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/gateway"
	"github.com/assayd/assayd/runtime/trial"
)

// CellInfo is a trial in a list.
type CellInfo struct {
	Trial     string `json:"trial"`
	Run       string `json:"run"` // address
	Execution int    `json:"execution"`
	Benchmark string `json:"benchmark,omitempty"`
	Task      string `json:"task"`
	Repo      string `json:"repo,omitempty"`
	Agent     string `json:"agent"`
	Model     string `json:"model,omitempty"`
	Attempt   int    `json:"attempt"`
	Control   bool   `json:"control,omitempty"` // oracle or nop
	Try       int    `json:"try"`
	// State is setup, working, judging, retrying or superseded, or else the status.
	State  string       `json:"state"`
	Phase  trial.Phase  `json:"phase"`
	Status trial.Status `json:"status,omitempty"` // "" while the trial is open
	Reason string       `json:"reason,omitempty"`
	// Times, as the trial has them; Finished is when it got its verdict.
	Started  time.Time `json:"started,omitzero"`
	Deadline time.Time `json:"deadline,omitzero"`
	Ended    time.Time `json:"ended,omitzero"`
	Finished time.Time `json:"finished,omitzero"`
	Rounds   int       `json:"rounds"` // judged ones of the try
	// Round is the last judged one while the trial is open, then the best; the rates are its own.
	Round    string         `json:"round,omitempty"`
	PassRate *float64       `json:"pass_rate"`
	Score    *float64       `json:"score"`
	Score100 *float64       `json:"score_0_100"`
	Flags    []string       `json:"flags"`
	Tags     []string       `json:"tags,omitempty"`  // that users gave it
	Usage    *gateway.Usage `json:"usage,omitempty"` // of the try; nil = no model was asked
	Changed  int64          `json:"changed"`         // number of its last change

	created time.Time
}

// CellFilter says which trials a list has. Of the filters "" is all.
type CellFilter struct {
	Run       string // address of a run; needed
	Execution int    // 0 = the last one
	State     string // as CellInfo.State
	Agent     string
	Model     string
	Task      string // or benchmark/task
	Flag      string
	Tag       string
	Latest    bool // those that have changed last come first; else in the order in which they began
}

// CellKey is where a page of a list ends.
type CellKey struct {
	Execution int // to which the list keeps, whatever begins meanwhile
	Created   int64
	Changed   int64
	Trial     string
}

// Key is where a page that ends with c ends.
func (c CellInfo) Key() CellKey {
	return CellKey{c.Execution, c.created.UnixNano(), c.Changed, c.Trial}
}

// String is the form that ParseCellKey reads.
func (k CellKey) String() string {
	return fmt.Sprintf("%d %d %d %s", k.Execution, k.Created, k.Changed, k.Trial)
}

// ParseCellKey reads a key; "" is the zero key.
func ParseCellKey(text string) (k CellKey, err error) {
	if text == "" {
		return k, nil
	}
	if _, err := fmt.Sscanf(text, "%d %d %d %s", &k.Execution, &k.Created, &k.Changed, &k.Trial); err != nil {
		return k, fmt.Errorf("read the end %q of a page: %w", text, err)
	}
	return k, nil
}

// CellStates are what State of a filter may be.
func CellStates() []string {
	states := append(slices.Clone(history.OpenStates), history.StateSuperseded)
	for _, s := range []trial.Status{
		trial.Resolved, trial.Unresolved, trial.AgentError, trial.TestError, trial.SetupError, trial.SanityFail, trial.InfraError, trial.Cancelled,
	} {
		states = append(states, string(s))
	}
	return states
}

// CellsAfter returns at most limit trials of an execution that come behind the one with the key; the
// first ones come behind the zero key. A run that is not known is an ErrUnknown.
func (r *Reader) CellsAfter(ctx context.Context, f CellFilter, after CellKey, limit int) (infos []CellInfo, err error) {
	now, err := r.Snapshots.Wait(ctx)
	if err != nil {
		return nil, err
	}
	err = r.o.Store.View(ctx, func(tx *store.Tx) error {
		last, err := tx.LatestExecution(f.Run)
		if errors.Is(err, store.ErrNotFound) {
			return notBegun(now, f.Run)
		}
		if err != nil {
			return err
		}
		f.Execution = cmp.Or(f.Execution, after.Execution, last.N)
		if f.Execution > last.N || f.Execution < 0 {
			return fmt.Errorf("%w: %s has no execution e%d; its last one is e%d", history.ErrUnknown, f.Run, f.Execution, last.N)
		}
		q := store.CellQuery{
			Spec: f.Run, Execution: f.Execution, State: f.State, Agent: f.Agent, Model: f.Model, Task: f.Task, Flag: f.Flag, Tag: f.Tag, Latest: f.Latest, Limit: limit,
		}
		if after != (CellKey{}) {
			q.After = &store.CellRow{Trial: after.Trial, Created: time.Unix(0, after.Created), N: after.Changed}
		}
		cells, err := tx.CellsOf(q)
		if err != nil {
			return err
		}
		trials := make([]string, len(cells))
		for i, c := range cells {
			trials[i] = c.Trial
		}
		tags, err := tx.TagsOf(trials)
		if err != nil {
			return err
		}
		for _, c := range cells {
			info := cellInfo(c)
			info.Tags = tags[c.Trial]
			spent, err := tx.SpentByTry(c.Spec, c.Execution, c.Trial, c.Try)
			if err != nil {
				return err
			}
			if spent.Exchanges > 0 {
				usage := ledger.UsageOf(spent)
				info.Usage = &usage
			}
			infos = append(infos, info)
		}
		return nil
	})
	return infos, err
}

// notBegun is nil for a run that is declared, which has no trials then, and else an ErrUnknown.
func notBegun(now *snapshot.Snapshot, address string) error {
	if now.Run(address).Desired != nil {
		return nil
	}
	return fmt.Errorf("%w: %s%s", history.ErrUnknown, address, request.Suggest(address, now.Addresses()))
}

func cellInfo(c store.CellRow) CellInfo {
	info := CellInfo{
		Trial: c.Trial, Run: c.Spec, Execution: c.Execution, Benchmark: c.Benchmark, Task: c.Task, Repo: c.Repo, Agent: c.Agent, Model: c.Model,
		Attempt: c.Attempt, Control: c.Control, Try: c.Try, State: c.State, Phase: trial.Phase(c.Phase), Status: trial.Status(c.Status), Reason: c.Reason,
		Started: c.Started, Deadline: c.Deadline, Ended: c.Ended, Finished: c.Finished, Rounds: c.Rounds, Round: c.Round, PassRate: c.PassRate,
		Score: c.Score, Score100: c.Score100, Flags: c.Flags, Changed: c.N, created: c.Created,
	}
	if info.Flags == nil {
		info.Flags = []string{}
	}
	return info
}

// maxAttempts bounds the trials that a side has at one task.
const maxAttempts = 200

// SideTrials are the trials that a side, named as for summaries.Pairwise, has at a task, in the order in which they began. The task has
// its benchmark before a dot, as comparisons name it. Without any it is an ErrUnknown.
func (r *Reader) SideTrials(ctx context.Context, side, task string) (trials []CellInfo, err error) {
	of, agent, err := r.o.Summaries.Side(ctx, side)
	if err != nil {
		return nil, err
	}
	name := task
	if benchmark, rest, ok := strings.Cut(task, "."); ok {
		name = benchmark + "/" + rest
	}
	err = r.o.Store.View(ctx, func(tx *store.Tx) error {
		asked := store.CellQuery{Spec: of.Address, Execution: of.N, Task: name, Limit: maxAttempts, Agent: agent}
		cells, err := tx.CellsOf(asked)
		if at := strings.LastIndex(agent, " "); err == nil && len(cells) == 0 && at > 0 { // its label, and its model where it has several
			asked.Agent, asked.Model = agent[:at], agent[at+1:]
			cells, err = tx.CellsOf(asked)
		}
		for _, c := range cells {
			if c.State != history.StateSuperseded {
				trials = append(trials, cellInfo(c))
			}
		}
		return err
	})
	if err == nil && len(trials) == 0 {
		err = history.Unknown("%s has no trial at %s", side, task)
	}
	return trials, err
}
