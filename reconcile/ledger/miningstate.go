package ledger

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/assayd/assayd/reconcile/store"
)

// MiningState is what is kept of a mining spec.
type MiningState struct {
	Generation string `json:"generation"` // that it was begun with
	Over       bool   `json:"over,omitempty"`
	Cause      string `json:"cause,omitempty"` // why it is over
	Cancelled  bool   `json:"cancelled,omitempty"`
}

// Done reports whether there is nothing more to do for a spec of that generation.
func (s MiningState) Done(generation string) bool {
	return s.Generation == generation && (s.Over || s.Cancelled)
}

func miningKey(address string) string { return "mining/" + address }

// MiningStateOf reads the state of a mining spec; of one that was never begun it is the zero state.
func MiningStateOf(ctx context.Context, in *store.Store, address string) (s MiningState, err error) {
	err = in.View(ctx, func(tx *store.Tx) error {
		text, err := tx.Meta(miningKey(address))
		if err != nil || text == "" {
			return err
		}
		return json.Unmarshal([]byte(text), &s)
	})
	if err != nil {
		err = fmt.Errorf("read the state of %s: %w", address, err)
	}
	return s, err
}

// PutMiningState stores the state of a mining spec.
func PutMiningState(tx *store.Tx, address string, s MiningState) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return tx.PutMeta(miningKey(address), string(text))
}
