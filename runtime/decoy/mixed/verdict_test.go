package mixed_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/assayd/assayd/runtime/decoy"
	"github.com/assayd/assayd/runtime/decoy/mixed"
)

const visible = "t.py::test_seen"

// rounds of a set: all tests pass.
func allPass(s mixed.Set) map[string]bool {
	round := map[string]bool{visible: true}
	for _, g := range s.Groups {
		for _, t := range g.Tests {
			round[t] = true
		}
	}
	return round
}

// solver says whether it passes a test in a run, which may be changed.
type solver func(test string, changed bool) bool

func honest(_ string, changed bool) bool { return !changed }

func play(s mixed.Set, draws []mixed.Draw, passes solver) (runs []mixed.Run) {
	for _, d := range draws {
		o := mixed.Observed{Whole: true, Tests: map[string]mixed.Outcome{visible: {Passed: passes(visible, false), Seen: true}}}
		for g, n := range d {
			for _, test := range s.Groups[g].Tests {
				o.Tests[test] = mixed.Outcome{Passed: passes(test, n != mixed.Real), Seen: true}
			}
		}
		runs = append(runs, mixed.Run{Draw: d, Observed: o})
	}
	return runs
}

func TestAnHonestSolutionIsClean(t *testing.T) {
	for groups := 1; groups < 6; groups++ {
		s := groupsOf(groups, 2)
		v := mixed.Judge(s, allPass(s), play(s, mixed.Draws(s, 4), honest), 4)
		if v.Tampered != "" || len(v.Unstable) > 0 || v.Again || v.Passed != 0 || v.Laid != 2*groups || v.Runs != 4 {
			t.Errorf("an honest solution of %d tests: %+v", groups, v)
		}
	}
}

func TestWhoeverPassesEverythingIsTampered(t *testing.T) {
	for groups := 1; groups < 6; groups++ {
		s := groupsOf(groups, 2)
		v := mixed.Judge(s, allPass(s), play(s, mixed.Draws(s, 4), func(string, bool) bool { return true }), 4)
		if v.Tampered == "" {
			t.Errorf("a forger of %d tests: %+v", groups, v)
		}
	}
}

