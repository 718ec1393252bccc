package mixedruns

import (
	"context"
	"io"
	"slices"
	"time"

	"github.com/assayd/assayd/runtime/clock"
	"github.com/assayd/assayd/runtime/decoy/mixed"
	"github.com/assayd/assayd/runtime/judge"
	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/judge/scoring"
	"github.com/assayd/assayd/runtime/task"
)

// Decoys are those of one content.
type Decoys struct {
	Digest string // of the blob that holds the set; "" = there are none
	Set    mixed.Set
}

// Runs is what a trial knows of its mixed runs, as its state keeps it. What is drawn is stored before it is
// laid, so that no crash draws again.
type Runs struct {
	Decoys string    `json:",omitempty"` // blob of the set that the draws are of
	None   string    `json:",omitempty"` // why there are none
	Until  time.Time `json:",omitzero"`  // when what is not judged is given up
	Rounds []Round   `json:",omitempty"`
	Cut    string    `json:",omitempty"` // why not all runs were made

	// What the set says of itself, for the trial's record.
	Checked   int             `json:",omitempty"`
	Eligible  int             `json:",omitempty"`
	Made      int             `json:",omitempty"`
	Unchecked []UncheckedTest `json:",omitempty"`
	Flaky     []string        `json:",omitempty"`
}

// Round is one round that is judged again.
type Round struct {
	Round   string
	Later   bool `json:",omitempty"` // it only counts for what an extended trial came to beyond its declared deadline
	Draws   []mixed.Draw
	First   int            // of the draws, those that were made before any outcome was known
	Void    []VoidRun      `json:",omitempty"` // in which no test was seen
	Verdict *mixed.Verdict `json:",omitempty"` // nil = not all runs are judged
}

// VoidRun is a mixed run in which no test was seen.
type VoidRun struct {
	Run   int // of the draws, from 0
	Fault mixed.Fault
}

// Trial is what mixed runs have to know of a trial.
type Trial struct {
	ID   string
	Try  int // from 1
	Task task.Task
	Line clock.Timeline // what Runs.Until is of
}

// Judging is by what rounds are judged again.
type Judging struct {
	Judge    *judge.Judge
	Ledger   round.Ledger
	OpenBlob func(digest string) (io.ReadCloser, error)
	// Solution readies a judge of the task's own solution with changed hidden files, for a mixed run in
	// which no test was seen; nil = then nobody knows why.
	Solution func(ctx context.Context) (judge func(ctx context.Context, changed map[string][]byte) (mixed.Observed, error), err error)
}

// runsTime is how long the mixed runs of a trial may take, beyond twice the time that the
// round itself took for each of them.
const runsTime = 20 * time.Minute

// Draw says what the runs of some rounds are: of those in which a test passed that a decoy stands for.
// later tells of a round that it only counts for what an extended trial came to beyond its declared deadline.
func (j Judging) Draw(ctx context.Context, t Trial, known Decoys, rounds []round.Submission, later func(round.Submission) bool) (runs Runs, err error) {
	runs.Decoys, runs.None, runs.Cut = known.Digest, known.Set.None, known.Set.Cut
	runs.Checked, runs.Unchecked, runs.Flaky = known.Set.Checked(), uncheckedOf(known.Set), known.Set.Flaky
	runs.Eligible, runs.Made = known.Set.Eligible(), known.Set.Made()
	if len(known.Set.Groups) == 0 {
		return runs, nil
	}
	took := time.Duration(0)
	for _, round := range rounds {
		passed, err := j.passedIn(ctx, t, round.ID)
		if err != nil {
			return Runs{}, err
		}
		if !known.Set.Touches(passed, t.Task.FailToPass) {
			continue // nothing that a decoy stands for passed: there is nothing to doubt
		}
		n := t.Task.Judge.Decoys
		took += time.Duration(4*n*int(round.Report.DurationMS)) * time.Millisecond
		runs.Rounds = append(runs.Rounds, Round{Round: round.Round, Later: later(round), Draws: mixed.Draws(known.Set, n), First: n})
	}
	runs.Until = t.Line.Now().Add(runsTime + took)
	return runs, nil
}

// Observe is what a report shows of the tests that a task declares.
func Observe(t task.Task, r round.Report) mixed.Observed {
	declared := map[string]bool{}
	for _, name := range slices.Concat(t.FailToPass, t.PassToPass, t.Judge.Expect) {
		declared[name] = true
	}
	o := mixed.Observed{Tests: map[string]mixed.Outcome{}, Whole: r.Status == round.StatusOK, TookMS: r.JudgeMS, Tampered: r.Tampered}
	for _, test := range r.Tests {
		if declared[test.Name] {
			o.Tests[test.Name] = mixed.Outcome{Passed: test.Status == parser.Passed, Seen: scoring.Seen(test), Message: test.Message + "\n" + test.Detail}
		}
	}
	return o
}
