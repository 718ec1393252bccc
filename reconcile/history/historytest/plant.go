package historytest

import (
	"fmt"
	"testing"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/trial"
)

// Benchmark is a spec of a benchmark with one task, benchmark.edge.one.
const Benchmark = `
benchmark "edge" {
  task "one" {
    image = "work:1"
    instruction = "do"
    judge { command = "true" }
  }
}
`

// Plant stores so many trials of run.r e1 that are over, at Benchmark, and returns the run. change is applied to each before.
func Plant(t *testing.T, s *store.Store, n int, change ...func(*trial.State)) *plan.Run {
	t.Helper()
	text := Benchmark + fmt.Sprintf("run \"r\" {\n tasks = [benchmark.edge]\n auto_eval = \"0s\"\n attempts = %d\n agent \"nop\" {}\n}\n", n)
	set := config.Load([]config.Input{{Path: "/w/a.hcl", Display: "a.hcl", Root: "/w", Text: []byte(text)}}, nil, config.Options{})
	if set.Diagnostics.HasErrors() {
		t.Fatal(set.Diagnostics)
	}
	d, err := plan.Compile(set, *set.Run("r"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Do(t.Context(), func(tx *store.Tx) error { return PutEnded(tx, d, n, change...) }); err != nil {
		t.Fatal(err)
	}
	return d
}