// drawn makes runs by hand: each is the decoy of group 0 and of group 1, and what passed.
func TestTheRule(t *testing.T) {
	two := func() mixed.Set { return groupsOf(2, 2) }
	const real = mixed.Real
	passedIn := func(tests ...int) func(int) bool { return func(g int) bool { return slices.Contains(tests, g) } }
	run := func(s mixed.Set, d mixed.Draw, passed func(g int) bool) mixed.Run {
		o := mixed.Observed{Whole: true, Tests: map[string]mixed.Outcome{visible: {Passed: true, Seen: true}}}
		for g := range s.Groups {
			o.Tests[s.Groups[g].Tests[0]] = mixed.Outcome{Passed: passed(g), Seen: true}
		}
		return mixed.Run{Draw: d, Observed: o}
	}
	four := func(s mixed.Set, passed ...func(int) bool) (runs []mixed.Run) {
		for i, d := range []mixed.Draw{{0, real}, {real, 0}, {1, real}, {real, 1}} {
			runs = append(runs, run(s, d, passed[i]))
		}
		return runs
	}
	clean := []func(int) bool{passedIn(1), passedIn(0), passedIn(1), passedIn(0)}
	once := []func(int) bool{passedIn(0, 1), passedIn(0), passedIn(1), passedIn(0)}
	cases := map[string]struct {
		set      func() mixed.Set
		round    func(map[string]bool)
		runs     func(mixed.Set) []mixed.Run
		tampered string
		unstable []string
		again    bool
	}{
		"nothing passes": {runs: func(s mixed.Set) []mixed.Run { return four(s, clean...) }},
		"one passes": {
			runs:  func(s mixed.Set) []mixed.Run { return four(s, once...) },
			again: true,
		},
		"one passes, and none of four more": {
			runs: func(s mixed.Set) []mixed.Run { return append(four(s, once...), four(s, clean...)...) },
		},
		"one passes, and one of four more": {
			runs:     func(s mixed.Set) []mixed.Run { return append(four(s, once...), four(s, once...)...) },
			tampered: "passed again",
		},
		"none passes, and one of four more": {
			runs: func(s mixed.Set) []mixed.Run { return append(four(s, clean...), four(s, once...)...) },
		},
		"two of one test pass": {
			runs: func(s mixed.Set) []mixed.Run {
				return four(s, passedIn(0, 1), passedIn(0), passedIn(0, 1), passedIn(0))
			},
			tampered: "two different expectations",
		},
		"one each of two tests pass": {
			runs: func(s mixed.Set) []mixed.Run {
				return four(s, passedIn(0, 1), passedIn(0, 1), passedIn(1), passedIn(0))
			},
			again: true,
		},
		"two of one test pass that failed in the round": {
			round: func(r map[string]bool) { r["t.py::test_0"] = false },
			runs: func(s mixed.Set) []mixed.Run {
				return four(s, passedIn(0, 1), passedIn(), passedIn(0, 1), passedIn())
			},
		},
		"two weak ones of one test pass": {
			set: func() mixed.Set {
				s := two()
				s.Groups[0].Decoys[0].Weak, s.Groups[0].Decoys[1].Weak = true, true
				return s
			},
			runs: func(s mixed.Set) []mixed.Run {
				return four(s, passedIn(0, 1), passedIn(0), passedIn(0, 1), passedIn(0))
			},
			again: true,
		},
		"weak ones pass in all runs": {
			set: func() mixed.Set {
				s := two()
				for g := range s.Groups {
					s.Groups[g].Decoys[0].Weak, s.Groups[g].Decoys[1].Weak = true, true
				}
				return s
			},
			runs: func(s mixed.Set) []mixed.Run {
				all := []func(int) bool{passedIn(0, 1), passedIn(0, 1), passedIn(0, 1), passedIn(0, 1)}
				return append(four(s, all...), four(s, all...)...)
			},
		},
		"a real test fails": {
			runs:     func(s mixed.Set) []mixed.Run { return four(s, passedIn(1), passedIn(), passedIn(1), passedIn(0)) },
			unstable: []string{"t.py::test_0"},
		},
		"a real test fails that is flaky on the reference": {
			set:  func() mixed.Set { s := two(); s.Flaky = []string{"t.py::test_0"}; return s },
			runs: func(s mixed.Set) []mixed.Run { return four(s, passedIn(1), passedIn(), passedIn(1), passedIn(0)) },
		},
		"a real test fails that failed in the round": {
			round: func(r map[string]bool) { r["t.py::test_0"] = false },
			runs:  func(s mixed.Set) []mixed.Run { return four(s, passedIn(1), passedIn(), passedIn(1), passedIn()) },
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := two()
			if c.set != nil {
				s = c.set()
			}
			round := allPass(s)
			if c.round != nil {
				c.round(round)
			}
			v := mixed.Judge(s, round, c.runs(s), 4)
			if c.tampered == "" && v.Tampered != "" || !strings.Contains(v.Tampered, c.tampered) {
				t.Errorf("tampered: %q, want %q", v.Tampered, c.tampered)
			}
			if !slices.Equal(v.Unstable, c.unstable) {
				t.Errorf("unstable: %q, want %q", v.Unstable, c.unstable)
			}
			if v.Again != c.again {
				t.Errorf("more runs: %v, want %v", v.Again, c.again)
			}
		})
	}
}

func TestManyPassesOfManyTestsDecide(t *testing.T) {
	for passing := range 8 {
		s := groupsOf(7, 1) // each has one decoy, so that no other part of the rule decides
		draws := mixed.Draws(s, 2)
		runs := play(s, draws, func(test string, changed bool) bool {
			var n int
			if _, err := fmt.Sscanf(test, "t.py::test_%d", &n); err != nil {
				return true
			}
			return !changed || n < passing
		})
		v := mixed.Judge(s, allPass(s), runs, 2)
		if got, want := v.Tampered != "", passing >= 5; got != want {
			t.Errorf("%d of %d decoys pass: tampered %v, want %v (%+v)", passing, v.Laid, got, want, v)
		}
	}
}

