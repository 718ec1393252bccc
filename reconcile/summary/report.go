package summary

import (
	"maps"
	"slices"
	"time"

	"github.com/assayd/assayd/runtime/stats"
	"github.com/assayd/assayd/runtime/trial"
)

// Report is what an execution of a run has come to, in numbers.
type Report struct {
	Run       string        `json:"run"`
	Execution int           `json:"execution"`
	Open      int           `json:"open"`           // trials without a verdict so far: in no number
	AsOf      time.Time     `json:"as_of,omitzero"` // when it was made, where trials have ended since: of many it takes time
	Summary   Summary       `json:"summary"`
	Agents    []AgentReport `json:"agents"` // by name
	Decoys    *DecoySummary `json:"decoys,omitempty"`
}

// Times are the points of the table of scores by time: of the run, or of the first agent that
// has them where all are controls.
func (r Report) Times() []TimePoint {
	longest := r.Summary.ScoreByTime
	for _, a := range r.Agents {
		if of := a.Summary.ScoreByTime; len(longest) == 0 {
			longest = of
		}
	}
	return longest
}

// Some are those of each number of attempts that are shown where there is not room for hundreds: up to ten, and then
// powers of two.
func Some(of []OfK) (some []OfK) {
	for _, o := range of {
		if o.K <= 10 || o.K&(o.K-1) == 0 {
			some = append(some, o)
		}
	}
	return some
}

// AgentReport is what one agent has come to; with its model where the agent has several.
type AgentReport struct {
	Agent    string       `json:"agent"`
	Control  bool         `json:"control,omitempty"` // the oracle or nop, which is in no rate of the run's summary
	Summary  Summary      `json:"summary"`
	PassAtK  []OfK        `json:"pass_at_k"` // empty with a single attempt
	PassHatK []OfK        `json:"pass_hat_k"`
	Curve    []CurvePoint `json:"curve"`
	Tasks    []TaskReport `json:"tasks"` // by name
}

// OfK is the chance that k attempts pass: one of them, or all.
type OfK struct {
	K int `json:"k"`
	Interval
}

// TaskReport is what one agent has come to on one task, by the mean of the attempts that
// count.
type TaskReport struct {
	Task string `json:"task"` // with its benchmark
	Repo string `json:"repo,omitempty"`
	Counts
	PassRate       *float64    `json:"pass_rate"`             // null where no attempt counts, or has a fixed number of tests
	NoManifest     bool        `json:"no_manifest,omitempty"` // none has: their rates cannot be compared
	Score          *float64    `json:"score"`
	Score100       *float64    `json:"score_0_100"`
	AgentDurationS float64     `json:"agent_duration_s"`
	Usage          trial.Usage `json:"usage"`
}

// Execution is an execution of a run with the trials of it that count.
type Execution struct {
	Address  string
	N        int
	Open     int
	Outcomes []*Outcome
}

// Report is the report on the execution.
func (d Execution) Report() Report {
	d.Outcomes = sorted(d.Outcomes) // once for all that is made of them
	r := Report{Run: d.Address, Execution: d.N, Open: d.Open, Summary: Summarize(d.Outcomes), Agents: []AgentReport{}, Decoys: decoySummary(d.Outcomes)}
	end := lastRound(d.Outcomes)
	agents := byAgent(d.Outcomes)
	for _, name := range slices.Sorted(maps.Keys(agents)) {
		r.Agents = append(r.Agents, agentReport(name, agents[name], r.Summary, end))
	}
	return r
}

func agentReport(name string, of []*Outcome, all Summary, end time.Duration) AgentReport {
	of = sorted(of)
	own, known := all.Agents[name]
	if of[0].Control {
		own, known = all.Controls[name]
	}
	if !known { // it is the only one
		own = summarize(of)
	}
	a := AgentReport{Agent: name, Control: of[0].Control, Summary: own, PassAtK: []OfK{}, PassHatK: []OfK{}, Tasks: []TaskReport{}}
	if at, hat := stats.PassOfEachK(samples(of, resolved)); len(at) > 1 {
		for i := range at {
			a.PassAtK = append(a.PassAtK, OfK{i + 1, *intervalOf(at[i], true)})
			a.PassHatK = append(a.PassHatK, OfK{i + 1, *intervalOf(hat[i], true)})
		}
	}
	a.Curve = curveOf(of, end)
	tasks := byTask(of)
	for _, name := range slices.Sorted(maps.Keys(tasks)) {
		a.Tasks = append(a.Tasks, taskReport(name, tasks[name]))
	}
	return a
}

func taskReport(task string, of []*Outcome) TaskReport {
	t := TaskReport{Task: task, Repo: of[0].Repo}
	for _, o := range of {
		t.add(o.Finished.Status)
		t.AgentDurationS += o.Finished.AgentDuration
		t.Usage.Add(o.Finished.Usage)
		t.NoManifest = t.NoManifest || o.Finished.Status.Counts() && o.unfixed()
	}
	by := placesOf(of, (*Outcome).key)
	t.PassRate, _ = average(by.samples(of, passRate))
	t.Score, _ = average(by.samples(of, score))
	t.Score100, _ = average(by.samples(of, score100))
	return t
}
