package control_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/reconcile/control"
	"github.com/assayd/assayd/reconcile/request"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/clock"
	"github.com/assayd/assayd/runtime/trial"
)

// ordered are orders of trials whose states the test sets.
type ordered struct {
	*fixture
	*control.Orders
	states map[string]trial.State
	told   []string
	during func() // while an order is being stored
}

func newOrdered(f *fixture) *ordered {
	k := &ordered{fixture: f, states: map[string]trial.State{}, during: func() {}}
	of := func(id string) (trial.State, error) {
		s, is := k.states[id]
		if !is {
			return s, store.ErrNotFound
		}
		return s, nil
	}
	dir := f.TempDir()
	k.Orders = control.NewOrders(control.OrderOptions{
		Store: f.store, Now: clock.Now, Trial: func(_ context.Context, id string) (trial.State, error) { return of(id) },
		Again: func(_ *store.Tx, id string) (trial.State, error) {
			k.during()
			return of(id)
		},
		Place: func(trial.State) control.Place {
			return control.Place{Stream: store.StreamRef{Spec: "run.r", Root: dir, Path: filepath.Join(dir, "r.jsonl")}}
		},
		Tell: func(_ context.Context, id string, o control.Order) error {
			k.told = append(k.told, o.Action+" "+id)
			return nil
		},
	})
	return k
}

// set sets the state of a try.
func (k *ordered) set(id string, try int, phase trial.Phase, final bool) trial.State {
	s := trial.State{ID: id, Spec: "run.r", Try: try, Phase: phase}
	if phase == trial.Done {
		s.Result = &trial.Finished{Status: trial.InfraError, Final: final}
	}
	k.states[id] = s
	return s
}

// ended is what a driver does at the end of a try.
func (k *ordered) ended(s trial.State) {
	k.Helper()
	if err := k.store.Do(k.Context(), func(tx *store.Tx) error { return k.Drop(tx, s) }); err != nil {
		k.Fatal(err)
	}
	k.Forget(s)
}

// kept are the orders in the store.
func (k *ordered) kept() (ids []string) {
	k.Helper()
	if err := k.store.View(k.Context(), func(tx *store.Tx) error {
		all, err := tx.MetaBelow("order/")
		for id := range all {
			ids = append(ids, id)
		}
		return err
	}); err != nil {
		k.Fatal(err)
	}
	slices.Sort(ids)
	return ids
}

// To cancel is asked of a trial, and to stop of a try: what the end of a try is not the end of stays asked.
func TestOrdersLastAsLongAsWhatTheyAreOf(t *testing.T) {
	k := newOrdered(newFixture(t))
	for _, tt := range []struct {
		action string
		final  bool
		lasts  bool
	}{{control.Cancel, false, true}, {control.Cancel, true, false}, {control.Stop, false, false}, {control.Stop, true, false}} {
		id := fmt.Sprintf("r.e1.%s-%v", tt.action, tt.final)
		k.set(id, 1, trial.Running, false)
		ask := k.Cancel
		if tt.action == control.Stop {
			ask = k.Stop
		}
		if c, err := ask(t.Context(), control.Ask{Target: id}); err != nil || !c.Changed {
			t.Fatalf("%s: %+v, %v", id, c, err)
		}
		k.ended(k.set(id, 1, trial.Done, tt.final))
		if _, is := k.Of(id, 2); is != tt.lasts || slices.Contains(k.kept(), "order/"+id) != tt.lasts {
			t.Errorf("%s of a try that ends, final %v: asked of the next one %v, kept %v", tt.action, tt.final, is, k.kept())
		}
	}
}

// A trial that ends while an order is on its way leaves none, which would end a retry of it, or hinder the next daemon.
func TestATrialThatEndsMeanwhileLeavesNoOrder(t *testing.T) {
	k := newOrdered(newFixture(t))
	k.set("before", 1, trial.Running, false)
	k.during = func() { k.set("before", 1, trial.Done, true) }
	var conflict *request.Conflict
	if _, err := k.Cancel(t.Context(), control.Ask{Target: "before"}); !errors.As(err, &conflict) {
		t.Errorf("a trial that ends right before the order is stored: %v", err)
	}
	k.set("after", 1, trial.Running, false)
	k.during = func() { k.Forget(trial.State{ID: "after", Phase: trial.Done, Result: &trial.Finished{Final: true}}) }
	if _, err := k.Cancel(t.Context(), control.Ask{Target: "after"}); err != nil {
		t.Error(err)
	}
	for _, id := range []string{"before", "after"} {
		if o, is := k.Of(id, 1); is {
			t.Errorf("of %s %+v is still asked", id, o)
		}
	}
	if diff := cmp.Diff([]string{"order/after"}, k.kept()); diff != "" || k.told != nil { // its driver drops that row
		t.Errorf("told %v, kept (-want +got):\n%s", k.told, diff)
	}
}

// The next daemon does what was asked, and forgets what is of no trial, or of one that is over: it starts in any case.
func TestOrdersOfTheLastDaemon(t *testing.T) {
	f := newFixture(t)
	if err := f.store.Do(t.Context(), func(tx *store.Tx) error {
		for _, id := range []string{"open", "over", "gone"} {
			if err := tx.PutMeta("order/"+id, `{"action":"cancel","by":"anna","via":"cli"}`); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	k := newOrdered(f)
	k.set("open", 1, trial.Running, false)
	k.set("over", 1, trial.Done, true)
	if err := errors.Join(k.Orders.Load(t.Context()), k.Tell(t.Context())); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"cancel open"}, k.told) + cmp.Diff([]string{"order/open"}, k.kept()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if _, is := k.Of("over", 2); is {
		t.Error("what is over is still asked to end")
	}
}
