package storetest

import (
	"testing"

	"github.com/assayd/assayd/reconcile/store"
)

// Open opens a new store, which is closed when the test is over.
func Open(t testing.TB) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}
