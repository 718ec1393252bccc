package page

import (
	"fmt"
	"strings"

	"github.com/assayd/assayd/reconcile/query/trialview"
	"github.com/assayd/assayd/runtime/judge/parser"
)

// Round is one submission.
type Round struct {
	Frame
	Trial trialview.TrialInfo
	trialview.RoundInfo
	Tests       []trialview.TestInfo
	Next, First string // addresses of pages of tests
	Status      string // of the tests that are shown; "" = any
	Search      string // what their names have
	Statuses    []parser.Status
	Output      *trialview.OutputPage // nil = there is none
	Lines       []OutputLine
	Begins      string // address of the beginning of the output; "" = it is here
	Earlier     string // address of the output before this page; "" = it begins here, or is in files
	Later       string
	NoOutput    string // why there is none
}

// OutputLine is a line of an output; N counts from 1 in this page.
type OutputLine struct {
	N    int
	Text string
}

// outputLines are the lines of a text.
func outputLines(text string) (all []OutputLine) {
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		all = append(all, OutputLine{i + 1, line})
	}
	return all
}

// RoundData are the answers of which the page of a round is made.
type RoundData struct {
	Trial          trialview.TrialInfo
	Round          trialview.RoundInfo
	Tests          []trialview.TestInfo
	Next, First    string
	Status, Search string
	Output         *trialview.OutputPage
	NoOutput       string
}

// NewRound makes the page of a round.
func NewRound(f Frame, d RoundData) *Round {
	f.Title, f.Nav, f.Topics = d.Round.Round.Round+" of "+d.Trial.ID, "runs", []string{d.Trial.ID}
	v := &Round{
		Frame: f, Trial: d.Trial, RoundInfo: d.Round, Tests: d.Tests, Next: d.Next, First: d.First, Status: d.Status, Search: d.Search,
		Statuses: []parser.Status{parser.Passed, parser.Failed, parser.Errored, parser.Skipped}, Output: d.Output, NoOutput: d.NoOutput,
	}
	if o := d.Output; o != nil {
		v.Lines = outputLines(o.Text)
		at := RoundPath(d.Trial.ID, d.Round.Round.Round)
		if o.Offset > 0 {
			v.Begins = at + "#output"
		}
		// Pages end where a character does: from a page alone nothing tells where the one before it begins, and a page in
		// a file must not be written twice.
		if o.Offset > trialview.OutputPageSize && f.Still == nil {
			v.Earlier = fmt.Sprintf("%s?offset=%d#output", at, max(0, o.Offset-trialview.OutputPageSize))
		}
		if o.Next > 0 {
			v.Later = fmt.Sprintf("%s?offset=%d#output", at, o.Next)
		}
	}
	return v
}
