package summary

import (
	"fmt"
	"maps"
	"slices"
)

// MaxSides is how many sides are compared at most: six have fifteen pairs.
const MaxSides = 6

// Asked is a side of a comparison as it was asked for.
type Asked struct {
	Execution
	Agent string // with its model where the agent has several; "" = each agent that all such sides have
}

// Pairwise is how two to MaxSides sides compare, each pair by the tasks that both have. No interval and no p-value of it
// is corrected for the number of pairs.
type Pairwise struct {
	Sides   []Side
	Pairs   []Comparison // by their second side, then by their first: 1–0, 2–0, 2–1, 3–0, …
	Apart   []ApartTask  // that some sides have, and others not, by name
	Changed []string     // tasks whose content or judge is another on one side than on another, by name
}

// ApartTask is a task with an attempt that counts on some sides only.
type ApartTask struct {
	Task string
	On   []bool // by side
}

// Pair is how side j does beside side i, where i < j.
func (p Pairwise) Pair(i, j int) *Comparison { return &p.Pairs[j*(j-1)/2+i] }

// ComparePairwise compares sides, each with each. There are several comparisons where sides that name no agent have several
// of the same name: one for each name. A side whose execution has a single agent is compared by that one, whatever it is called.
func ComparePairwise(sides []Asked) ([]Pairwise, error) {
	of := make([]map[string][]*Outcome, len(sides))
	for i, s := range sides {
		of[i] = byAgent(s.Outcomes)
		if s.Agent != "" && of[i][s.Agent] == nil {
			return nil, fmt.Errorf("%w by the name %s: %s e%d has %s", ErrPairs, s.Agent, s.Address, s.N, listed(slices.Sorted(maps.Keys(of[i]))))
		}
	}
	open, err := openAgents(sides, of)
	if err != nil {
		return nil, err
	}
	var all []Pairwise
	for _, name := range open {
		agents := make([]string, len(sides))
		for i, s := range sides {
			agents[i] = s.Agent
			if s.Agent == "" {
				if agents[i] = name; name == "" {
					agents[i] = slices.Collect(maps.Keys(of[i]))[0]
				}
			}
		}
		all = append(all, pairwise(sides, of, agents))
	}
	return all, nil
}

// openAgents are the agents that sides which name none are compared by, by name; "" is the only one of each.
func openAgents(sides []Asked, of []map[string][]*Outcome) (names []string, err error) {
	single, first := true, -1
	for i, s := range sides {
		if s.Agent == "" {
			single = single && len(of[i]) == 1
			if first < 0 {
				first = i
			}
		}
	}
	if single {
		return []string{""}, nil
	}
	for _, name := range slices.Sorted(maps.Keys(of[first])) {
		everywhere := true
		for i, s := range sides {
			everywhere = everywhere && (s.Agent != "" || of[i][name] != nil)
		}
		if everywhere {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		have := ""
		for i, s := range sides {
			have += fmt.Sprintf("; %s e%d has %s", s.Address, s.N, listed(slices.Sorted(maps.Keys(of[i]))))
		}
		return nil, fmt.Errorf("%w that all sides have%s; name one of each", ErrPairs, have)
	}
	return names, nil
}

func pairwise(sides []Asked, of []map[string][]*Outcome, agents []string) (p Pairwise) {
	on, changed := map[string][]bool{}, map[string]bool{}
	seen := func(task string, side int) {
		if on[task] == nil {
			on[task] = make([]bool, len(sides))
		}
		on[task][side] = true
	}
	for j, s := range sides {
		side := sideOf(of[j][agents[j]])
		side.Run, side.Execution, side.Agent = s.Address, s.N, agents[j]
		p.Sides = append(p.Sides, side)
		for i := range j {
			c := compareOutcomes(of[i][agents[i]], of[j][agents[j]])
			c.A, c.B = p.Sides[i], side
			p.Pairs = append(p.Pairs, c)
			for _, t := range c.Tasks {
				seen(t.Task, i)
				seen(t.Task, j)
			}
			for _, t := range c.OnlyA {
				seen(t, i)
			}
			for _, t := range c.OnlyB {
				seen(t, j)
			}
			for _, t := range c.Changed {
				changed[t] = true
			}
		}
	}
	for _, t := range slices.Sorted(maps.Keys(on)) {
		if slices.Contains(on[t], false) {
			p.Apart = append(p.Apart, ApartTask{t, on[t]})
		}
	}
	p.Changed = slices.Sorted(maps.Keys(changed))
	return p
}
