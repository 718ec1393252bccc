package plan

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/assayd/assayd/reconcile/admission"
	"github.com/assayd/assayd/runtime/agent"
	"github.com/assayd/assayd/runtime/gateway"
)

// Work is what cells are about to ask of the machine and of models.
type Work struct {
	Parallel int           // cells at a time, at most
	Stagger  time.Duration // over which the first ones begin
	Timeout  time.Duration // of an agent
	Each     gateway.Budget
	Total    gateway.Budget
	Shares   []Share
}

// Share are the cells of one agent on one task.
type Share struct {
	Task      string // address
	Benchmark string
	Agent     string // its title
	Model     string
	Asks      bool // the agent asks models
	Cells     int
}

// Past is an earlier trial with a verdict that counts.
type Past struct {
	Task, Benchmark string // as in a Share
	Agent, Model    string
	Worked, Judged  time.Duration // from the start of the agent to its end, and from there to the verdict
	USD             *float64      // of models; nil = it is not known
}

// What an estimate is made from, the best first.
const (
	ByTask      = "task"      // trials of the same agent and model on the same task
	ByBenchmark = "benchmark" // on other tasks of the same benchmark
	ByAgent     = "agent"     // on other benchmarks
	ByLimits    = "limits"    // no trial: the timeout and the budget of the run
)

// Estimate says what cells will take before they begin: ranges, and what these are made from.
type Estimate struct {
	Cells    int     `json:"cells"`
	Parallel int     `json:"parallel"`           // cells at a time
	Seconds  *Range  `json:"seconds"`            // from the start of the first agent to the last verdict
	CostUSD  *Range  `json:"cost_usd,omitempty"` // of models; absent = nothing is known of it
	Basis    []Basis `json:"basis"`              // the best first
}

// Range is from what to what. A Low of 0 says that only High is known.
type Range struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Basis says for how many cells an estimate is made from what.
type Basis struct {
	Kind   string `json:"kind"` // task, benchmark, agent, limits
	Cells  int    `json:"cells"`
	Trials int    `json:"trials"` // earlier ones; 0 for limits
}

// Work is what all cells of the run ask for.
func (d *Run) Work() Work {
	w := Work{Parallel: d.Parallel, Stagger: d.Stagger, Total: d.Total}
	if d.source == nil {
		return w
	}
	of := d.source.origin()
	w.Timeout = of.run.Timeout
	if b := of.run.Budget; b != nil {
		w.Each = gateway.Budget(b.Each)
	}
	var agents []agent.Agent
	for i := range of.named {
		a, _ := agentOf(of.set, of.named[i]) // it has been compiled before, so it can be
		agents = append(agents, a)
	}
	d.source.places.Range(func(address, at any) bool {
		benchmark, _, _ := strings.Cut(strings.TrimPrefix(fmt.Sprint(address), "benchmark."), "[")
		for _, a := range agents {
			w.Shares = append(w.Shares, Share{fmt.Sprint(address), benchmark, a.Title(), a.Model, a.Asks(), at.(placeOfTask).batch.attempts}) //nolint:forcetypeassert // nothing else is stored
		}
		return true
	})
	return w
}

// Work is what the cells ask for that the plan for a run starts, on a machine with these limits.
func (p Plan) Work(d *Run, l admission.Limits) Work {
	w := Work{Parallel: d.Parallel, Stagger: d.Stagger, Total: d.Total}
	places := map[Share]int{}
	for _, a := range p.Actions {
		if a.Kind != StartTrial || a.Cause == goesOn || a.Cell.whole == nil {
			continue
		}
		c := a.Cell.Whole()
		w.Timeout, w.Each = c.Timeout, c.Each
		s := Share{Task: TaskAddress(c.Task.Benchmark, c.Task.Name), Benchmark: c.Task.Benchmark, Agent: c.Agent.Title(), Model: c.Agent.Model, Asks: c.Agent.Asks()}
		if _, known := places[s]; !known {
			places[s] = len(w.Shares)
			w.Shares = append(w.Shares, s)
		}
		w.Shares[places[s]].Cells++
	}
	if fits, _ := l.Fits(p.needs(), d.Parallel); fits > 0 {
		w.Parallel = min(w.Parallel, fits)
	}
	return w
}

