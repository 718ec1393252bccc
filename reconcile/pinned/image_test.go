package pinned

import (
	"errors"
	"testing"

	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/reconcile/store/storetest"
	"github.com/assayd/assayd/runtime/trial"
)

func answer(id string, err error) func() (string, error) {
	return func() (string, error) { return id, err }
}

// A name is asked for once an execution, whatever it means later, and by another daemon, too.
func TestAnImagesNameIsResolvedOnceAnExecution(t *testing.T) {
	books := storetest.Open(t)
	images := NewImages(books)
	first := trial.State{Spec: "run.other", Execution: 1}
	broken := errors.New("no such image")
	if _, err := images.Image(t.Context(), first, "python:3", answer("", broken)); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	for i, id := range []string{"sha256:1", "sha256:2"} {
		if got, err := images.Image(t.Context(), first, "python:3", answer(id, nil)); err != nil || got != "sha256:1" {
			t.Errorf("%d: %s, %v", i, got, err)
		}
	}
	before := books.Work().Queries
	if got, err := images.Image(t.Context(), first, "python:3", answer("sha256:2", nil)); err != nil || got != "sha256:1" || books.Work().Queries != before {
		t.Errorf("%s, %v, by %d more queries", got, err, books.Work().Queries-before)
	}
	if got, err := NewImages(books).Image(t.Context(), first, "python:3", answer("sha256:2", nil)); err != nil || got != "sha256:1" {
		t.Errorf("another daemon has %s, %v", got, err)
	}
	second := first
	second.Execution = 2
	if got, err := images.Image(t.Context(), second, "python:3", answer("sha256:2", nil)); err != nil || got != "sha256:2" {
		t.Errorf("the next execution has %s, %v", got, err)
	}
}

// What was read before it was forgotten is not remembered after that.
func TestAForgottenNameIsAskedForAgain(t *testing.T) {
	books := storetest.Open(t)
	images := NewImages(books)
	s := trial.State{Spec: "run.other", Execution: 1}
	forget := func() {
		if err := books.Do(t.Context(), func(tx *store.Tx) error { return tx.PutMeta(history.PinKey(s.Spec, s.Execution, "python:3"), "") }); err != nil {
			t.Fatal(err)
		}
		images.Forget()
	}
	if got, err := images.Image(t.Context(), s, "python:3", answer("sha256:1", nil)); err != nil || got != "sha256:1" {
		t.Fatalf("%s, %v", got, err)
	}
	forget()
	if _, err := images.Image(t.Context(), s, "python:3", func() (string, error) { images.Forget(); return "sha256:2", nil }); err != nil {
		t.Fatal(err)
	}
	if len(images.known) != 0 {
		t.Errorf("it remembers %v, which was read before it was forgotten", images.known)
	}
	forget()
	if got, err := images.Image(t.Context(), s, "python:3", answer("sha256:3", nil)); err != nil || got != "sha256:3" {
		t.Errorf("after that it is %s, %v", got, err)
	}
}
