package history

import (
	"encoding/json"
	"fmt"

	"github.com/assayd/assayd/reconcile/store"
)

// RekeyedKey says that no trial has a key of the first version any more.
const RekeyedKey = "cells-rekeyed"

// rekeyedAtOnce is how many trials get their key in one transaction.
const rekeyedAtOnce = 100

// Rekey gives trials behind an id that the first version stored the keys that their cells have today: what their
// execution may spend is not in them any more. Without it a verdict would count for no cell that is wanted, and the
// cell would begin once more. It returns the last id of those that were looked at, "" = there are no more. Trials
// that an edit replaced keep their keys, and so stay replaced.
func Rekey(tx *store.Tx, after string) (last string, err error) {
	rows, err := tx.TrialsWith(`"Total":{`, after, rekeyedAtOnce)
	if err != nil {
		return "", err
	}
	for _, row := range rows {
		last = row.ID
		s, err := StateOf(row)
		if err != nil {
			return "", err
		}
		if s.Superseded() || s.Unwanted || row.Cell != s.Cell.FormerKey() {
			continue
		}
		s.Key = s.Cell.Key()
		data, err := json.Marshal(s)
		if err != nil {
			return "", fmt.Errorf("encode trial %s: %w", s.ID, err)
		}
		if err := tx.RekeyTrial(row.ID, s.Key, data); err != nil {
			return "", err
		}
	}
	if len(rows) < rekeyedAtOnce {
		return "", tx.PutMeta(RekeyedKey, "1")
	}
	return last, nil
}

// Rekeyed reports whether Rekey has been done with all trials.
func Rekeyed(tx *store.Tx) (bool, error) {
	text, err := tx.Meta(RekeyedKey)
	return text != "", err
}