// Estimate says what the work will take, by trials that agents have done before. nil = there is no work.
func (w Work) Estimate(past []Past) *Estimate {
	e := &Estimate{}
	for _, s := range w.Shares {
		e.Cells += s.Cells
	}
	if e.Cells == 0 {
		return nil
	}
	e.Parallel = min(max(w.Parallel, 1), e.Cells)
	groups := w.groups(past)
	for _, kind := range []string{ByTask, ByBenchmark, ByAgent, ByLimits} {
		b := Basis{Kind: kind}
		for _, g := range groups {
			if g.kind == kind {
				b.Cells, b.Trials = b.Cells+g.cells, b.Trials+len(g.past)
			}
		}
		if b.Cells > 0 {
			e.Basis = append(e.Basis, b)
		}
	}
	e.Seconds = w.time(groups, e)
	e.CostUSD = w.cost(groups)
	return e
}

// group are cells of which nothing better is known than of each other.
type group struct {
	kind  string
	asks  bool
	cells int
	past  []Past
}

// groups puts together the shares that the same earlier trials tell of.
func (w Work) groups(past []Past) (all []*group) {
	type key struct{ kind, of, agent, model string }
	told := map[key][]Past{}
	for _, p := range past {
		for _, k := range []key{{ByTask, p.Task, p.Agent, p.Model}, {ByBenchmark, p.Benchmark, p.Agent, p.Model}, {ByAgent, "", p.Agent, p.Model}} {
			told[k] = append(told[k], p)
		}
	}
	groups := map[key]*group{}
	for _, s := range w.Shares {
		k := key{ByTask, s.Task, s.Agent, s.Model}
		if len(told[k]) == 0 {
			k.kind, k.of = ByBenchmark, s.Benchmark
		}
		if len(told[k]) == 0 {
			k.kind, k.of = ByAgent, ""
		}
		if len(told[k]) == 0 {
			k.kind = ByLimits
		}
		if groups[k] == nil {
			groups[k] = &group{kind: k.kind, asks: s.Asks, past: told[k]}
			all = append(all, groups[k])
		}
		groups[k].cells += s.Cells
	}
	return all
}

// time is how long the cells take together.
func (w Work) time(groups []*group, e *Estimate) *Range {
	var sum total
	longest, shortest := 0.0, 0.0
	for _, g := range groups {
		if g.kind == ByLimits {
			sum.add(g.cells, bounds{most: w.Timeout.Seconds()})
			longest = max(longest, w.Timeout.Seconds())
			continue
		}
		var seconds []float64
		for _, p := range g.past {
			seconds = append(seconds, (min(p.Worked, w.Timeout) + p.Judged).Seconds())
		}
		b := boundsOf(seconds)
		sum.add(g.cells, b)
		longest, shortest = max(longest, b.most), max(shortest, b.least)
	}
	r, at := sum.within(), float64(e.Parallel)
	turns := math.Ceil(float64(e.Cells) / at)
	r.Low = max(r.Low/at, shortest)
	r.High = max(r.Low, min(r.High/at+longest, turns*longest)) + w.Stagger.Seconds()
	return &Range{roundSeconds(r.Low), max(1, roundSeconds(r.High))}
}

// cost is what the models take; nil where nothing is known of it.
func (w Work) cost(groups []*group) *Range {
	var sum total
	known, free := true, true
	for _, g := range groups {
		if !g.asks {
			continue
		}
		var usd []float64
		for _, p := range g.past {
			if p.USD != nil {
				cost := *p.USD
				if w.Each.USD > 0 {
					cost = min(cost, w.Each.USD)
				}
				usd = append(usd, cost)
			}
		}
		if len(usd) > 0 && slices.Max(usd) > 0 { // else no price of the model is known
			sum.add(g.cells, boundsOf(usd))
		} else {
			sum.add(g.cells, bounds{most: w.Each.USD})
			known = known && w.Each.USD > 0
		}
		free = false
	}
	switch r := sum.within(); {
	case free:
		return &Range{}
	case w.Total.USD > 0 && (!known || r.High > w.Total.USD):
		return &Range{roundUSD(min(r.Low, w.Total.USD)), w.Total.USD}
	case !known:
		return nil
	default:
		return &Range{roundUSD(r.Low), roundUSD(r.High)}
	}
}

