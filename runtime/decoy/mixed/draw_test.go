package mixed_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/assayd/assayd/runtime/decoy"
	"github.com/assayd/assayd/runtime/decoy/mixed"
)

// groupsOf is a set with so many groups, of one test each, with so many decoys each.
func groupsOf(groups, decoys int) mixed.Set {
	var text bytes.Buffer
	s := mixed.Set{Files: map[string][]byte{}}
	for g := range groups {
		name := fmt.Sprintf("t.py::test_%d", g)
		group := mixed.Group{Tests: []string{name}}
		for d := range decoys {
			at := text.Len()
			fmt.Fprintf(&text, "%d%d\n", g%10, d%10)
			group.Decoys = append(group.Decoys, mixed.Decoy{Variant: decoy.Variant{
				Test: name, File: "t.py", From: at, To: at + 2, Old: text.String()[at : at+2], New: "xy", Side: decoy.Expected,
			}})
		}
		s.Groups = append(s.Groups, group)
	}
	s.Files["t.py"] = text.Bytes()
	return s
}

func TestEachTestIsRealTwiceAndChangedTwice(t *testing.T) {
	for groups := 1; groups <= 9; groups++ {
		for range 50 {
			s := groupsOf(groups, 3)
			draws := mixed.Draws(s, 4)
			if len(draws) != 4 {
				t.Fatalf("%d runs, want 4", len(draws))
			}
			for g := range groups {
				var laid []int
				for i, d := range draws {
					if d[g] != mixed.Real {
						laid = append(laid, d[g])
					}
					if other := draws[i^1]; (d[g] == mixed.Real) == (other[g] == mixed.Real) {
						t.Fatalf("group %d is the same in both runs of a pair: %v", g, draws)
					}
				}
				if len(laid) != 2 || laid[0] == laid[1] {
					t.Fatalf("group %d has the decoys %v in four runs, want two different ones", g, laid)
				}
			}
			for _, d := range draws {
				changed := len(d) - len(slices.DeleteFunc(slices.Clone(d), func(n int) bool { return n != mixed.Real }))
				if groups > 1 && (changed == 0 || changed == groups) {
					t.Fatalf("a run is wholly real or wholly changed: %v", draws)
				}
			}
		}
	}
}

// A forger of one of three tests sees how the other two are laid, and forges where the tests are all real: else it would not
// have won the deciding round. Whatever else it goes by, it passes a decoy or fails the real test in some run.
func TestWhoForgesOneTestByWhatTwoOthersLookLikeIsFound(t *testing.T) {
	s := groupsOf(3, 3)
	for rule := range 8 { // whether it forges where the second, the first, or both of the others are changed
		for range 200 {
			found := false
			for _, d := range mixed.Draws(s, 4) {
				looks := 0
				for i := range 2 {
					if d[i] != mixed.Real {
						looks += 1 << i
					}
				}
				forges := looks == 0 || rule>>(looks-1)&1 == 1
				found = found || forges == (d[2] != mixed.Real)
			}
			if !found {
				t.Fatalf("who forges by rule %d is not found", rule)
			}
		}
	}
}

func TestDrawsAreNotForeseeable(t *testing.T) {
	s, seen := groupsOf(1, 1), map[string]int{}
	const n = 400
	for range n {
		seen[fmt.Sprint(mixed.Draws(s, 4))]++
	}
	if len(seen) != 4 {
		t.Fatalf("four runs of one test come out in %d ways, want 4: %v", len(seen), seen)
	}
	for draw, times := range seen {
		if times < n/8 {
			t.Errorf("%s came %d times of %d", draw, times, n)
		}
	}
}

func TestWeakDecoysAreUsedWhenThereIsNoOther(t *testing.T) {
	s := groupsOf(1, 3)
	s.Groups[0].Decoys[0].Weak = true
	for range 50 {
		for _, d := range mixed.Draws(s, 4) {
			if d[0] == 0 {
				t.Fatal("a weak decoy is laid although there are two others")
			}
		}
	}
}

func TestALaidDrawHasTheChangesThatItNames(t *testing.T) {
	s := groupsOf(2, 2)
	files, err := s.Lay(mixed.Draw{1, mixed.Real})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(files["t.py"]), "00\nxy\n10\n11\n"; got != want {
		t.Errorf("laid %q, want %q", got, want)
	}
	if files, err := s.Lay(mixed.Draw{mixed.Real, mixed.Real}); err != nil || len(files) != 0 {
		t.Errorf("a draw that changes nothing lays %v, %v", files, err)
	}
	for _, wrong := range []mixed.Draw{{0}, {0, 7}, {-2, 0}} {
		if _, err := s.Lay(wrong); err == nil {
			t.Errorf("the draw %v is laid", wrong)
		}
	}
}
