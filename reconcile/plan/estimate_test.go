package plan

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/admission"
	"github.com/assayd/assayd/runtime/gateway"
)

// earlier are n trials of an agent on a task, which took from a to b minutes, and as many dimes.
func earlier(n int, agent, benchmark, task string, a, b float64) (past []Past) {
	for i := range n {
		minutes := a + (b-a)*float64(i)/float64(max(n-1, 1))
		usd := minutes / 10
		past = append(past, Past{Task: TaskAddress(benchmark, task), Benchmark: benchmark, Agent: agent, Worked: time.Duration(minutes * float64(time.Minute)), USD: &usd})
	}
	return past
}

func TestWorkIsEstimatedByWhatAgentsHaveDone(t *testing.T) {
	share := func(task string, cells int) Share {
		return Share{Task: TaskAddress("edge", task), Benchmark: "edge", Agent: "a", Asks: true, Cells: cells}
	}
	hour := Work{Parallel: 4, Timeout: time.Hour, Shares: []Share{share("one", 8)}}
	with := func(change func(*Work)) Work {
		w := hour
		w.Shares = slices.Clone(w.Shares)
		change(&w)
		return w
	}
	for name, tt := range map[string]struct {
		work Work
		past []Past
		want string // "" = nil
	}{
		"nothing to do": {Work{Parallel: 4}, nil, ""},
		"the same task, often": {
			hour, earlier(20, "a", "edge", "one", 9, 11),
			"8 cells, 4 at a time: 19m to 22m, $7.60 to $8.40; estimated for 8 cells by 20 earlier trials of the same agent on the same task",
		},
		"the same task, once": {
			hour, earlier(1, "a", "edge", "one", 10, 10),
			"8 cells, 4 at a time: 10m to 40m, $4.00 to $16; estimated for 8 cells by 1 earlier trial of the same agent on the same task",
		},
		"some tasks by others of their benchmark": {
			with(func(w *Work) { w.Shares = append(w.Shares, share("two", 4)) }), earlier(20, "a", "edge", "one", 10, 10),
			"12 cells, 4 at a time: about 30m, about $12; estimated for 8 cells by 20 earlier trials of the same agent on the same task, 4 cells by 20 earlier trials of the same agent on the same benchmark",
		},
		"other benchmarks": {
			hour, earlier(5, "a", "other", "one", 10, 10),
			"8 cells, 4 at a time: about 20m, about $8.00; estimated for 8 cells by 5 earlier trials of the same agent on other benchmarks",
		},
		"another agent alone": {
			hour, earlier(5, "b", "edge", "one", 10, 10),
			"8 cells, 4 at a time: up to 2h, a cost that is not known; estimated for 8 cells by the limits of the run, because the agent has no earlier trial",
		},
		"another model alone": {
			with(func(w *Work) { w.Shares[0].Model = "m" }), earlier(5, "a", "edge", "one", 10, 10),
			"8 cells, 4 at a time: up to 2h, a cost that is not known; estimated for 8 cells by the limits of the run, because the agent has no earlier trial",
		},
		"no model is asked": {
			with(func(w *Work) { w.Shares[0].Asks = false; w.Stagger = 10 * time.Minute }), nil,
			"8 cells, 4 at a time: up to 2h10m, no cost of models; estimated for 8 cells by the limits of the run, because the agent has no earlier trial",
		},
		"a budget of each": {
			with(func(w *Work) { w.Each = gateway.Budget{USD: 2.5} }), nil,
			"8 cells, 4 at a time: up to 2h, up to $20; estimated for 8 cells by the limits of the run, because the agent has no earlier trial",
		},
		"a budget of all, which is less than what is likely": {
			with(func(w *Work) { w.Total = gateway.Budget{USD: 3} }), earlier(5, "a", "edge", "one", 10, 10),
			"8 cells, 4 at a time: about 20m, about $3.00; estimated for 8 cells by 5 earlier trials of the same agent on the same task",
		},
		"a shorter time, and less money, than before": {
			with(func(w *Work) { w.Timeout, w.Each = 5*time.Minute, gateway.Budget{USD: 0.5} }), earlier(5, "a", "edge", "one", 10, 10),
			"8 cells, 4 at a time: about 10m, about $4.00; estimated for 8 cells by 5 earlier trials of the same agent on the same task",
		},
		"one cell": {
			with(func(w *Work) { w.Shares[0].Cells = 1 }), earlier(10, "a", "edge", "one", 0.5, 0.5),
			"1 cell, 1 at a time: about 30s, about $0.05; estimated for 1 cell by 10 earlier trials of the same agent on the same task",
		},
	} {
		got := ""
		if e := tt.work.Estimate(tt.past); e != nil {
			got = e.String()
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// What was seen is within the estimate, whatever there is of it, and the order of the past is of no importance.
func TestAnEstimateIsARange(t *testing.T) {
	for n := 1; n < 40; n += 3 {
		w := Work{Parallel: 3, Timeout: 3 * time.Hour, Shares: []Share{{Task: "benchmark.edge[\"one\"]", Benchmark: "edge", Agent: "a", Asks: true, Cells: 7}}}
		past := earlier(n, "a", "edge", "one", 10, 100)
		e := w.Estimate(past)
		mean := 0.0
		for _, p := range past {
			mean += *p.USD * 7 / float64(n)
		}
		if e.CostUSD.Low > mean || e.CostUSD.High < mean || e.Seconds.Low > e.Seconds.High || e.Seconds.Low <= 0 {
			t.Errorf("of %d trials: %+v, %+v around %g", n, *e.CostUSD, *e.Seconds, mean)
		}
		slices.Reverse(past)
		if diff := cmp.Diff(e, w.Estimate(past)); diff != "" {
			t.Errorf("in another order: %s", diff)
		}
	}
}

// All cells of a run ask for what its first plan starts.
func TestTheWorkOfARunIsThatOfItsPlan(t *testing.T) {
	set := config.Load([]config.Input{{Path: "/w/a.hcl", Display: "a.hcl", Root: "/w", Text: []byte(`
benchmark "edge" {
  task "one" {
    image       = "work:1"
    instruction = "do"
    judge { command = "true" }
  }
  task "two" {
    image       = "work:1"
    instruction = "do"
    judge { command = "true" }
  }
}
run "r" {
  tasks    = [benchmark.edge]
  attempts = 3
  parallel = 5
  timeout  = "10m"
  agent "nop" {}
  agent "nop" { label = "best" }
}
`)}}, nil, config.Options{})
	if set.Diagnostics.HasErrors() {
		t.Fatal(set.Diagnostics)
	}
	d, err := Compile(set, *set.Run("r"))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	planned := Foresee("run.r", d, Observed{LastFired: now}, now).Work(d, admission.Limits{})
	declared := d.Work()
	for _, w := range []*Work{&planned, &declared} {
		slices.SortFunc(w.Shares, func(a, b Share) int { return slices.Compare([]string{a.Task, a.Agent}, []string{b.Task, b.Agent}) })
	}
	if diff := cmp.Diff(planned, declared); diff != "" {
		t.Error(diff)
	}
	if len(planned.Shares) != 4 || planned.Shares[0].Cells != 3 || planned.Parallel != 5 {
		t.Errorf("%+v", planned)
	}
	if few := Foresee("run.r", d, Observed{LastFired: now}, now).Work(d, admission.Limits{Containers: 2}); few.Parallel != 2 {
		t.Errorf("with room for 2 containers, %d are at work", few.Parallel)
	}
}
