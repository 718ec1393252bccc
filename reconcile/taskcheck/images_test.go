package taskcheck

import (
	"strings"
	"testing"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/request"
	"github.com/assayd/assayd/runtime/image"
)

func TestWhichTasksAreChosen(t *testing.T) {
	const benchmarkSpec = "benchmark \"edge\" {\n task \"one\" {\n image = \"x\"\n instruction = \"do\"\n judge { command = \"true\" }\n }\n}\n"
	set := config.Load([]config.Input{{Path: "/a.hcl", Text: []byte(
		strings.ReplaceAll(benchmarkSpec, "edge", "one") + strings.ReplaceAll(benchmarkSpec, "edge", "two"),
	)}}, nil, config.Options{})
	for _, c := range []struct {
		tasks []string
		want  string
	}{
		{nil, `benchmark.one["one"] benchmark.two["one"]`},
		{[]string{"benchmark.two"}, `benchmark.two["one"]`},
		{[]string{`benchmark.two["one"]`, "benchmark.two", "benchmark.one.one"}, `benchmark.two["one"] benchmark.one["one"]`},
		{[]string{"benchmark.three"}, ""},
		{[]string{`benchmark.one["two"]`}, ""},
		{[]string{"run.r"}, ""},
	} {
		chosen, err := chooseTasks(set, ImageWork{Verb: image.Build, Tasks: c.tasks})
		var got []string
		for _, s := range chosen {
			got = append(got, plan.TaskAddress(s.Benchmark.Name, s.Name()))
		}
		if _, mistaken := err.(*request.Mistake); strings.Join(got, " ") != c.want || mistaken != (c.want == "") { //nolint:errorlint // as it is returned
			t.Errorf("%q: %q, %v", c.tasks, got, err)
		}
	}
}
