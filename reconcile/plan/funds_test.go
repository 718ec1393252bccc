package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/runtime/agent"
	"github.com/assayd/assayd/runtime/gateway"
	"github.com/assayd/assayd/runtime/trial"
)

func usd(usd float64) gateway.Budget         { return gateway.Budget{USD: usd} }
func cost(usd float64) gateway.Usage         { return gateway.Usage{CostUSD: usd} }
func tokens(n int64) gateway.Budget          { return gateway.Budget{Tokens: n} }
func tokensOf(n int64) gateway.Usage         { return gateway.Usage{InputTokens: n / 2, OutputTokens: n - n/2} }
func both(d float64, n int64) gateway.Budget { return gateway.Budget{USD: d, Tokens: n} }

// How many further trials a budget pays for: each with all that one may spend, beside what is reserved already.
func TestWhatABudgetLeaves(t *testing.T) {
	const any = 1<<31 - 1
	for name, tt := range map[string]struct {
		each, total     gateway.Budget
		spent, reserved gateway.Usage
		limited         bool
		trials          int
		later, over     bool
		why             string
	}{
		"no budget":                     {},
		"a budget of trials alone":      {each: usd(1), spent: cost(9)},
		"nothing spent":                 {total: usd(10), limited: true, trials: any},
		"a little left":                 {total: usd(10), spent: cost(9.99), limited: true, trials: any},
		"used up":                       {total: usd(10), spent: cost(10), limited: true, over: true, why: "the run's budget of 10 USD has 0 left"},
		"exceeded":                      {total: tokens(10), spent: tokensOf(12), limited: true, over: true, why: "the run's budget of 10 tokens has 0 left"},
		"whole trials fit":              {each: usd(0.1), total: usd(1), limited: true, trials: 10},
		"some fit":                      {each: usd(3), total: usd(10), spent: cost(0.5), limited: true, trials: 3},
		"beside those at work":          {each: usd(3), total: usd(10), spent: cost(0.5), reserved: cost(4), limited: true, trials: 1, later: true},
		"none beside those at work":     {each: usd(3), total: usd(10), spent: cost(0.5), reserved: cost(9), limited: true, later: true, why: "the run's budget of 10 USD has 9.5 left, which trials at work may need"},
		"less than one may spend":       {each: usd(3), total: usd(10), spent: cost(7.5), limited: true, over: true, why: "the run's budget of 10 USD has 2.5 left, less than a trial may spend"},
		"tokens":                        {each: tokens(100), total: tokens(1000), spent: tokensOf(350), limited: true, trials: 6},
		"the tighter of two":            {each: both(1, 100), total: both(10, 500), spent: gateway.Usage{CostUSD: 1, InputTokens: 50}, limited: true, trials: 4},
		"used up while others work":     {each: usd(3), total: usd(10), spent: cost(10), reserved: cost(2), limited: true, over: true, why: "the run's budget of 10 USD has 0 left"},
		"dollars of one, tokens of all": {each: usd(3), total: tokens(10), spent: tokensOf(3), limited: true, trials: any},
	} {
		d := &Run{Each: tt.each, Total: tt.total}
		f := d.FundsOf(tt.spent, tt.reserved)
		if f.Limited != tt.limited || f.Trials != tt.trials || f.Later != tt.later || f.Over() != tt.over || tt.why != "" && f.Why != tt.why {
			t.Errorf("%s: %+v, over %v", name, f, f.Over())
		}
	}
}

// Cells without money wait where the run says so, or as long as others may leave some; else they begin, which ends
// them. Agents that ask no model begin in any case.
func TestTrialsThatCannotBePaidFor(t *testing.T) {
	cell := func(key, api string) Cell {
		return Cell{Key: key, whole: func() trial.Cell {
			return trial.Cell{Agent: agent.Agent{API: api, Provider: map[bool]string{true: "p"}[api != "none"]}}
		}}
	}
	cells := []Cell{cell("k1000000", "openai"), cell("k2000000", "openai"), cell("k3000000", "none")}
	now := time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		atLimit string
		funds   Funds
		start   string
		wait    string
	}{
		"no limit":              {"", Funds{}, "k1 k2 k3", ""},
		"enough":                {"", Funds{Limited: true, Trials: 2}, "k1 k2 k3", ""},
		"for one, then more":    {"", Funds{Limited: true, Trials: 1, Why: "all is kept"}, "k1 k3", "1 would start; all is kept"},
		"others may leave some": {"", Funds{Limited: true, Later: true, Why: "all is kept"}, "k3", "2 would start; all is kept"},
		"nothing, which ends":   {"", Funds{Limited: true, Why: "used up"}, "k1 k2 k3", ""},
		"nothing, which holds":  {config.AtLimitHold, Funds{Limited: true, Why: "used up"}, "k3", `held: 2 would start; used up; at_limit = "hold": to go on, raise budget.total in its file`},
	} {
		d := &Run{Name: "r", Parallel: 4, Each: usd(1), Total: usd(2), AtLimit: tt.atLimit}
		d.SetCells(cells)
		o := Observed{Execution: &Execution{N: 1, StartedAt: now}, Funds: tt.funds}
		var start []string
		wait := ""
		p := Diff("run.r", d, o, now)
		for _, a := range p.Actions {
			switch a.Kind {
			case StartTrial:
				start = append(start, a.Cell.Key[:2])
			case Wait:
				wait = a.Cause
			default:
				t.Errorf("%s: %s", name, a)
			}
		}
		if got := strings.Join(start, " "); got != tt.start || wait != tt.wait {
			t.Errorf("%s: starts %q, waits %q", name, got, wait)
		}
	}
}

// A run that is held at its limit is not over, and a drain does not wait for it.
func TestARunAtItsLimitIsNotOver(t *testing.T) {
	now := time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)
	whole := func() trial.Cell { return trial.Cell{Agent: agent.Agent{API: "openai", Provider: "p"}} }
	d := &Run{Name: "r", Parallel: 4, Total: usd(2), AtLimit: config.AtLimitHold}
	d.SetCells([]Cell{{Key: "k1000000", whole: whole}, {Key: "k2000000", whole: whole}})
	o := Observed{
		Execution: &Execution{N: 1, StartedAt: now}, Funds: d.FundsOf(cost(2), cost(0)),
		Trials: []Trial{{ID: "r.e1.k1000000", Key: "k1000000", Try: 1, Status: trial.Unresolved, Final: true}},
	}
	if p := Diff("run.r", d, o, now); p.Has(Finish) || p.Has(StartTrial) || !p.Has(Wait) || !d.Stopped(o) {
		t.Errorf("at the limit: stopped %v: %s", d.Stopped(o), p)
	}
	d.Total = usd(3)
	o.Funds = d.FundsOf(cost(2), cost(0))
	if p := Diff("run.r", d, o, now); len(p.Actions) != 1 || p.Actions[0].Kind != StartTrial || p.Actions[0].Cell.Key != "k2000000" || d.Stopped(o) {
		t.Errorf("raised: stopped %v: %s", d.Stopped(o), p)
	}
}
