package pinned

import (
	"errors"
	"testing"

	"github.com/assayd/assayd/reconcile/store/storetest"
	"github.com/assayd/assayd/runtime/trial"
)

// A name is asked for once an execution, whatever it means later.
func TestAnImagesNameIsResolvedOnceAnExecution(t *testing.T) {
	books := storetest.Open(t)
	first := trial.State{Spec: "run.other", Execution: 1}
	answer := func(id string, err error) func() (string, error) { return func() (string, error) { return id, err } }
	broken := errors.New("no such image")
	if _, err := Image(t.Context(), books, first, "python:3", answer("", broken)); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	for i, id := range []string{"sha256:1", "sha256:2"} {
		if got, err := Image(t.Context(), books, first, "python:3", answer(id, nil)); err != nil || got != "sha256:1" {
			t.Errorf("%d: %s, %v", i, got, err)
		}
	}
	second := first
	second.Execution = 2
	if got, err := Image(t.Context(), books, second, "python:3", answer("sha256:2", nil)); err != nil || got != "sha256:2" {
		t.Errorf("the next execution has %s, %v", got, err)
	}
}
