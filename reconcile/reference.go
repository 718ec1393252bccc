package reconcile

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/judge"
	"github.com/assayd/assayd/runtime/trial"
)

// reference is what reference runs of one judge have shown.
type reference struct {
	Tests []string `json:"tests"` // names that every one of them showed, in the order of the first
	Runs  int      `json:"runs"`
}

func referenceKey(key string) string { return "reference/" + key }

// reference is trial.Host.Reference.
func (r *Reconciler) reference(ctx context.Context, key string) (names []string, err error) {
	err = r.o.Store.View(ctx, func(tx *store.Tx) error {
		known, err := readReference(tx, key)
		names = known.Tests
		return err
	})
	return names, err
}

func readReference(tx *store.Tx, key string) (known reference, err error) {
	text, err := tx.Meta(referenceKey(key))
	if err != nil || text == "" {
		return known, err
	}
	if err := json.Unmarshal([]byte(text), &known); err != nil {
		return known, fmt.Errorf("read reference run %s: %w", key, err)
	}
	return known, nil
}

// keepReference stores the names that a reference run showed. Where two of them differ,
// only what both showed can be expected of a third.
func keepReference(tx *store.Tx, s trial.State) error {
	if !s.Cell.Agent.Solves() || s.Result == nil || s.Result.Best == nil {
		return nil
	}
	all, err := submissions(tx, s.ID)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(o judge.Submission) bool { return o.Try == s.Try && o.Round == s.Result.Best.Round })
	if i < 0 {
		return nil
	}
	best, err := wholeSubmission(tx, all[i].ID)
	if err != nil {
		return err
	}
	names, ok := trial.ReferenceRun(s, best)
	if !ok {
		return nil
	}
	key := trial.ReferenceKey(s)
	known, err := readReference(tx, key)
	if err != nil {
		return err
	}
	if known.Runs > 0 {
		shown := map[string]bool{}
		for _, name := range names {
			shown[name] = true
		}
		names = slices.DeleteFunc(known.Tests, func(name string) bool { return !shown[name] })
	}
	text, err := json.Marshal(reference{names, known.Runs + 1})
	if err != nil {
		return fmt.Errorf("encode reference run %s: %w", key, err)
	}
	return tx.PutMeta(referenceKey(key), string(text))
}
