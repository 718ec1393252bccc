package mining

import "slices"

// Stages of a pull request's life, in order. Records name the one that decided.
const (
	StageSource      = "source"      // what the source tells of it
	StageEnrich      = "enrich"      // what GitHub knows of it
	StageFilter      = "filter"      // the rules of the spec
	StageTriage      = "triage"      // how hard it looks to a model
	StageExtract     = "extract"     // its patch
	StageStatement   = "statement"   // the problem in words
	StageFeasibility = "feasibility" // whether the words name what the tests need
	StageEnvironment = "environment" // how it is installed and tested
	StageValidation  = "validation"  // its tests, run before and after
	StageClassify    = "classify"    // how hard it is
	StageQuality     = "quality"     // how good a task it is
	StageExport      = "export"      // written in the formats of the spec
)

// Stages lists all stages in order.
func Stages() []string {
	return []string{
		StageSource, StageEnrich, StageFilter, StageTriage, StageExtract, StageStatement, StageFeasibility,
		StageEnvironment, StageValidation, StageClassify, StageQuality, StageExport,
	}
}

// Reasons of pull requests that are not wanted any more; they are taken up again when the spec
// wants more.
const (
	ReasonEnough = "enough" // the spec has as many tasks as it wants
	ReasonBudget = "budget" // the spec may not spend more
)

// ReasonDifficulty is that of pull requests that are not as hard as the spec wants.
const ReasonDifficulty = "difficulty"

// TakenUpAgain reports whether a pull request that was decided for a reason may be taken up again.
func TakenUpAgain(why string) bool { return why == ReasonEnough || why == ReasonBudget }

// Reasons of this package.
const (
	reasonPerRepo = "per_repo"
	reasonQuality = "low_quality"
	reasonFormat  = "format"
	reasonPerTask = "budget_per_task"
	reasonTrouble = "trouble"
	reasonTwice   = "seen_before"       // under another name
	reasonTokens  = "tokens"            // those of the workbench
	reasonLost    = "lost"              // upstream's tests, beside those that a model wrote: it may mend that
	ReasonListed  = "decided_elsewhere" // the spec's list of pull requests has it
)

// StageCount is how many pull requests came into a stage and what became of them there.
// Entered is the sum of the others.
type StageCount struct {
	Stage    string `json:"stage"`
	Entered  int    `json:"entered"`
	Passed   int    `json:"passed"`
	Rejected int    `json:"rejected"`
	Failed   int    `json:"failed"`
	Open     int    `json:"open"` // there now, or waiting for it
}

// tally adds up what ended where and what is where now. What is open and nowhere waits for the
// stage behind the source. What is said to be under way may have been decided meanwhile: no
// more count as open than are.
func tally(c Counts, at map[string]int) []StageCount {
	open, left := map[string]int{}, c.Open
	names := Stages()
	for _, name := range slices.Backward(names) {
		open[name] = min(at[name], left)
		left -= open[name]
	}
	open[StageEnrich] += left
	passed := c.Total()
	out := make([]StageCount, len(names))
	for i, name := range slices.Backward(names) {
		s := StageCount{Stage: name, Passed: passed, Open: open[name]}
		s.Rejected, s.Failed = c.Ended[s.Stage][Rejected], c.Ended[s.Stage][Failed]
		s.Entered = s.Passed + s.Rejected + s.Failed + s.Open
		out[i], passed = s, s.Entered
	}
	return out
}
