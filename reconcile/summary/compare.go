package summary

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/assayd/assayd/runtime/stats"
	"github.com/assayd/assayd/runtime/task"
)

// Compared is what two executions have come to, and how pairs of their agents compare.
type Compared struct {
	A           Report       `json:"a"`
	B           Report       `json:"b"`
	Comparisons []Comparison `json:"comparisons"`
}

// Comparison is how agent B does beside agent A on the tasks that both have attempts at
// that count. It is by task: no test takes attempts at one task for more than one.
type Comparison struct {
	A        Side         `json:"a"`
	B        Side         `json:"b"`
	OnlyA    []string     `json:"only_a"` // tasks where no attempt of B counts, or that it does not have
	OnlyB    []string     `json:"only_b"`
	Changed  []string     `json:"changed"`   // of those in both, whose content or judge is another in B
	Resolved *Paired      `json:"resolved"`  // null where there is no task in both
	PassRate *Paired      `json:"pass_rate"` // of best rounds
	Score    *Paired      `json:"score,omitempty"`
	Score100 *Paired      `json:"score_0_100,omitempty"`
	Tasks    []PairedTask `json:"tasks"`
}

// Side is one of two sides, with the statuses of all its trials.
type Side struct {
	Run       string `json:"run"`
	Execution int    `json:"execution"`
	Agent     string `json:"agent"`
	Total     int    `json:"total"`
	Counts
}

// Paired compares one measure.
type Paired struct {
	A          float64  `json:"a"` // mean over tasks
	B          float64  `json:"b"`
	Difference Interval `json:"difference"` // B - A
	Won        int      `json:"won"`        // tasks where B is better
	Lost       int      `json:"lost"`
	Tied       int      `json:"tied"`
	SignP      float64  `json:"sign_p"` // McNemar's exact test where each side has one attempt a task
	WilcoxonP  float64  `json:"wilcoxon_p"`
}

// PairedTask is one task that both have.
type PairedTask struct {
	Task string     `json:"task"`
	A    TaskReport `json:"a"`
	B    TaskReport `json:"b"`
}

// ErrPairs says that two runs have no agents that could be compared.
var ErrPairs = errors.New("no agents to compare")

// Compare compares two executions. Agents are those of the same name; of one each, whatever they are
// called; or, where agents names them, the first of a with the second, or the only one, of b.
func Compare(a, b Execution, agents []string) (Compared, error) {
	ofA, ofB := byAgent(a.Outcomes), byAgent(b.Outcomes)
	pairs, err := pairAgents(a, b, ofA, ofB, agents)
	if err != nil {
		return Compared{}, err
	}
	c := Compared{A: a.Report(), B: b.Report(), Comparisons: []Comparison{}}
	for _, p := range pairs {
		one := compareOutcomes(ofA[p[0]], ofB[p[1]])
		one.A.Run, one.A.Execution, one.A.Agent = a.Address, a.N, p[0]
		one.B.Run, one.B.Execution, one.B.Agent = b.Address, b.N, p[1]
		c.Comparisons = append(c.Comparisons, one)
	}
	return c, nil
}

func pairAgents(a, b Execution, ofA, ofB map[string][]*Outcome, agents []string) (pairs [][2]string, err error) {
	namesA, namesB := slices.Sorted(maps.Keys(ofA)), slices.Sorted(maps.Keys(ofB))
	have := fmt.Sprintf("%s e%d has %s, %s e%d has %s", a.Address, a.N, listed(namesA), b.Address, b.N, listed(namesB))
	if len(agents) > 0 {
		p := [2]string{agents[0], agents[len(agents)-1]}
		if len(agents) > 2 || ofA[p[0]] == nil || ofB[p[1]] == nil {
			return nil, fmt.Errorf("%w by the names %s: %s", ErrPairs, listed(agents), have)
		}
		return append(pairs, p), nil
	}
	if len(namesA) == 1 && len(namesB) == 1 {
		return append(pairs, [2]string{namesA[0], namesB[0]}), nil
	}
	for _, name := range namesA {
		if ofB[name] != nil {
			pairs = append(pairs, [2]string{name, name})
		}
	}
	if len(pairs) == 0 {
		return nil, fmt.Errorf("%w: %s; name one of each", ErrPairs, have)
	}
	return pairs, nil
}

func listed(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

func compareOutcomes(a, b []*Outcome) Comparison {
	c := Comparison{A: sideOf(a), B: sideOf(b), Changed: []string{}, Tasks: []PairedTask{}}
	both, onlyA, onlyB := stats.Match(samples(a, resolved), samples(b, resolved))
	c.OnlyA, c.OnlyB = append([]string{}, onlyA...), append([]string{}, onlyB...)
	inA, inB := byTask(a), byTask(b)
	for _, p := range both {
		x, y := inA[p.Task], inB[p.Task]
		c.Tasks = append(c.Tasks, PairedTask{p.Task, taskReport(p.Task, x), taskReport(p.Task, y)})
		if !sameTask(*x[0].Content, *y[0].Content) {
			c.Changed = append(c.Changed, p.Task)
		}
	}
	c.Resolved = paired(a, b, resolved, 1)
	c.PassRate = paired(a, b, passRate, 1)
	c.Score100 = paired(a, b, score100, 1)
	if sign, ok := direction(a, b); ok {
		c.Score = paired(a, b, score, sign)
	}
	return c
}

func sideOf(outcomes []*Outcome) Side {
	s := Side{Total: len(outcomes)}
	for _, o := range outcomes {
		s.add(o.Finished.Status)
	}
	return s
}

func byTask(outcomes []*Outcome) map[string][]*Outcome {
	return grouped(outcomes, (*Outcome).key)
}

// sameTask compares all of a task that can change a verdict. Its solution only the oracle has.
func sameTask(a, b task.Task) bool {
	for _, t := range []*task.Task{&a, &b} {
		t.Title, t.Metadata, t.Solution = "", nil, nil
	}
	x, err := json.Marshal(a)
	y, other := json.Marshal(b)
	return err == nil && other == nil && bytes.Equal(x, y)
}

// direction is 1 where more is better at all tasks with scores, and -1 where less is; of a
// mixture no mean can be compared.
func direction(a, b []*Outcome) (sign float64, ok bool) {
	for _, o := range slices.Concat(a, b) {
		if !o.Finished.Status.Counts() || o.Finished.Best == nil || o.Finished.Best.Score == nil {
			continue
		}
		s := 1.0
		if o.Judge.Direction == "minimize" {
			s = -1
		}
		if sign != 0 && sign != s {
			return 0, false
		}
		sign = s
	}
	return sign, sign != 0
}

// paired compares a measure of which more is better where sign is 1, and less where it is
// -1. It is nil where no task has it on both sides.
func paired(a, b []*Outcome, of measure, sign float64) *Paired {
	pairs, _, _ := stats.Match(samples(a, of), samples(b, of))
	for i := range pairs {
		pairs[i].A *= sign
		pairs[i].B *= sign
	}
	s, ok := stats.Compare(pairs)
	if !ok {
		return nil
	}
	p := Paired{
		A: s.A, B: s.B, Difference: *intervalOf(s.Difference, true),
		Won: s.Won, Lost: s.Lost, Tied: s.Tied, SignP: s.SignP, WilcoxonP: s.WilcoxonP,
	}
	if d := &p.Difference; sign < 0 { // from 0, so that no 0 has a sign
		p.A, p.B, d.Value, d.Low, d.High = 0-p.A, 0-p.B, 0-d.Value, 0-d.High, 0-d.Low
	}
	return &p
}
