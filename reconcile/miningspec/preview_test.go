package miningspec

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/ledger"
	"github.com/assayd/assayd/reconcile/store"
)

func TestThePlanForMiningSpecs(t *testing.T) {
	s := openStore(t)
	m := New(Options{Store: s})
	m.known = map[string]bool{"mining.gone": true, "mining.leaving": true, "mining.over": true}
	m.live = map[string]*live{"mining.leaving": {}, "mining.working": {}}
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
		spec := config.Mining{Block: config.Block{Kind: "mining", Name: c.name, Generation: "now"}}
		set.Blocks.Minings = append(set.Blocks.Minings, spec)
		if c.state == (ledger.MiningState{}) {
			continue
		}
		if err := s.Do(t.Context(), func(tx *store.Tx) error { return ledger.PutMiningState(tx, spec.Address(), c.state) }); err != nil {
			t.Fatal(err)
		}
	}
	const want = `mining.fresh: begin (the spec is new)
mining.edited: begin (the spec was edited)
mining.gone: forget (no file declares it)
mining.leaving: stop (the block is gone)
`
	got, err := m.Preview(t.Context(), set)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
}
