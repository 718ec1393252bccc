package vet

import (
	"cmp"
	"slices"
)

// Severity says what a finding makes of a task.
type Severity string

// Severities, the worst first.
const (
	Breaks Severity = "broken"  // no verdict on an agent would mean anything
	Flags  Severity = "flagged" // a verdict may be had without the work
	Warns  Severity = "warning" // the task is sound, and its author should know
)

// Sound is the verdict on a task of which nothing worse than a warning was found; the others
// are the severities.
const Sound = "sound"

// Finding is one thing that is wrong with a task.
type Finding struct {
	Check    string   `json:"check"` // one of the names below
	Severity Severity `json:"severity"`
	Text     string   `json:"text"`
}

// What is checked.
const (
	Images      = "images"
	Oracle      = "oracle"
	Nop         = "nop"
	Empty       = "empty_patch"
	Stable      = "stable"
	Leak        = "leak"
	Git         = "git"
	Instruction = "instruction"
	Feedback    = "feedback"
	Cheating    = "adversary"
	Time        = "time"
	Memory      = "memory"
)

// Verdict is what findings make of a task: Sound, "flagged" or "broken".
func Verdict(findings []Finding) string {
	verdict := Sound
	for _, f := range findings {
		switch f.Severity {
		case Breaks:
			return string(Breaks)
		case Flags:
			verdict = string(Flags)
		}
	}
	return verdict
}

// Sorted puts the worst first and leaves what is said twice out.
func Sorted(findings []Finding) []Finding {
	rank := []Severity{Breaks, Flags, Warns}
	out := slices.Clone(findings)
	slices.SortStableFunc(out, func(a, b Finding) int {
		return cmp.Compare(slices.Index(rank, a.Severity), slices.Index(rank, b.Severity))
	})
	seen := map[Finding]bool{}
	return slices.DeleteFunc(out, func(f Finding) bool {
		twice := seen[f]
		seen[f] = true
		return twice
	})
}
