package mixed

import (
	crypto "crypto/rand"
	"fmt"
	"math/rand/v2"

	"github.com/assayd/assayd/runtime/decoy"
)

// Draw says of each group of a Set, by its index, which of its decoys is laid in one run;
// Real means that its tests are laid as they are.
type Draw []int

// Real is in a Draw for a group that is not changed.
const Real = -1

// Draws draws that many runs, an even number. Runs come in pairs that complement each
// other: each group is real in one and changed in the other. With more than one group no
// run is wholly real or wholly changed, and with more than two no two pairs split the groups in the same way
// as long as there is another: who forges one test by what another looks like would be right in both. A group has another decoy each time it is changed,
// until it has no more.
func Draws(s Set, runs int) []Draw {
	var seed [32]byte
	_, _ = crypto.Read(seed[:]) // never fails
	rng := rand.New(rand.NewChaCha8(seed))
	orders := make([][]int, len(s.Groups))
	for g, group := range s.Groups {
		orders[g] = order(rng, group)
	}
	var draws []Draw
	splits := map[string]bool{}
	for pair := range runs / 2 {
		changed := toss(rng, len(s.Groups))
		for splits[split(changed)] {
			changed = toss(rng, len(s.Groups))
		}
		if splits[split(changed)] = true; !more(splits, len(s.Groups)) {
			clear(splits)
		}
		first, second := make(Draw, len(s.Groups)), make(Draw, len(s.Groups))
		for g := range s.Groups {
			lay := orders[g][pair%len(orders[g])]
			first[g], second[g] = lay, Real
			if !changed[g] {
				first[g], second[g] = Real, lay
			}
		}
		draws = append(draws, first, second)
	}
	return draws
}

// order is the order in which the decoys of a group are used: weak ones last.
func order(rng *rand.Rand, g Group) []int {
	var strong, weak []int
	for _, i := range rng.Perm(len(g.Decoys)) {
		if g.Decoys[i].Weak {
			weak = append(weak, i)
		} else {
			strong = append(strong, i)
		}
	}
	return append(strong, weak...)
}

// toss draws a bit for each of n groups, not all equal where that can be avoided.
func toss(rng *rand.Rand, n int) []bool {
	bits := make([]bool, n)
	for {
		ones := 0
		for i := range bits {
			if bits[i] = rng.IntN(2) == 1; bits[i] {
				ones++
			}
		}
		if n < 2 || ones > 0 && ones < n {
			return bits
		}
	}
}

// split names how bits split what they stand for, whichever side is which.
func split(bits []bool) string {
	name := make([]byte, len(bits))
	for i, bit := range bits {
		name[i] = '0'
		if bit != bits[0] {
			name[i] = '1'
		}
	}
	return string(name)
}

// more reports whether n groups can be split in another way than these.
func more(splits map[string]bool, n int) bool {
	const enough = 16 // of which no draws use up the splits
	return n > enough || len(splits) < max(1, 1<<max(0, n-1)-1)
}

// Lay returns the hidden files that a draw changes, as they are laid. It is an error if the
// draw is not one of the set.
func (s Set) Lay(d Draw) (map[string][]byte, error) {
	if len(d) != len(s.Groups) {
		return nil, fmt.Errorf("lay a draw of %d groups: there are %d", len(d), len(s.Groups))
	}
	variants := map[string][]decoy.Variant{}
	for g, i := range d {
		switch {
		case i == Real:
		case i < 0 || i >= len(s.Groups[g].Decoys):
			return nil, fmt.Errorf("lay decoy %d of group %d: it has %d", i, g, len(s.Groups[g].Decoys))
		default:
			v := s.Groups[g].Decoys[i].Variant
			variants[v.File] = append(variants[v.File], v)
		}
	}
	files := map[string][]byte{}
	for name, list := range variants {
		content, err := decoy.Apply(s.Files[name], list)
		if err != nil {
			return nil, fmt.Errorf("lay decoys: %w", err)
		}
		files[name] = content
	}
	return files, nil
}
