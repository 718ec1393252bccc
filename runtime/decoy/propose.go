package decoy

import (
	"fmt"
	"slices"

	"github.com/assayd/assayd/runtime/decoy/replacement"
)

// Bounds of what is read; what is beyond has no variants.
const (
	maxFile  = 1 << 20  // bytes of a file
	maxFiles = 16 << 20 // bytes of all
	maxTests = 50_000
)

// Propose returns variants of the tests that it finds in files (content by name), and says
// of the others why there is none. Parser is the name of the task's parser, and tests are
// named as it names them, or as fail_to_pass and pass_to_pass do. It is an error if there
// are no decoys for the parser: see Supported.
func Propose(parser string, files map[string][]byte, tests []string) (Proposal, error) {
	language, reason := Supported(parser)
	if reason != "" {
		return Proposal{}, fmt.Errorf("propose decoys: %s", reason)
	}
	p := Proposal{Variants: map[string][]Variant{}, None: map[string]string{}}
	r := newResolver(languages()[language], files)
	found := map[*file]map[string]place{}
	for n, test := range tests {
		if n >= maxTests {
			p.None[test] = fmt.Sprintf("it is beyond the first %d tests", maxTests)
			continue
		}
		at, reason := r.resolve(test)
		if reason != "" {
			p.None[test] = reason
			continue
		}
		if found[at.file] == nil {
			found[at.file] = map[string]place{}
		}
		found[at.file][test] = at
	}
	for f, tests := range found {
		propose(&p, mark(f, r.units[f], r.owners[f]), tests)
	}
	return p, nil
}

// propose adds the variants of the tests of one file.
func propose(p *Proposal, m *marks, tests map[string]place) {
	t := newTree(m, tests)
	for _, n := range t.nodes {
		if len(n.tests) == 0 {
			continue
		}
		variants := t.variants(n)
		for _, test := range n.tests {
			if len(variants) == 0 {
				p.None[test] = "nothing in it can be changed"
				continue
			}
			own := slices.Clone(variants)
			for i := range own {
				own[i].Test = test
			}
			p.Variants[test] = own
		}
	}
}

// candidates returns those of a part of the file.
func (t *tree) in(n *node) []candidate {
	owner := t.owner[n.at.From]
	all, ok := t.found[owner]
	if !ok {
		all = t.candidates(t.units[owner], t.whole)
		t.found[owner] = all
	}
	from, _ := slices.BinarySearchFunc(all, n.at.From, func(c candidate, at int) int { return c.at - at })
	to, _ := slices.BinarySearchFunc(all, n.at.To, func(c candidate, at int) int { return c.at - at })
	return all[from:to]
}

// variants chooses of the candidates of a part. A row that has few is changed with what all
// rows have in common.
func (t *tree) variants(n *node) []Variant {
	own := t.in(n)
	for _, table := range n.tables {
		own = slices.Concat(own, t.in(table))
	}
	chosen := choose(t.offers(own, nil), Limit)
	if len(chosen) < Wanted && n.at.Span != n.at.unit.all && len(n.tests) > 0 {
		common := *n
		common.at.Span = n.at.unit.all
		more := t.offers(t.in(&common), func(at int) bool {
			return t.innermost(at).contains(n)
		})
		chosen = append(chosen, choose(more, Limit-len(chosen))...)
	}
	var all []Variant
	for value := range replacement.MaxValues {
		for _, o := range chosen {
			if value < len(o.news) && len(all) < Limit {
				all = append(all, t.variant(o, value))
			}
		}
	}
	return all
}

func (t *tree) variant(o offer, value int) Variant {
	to := t.Tok[o.to-1].To
	return Variant{
		File: t.Name, From: o.from, To: to, Old: t.Src[o.from:to], New: o.news[value],
		Line: t.Line(t.Tok[o.at].From), Side: o.side, Affects: o.affects,
	}
}

// offer is a candidate with the tests that it affects.
type offer struct {
	candidate
	affects []string
	resized bool
	again   int // so many better ones of its side are in the same line
}

// offers are the candidates within a span, the best first.
func (t *tree) offers(all []candidate, ok func(at int) bool) []offer {
	var offers []offer
	for _, c := range all {
		n := t.innermost(c.at)
		if n == nil || t.titles[c.at] || ok != nil && !ok(c.at) || t.innermost(c.to-1) != n || c.to > c.at+2 && t.holdsKid(n, c) {
			continue
		}
		offers = append(offers, offer{candidate: c, affects: n.affects, resized: c.grows(t.file) != 0})
	}
	slices.SortFunc(offers, better)
	type spot struct {
		side Side
		line int
	}
	spots := map[spot]int{}
	for i, o := range offers {
		s := spot{o.side, t.Line(o.from)}
		offers[i].again = spots[s]
		spots[s]++
	}
	slices.SortFunc(offers, better)
	return offers
}

func better(a, b offer) int {
	switch {
	case len(a.affects) != len(b.affects):
		return len(a.affects) - len(b.affects)
	case a.side != b.side:
		return a.side.rank() - b.side.rank()
	case a.late != b.late:
		return order(b.late)
	case a.early != b.early:
		return order(a.early)
	case a.again != b.again:
		return a.again - b.again
	case a.resized != b.resized:
		return order(b.resized)
	}
	return b.at - a.at // what comes late leaves the place where the test fails now
}

func order(first bool) int {
	if first {
		return -1
	}
	return 1
}

// holdsKid says whether a part with tests of its own begins in what a candidate changes.
func (t *tree) holdsKid(n *node, c candidate) bool {
	i, _ := slices.BinarySearchFunc(n.kids, c.at, func(kid *node, at int) int { return kid.at.From - at })
	return i < len(n.kids) && n.kids[i].at.From < c.to
}

// choose takes so many offers that do not overlap, and leaves room for each side.
func choose(offers []offer, limit int) []offer {
	most := map[Side]int{Expected: limit / 2, Constant: limit / 4, Input: limit / 3, Removed: 1, Comparator: limit / 4}
	var chosen, rest []offer
	for _, o := range offers {
		if most[o.side]--; most[o.side] >= 0 {
			chosen = append(chosen, o)
		} else {
			rest = append(rest, o)
		}
	}
	chosen = chosen[:min(len(chosen), limit)]
	chosen = append(chosen, rest[:min(len(rest), limit-len(chosen))]...)
	slices.SortFunc(chosen, better)
	return chosen
}
