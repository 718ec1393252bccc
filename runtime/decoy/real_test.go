//go:build real

package decoy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestRealProposals proposes variants for the tests of real pull requests, and prints for
// each the share of hidden tests that have some. Each test that fails before the pull
// request must have as many as are wanted. ASSAYD_DATA names the folder of instances.json,
// ASSAYD_REPOS that of the clones.
func TestRealProposals(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(os.Getenv("ASSAYD_DATA"), "instances.json"))
	if err != nil {
		t.Fatalf("ASSAYD_DATA must name the folder with instances.json: %v", err)
	}
	var pulls []struct {
		ID         string   `json:"instance_id"`
		Repo       string   `json:"repo"`
		Language   string   `json:"language"`
		Category   string   `json:"category"`
		Merge      string   `json:"merge_commit"`
		TestFiles  []string `json:"test_files"`
		FailToPass []string `json:"FAIL_TO_PASS"`
		PassToPass []string `json:"PASS_TO_PASS"`
	}
	if err := json.Unmarshal(raw, &pulls); err != nil {
		t.Fatal(err)
	}
	parsers := map[string]string{"python": "pytest", "go": "gotest", "javascript": "node", "rust": "cargo"}
	seen := 0
	for _, p := range pulls {
		if p.Category != "positive" {
			continue
		}
		seen++
		files := map[string][]byte{}
		for _, name := range p.TestFiles {
			clone := filepath.Join(os.Getenv("ASSAYD_REPOS"), strings.Replace(p.Repo, "/", "+", 1), "repo")
			cmd := exec.CommandContext(t.Context(), "git", "-c", "safe.directory=*", "--git-dir", clone, "show", p.Merge+":"+name)
			if files[name], err = cmd.Output(); err != nil {
				t.Fatalf("ASSAYD_REPOS must name the folder with the clones (owner+name/repo): %v", err)
			}
		}
		proposal, err := Propose(parsers[p.Language], files, slices.Concat(p.FailToPass, p.PassToPass))
		if err != nil {
			t.Fatal(err)
		}
		checkProposal(t, files, proposal)
		fmt.Printf("%s: of %d tests in these files %d have a variant, %d three; %d are in other files\n", p.ID,
			len(proposal.Variants)+len(proposal.None)-elsewhere(proposal), len(proposal.Variants), rich(proposal), elsewhere(proposal))
		for _, test := range slices.Sorted(slices.Values(p.PassToPass)) {
			if reason := proposal.None[test]; reason != "" && !strings.HasPrefix(reason, "it is in none") {
				fmt.Printf("    none: %s: %s\n", test, reason)
			}
		}
		for _, test := range slices.Sorted(maps.Keys(proposal.Variants)) {
			if n := tokens(proposal.Variants[test]); n < Wanted && testing.Verbose() {
				fmt.Printf("    %d only: %s\n", n, test)
			}
		}
		for _, test := range p.FailToPass {
			sides := map[Side]int{}
			for _, v := range proposal.Variants[test] {
				sides[v.Side]++
			}
			fmt.Printf("    F2P %s: %v %s\n", test, sides, proposal.None[test])
			if testing.Verbose() {
				for _, v := range proposal.Variants[test] {
					fmt.Printf("        line %d %s: %.60q -> %.60q (%+d)\n", v.Line, v.Side, differing(v.Old, v.New), differing(v.New, v.Old), v.Grows())
				}
			}
			if tokens(proposal.Variants[test]) < Wanted {
				t.Errorf("%s: %s has %d variants at different tokens, want %d", p.ID, test, tokens(proposal.Variants[test]), Wanted)
			}
		}
	}
	if seen == 0 {
		t.Fatal("instances.json has no positive pull request")
	}
}

// differing is the part of a long text where another differs.
func differing(text, other string) string {
	n := 0
	for n < len(text) && n < len(other) && text[n] == other[n] {
		n++
	}
	if len(text) < 40 {
		return text
	}
	return text[max(0, n-20):]
}

func elsewhere(p Proposal) (n int) {
	for _, reason := range p.None {
		if strings.HasPrefix(reason, "it is in none") {
			n++
		}
	}
	return n
}

func rich(p Proposal) (n int) {
	for _, variants := range p.Variants {
		if tokens(variants) >= Wanted {
			n++
		}
	}
	return n
}

// tokens counts the places that variants change.
func tokens(variants []Variant) int {
	places := slices.SortedFunc(slices.Values(variants), func(a, b Variant) int { return cmp.Compare(a.From, b.From) })
	n, end := 0, -1
	for _, v := range places {
		if v.From >= end {
			n, end = n+1, v.To
		}
	}
	return n
}
