package swebench_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/task/swebench"
)

// BenchmarkRead2000 reads as many instances of an ordinary size in each form: 4 KiB of patch,
// 12 KiB of tests, 200 names.
func BenchmarkRead2000(b *testing.B) {
	var names []string
	for i := range 200 {
		names = append(names, fmt.Sprintf("tests/test_calc.py::TestCalc::test_number_%03d[%d]", i, i))
	}
	limits := task.Part{CPUs: 1, Memory: 2 << 30, PIDs: 32768, Disk: 10 << 30}
	var tasks []task.Task
	for i := range 2000 {
		tasks = append(tasks, task.Task{
			Name: fmt.Sprintf("acme__calc-%04d", i), Workdir: "/testbed", Instruction: strings.Repeat("what is wrong\n", 150), Image: "python:3.12-slim",
			Network: task.Network{Mode: "none"}, Submit: task.Submit{Paths: []string{"."}, MaxBytes: 1 << 30, MaxFiles: 100_000},
			Repo: &task.Repo{URL: "https://github.com/acme/calc", Commit: commit}, Work: limits,
			Judge: task.Judge{
				Part: limits, Patch: []byte(tests + strings.Repeat("+a line of a test\n", 700)), Timeout: 60e9, Parser: "pytest",
				Command: task.Command{Shell: "pytest -rA"}, Select: "pass_rate_first", Direction: "maximize", Feedback: "names",
			},
			Solution: &task.Solution{Patch: []byte(gold + strings.Repeat("+a line of a change\n", 200))}, FailToPass: names[:3], PassToPass: names[3:],
		})
	}
	dir := b.TempDir()
	if problems, err := swebench.Write(dir, tasks, nil); err != nil || len(problems) > 0 {
		b.Fatal(problems, err)
	}
	for _, form := range []string{"instances.jsonl", "test.parquet", "."} {
		b.Run(form, func(b *testing.B) {
			for b.Loop() {
				if got := swebench.Read(filepath.Join(dir, form), options()); len(got.Tasks) != 2000 || len(got.Notices) > 0 {
					b.Fatalf("%d tasks, problems %+v, notices %+v", len(got.Tasks), got.Problems, got.Notices[:1])
				}
			}
		})
	}
}
