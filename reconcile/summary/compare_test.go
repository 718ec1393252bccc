package summary

import (
	"errors"
	"testing"

	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/trial"
)

// Agents of the same name are compared; of one each, whatever they are called.
func TestCompareFindsPairs(t *testing.T) {
	did := func(name string, agents ...string) Execution {
		d := Execution{Address: "run." + name, N: 1}
		for _, agent := range agents {
			o := outcome("t", agent, trial.Resolved, 1)
			o.Content = &task.Task{Name: "t"}
			d.Outcomes = append(d.Outcomes, o)
		}
		return d
	}
	for _, tt := range []struct {
		name  string
		a, b  Execution
		asked []string
		pairs [][2]string
	}{
		{"the same names", did("a", "x", "y"), did("b", "y", "z"), nil, [][2]string{{"y", "y"}}},
		{"one each", did("a", "x"), did("b", "z"), nil, [][2]string{{"x", "z"}}},
		{"as asked", did("a", "x", "y"), did("b", "y", "z"), []string{"x", "z"}, [][2]string{{"x", "z"}}},
		{"none", did("a", "x", "y"), did("b", "v", "w"), nil, nil},
	} {
		c, err := Compare(tt.a, tt.b, tt.asked)
		if errors.Is(err, ErrPairs) != (tt.pairs == nil) || err != nil && tt.pairs != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if len(c.Comparisons) != len(tt.pairs) {
			t.Errorf("%s: %d comparisons", tt.name, len(c.Comparisons))
			continue
		}
		for i, p := range tt.pairs {
			got := c.Comparisons[i]
			if got.A.Agent != p[0] || got.B.Agent != p[1] || got.Resolved == nil || got.Resolved.Tied != 1 || len(got.Changed) > 0 {
				t.Errorf("%s: %+v", tt.name, got)
			}
		}
	}
}
