package hold

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/reconcile/store/storetest"
)

var noon = time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)

func pause(target string) Hold { return Hold{Target: target, Kind: Pause, By: "anna", Since: noon} }

func throttle(target string, most int) Hold {
	return Hold{Target: target, Kind: Throttle, Most: most, By: "anna", Since: noon}
}

func (h Hold) until(at time.Time) Hold {
	h.Until = at
	return h
}

// What the holds that a run is under mean to its plan: the strictest counts, and each says who set it.
func TestWhatASetMeans(t *testing.T) {
	for _, tt := range []struct {
		name string
		set  Set
		want plan.Hold
	}{
		{"nothing", nil, plan.Hold{}},
		{"another's", Set{pause("run.s"), pause("mining.r"), throttle("run.s", 1)}, plan.Hold{}},
		{"its own", Set{pause("run.r")}, plan.Hold{Bounded: true, Why: "run.r is paused by anna since 2030-05-01T12:00:00Z"}},
		{"everything's", Set{pause(All)}, plan.Hold{Bounded: true, Why: "all is paused by anna since 2030-05-01T12:00:00Z"}},
		{"a throttle", Set{throttle("run.r", 2)}, plan.Hold{Bounded: true, Most: 2, Why: "run.r is throttled to 2 at once by anna since 2030-05-01T12:00:00Z"}},
		{"a pause beside a throttle", Set{pause("run.r"), throttle("run.r", 2)}, plan.Hold{
			Bounded: true, Why: "run.r is paused by anna since 2030-05-01T12:00:00Z; run.r is throttled to 2 at once by anna since 2030-05-01T12:00:00Z",
		}},
		{"one that is over", Set{pause(All).until(noon), pause("run.r").until(noon.Add(-time.Hour))}, plan.Hold{}},
		{"one that will be", Set{pause(All).until(noon.Add(time.Second))}, plan.Hold{
			Bounded: true, Why: "all is paused by anna since 2030-05-01T12:00:00Z until 2030-05-01T12:00:01Z",
		}},
	} {
		if diff := cmp.Diff(tt.want, tt.set.OnRun(noon, "run.r", nil).Plan()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	providers := Set{pause("provider.acme")}
	if got := providers.OnMining(noon, "mining.m", "acme"); len(got) != 1 {
		t.Errorf("a mining spec is not under the hold of its provider: %v", got)
	}
	if got := providers.OnMining(noon, "mining.m", "other"); len(got) != 0 {
		t.Errorf("a mining spec is under the hold of another provider: %v", got)
	}
	if got := providers.Plan(); len(got.Providers) != 1 || got.Bounded {
		t.Errorf("a hold of a provider means %+v", got)
	}
}

func TestHoldsEndInTheirOrder(t *testing.T) {
	set := Set{pause(All), pause("run.r").until(noon.Add(time.Hour)), throttle("run.r", 1).until(noon.Add(time.Minute)), pause("run.s").until(noon)}
	if next := set.Next(); !next.Equal(noon) {
		t.Errorf("the next end is at %v", next)
	}
	if over := set.Over(noon.Add(time.Minute)); len(over) != 2 {
		t.Errorf("over are %v", over)
	}
	if next := (Set{pause(All)}).Next(); !next.IsZero() {
		t.Errorf("a hold without an end ends at %v", next)
	}
}

func TestTheStoreKeepsHoldsAsTheyAre(t *testing.T) {
	s := storetest.Open(t)
	set := Set{pause("all").until(noon.Add(time.Hour)), pause("run.r"), throttle("run.r", 3)}
	set[0].Via, set[0].Reason = "cli", "provider incident"
	if err := s.Do(t.Context(), func(tx *store.Tx) error {
		for _, h := range set {
			if err := tx.PutHold(h.Row()); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	read := func() (got Set) {
		if err := s.View(t.Context(), func(tx *store.Tx) (err error) { got, err = Read(tx); return err }); err != nil {
			t.Fatal(err)
		}
		return got
	}
	if diff := cmp.Diff(set, read()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	set[2].Most = 1
	if err := s.Do(t.Context(), func(tx *store.Tx) error {
		if err := tx.PutHold(set[2].Row()); err != nil {
			return err
		}
		return tx.DropHold("run.r", string(Pause))
	}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Set{set[0], set[2]}, read()); diff != "" {
		t.Errorf("after a change (-want +got):\n%s", diff)
	}
}
