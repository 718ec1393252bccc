package reconcile

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/ledger"
	"github.com/assayd/assayd/reconcile/store"
)

func TestThePlanForMiningSpecs(t *testing.T) {
	s, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "s"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	r := &Reconciler{
		o: Options{Store: s}, mines: map[string]bool{"mining.gone": true, "mining.leaving": true, "mining.over": true},
		miners: map[string]*liveMining{"mining.leaving": {}, "mining.working": {}},
	}
	set := &config.Set{}
	for _, c := range []struct {
		name  string
		state ledger.MiningState
	}{
		{"fresh", ledger.MiningState{}},
		{"edited", ledger.MiningState{Generation: "before", Over: true}},
		{"over", ledger.MiningState{Generation: "now", Over: true}},
		{"stopped", ledger.MiningState{Generation: "now", Cancelled: true}},
		{"working", ledger.MiningState{Generation: "now"}},
	} {
		m := config.Mining{Block: config.Block{Kind: "mining", Name: c.name, Generation: "now"}}
		set.Blocks.Minings = append(set.Blocks.Minings, m)
		if c.state == (ledger.MiningState{}) {
			continue
		}
		if err := s.Do(t.Context(), func(tx *store.Tx) error { return ledger.PutMiningState(tx, m.Address(), c.state) }); err != nil {
			t.Fatal(err)
		}
	}
	const want = `mining.fresh: begin (the spec is new)
mining.edited: begin (the spec was edited)
mining.gone: forget (no file declares it)
mining.leaving: stop (the block is gone)
`
	got, err := r.previewMinings(t.Context(), set)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
}
