package clock

import (
	"encoding/json"
	"testing"
	"time"
)

// near is what may pass between two readings on a loaded machine.
const near = 10 * time.Second

// A line that is an hour off is what a step of the wall clock by an hour leaves behind.
func TestALineGoesOnWhateverTheWallClockSays(t *testing.T) {
	for name, step := range map[string]time.Duration{"no step": 0, "an hour ahead": time.Hour, "an hour back": -time.Hour} {
		l := From(Now().Add(-step))
		if off := l.Now().Sub(Now().Add(-step)); off.Abs() > near {
			t.Errorf("%s: the line is %s off", name, off)
		}
		at := l.Now()
		if left := l.Until(at.Add(time.Minute)); left > time.Minute || left < time.Minute-near {
			t.Errorf("%s: a minute on is %s on", name, left)
		}
		if ago := -l.Until(at.Add(-time.Minute)); ago < time.Minute || ago > time.Minute+near {
			t.Errorf("%s: a minute ago is %s ago", name, ago)
		}
		if got := l.Wall(at); !got.Equal(at.Add(step)) {
			t.Errorf("%s: %s on the line is %s by the wall clock", name, at, got)
		}
		if l.Renewed() != l {
			t.Errorf("%s: a line that holds was renewed", name)
		}
	}
}

func TestWhereALineDoesNotHoldTheWallClockTakesItsPlace(t *testing.T) {
	for name, l := range map[string]Timeline{
		"none":         {},
		"another boot": {Boot: "00000000-0000-0000-0000-000000000000", Zero: Now().Add(-1000 * time.Hour)},
	} {
		if off := l.Now().Sub(Now()); off.Abs() > near {
			t.Errorf("%s: the time is %s off", name, off)
		}
		if at := Now().Add(-time.Hour); !l.Wall(at).Equal(at) {
			t.Errorf("%s: %s is %s by the wall clock", name, at, l.Wall(at))
		}
		if r := l.Renewed(); r.Boot != Boot() || r.Now().Sub(Now()).Abs() > near {
			t.Errorf("%s: renewed as %+v", name, r)
		}
	}
}

func TestALineIsTheSameAfterItWasStored(t *testing.T) {
	for name, want := range map[string]Timeline{"begun": Begin(), "none": {}} {
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got Timeline
		if err := json.Unmarshal(text, &got); err != nil || got != want {
			t.Errorf("%s: %s is read as %+v, %v", name, text, got, err)
		}
	}
}

func TestTheBootIsKnownHere(t *testing.T) {
	if first, again := Boot(), Boot(); first == "" || first != again {
		t.Errorf("the boot is %q and then %q", first, again)
	}
}
