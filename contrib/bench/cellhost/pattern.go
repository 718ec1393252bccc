package cellhost

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/contrib/bench/client"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/trial"
)

// Pattern is all that the store has of a trial which really ended after three rounds.
type Pattern struct {
	execution store.ExecutionRow
	row       store.TrialRow
	state     trial.State
	rounds    []store.SubmissionRow
}

// OnePattern does one trial and takes what is stored of it.
func OnePattern(ctx context.Context) (p *Pattern, err error) {
	dir, err := os.MkdirTemp("/tmp", "bc")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	h, err := New(ctx, dir, 1)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	close(h.let)
	if err := h.start(ctx, func() {}); err != nil {
		return nil, err
	}
	defer h.Stop()
	p = &Pattern{}
	return p, client.Until(ctx, "a trial is over", 10*time.Millisecond, func() (bool, error) {
		err := p.take(ctx, h.Store)
		return err == nil && p.row.Status != "", err
	})
}

// take reads one of the run's trials that is over, if one is.
func (p *Pattern) take(ctx context.Context, s *store.Store) error {
	return s.View(ctx, func(tx *store.Tx) error {
		rows, err := tx.Trials("run.r", 1)
		i := slices.IndexFunc(rows, func(x store.TrialRow) bool { return x.Status != "" })
		if err != nil || i < 0 {
			return err
		}
		p.row = rows[i]
		if p.execution, err = tx.LatestExecution("run.r"); err != nil {
			return err
		}
		if p.rounds, err = tx.Submissions(p.row.ID); err != nil {
			return err
		}
		return json.Unmarshal(p.row.Data, &p.state)
	})
}

// atOnceCloned is how many trials are stored in a transaction.
const atOnceCloned = 500

// Fill stores so many finished cells of the run that the host's file declares, as a daemon did that
// made no cells of trials: the next one migrates them.
func (p *Pattern) Fill(ctx context.Context, h *Host, n int) error {
	text, err := os.ReadFile(h.specs + "/r.hcl")
	if err != nil {
		return err
	}
	set := config.Load([]config.Input{{Path: h.specs + "/r.hcl", Display: "r.hcl", Root: h.specs, Text: text}}, nil, config.Options{})
	if set.Diagnostics.HasErrors() {
		return fmt.Errorf("compile the run: %v", set.Diagnostics)
	}
	run, err := plan.Compile(set, *set.Run("r"))
	if err != nil {
		return err
	}
	begun := p.execution
	begun.FinishedAt, begun.SettledAt = time.Time{}, time.Time{}
	if err := h.Store.Do(ctx, func(tx *store.Tx) error { return tx.PutExecution(begun) }); err != nil {
		return err
	}
	named, cells := map[string]bool{}, run.Cells()
	for from := 0; from < n; from += atOnceCloned {
		err := h.Store.Do(ctx, func(tx *store.Tx) error {
			for i := from; i < min(from+atOnceCloned, n); i++ {
				id := trial.ID("r", 1, cells[i].Key)
				if named[id] { // of very many keys two begin alike, and only one of them has a place
					continue
				}
				named[id] = true
				if err := p.clone(tx, cells[i], i); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// clone stores the trial as that of another cell.
func (p *Pattern) clone(tx *store.Tx, cell plan.Cell, i int) error {
	s := p.state
	s.ID, s.Key, s.Cell = trial.ID("r", 1, cell.Key), cell.Key, cell.Whole()
	task := s.Cell.Task
	s.Cell.Task = p.state.Cell.Task // with what its images are
	s.Cell.Task.Name = task.Name
	result := *p.state.Result
	result.Trial, result.Attempt, result.Task, result.Agent = s.ID, s.Cell.Attempt, task.Name, s.Cell.Agent.Title()
	s.Result = &result
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	row := p.row
	row.ID, row.Cell, row.Data = s.ID, s.Key, bytes.ReplaceAll(data, []byte(p.row.ID), []byte(s.ID))
	if err := tx.PutTrial(row); err != nil {
		return err
	}
	for _, row := range p.rounds {
		var sub round.Submission
		if err := json.Unmarshal(row.Data, &sub); err != nil {
			return err
		}
		sub.ID, sub.Trial = fmt.Sprintf("%s-%d", sub.ID, i), s.ID
		if row.Data, err = json.Marshal(sub); err != nil {
			return err
		}
		row.ID, row.Trial = sub.ID, s.ID
		if _, err := tx.InsertSubmission(row); err != nil {
			return err
		}
	}
	return nil
}

// insist repeats a request of a guest until it is answered: its daemon may only just begin.
func insist(ctx context.Context, to *http.Client, path string, question any) error {
	body, err := json.Marshal(question)
	if err != nil {
		return err
	}
	return client.Until(ctx, "a guest is heard", 5*time.Millisecond, func() (bool, error) {
		q, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://daemon"+path, bytes.NewReader(body))
		if err != nil {
			return false, err
		}
		answer, err := to.Do(q)
		if err != nil {
			return false, nil //nolint:nilerr // it is repeated
		}
		return answer.StatusCode/100 == 2, answer.Body.Close()
	})
}
