package page

import (
	"fmt"
	"strings"
	"time"

	"github.com/assayd/assayd/reconcile/query/trialview"
	"github.com/assayd/assayd/runtime/judge/round"
)

// Trial is one trial with its rounds.
type Trial struct {
	Frame
	trialview.TrialInfo
	Verdict string // in words
	Later   string // of an extended trial: until when, and what it came to; "" = it is not
	Rounds  []RoundLine
	Next    string // address of the next page of rounds
	First   string // address of the first one, where this is another one
	Chart   *RoundChart
	Failing []trialview.TestInfo // of the best round
	Left    int                  // failing tests that are not shown
}

// RoundLine is a round in a table, with what it changes.
type RoundLine struct {
	trialview.RoundInfo
	Best    bool
	Before  string // the round before; "" = it is the first one
	Between string // address of the page between the two
}

// RoundChart is the pass rate over the time of a trial.
type RoundChart struct {
	Line  string // points of the best so far
	Marks []RoundMark
	Ticks []RoundTick
}

// RoundMark is a round in a chart.
type RoundMark struct {
	Round, Label string
	X, Y         float64
	Auto         bool // not sent by the agent
}

// RoundTick is a moment on the axis of a chart.
type RoundTick struct {
	X     float64
	Label string
}

// MaxFailing is how many failing tests the page of a trial shows.
const MaxFailing = 20

// TrialData are the answers of which the page of a trial is made.
type TrialData struct {
	Trial       trialview.TrialInfo
	Rounds      []trialview.RoundInfo
	Next, First string
	Best        *round.Report        // nil = no round is the best, or it is not judged
	Failing     []trialview.TestInfo // of the best round, the first ones
}

// NewTrial makes the page of a trial.
func NewTrial(f Frame, d TrialData) *Trial {
	f.Title, f.Nav, f.Topics = d.Trial.ID, "runs", []string{d.Trial.ID}
	v := &Trial{Frame: f, TrialInfo: d.Trial, Next: d.Next, First: d.First}
	before := ""
	for _, r := range d.Rounds {
		line := RoundLine{RoundInfo: r, Best: r.Round.Round == d.Trial.Best}
		if before != "" && !r.Kind.Internal() {
			line.Before, line.Between = before, BetweenPath(d.Trial.ID, before, r.Round.Round)
		}
		if !r.Kind.Internal() {
			before = r.Round.Round
		}
		v.Rounds = append(v.Rounds, line)
	}
	v.Failing = d.Failing[:min(MaxFailing, len(d.Failing))]
	if d.Best != nil {
		v.Left = max(0, d.Best.Failed+d.Best.Errors-len(v.Failing))
	}
	v.Verdict, v.Later = verdict(d), d.Trial.LaterInWords()
	v.Chart = roundChart(d.Rounds)
	return v
}

// verdict says in words how a trial stands, and why.
func verdict(d TrialData) string {
	t := d.Trial
	var text string
	switch {
	case t.Status == "":
		text = fmt.Sprintf("No verdict yet: the trial is in phase %s.", t.Phase)
	case t.Best == "":
		text = fmt.Sprintf("%s: nothing was judged that counts.", t.Status)
	case d.Best != nil:
		total := d.Best.Passed + d.Best.Failed + d.Best.Errors
		text = fmt.Sprintf("%s: %d of %d tests pass in the best round, %s.", t.Status, d.Best.Passed, total, t.Best)
	default:
		text = fmt.Sprintf("%s; the best round is %s.", t.Status, t.Best)
	}
	if t.Reason != "" {
		text += fmt.Sprintf(" Reason: %s.", t.Reason)
	}
	return text
}

// Sizes of a chart of rounds in units of its view box.
const (
	chartWidth, chartHeight      = 720.0, 120.0
	chartLeft, chartTop, chartUp = 36.0, 8.0, 20.0
)

// roundChart draws the rounds of a trial that have a report; nil where there are fewer than two.
func roundChart(rounds []trialview.RoundInfo) *RoundChart {
	c, end, best := &RoundChart{}, 0.0, 0.0
	for _, r := range rounds {
		if drawn(r) {
			end = max(end, r.ElapsedS)
		}
	}
	x := func(s float64) float64 { return chartLeft + s/end*(chartWidth-chartLeft-12) }
	y := func(rate float64) float64 { return chartTop + (1-rate)*(chartHeight-chartTop-chartUp) }
	var line []string
	for _, r := range rounds {
		if !drawn(r) || end == 0 {
			continue
		}
		rate := r.Report.PassRate
		c.Marks = append(c.Marks, RoundMark{
			r.Round.Round, fmt.Sprintf("%s at %s: %.0f %%", r.Round.Round, lasts(seconds(r.ElapsedS)), 100*rate), x(r.ElapsedS), y(rate), r.Kind != round.KindAgent,
		})
		if r.Beyond { // the line is of what is reported
			continue
		}
		line = append(line, fmt.Sprintf("%.1f,%.1f", x(r.ElapsedS), y(best)))
		best = max(best, rate)
		line = append(line, fmt.Sprintf("%.1f,%.1f", x(r.ElapsedS), y(best)))
	}
	if len(c.Marks) < 2 {
		return nil
	}
	for i := range 5 {
		at := end * float64(i) / 4
		label := "0s"
		if i > 0 {
			label = lasts(seconds(at))
		}
		c.Ticks = append(c.Ticks, RoundTick{x(at), label})
	}
	c.Line = strings.Join(line, " ")
	return c
}

// drawn reports whether a round is in the chart: what the private set says is in no curve.
func drawn(r trialview.RoundInfo) bool { return r.Report != nil && !r.Kind.Internal() }

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// Word is the trial's state in one word: its status once it has one.
func (v *Trial) Word() string {
	if v.Status != "" {
		return string(v.Status)
	}
	return string(v.Phase)
}

// Lasts is how long the trial has lasted until now, or until its end.
func (v *Trial) Lasts() string {
	end := v.Now
	if !v.Ended.IsZero() {
		end = v.Ended
	}
	if v.Started.IsZero() || end.IsZero() {
		return "–"
	}
	return lasts(end.Sub(v.Started))
}

// Files are files of a trial to save.
type Files struct {
	Frame
	Trial       trialview.TrialInfo
	Items       []FileLine
	Next, First string
}

// FileLine is a file in a table, with what it is in words.
type FileLine struct {
	trialview.FileInfo
	Is string
}

// NewFiles makes a page of the list.
func NewFiles(f Frame, t trialview.TrialInfo, files []trialview.FileInfo, next, first string) *Files {
	f.Title, f.Nav, f.Topics = "files of "+t.ID, "runs", []string{t.ID}
	v := &Files{Frame: f, Trial: t, Next: next, First: first}
	for _, file := range files {
		v.Items = append(v.Items, FileLine{file, fileIs[file.Kind]})
	}
	return v
}

// fileIs says what files of a kind are.
var fileIs = map[string]string{
	trialview.FilePrompt:     "what the agent was told",
	trialview.FileLog:        "what the agent printed",
	trialview.FileTranscript: "what the agent and its models said",
	trialview.FileTrajectory: "the same as an ATIF document",
	trialview.FilePatch:      "what the agent changed",
	trialview.FileArchive:    "the tree that was judged",
	trialview.FileOutput:     "what the judge command printed",
	trialview.FileStage:      "what the run stage handed on",
}
