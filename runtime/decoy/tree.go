package decoy

import (
	"maps"
	"slices"

	"github.com/assayd/assayd/runtime/decoy/replacement"
	"github.com/assayd/assayd/runtime/decoy/source"
)

// tree holds the tests of a file by the parts of it that they stand in.
type tree struct {
	*marks
	nodes []*node
	whole *replacement.Pool
	found map[int][]candidate // by outermost test

	titles map[int]bool // places of what names tests: it stays
}

// node is a part of a file that is one test or several: a test, or a row of one.
type node struct {
	at      place
	tests   []string
	parent  *node
	kids    []*node
	tables  []*node  // outside of it
	affects []string // tests that a change affects which is in no kid
}

func newTree(m *marks, tests map[string]place) *tree {
	t := &tree{marks: m, whole: m.gather(m.file.Whole()), found: map[int][]candidate{}, titles: map[int]bool{}}
	bySpan := map[source.Span]*node{}
	at := func(p place) *node {
		n := bySpan[p.Span]
		if n == nil {
			n = &node{at: p}
			bySpan[p.Span] = n
			t.nodes = append(t.nodes, n)
		}
		return n
	}
	for _, test := range slices.Sorted(maps.Keys(tests)) {
		p := tests[test]
		t.titles[p.title] = true
		n := at(p)
		n.tests = append(n.tests, test)
		p.Span = p.unit.all // what its rows have in common
		at(p)
		for _, p.Span = range p.unit.tables {
			at(p)
		}
	}
	slices.SortFunc(t.nodes, func(a, b *node) int {
		if a.at.From != b.at.From {
			return a.at.From - b.at.From
		}
		return b.at.To - a.at.To
	})
	t.nest()
	for _, n := range t.nodes { // tables outside of tests are parts of them
		if whole := bySpan[n.at.unit.all]; n.parent == nil && n != whole && n.at.unit.inTable(n.at.Span) {
			n.parent = whole
			whole.kids = append(whole.kids, n)
			whole.tables = append(whole.tables, n)
		}
	}
	for _, n := range t.nodes {
		n.affects = n.within(nil)
		for up := n.parent; up != nil; up = up.parent {
			n.affects = append(n.affects, up.tests...)
		}
		slices.Sort(n.affects)
		n.affects = slices.Compact(n.affects)
	}
	return t
}

// contains says whether a part is in another one.
func (n *node) contains(kid *node) bool {
	for up := kid.parent; up != nil; up = up.parent {
		if up == n {
			return true
		}
	}
	return false
}

// within adds the tests of a part and of what is in it.
func (n *node) within(tests []string) []string {
	tests = append(tests, n.tests...)
	for _, kid := range n.kids {
		tests = kid.within(tests)
	}
	return tests
}

// nest finds what is in what. What is nested too deeply is one with what is around it.
func (t *tree) nest() {
	var all, around []*node
	for _, n := range t.nodes {
		for len(around) > 0 && around[len(around)-1].at.To <= n.at.From {
			around = around[:len(around)-1]
		}
		if len(around) > 0 {
			n.parent = around[len(around)-1]
			if len(around) > maxDepth || n.at.To > n.parent.at.To {
				n.parent.tests = append(n.parent.tests, n.tests...)
				continue
			}
			n.parent.kids = append(n.parent.kids, n)
		}
		all, around = append(all, n), append(around, n)
	}
	t.nodes = all
}

// innermost is the smallest part that a token is in.
func (t *tree) innermost(at int) *node {
	i, _ := slices.BinarySearchFunc(t.nodes, at, func(n *node, at int) int {
		if n.at.From <= at {
			return -1
		}
		return 1
	})
	if i == 0 {
		return nil
	}
	n := t.nodes[i-1]
	for n != nil && !n.at.Has(at) {
		n = n.parent
	}
	return n
}