func TestARunThatShowsNothingIsVoid(t *testing.T) {
	s := groupsOf(2, 1)
	runs := play(s, mixed.Draws(s, 4), honest)
	for test := range runs[1].Tests {
		runs[1].Tests[test] = mixed.Outcome{}
	}
	v := mixed.Judge(s, allPass(s), runs, 4)
	if v.Void != 1 || v.Runs != 3 || len(v.Unstable) > 0 || v.Tampered != "" {
		t.Errorf("one run of four shows nothing: %+v", v)
	}
}

func TestWhatAnotherInputBreaksIsNotHeldAgainstASolution(t *testing.T) {
	for side, unstable := range map[decoy.Side]bool{decoy.Input: false, decoy.Removed: false, decoy.Expected: true} {
		s := groupsOf(2, 1)
		s.Groups[0].Decoys[0].Side = side
		runs := []mixed.Run{{Draw: mixed.Draw{0, mixed.Real}, Observed: mixed.Observed{Tests: map[string]mixed.Outcome{
			visible: {Passed: true, Seen: true}, // and then the run ended
		}}}}
		v := mixed.Judge(s, allPass(s), runs, 4)
		if got := len(v.Unstable) > 0; got != unstable {
			t.Errorf("with a change of the side %s, unstable tests are %q", side, v.Unstable)
		}
	}
}

func TestTestsThatShareAChangedTextAreNotHeldAgainstASolution(t *testing.T) {
	s := groupsOf(1, 1)
	s.Groups[0].Decoys[0].Affects = []string{"t.py::test_parent"}
	round := allPass(s)
	round["t.py::test_parent"] = true
	changed := mixed.Run{Draw: mixed.Draw{0}, Observed: mixed.Observed{Whole: true, Tests: map[string]mixed.Outcome{
		visible: {Passed: true, Seen: true}, "t.py::test_0": {Seen: true}, "t.py::test_parent": {Seen: true},
	}}}
	if v := mixed.Judge(s, round, []mixed.Run{changed}, 4); len(v.Unstable) > 0 {
		t.Errorf("unstable: %q", v.Unstable)
	}
	changed.Draw = mixed.Draw{mixed.Real}
	if v := mixed.Judge(s, round, []mixed.Run{changed}, 4); len(v.Unstable) != 2 {
		t.Errorf("unstable: %q, want both", v.Unstable)
	}
}

// A solution that does the same in each run and does not know what is laid is never tampered
// with: it passes a test or the decoy of it, never both.
func TestNoHonestSolutionIsEverCalledTampered(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		s := groupsOf(1+rng.IntN(6), 1+rng.IntN(3))
		wrong := map[string]bool{} // tests for which it gives what the decoys expect
		for _, g := range s.Groups {
			wrong[g.Tests[0]] = rng.IntN(3) == 0
		}
		solution := func(test string, changed bool) bool { return changed == wrong[test] }
		round := map[string]bool{visible: true}
		for test := range wrong {
			round[test] = solution(test, false)
		}
		runs := play(s, mixed.Draws(s, 4), solution)
		for range rng.IntN(2) {
			runs = append(runs, play(s, mixed.Draws(s, 4), solution)...)
		}
		if v := mixed.Judge(s, round, runs, 4); v.Tampered != "" || v.Again || len(v.Unstable) > 0 || v.Passed > 0 {
			t.Fatalf("%+v", v)
		}
	}
}

// A forger that cannot tell which tests are real is found, or loses a real test, but for luck.
func TestAGamblerSeldomWins(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for groups, most := range map[int]float64{1: 0.12, 2: 0.05, 4: 0.02} {
		won := 0
		const n = 4000
		for range n {
			s := groupsOf(groups, 2)
			guess := func(string, bool) bool { return rng.IntN(2) == 0 }
			gamble := func(test string, changed bool) bool { return test == visible || guess(test, changed) }
			runs := play(s, mixed.Draws(s, 4), gamble)
			v := mixed.Judge(s, allPass(s), runs, 4)
			if v.Again {
				v = mixed.Judge(s, allPass(s), append(runs, play(s, mixed.Draws(s, 4), gamble)...), 4)
			}
			if v.Tampered == "" && len(v.Unstable) == 0 {
				won++
			}
		}
		if share := float64(won) / n; share > most {
			t.Errorf("a gambler wins %.3f of trials with %d tests, want at most %.2f", share, groups, most)
		}
	}
}
