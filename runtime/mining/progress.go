package mining

import (
	"context"
	"time"

	"github.com/assayd/assayd/runtime/gateway"
)

// reportEvery is how often a spec that mines tells how far it is.
const reportEvery = 30 * time.Second

// Progress is how far a spec is.
type Progress struct {
	Seen     int            `json:"seen"`
	Open     int            `json:"open"`
	Accepted int            `json:"accepted"`
	Rejected int            `json:"rejected"`
	Failed   int            `json:"failed"`
	Classes  map[string]int `json:"classifications"` // of the accepted ones
	Stages   []StageCount   `json:"stages"`
	Wanted   int            `json:"wanted"` // tasks; 0 = no limit
	Hours    *Hours         `json:"hours,omitempty"`

	Usage   gateway.Usage `json:"usage"` // of the spec's life
	CostUSD float64       `json:"cost_usd"`
	// Per accepted task; 0 while there is none.
	USDPerTask    float64            `json:"usd_per_task"`
	TokensPerTask float64            `json:"tokens_per_task"`
	BudgetLeft    map[string]float64 `json:"budget_left"` // usd, tokens; without what has no limit

	ElapsedS       float64 `json:"elapsed_s"` // since this daemon began with it
	SeenPerHour    float64 `json:"seen_per_hour"`
	DecidedPerHour float64 `json:"decided_per_hour"`
	Waits          string  `json:"waits,omitempty"` // for what
	Spent          Spent   `json:"spent_s"`         // of the time since this daemon began with it
}

// Hours tells how much of an archive was read.
type Hours struct {
	Read int      `json:"read"`
	Gaps []string `json:"gaps"` // of the wanted ones: not read, missing or broken
}

type finished struct {
	Cause string `json:"cause"`
	Progress
}

// Over tells the book why the spec is over: a record that says so is the end.
func (f finished) Over() (cause string) { return f.Cause }

// report tells of the progress until the context ends.
func (m *Miner) report(ctx context.Context) {
	tick := time.NewTicker(reportEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		p, err := m.Progress(ctx)
		if err == nil {
			err = m.o.Book.Report(ctx, "mining.progress", p)
		}
		if err != nil && ctx.Err() == nil {
			m.o.Log.Warn("report the progress of mining", "error", err)
		}
	}
}

// Progress reads how far the spec is.
func (m *Miner) Progress(ctx context.Context) (p Progress, err error) {
	at, waits := m.stages()
	c, err := m.o.Book.Counts(ctx)
	if err != nil {
		return p, err
	}
	usage, err := m.o.Gateway.Spent(ctx, gateway.Account{Spec: m.o.Spec.Address()})
	if err != nil {
		return p, err
	}
	p = Summed(c, at, usage)
	p.Waits, p.Wanted, p.Spent = waits, m.o.Spec.MaxTasks, m.spent.spent()
	if q := m.o.Spec.Quota; q != nil {
		p.Wanted = q.Easy + q.Medium + q.Hard
	}
	p.BudgetLeft = left(m.total(), p.Usage)
	m.rates(&p)
	p.Hours, err = m.hours(ctx)
	return p, err
}

// rates tells how long the miner has been at it, and how much it did in that time.
func (m *Miner) rates(p *Progress) {
	m.mu.Lock()
	began, before := m.began, m.before
	m.mu.Unlock()
	if began.IsZero() {
		return
	}
	p.ElapsedS = time.Since(began).Round(time.Millisecond).Seconds()
	if hours := p.ElapsedS / 3600; hours > 0 {
		p.SeenPerHour, p.DecidedPerHour = float64(p.Seen-before.Seen)/hours, float64(p.Seen-p.Open-before.Seen+before.Open)/hours
	}
}

// Summed is the progress that follows from what became of pull requests, where those under way
// are, and what was spent.
func Summed(c Counts, at map[string]int, usage gateway.Usage) Progress {
	p := Progress{
		Open: c.Open, Accepted: c.Total(), Classes: c.Accepted, Stages: tally(c, at), Usage: usage, CostUSD: usage.CostUSD,
		BudgetLeft: map[string]float64{},
	}
	for _, of := range c.Ended {
		p.Rejected += of[Rejected]
		p.Failed += of[Failed]
	}
	p.Seen = p.Open + p.Accepted + p.Rejected + p.Failed
	if p.Accepted > 0 {
		p.USDPerTask, p.TokensPerTask = p.CostUSD/float64(p.Accepted), float64(p.Usage.Tokens())/float64(p.Accepted)
	}
	return p
}

func left(total gateway.Budget, u gateway.Usage) map[string]float64 {
	out := map[string]float64{}
	if total.USD > 0 {
		out["usd"] = max(total.USD-u.CostUSD, 0)
	}
	if total.Tokens > 0 {
		out["tokens"] = float64(max(total.Tokens-u.Tokens(), 0))
	}
	return out
}
