package history

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/assayd/assayd/reconcile/ledger"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/reconcile/summary"
	"github.com/assayd/assayd/runtime/agent"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/trial"
	"github.com/assayd/assayd/runtime/trial/tryrounds"
)

// Outcomes reads the finished ones of the trials that count, with their rounds, and how many
// others are open. What was superseded does not count.
func Outcomes(tx *store.Tx, address string, n int) (outcomes []*summary.Outcome, open int, err error) {
	superseded, err := supersededOf(tx, address, n)
	if err != nil {
		return nil, 0, err
	}
	subs, err := submissionsOf(tx, address, n)
	if err != nil {
		return nil, 0, err
	}
	var known parts
	err = tx.EachTrial(address, n, func(row store.TrialRow) error {
		b, err := known.brief(row)
		switch {
		case err != nil:
			return err
		case superseded(row.ID, b.Replaced):
		case b.Result == nil:
			open++
		default:
			outcomes = append(outcomes, b.outcome(subs[row.ID]))
		}
		return nil
	})
	return outcomes, open, err
}

// submissionsOf reads the submissions of an execution by trial.
func submissionsOf(tx *store.Tx, address string, n int) (map[string][]round.Submission, error) {
	subs := map[string][]round.Submission{}
	trial, block := "", make([]round.Submission, 0, submissionsInBlock) // those of trial are its last
	err := tx.EachSubmission(address, n, func(row store.SubmissionRow) error {
		if row.Trial != trial {
			subs[trial] = slices.Clip(block)
			trial, block = row.Trial, block[len(block):]
		}
		if len(block) == cap(block) {
			block = append(make([]round.Submission, 0, max(submissionsInBlock, 2*len(block))), block...)
		}
		s, err := ledger.Decode(row)
		block = append(block, s)
		return err
	})
	subs[trial] = slices.Clip(block)
	return subs, err
}

// submissionsInBlock is how many submissions lie in one piece of memory: there are tens of thousands, and trials have few.
const submissionsInBlock = 1024

// brief is of a trial's state what its outcome is made of.
type brief struct {
	Try       int
	Cell      briefCell
	StartedAt time.Time
	EndedAt   time.Time
	Extension *tryrounds.Extension
	Result    *trial.Finished
	Replaced  *trial.Superseded

	task  *task.Task
	agent *agent.Agent
}

type briefCell struct {
	Task, Agent json.RawMessage
	Timeout     time.Duration
}

// parts are the tasks and agents of an execution by their text: of its many trials there are few of
// either, and each is decoded once.
type parts struct {
	tasks  map[string]*task.Task
	agents map[string]*agent.Agent
}

func (p *parts) brief(row store.TrialRow) (b brief, err error) {
	if err = json.Unmarshal(row.Data, &b); err == nil {
		b.task, err = decodedOnce(&p.tasks, b.Cell.Task)
	}
	if err == nil {
		b.agent, err = decodedOnce(&p.agents, b.Cell.Agent)
	}
	if err != nil {
		return b, fmt.Errorf("read trial %s: %w", row.ID, err)
	}
	return b, nil
}

// decodedOnce decodes a text that was not seen before. What it returns is shared.
func decodedOnce[T any](seen *map[string]*T, text json.RawMessage) (*T, error) {
	if known := (*seen)[string(text)]; known != nil {
		return known, nil
	}
	made := new(T)
	if err := json.Unmarshal(text, made); err != nil {
		return nil, err
	}
	if *seen == nil {
		*seen = map[string]*T{}
	}
	(*seen)[string(text)] = made
	return made, nil
}

// outcome is a finished trial with the rounds of its last try.
func (b *brief) outcome(subs []round.Submission) *summary.Outcome {
	t := b.task
	return &summary.Outcome{
		Benchmark: t.Benchmark, Task: t.Name, Repo: summary.RepoOf(*t), Agent: b.agent.Title(), Model: b.agent.Model, Control: b.agent.Control(),
		Finished: *b.Result, Judge: t.Judge, Timeout: b.Cell.Timeout, Started: b.StartedAt, Rounds: b.Result.Trusted(tryrounds.Counted(subs, b.Try, b.Extension, b.EndedAt)), Content: t,
	}
}
