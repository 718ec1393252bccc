package mining

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTimeThatIsSpentTwiceAtOnceCountsOnce(t *testing.T) {
	for name, tc := range map[string]struct {
		added [][2]int // seconds, from and to
		want  int
	}{
		"nothing":                    {nil, 0},
		"one":                        {[][2]int{{1, 4}}, 3},
		"no time at all":             {[][2]int{{4, 4}}, 0},
		"backwards":                  {[][2]int{{4, 1}}, 0},
		"one after the other":        {[][2]int{{1, 2}, {2, 4}}, 3},
		"with a gap":                 {[][2]int{{1, 2}, {5, 6}}, 2},
		"the same":                   {[][2]int{{1, 4}, {1, 4}}, 3},
		"overlapping":                {[][2]int{{1, 4}, {3, 6}}, 5},
		"one within another":         {[][2]int{{1, 9}, {3, 6}}, 8},
		"one around others":          {[][2]int{{1, 2}, {3, 4}, {7, 8}, {0, 5}}, 6},
		"one that joins two":         {[][2]int{{1, 2}, {5, 6}, {2, 5}}, 5},
		"one that ended before":      {[][2]int{{5, 6}, {1, 2}}, 2},
		"one that ended in between":  {[][2]int{{1, 2}, {8, 9}, {4, 5}}, 3},
		"one that reaches over some": {[][2]int{{1, 3}, {4, 5}, {7, 9}, {2, 8}}, 8},
	} {
		t.Run(name, func(t *testing.T) {
			var s stretches
			for _, x := range tc.added {
				s.add(at(x[0]), at(x[1]))
			}
			if got := s.sum(); got != time.Duration(tc.want)*time.Second {
				t.Errorf("%v, want %d s: %v", got, tc.want, s.all)
			}
		})
	}
}

// at is a moment so many seconds after some time.
func at(s int) time.Time { return time.Unix(1_800_000_000+int64(s), 0) }

// What is kept is bounded, and what is not kept any more stays counted.
func TestManyStretchesTakeLittle(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var s stretches
	want := time.Duration(0)
	for n := range 10 * mostStretches {
		took := 1 + random.IntN(8)
		s.add(at(10*n), at(10*n+took))
		want += time.Duration(took) * time.Second
		if len(s.all) > mostStretches {
			t.Fatalf("%d are kept", len(s.all))
		}
	}
	if got := s.sum(); got != want {
		t.Errorf("%v, want %v", got, want)
	}
	s.add(at(0), at(10*10*mostStretches))
	if got, most := s.sum(), 10*10*mostStretches*time.Second; got < want || got > most {
		t.Errorf("with one as long as all of them it is %v, want %v to %v", got, want, most)
	}
}

func TestTheTimeOfAPassIsWhereItWasSpent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h hourglass
		doing := func(what doing, d time.Duration) {
			defer h.since(what, time.Now())
			time.Sleep(d)
		}
		over := h.pass()
		doing(onGitHub, time.Second)
		time.Sleep(2 * time.Second)
		doing(onModel, 3*time.Second)
		h.since(onCommands, time.Now().Add(-2*time.Second)) // while the model was asked
		if diff := cmp.Diff(Spent{GitHub: 1, Model: 3, Commands: 2, Other: 2, All: 6}, h.spent()); diff != "" {
			t.Errorf("in the middle: %s", diff)
		}
		doing(onGit, 4*time.Second)
		doing(onWaits, 5*time.Second)
		over()
		time.Sleep(time.Hour) // until the source is read again
		over = h.pass()
		doing(onArchive, time.Second)
		over()
		want := Spent{Archive: 1, GitHub: 1, Git: 4, Model: 3, Commands: 2, Waits: 5, Other: 2, All: 16}
		if diff := cmp.Diff(want, h.spent()); diff != "" {
			t.Error(diff)
		}
	})
}
