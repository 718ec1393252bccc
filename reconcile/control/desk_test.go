package control_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/reconcile/control"
	"github.com/assayd/assayd/reconcile/hold"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/reconcile/store/storetest"
)

// fixture is a desk over a store, at a time that the test sets.
type fixture struct {
	*testing.T
	*control.Desk
	store  *store.Store
	now    time.Time
	looked []string // targets that the loop was to look at
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{T: t, store: storetest.Open(t), now: time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)}
	dir := t.TempDir()
	f.Desk = control.NewDesk(control.Options{
		Store: f.store, Change: func(_ context.Context, do func() error) error { return do() }, Now: func() time.Time { return f.now },
		Target: func(name string) (control.Target, error) {
			if name != "run.r" && name != "all" {
				return control.Target{}, errors.New("no such target")
			}
			if name == "all" {
				return control.Target{}, nil
			}
			return control.Target{Parallel: 4}, nil
		},
		Place: func(target string) control.Place {
			return control.Place{Stream: store.StreamRef{Spec: target, Root: dir, Path: filepath.Join(dir, target+".jsonl")}, Generation: "g"}
		},
		Look: func(target string) { f.looked = append(f.looked, target) },
	})
	if err := f.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	return f
}

// records are those of run.r without their time.
func (f *fixture) records() (all []string) {
	f.Helper()
	if err := f.store.View(f.Context(), func(tx *store.Tx) error {
		s, err := tx.Stream("run.r")
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		lines, err := tx.LinesFrom(s.ID, 1, 100)
		for _, l := range lines {
			var r map[string]any
			err = errors.Join(err, json.Unmarshal(l.Data, &r))
			delete(r, "time")
			text, merr := json.Marshal(r)
			err, all = errors.Join(err, merr), append(all, string(text))
		}
		return err
	}); err != nil {
		f.Fatal(err)
	}
	return all
}

// A record says all that there is to know of a change, in the members that the page on records has.
func TestARecordOfEachChange(t *testing.T) {
	f := newFixture(t)
	ctx := control.As(t.Context(), control.Actor{By: "anna", Via: control.CLI})
	until := f.now.Add(time.Hour)
	for _, a := range []control.Asked{
		{Target: "run.r", Reason: "provider incident", DryRun: true},
		{Target: "run.r", Reason: "provider incident"},
		{Target: "run.r"}, // it is so
		{Target: "run.r", Until: until},
	} {
		if _, err := f.Hold(ctx, a); err != nil {
			t.Fatal(err)
		}
		f.now = f.now.Add(time.Minute)
	}
	if _, err := f.Lift(t.Context(), "run.r", hold.Pause, false); err != nil {
		t.Fatal(err)
	}
	const envelope = `"generation":"g","seq":%d,"spec":"run.r","target":"run.r","type":"control","v":1,"via":%q}`
	const held = `{"by":"anna","kind":"pause","most":0,"reason":"provider incident","since":"2030-05-01T12:01:00Z","target":"run.r","via":"cli"}`
	const ends = `{"by":"anna","kind":"pause","most":0,"since":"2030-05-01T12:01:00Z","target":"run.r","until":"2030-05-01T13:00:00Z","via":"cli"}`
	want := []string{
		`{"action":"pause","after":` + held + `,"before":null,"by":"anna","generation":"g","reason":"provider incident","seq":1,"spec":"run.r","target":"run.r","type":"control","v":1,"via":"cli"}`,
		`{"action":"pause","after":` + ends + `,"before":` + held + `,"by":"anna",` + fmt.Sprintf(envelope, 2, "cli"),
		`{"action":"resume","after":null,"before":` + ends + `,"by":"unknown",` + fmt.Sprintf(envelope, 3, "api"),
	}
	if diff := cmp.Diff(want, f.records()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"run.r", "run.r", "run.r"}, f.looked); diff != "" {
		t.Errorf("the loop was to look at (-want +got):\n%s", diff)
	}
}

// Who waits for a hold to end hears of each change.
// A pause that asks for less than the one before lets nothing go on: a drain in the midst of an incident is one.
func TestAPauseKeepsWhatIsHeld(t *testing.T) {
	f := newFixture(t)
	if _, err := f.Hold(t.Context(), control.Asked{Target: "all", Calls: true, Reason: "costs"}); err != nil {
		t.Fatal(err)
	}
	if c, err := f.Drain(t.Context(), control.Ask{Reason: "new kernel"}); err != nil || !c.Changed {
		t.Errorf("%+v, %v", c, err)
	}
	set, _ := f.Holds()
	if h := set.Of("all", hold.Pause); h == nil || !h.Calls || h.Reason != "new kernel" {
		t.Errorf("held is %+v", h)
	}
	if c, err := f.Hold(t.Context(), control.Asked{Target: "all"}); err != nil || c.Changed {
		t.Errorf("once more: %+v, %v", c, err)
	}
}

func TestChangesAreHeard(t *testing.T) {
	f := newFixture(t)
	_, changed := f.Holds()
	if _, err := f.Hold(t.Context(), control.Asked{Target: "run.r", Most: 1}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-changed:
	default:
		t.Error("a hold was set unheard")
	}
	set, changed := f.Holds()
	if len(set) != 1 || set[0].Most != 1 {
		t.Errorf("holds are %v", set)
	}
	f.Nudge()
	select {
	case <-changed:
	default:
		t.Error("a nudge was not heard")
	}
}

// What cannot be stored is not in force, and a hold that cannot be ended is tried again a second later.
func TestWhatIsNotStoredIsNotInForce(t *testing.T) {
	f := newFixture(t)
	if _, err := f.Hold(t.Context(), control.Asked{Target: "run.r", Until: f.now.Add(time.Minute)}); err != nil {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Lift(gone, "run.r", hold.Pause, false); err == nil {
		t.Error("a hold was lifted without a store")
	}
	if set, _ := f.Holds(); len(set) != 1 {
		t.Errorf("holds are %v", set)
	}
	f.now = f.now.Add(time.Minute)
	if err := f.Expire(gone); err == nil {
		t.Error("a hold was ended without a store")
	}
	if next := f.Next(); !next.Equal(f.now.Add(time.Second)) {
		t.Errorf("it is tried again at %v, at %v", next, f.now)
	}
	f.now = f.now.Add(time.Second)
	if err := f.Expire(t.Context()); err != nil {
		t.Error(err)
	}
	if set, _ := f.Holds(); len(set) != 0 || !f.Next().IsZero() || len(f.records()) != 2 {
		t.Errorf("holds are %v, and records %v", set, f.records())
	}
}

// A reason is shown in lists, on terminals, and on pages: it makes no line of its own there, and steers nothing.
func TestAReasonIsOneLineOfText(t *testing.T) {
	f := newFixture(t)
	for reason, good := range map[string]bool{
		"provider incident: 503 für alle": true, "two\nlines": false, "\x1b[31mred": false, "turned\u202eround": false, "\xff": false, strings.Repeat("x", 501): false,
	} {
		_, err := f.Hold(t.Context(), control.Asked{Target: "run.r", Reason: reason, DryRun: true})
		if (err == nil) != good {
			t.Errorf("the reason %.20q: %v", reason, err)
		}
	}
}
