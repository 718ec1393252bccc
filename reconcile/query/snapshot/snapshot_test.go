package snapshot

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/request"
)

// Who asks before there is a snapshot waits for it, until the daemon stops or he does.
func TestAQuestionWaitsForTheFirstSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stopped := make(chan struct{})
		r := NewLatest(stopped)
		impatient, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := r.Wait(impatient); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("before there is one: %v", err)
		}
		first := (*Snapshot)(nil).Edit().Done(nil, nil, "no disk")
		time.AfterFunc(time.Minute, func() { r.Publish(first) })
		if now, err := r.Wait(t.Context()); err != nil || now != first || now.Blind != "no disk" {
			t.Errorf("the first: %+v, %v", now, err)
		}
		close(stopped)
		if _, err := r.Wait(t.Context()); !errors.Is(err, request.ErrStopped) {
			t.Errorf("after the end: %v", err)
		}
	})
}

// A snapshot stays as it is when another one is made from it.
func TestASnapshotDoesNotChange(t *testing.T) {
	d := &plan.Run{Name: "a"}
	edit := (*Snapshot)(nil).Edit()
	for _, tc := range []struct {
		view        RunView
		is, changed bool
	}{
		{RunView{Address: "run.b"}, true, true},
		{RunView{Address: "run.a", Desired: d}, true, true},
		{RunView{Address: "run.a", Desired: d}, true, false},
		{RunView{Address: "run.none"}, false, false},
	} {
		if changed := edit.PutRun(tc.view, tc.is); changed != tc.changed {
			t.Errorf("%+v is a change: %t", tc.view, changed)
		}
	}
	edit.PutMining(MiningView{Address: "mining.m"}, true)
	first := edit.Done(nil, nil, "")
	next := first.Edit()
	if !next.PutRun(RunView{Address: "run.b"}, false) || !next.PutRun(RunView{Address: "run.a", Note: "waits"}, true) {
		t.Error("what is taken away, or is otherwise, is no change")
	}
	second := next.Done(nil, nil, "")
	if got := first.Addresses(); !slices.Equal(got, []string{"run.a", "run.b"}) || first.Run("run.a").Desired != d || !first.Mines("mining.m") {
		t.Errorf("the first has become %v", got)
	}
	if got := slices.Collect(maps.Keys(maps.Collect(second.Runs()))); !slices.Equal(got, []string{"run.a"}) || second.Knows("run.b") || second.Run("run.b").Address != "run.b" {
		t.Errorf("the second has %v", got)
	}
	for name, want := range map[string]string{"run.aa": "; did you mean run.a?", "m": "; did you mean mining.m?", "elsewhere": ""} {
		if got := second.Suggest(name); got != want {
			t.Errorf("%s%s, want %s", name, got, want)
		}
	}
}