// bounds are what is known of what one cell takes.
type bounds struct {
	least, most float64
	mean        float64 // of n trials
	spread      float64 // standard deviation of one cell
	n           int     // 0 = the limits alone are known
}

// fewTrials tell little of how far others lie from their mean.
const fewTrials = 5

func boundsOf(values []float64) bounds {
	b := bounds{least: slices.Min(values), most: slices.Max(values), n: len(values)}
	for _, v := range values {
		b.mean += v / float64(b.n)
	}
	for _, v := range values {
		b.spread += (v - b.mean) * (v - b.mean) / float64(max(b.n-1, 1))
	}
	if b.spread = math.Sqrt(b.spread); b.n < fewTrials {
		b.spread = max(b.spread, b.mean)
		b.least, b.most = b.least/2, b.most*2
	}
	return b
}

// total is what many cells take together.
type total struct{ mean, variance, least, most, unknown float64 }

func (t *total) add(cells int, b bounds) {
	n := float64(cells)
	if b.n == 0 {
		t.unknown += n * b.most
		return
	}
	t.mean += n * b.mean
	// Each cell has its own deviation. That of the mean, which few trials tell, is one for all.
	t.variance += (n + n*n/float64(b.n)) * b.spread * b.spread
	t.least, t.most = t.least+n*b.least, t.most+n*b.most
}

// within is two standard deviations around the mean, but never outside of what was seen. What only has a limit takes
// anything up to it.
func (t *total) within() Range {
	reach := 2 * math.Sqrt(t.variance)
	return Range{max(t.mean-reach, t.least), min(t.mean+reach, t.most) + t.unknown}
}

// roundUSD leaves two digits.
func roundUSD(usd float64) float64 {
	if usd <= 0 {
		return 0
	}
	unit := math.Pow(10, math.Floor(math.Log10(usd))-1)
	if unit < 1 { // so that no digits of two come behind
		return math.Round(usd/unit) / math.Round(1/unit)
	}
	return math.Round(usd/unit) * unit
}

// roundSeconds leaves as much of a time as an estimate can say.
func roundSeconds(s float64) float64 {
	unit := 1.0
	switch {
	case s >= 10*3600:
		unit = 3600
	case s >= 3600:
		unit = 300
	case s >= 600:
		unit = 60
	case s >= 60:
		unit = 10
	}
	return math.Round(s/unit) * unit
}

// String is the estimate in words.
func (e *Estimate) String() string {
	var bases []string
	for _, b := range e.Basis {
		text := fmt.Sprintf("%s by %s", count(b.Cells, "cell"), map[string]string{
			ByTask: "%s of the same agent on the same task", ByBenchmark: "%s of the same agent on the same benchmark",
			ByAgent: "%s of the same agent on other benchmarks", ByLimits: "the limits of the run, because the agent has no earlier trial",
		}[b.Kind])
		if b.Kind != ByLimits {
			text = fmt.Sprintf(text, count(b.Trials, "earlier trial"))
		}
		bases = append(bases, text)
	}
	return fmt.Sprintf("%s, %d at a time: %s, %s; estimated for %s", count(e.Cells, "cell"), e.Parallel, e.Time(), e.Cost(), strings.Join(bases, ", "))
}

// Time is how long it will take, in words.
func (e *Estimate) Time() string {
	return e.Seconds.text(func(s float64) string {
		text := strings.Replace((time.Duration(s) * time.Second).String(), "m0s", "m", 1)
		return strings.Replace(text, "h0m", "h", 1)
	})
}

// Cost is what models will cost, in words.
func (e *Estimate) Cost() string {
	switch {
	case e.CostUSD == nil:
		return "a cost that is not known"
	case e.CostUSD.High == 0:
		return "no cost of models"
	}
	return e.CostUSD.text(func(usd float64) string {
		switch {
		case usd >= 10 && usd == math.Trunc(usd):
			return fmt.Sprintf("$%.0f", usd)
		case usd >= 0.1:
			return fmt.Sprintf("$%.2f", usd)
		}
		return "$" + strconv.FormatFloat(usd, 'f', -1, 64)
	})
}

// text is the range in words, with the form of a number.
func (r Range) text(of func(float64) string) string {
	if r.Low <= 0 {
		return "up to " + of(r.High)
	}
	if low, high := of(r.Low), of(r.High); low != high {
		return low + " to " + high
	}
	return "about " + of(r.High)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
