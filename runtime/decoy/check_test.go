package decoy

import (
	"slices"
	"strings"
	"testing"
)

// checkProposal checks what holds of every proposal.
func checkProposal(t *testing.T, files map[string][]byte, p Proposal) {
	t.Helper()
	for test, variants := range p.Variants {
		if p.None[test] != "" || len(variants) == 0 || len(variants) > Limit {
			t.Fatalf("%q has %d variants, and none because %q", test, len(variants), p.None[test])
		}
		for _, v := range variants {
			checkVariant(t, files, v)
			if v.Test != test || !slices.Contains(v.Affects, test) || !slices.IsSorted(v.Affects) {
				t.Fatalf("the variant of %q is one of %q, and affects %q", test, v.Test, v.Affects)
			}
		}
	}
}

// checkVariant checks that one token differs in a changed file, or one statement.
func checkVariant(t *testing.T, files map[string][]byte, v Variant) {
	t.Helper()
	before := files[v.File]
	after, err := Apply(before, []Variant{v})
	if err != nil {
		t.Fatal(err)
	}
	if len(after) != len(before)+v.Grows() || v.Old == v.New {
		t.Fatalf("%d bytes become %d with %+v", len(before), len(after), v)
	}
	if string(after[:v.From]) != string(before[:v.From]) || string(after[v.From+len(v.New):]) != string(before[v.To:]) {
		t.Fatalf("more than %q differs", v.Old)
	}
	if line := strings.Count(string(before[:v.From]), "\n") + 1; line != v.Line && v.Side != Removed {
		t.Fatalf("the variant is in line %d, not %d", line, v.Line)
	}
}

// Grows is by how many bytes the change makes the file longer; less than zero = shorter.
func (v Variant) Grows() int { return len(v.New) - len(v.Old) }
