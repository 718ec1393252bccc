package cellhost

import (
	"os"
	"testing"

	"github.com/assayd/assayd/reconcile/store"
)

func TestAStoreIsFilledWithATrialThatEnded(t *testing.T) {
	p, err := OnePattern(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("/tmp", "bc") // short, because a socket lies in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	const cells = 200
	h, err := New(t.Context(), dir, cells)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := p.Fill(t.Context(), h, cells); err != nil {
		t.Fatal(err)
	}
	took, err := h.Started(t.Context(), h.Filled)
	defer h.Stop()
	if err != nil || took <= 0 {
		t.Fatalf("it takes %v ms, %v", took, err)
	}
	ended := 0
	err = h.Store.View(t.Context(), func(tx *store.Tx) error {
		rows, err := tx.Trials("run.r", 1)
		for _, row := range rows {
			if row.Status != "" {
				ended++
			}
		}
		return err
	})
	if err != nil || ended < cells {
		t.Errorf("%d trials have ended, %v, want %d", ended, err, cells)
	}
}
