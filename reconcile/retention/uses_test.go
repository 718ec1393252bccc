package retention

import (
	"testing"
	"time"

	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/reconcile/store/storetest"
)

func TestTheUseOfAnImageIsRemembered(t *testing.T) {
	s := storetest.Open(t)
	uses := NewUses(s, nil)
	began := time.Now().Add(-time.Second)
	for range 3 {
		uses.Note(t.Context(), "edge.work.one:1")
	}
	if err := s.View(t.Context(), func(tx *store.Tx) error {
		text, err := tx.Meta(usedKey("edge.work.one:1"))
		if at, bad := time.Parse(time.RFC3339, text); bad != nil || at.Before(began) {
			t.Errorf("%q, %v", text, bad)
		}
		return err
	}); err != nil {
		t.Error(err)
	}
}
