package history

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/assayd/assayd/reconcile/ledger"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/trial"
)

// ErrUnknown says that there is no such run or trial.
var ErrUnknown = errors.New("no such run or trial")

// unknownName is an ErrUnknown without its words.
type unknownName struct{ text string }

func (e *unknownName) Error() string { return e.text }

// Is makes it an ErrUnknown.
func (e *unknownName) Is(target error) bool { return target == ErrUnknown }

// Unknown is an ErrUnknown that says in its own words what there is not.
func Unknown(format string, args ...any) error { return &unknownName{fmt.Sprintf(format, args...)} }

// trialsToName is how many trials of a run are named in an error.
const trialsToName = 10

// UnknownTrial says why there is no trial of that name: it may be a run's.
func UnknownTrial(tx *store.Tx, id string) error {
	address := "run." + strings.TrimPrefix(id, "run.")
	e, err := tx.LatestExecution(address)
	if errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("%w: %s", ErrUnknown, id)
	}
	if err != nil {
		return err
	}
	counts, err := tx.CellCounts(address, e.N)
	if err != nil {
		return err
	}
	cells, err := tx.CellsOf(store.CellQuery{Spec: address, Execution: e.N, Limit: trialsToName})
	if err != nil {
		return err
	}
	var ids []string
	for _, c := range cells {
		ids = append(ids, c.Trial)
	}
	all := 0
	for _, c := range counts {
		all += c.Cells
	}
	switch {
	case all == 0:
		return Unknown("%s is a run, which has no trials yet", address)
	case all > len(ids):
		ids = append(ids, fmt.Sprintf("and %d more", all-len(ids)))
	}
	return Unknown("%s is a run; name one of its trials: %s", address, strings.Join(ids, ", "))
}

// KnownTrial is the stored state of a trial, or an error that says what may be meant instead.
func KnownTrial(tx *store.Tx, id string) (s trial.State, err error) {
	row, err := tx.Trial(id)
	if errors.Is(err, store.ErrNotFound) {
		return s, UnknownTrial(tx, id)
	}
	if err != nil {
		return s, err
	}
	return StateOf(row)
}

// ReadTrial is KnownTrial in a transaction of its own.
func ReadTrial(ctx context.Context, of *store.Store, id string) (s trial.State, err error) {
	err = of.View(ctx, func(tx *store.Tx) error {
		s, err = KnownTrial(tx, id)
		return err
	})
	return s, err
}

// KnownRound is a submission of a trial by the name of its round, such as agent-3, without the tests of its report. One that
// there is not is an ErrUnknown.
func KnownRound(tx *store.Tx, id, roundName string) (row store.SubmissionRow, sub round.Submission, err error) {
	kind, number, _ := strings.Cut(roundName, "-")
	n, err := strconv.Atoi(number)
	if err == nil {
		row, err = tx.SubmissionOf(id, kind, n)
	}
	switch {
	case err == nil:
		sub, err = ledger.Decode(row)
		return row, sub, err
	case n == 0 || errors.Is(err, store.ErrNotFound):
		return row, sub, Unknown("%s has no round %q", id, roundName)
	}
	return row, sub, err
}

// HasTrial reports whether a cell has a trial.
func HasTrial(tx *store.Tx, address string, execution int, key string) (bool, error) {
	for _, id := range trial.IDs(strings.TrimPrefix(address, "run."), execution, key) {
		c, err := tx.Cell(id)
		if errors.Is(err, store.ErrNotFound) {
			return false, nil
		}
		if err != nil || c.Key == key {
			return err == nil, err
		}
	}
	return false, nil
}
