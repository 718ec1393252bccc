package summary

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/trial"
)

// did is an execution in which agents have resolved tasks; a task that ends in ! is another one by the same name.
func did(name string, tasks string, agents ...string) Execution {
	d := Execution{Address: "run." + name, N: 1}
	for _, agent := range agents {
		for _, t := range strings.Fields(tasks) {
			o := outcome(strings.TrimSuffix(t, "!"), agent, trial.Resolved, 1)
			o.Content = &task.Task{Name: o.Task, Instruction: t}
			d.Outcomes = append(d.Outcomes, o)
		}
	}
	return d
}

// Sides are compared by the agents that they name, by their only ones, or by those that all of them have.
func TestPairwiseFindsAgents(t *testing.T) {
	for _, tt := range []struct {
		name  string
		sides []Asked
		want  []string // agents of each comparison
	}{
		{"two agents of one run", []Asked{{did("a", "t", "x", "y"), "x"}, {did("a", "t", "x", "y"), "y"}}, []string{"x y"}},
		{"one each, whatever they are called", []Asked{{did("a", "t", "x"), ""}, {did("b", "t", "y"), ""}, {did("c", "t", "z"), ""}}, []string{"x y z"}},
		{"the same names", []Asked{{did("a", "t", "x", "y"), ""}, {did("b", "t", "y", "z", "x"), ""}}, []string{"x x", "y y"}},
		{"some are named", []Asked{{did("a", "t", "x", "y"), "y"}, {did("b", "t", "x", "z"), ""}}, []string{"y x", "y z"}},
		{"no name in all", []Asked{{did("a", "t", "x", "y"), ""}, {did("b", "t", "v", "w"), ""}}, nil},
		{"a name that none has", []Asked{{did("a", "t", "x"), "y"}, {did("b", "t", "v"), ""}}, nil},
		{"nothing has ended", []Asked{{did("a", ""), ""}, {did("b", "t", "v"), ""}}, nil},
	} {
		all, err := ComparePairwise(tt.sides)
		if errors.Is(err, ErrPairs) != (tt.want == nil) || err != nil && tt.want != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		var got []string
		for _, p := range all {
			var agents []string
			for _, s := range p.Sides {
				agents = append(agents, s.Agent)
			}
			got = append(got, strings.Join(agents, " "))
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", tt.name, diff)
		}
	}
}

// Each pair is that of Compare, and tasks that are not alike everywhere are named.
func TestPairwiseIsEachPair(t *testing.T) {
	sides := []Asked{{did("a", "s t u", "x"), ""}, {did("b", "s t! v", "x"), ""}, {did("c", "s t", "x"), ""}}
	all, err := ComparePairwise(sides)
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	p := all[0]
	for j := range sides {
		for i := range j {
			want, err := Compare(sides[i].Execution, sides[j].Execution, nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want.Comparisons[0], *p.Pair(i, j)); diff != "" {
				t.Errorf("%d beside %d: -want +got\n%s", j, i, diff)
			}
		}
	}
	if diff := cmp.Diff([]ApartTask{{"u", []bool{true, false, false}}, {"v", []bool{false, true, false}}}, p.Apart); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if diff := cmp.Diff([]string{"t"}, p.Changed); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
