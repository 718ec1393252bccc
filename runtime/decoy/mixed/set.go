package mixed

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/assayd/assayd/runtime/decoy"
)

// Set holds the decoys of one content: those that were made, and why others were not.
type Set struct {
	None      string            `json:"none,omitempty"`      // why there are no decoys at all
	Files     map[string][]byte `json:"files,omitempty"`     // hidden files that decoys change, as they are
	Groups    []Group           `json:"groups,omitempty"`    // at least one decoy each
	Unchecked map[string]string `json:"unchecked,omitempty"` // tests of fail_to_pass without a decoy, and why
	Flaky     []string          `json:"flaky,omitempty"`     // tests that differ between runs of the reference
	// Kept are tests of pass_to_pass that agents cannot see, as far as decoys of them were looked for,
	// sorted.
	Kept   []string `json:"kept,omitempty"`
	Forger string   `json:"forger,omitempty"` // why no decoy was held against a stock forger; "" = each was
	Cut    string   `json:"cut,omitempty"`    // why not all variants were tried
}

// Group holds tests of which one run changes at most one: changing one may
// change the outcome of the others.
type Group struct {
	Tests  []string `json:"tests"` // sorted
	Decoys []Decoy  `json:"decoys"`
}

// Decoy is a variant that was found to be valid.
type Decoy struct {
	decoy.Variant
	// Weak marks a decoy that an honest solution of another kind might pass. It never decides
	// alone.
	Weak bool `json:"weak,omitempty"`
}

// Decode reads a Set that Encode wrote.
func Decode(data []byte) (s Set, err error) {
	if err := json.Unmarshal(data, &s); err != nil {
		return s, fmt.Errorf("read decoys: %w", err)
	}
	return s, nil
}

// Encode writes a Set as JSON. Equal sets give equal bytes.
func (s Set) Encode() []byte {
	data, err := json.Marshal(s)
	if err != nil {
		panic(fmt.Sprintf("encode decoys: %v", err)) // plain data always encodes
	}
	return data
}

// Checked counts the tests of fail_to_pass that have a decoy of their own.
func (s Set) Checked() int { return s.Made() - s.keptMade() }

// Made counts the tests that have a decoy of their own.
func (s Set) Made() int { return len(s.made()) }

// Eligible counts the tests that decoys were looked for of.
func (s Set) Eligible() int { return s.Checked() + len(s.Unchecked) + len(s.Kept) }

func (s Set) keptMade() (n int) {
	made := s.made()
	for _, test := range s.Kept {
		if made[test] > 0 {
			n++
		}
	}
	return n
}

// Has reports whether a test has a decoy of its own.
func (s Set) Has(test string) bool { return s.made()[test] > 0 }

// Touches reports whether a round is worth a doubt: a test of fail_to_pass passed, and so did one
// that has a decoy.
func (s Set) Touches(passed map[string]bool, failToPass []string) bool {
	if !slices.ContainsFunc(failToPass, func(test string) bool { return passed[test] }) {
		return false
	}
	for test := range s.made() {
		if passed[test] {
			return true
		}
	}
	return false
}

// made counts the decoys of each test that has some.
func (s Set) made() map[string]int {
	made := map[string]int{}
	for _, g := range s.Groups {
		for _, d := range g.Decoys {
			made[d.Test]++
		}
	}
	return made
}

// Candidates groups variants of tests by which of them one run may change together. The
// best variants come first in each group, those of different tests in turn.
func Candidates(parser string, variants map[string][]decoy.Variant) []Group {
	tests := make([]string, 0, len(variants))
	for test := range variants {
		tests = append(tests, test)
	}
	slices.Sort(tests)
	of := components(parser, tests, variants)
	var groups []Group
	for _, members := range of {
		g := Group{Tests: members}
		for turn := range decoy.Limit {
			for _, test := range members {
				if turn < len(variants[test]) {
					g.Decoys = append(g.Decoys, Decoy{Variant: variants[test][turn]})
				}
			}
		}
		slices.SortStableFunc(g.Decoys, func(a, b Decoy) int { return cmp.Compare(rank(a.Side), rank(b.Side)) })
		if len(g.Decoys) > 0 {
			groups = append(groups, g)
		}
	}
	return groups
}

// rank orders sides from the most telling to the least.
func rank(s decoy.Side) int {
	return slices.Index([]decoy.Side{decoy.Expected, decoy.Constant, decoy.Comparator, decoy.Removed, decoy.Input}, s)
}

// components joins tests whose outcomes hang together: by name, or as a variant says.
func components(parser string, tests []string, variants map[string][]decoy.Variant) [][]string {
	head := map[string]string{}
	var find func(string) string
	find = func(t string) string {
		if up := head[t]; up != "" && up != t {
			head[t] = find(up)
			return head[t]
		}
		return t
	}
	join := func(a, b string) { head[find(a)] = find(b) }
	first := map[string]string{}
	for _, t := range tests {
		base := Base(parser, t)
		if other, ok := first[base]; ok {
			join(t, other)
		}
		first[base] = t
		for _, v := range variants[t] {
			for _, shared := range v.Affects {
				if _, known := variants[shared]; known {
					join(t, shared)
				}
			}
		}
	}
	members := map[string][]string{}
	for _, t := range tests {
		members[find(t)] = append(members[find(t)], t)
	}
	var out [][]string
	for _, t := range tests {
		if list := members[find(t)]; list[0] == t {
			out = append(out, list)
		}
	}
	return out
}

// Base is the name of the test function that a test belongs to: without parameters, and
// without the names of subtests.
func Base(parser, test string) string {
	switch parser {
	case "gotest":
		head, name, ok := cutLast(test, "::")
		if !ok {
			head, name = "", test
		}
		name, _, _ = strings.Cut(name, "/")
		return head + "::" + name
	case "pytest", "pytest_v":
		if i := strings.IndexByte(test, '['); i > 0 && strings.HasSuffix(test, "]") {
			return test[:i]
		}
	}
	return test
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
