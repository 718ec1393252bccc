package history

import (
	"fmt"

	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/trial"
	"github.com/assayd/assayd/runtime/trial/record"
)

// AppendEffect appends the record of an effect, and keeps what later trials are to know of it.
func AppendEffect(tx *store.Tx, s trial.State, e trial.Effect) error {
	if told, err := builtBefore(tx, s, e); err != nil || told {
		return err
	}
	if _, err := tx.AppendLine(store.StreamRef{Spec: s.Spec}, Envelope(e.Type, s), e.Fields); err != nil {
		return err
	}
	if e.Type == "trial.finished" {
		return nil
	}
	return nil
}

// builtBefore reports whether an image that several trials waited for has been reported
// in this execution.
func builtBefore(tx *store.Tx, s trial.State, e trial.Effect) (bool, error) {
	built, ok := e.Fields.(record.ImageBuilt)
	if !ok {
		return false, nil
	}
	first, err := tx.Once(fmt.Sprintf("built/%s/e%d/%s/%s", s.Spec, s.Execution, built.Role, built.Digest))
	return !first, err
}
