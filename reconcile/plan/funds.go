package plan

import (
	"cmp"
	"fmt"
	"math"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/runtime/gateway"
)

// Funds is what the total budget of an execution leaves for trials that have not begun and whose agents ask models.
type Funds struct {
	Limited bool   // Trials bounds how many may begin
	Trials  int    // each of which may spend what the run lets one trial spend
	Later   bool   // trials at work may leave some of what is reserved for them
	Why     string // why no more may begin
}

// Over reports whether nothing is left, and nothing will be.
func (f Funds) Over() bool { return f.Limited && f.Trials <= 0 && !f.Later }

// Reserves reports whether the run reserves for a trial what it may spend, so that one which no longer fits the
// total does not begin.
func (d *Run) Reserves() bool {
	return d.Total.USD > 0 && d.Each.USD > 0 || d.Total.Tokens > 0 && d.Each.Tokens > 0
}

// FundsOf is what the total of a run leaves once its execution has spent so much, and further is reserved for the
// trials at work.
func (d *Run) FundsOf(spent, reserved gateway.Usage) Funds {
	fits := math.MaxInt32
	f := Funds{Limited: true, Later: reserved.CostUSD > 0 || reserved.Tokens() > 0}
	if usd := d.Total.USD; usd > 0 {
		left := usd - spent.CostUSD
		fits = min(fits, howMany(left, left-reserved.CostUSD, d.Each.USD))
		f.Why = fmt.Sprintf("the run's budget of %.6g USD has %.6g left", usd, max(left, 0))
	}
	if tokens := d.Total.Tokens; tokens > 0 {
		left := float64(tokens - spent.Tokens())
		if n := howMany(left, left-float64(reserved.Tokens()), float64(d.Each.Tokens)); n < fits || f.Why == "" {
			fits, f.Why = min(fits, n), fmt.Sprintf("the run's budget of %d tokens has %.0f left", tokens, max(left, 0))
		}
	}
	switch {
	case d.Total == (gateway.Budget{}):
		return Funds{}
	case fits > 0:
	case d.Total.USD > 0 && spent.CostUSD >= d.Total.USD || d.Total.Tokens > 0 && spent.Tokens() >= d.Total.Tokens:
		f.Later = false // what is at work is cut short
	case f.Later:
		f.Why += ", which trials at work may need"
	default:
		f.Why += ", less than a trial may spend"
	}
	f.Trials = fits
	return f
}

// howMany trials may begin where so much is left, and so much of it is free; each may spend each, 0 = all there is.
func howMany(left, free, each float64) int {
	const rounding = 1e-9 // so that ten times 0.1 dollars fit one
	switch {
	case left <= 0:
		return 0
	case each <= 0:
		return math.MaxInt32
	}
	return int(min(max(math.Floor(free/each+rounding), 0), math.MaxInt32))
}

// Asking are the trials at work whose agents ask models, or may.
func (w Worklist) Asking() (some []Trial) {
	for _, t := range w.Trials {
		if t.Running() && (t.place == 0 || w.wanted.provider(t.place-1) != "") {
			some = append(some, t)
		}
	}
	return some
}

// Holds reports whether trials wait, where the total is used up, until it is raised.
func (d *Run) Holds() bool { return d.AtLimit == config.AtLimitHold }

// unpaid is why trials wait that cannot be paid for now.
func (d *Run) unpaid(n int, f Funds) string {
	if f.Later {
		return fmt.Sprintf("%d would start; %s", n, f.Why)
	}
	return fmt.Sprintf("%s%d would start; %s; at_limit = %q: to go on, raise budget.total in its file", HeldBack, n, f.Why, cmp.Or(d.AtLimit, config.AtLimitEnd))
}
