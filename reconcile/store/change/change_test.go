package change

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
)

// A watcher takes all that was told since it last took something, joined, and a watcher that is closed hears nothing.
func TestChangesAreJoinedUntilTheyAreTaken(t *testing.T) {
	var all Watchers
	all.Tell(1, map[string]What{"run.a": Cells}) // to none
	w, closed := all.Watch(), all.Watch()
	closed.Close()
	told := map[string]What{"run.a": Cells}
	all.Tell(2, told)
	all.Tell(3, map[string]What{"run.a": Rounds, "run.b": Usage})
	touched, err := w.Next(t.Context())
	want := map[string]What{"run.a": Cells | Rounds, "run.b": Usage}
	if err != nil || touched.N != 3 || touched.All || !maps.Equal(touched.Topics, want) {
		t.Errorf("%+v, %v", touched, err)
	}
	if told["run.a"] != Cells {
		t.Error("the map of a commit is changed")
	}
	if names := touched.Topics["run.a"].Names(); !slices.Equal(names, []string{"cells", "rounds"}) {
		t.Errorf("the names are %v", names)
	}
	if got := closed.Take(); got.Topics != nil {
		t.Errorf("a closed watcher has %+v", got)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if _, err := w.Next(stopped); !errors.Is(err, context.Canceled) {
		t.Errorf("without a change: %v", err)
	}
}

// Await returns for its kind of change alone, or where everything may have changed.
func TestAwaitIsForAKindOfChange(t *testing.T) {
	var all Watchers
	w := all.Watch()
	all.Tell(1, map[string]What{"run.a": Rounds | Usage})
	if err := w.Await(t.Context(), Usage); err != nil {
		t.Error(err)
	}
	stopped, stop := context.WithCancel(t.Context())
	all.Tell(2, map[string]What{"run.a": Rounds})
	w.Take() // its pulse stays
	stop()
	if err := w.Await(stopped, Usage); !errors.Is(err, context.Canceled) {
		t.Errorf("for another kind: %v", err)
	}
	many := map[string]What{}
	for i := range MaxTopics + 1 {
		many[fmt.Sprint(i)] = Rounds
	}
	all.Tell(3, many)
	all.Tell(4, map[string]What{"run.a": Rounds})
	if touched := w.Take(); !touched.All || touched.Topics != nil || touched.N != 4 {
		t.Errorf("%d topics, all %t, change %d", len(touched.Topics), touched.All, touched.N)
	}
}
