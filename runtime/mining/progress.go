package mining

import (
	"context"
	"time"

	"github.com/assayd/assayd/config"
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
	usage, err := m.o.Gateway.Spent(ctx, gateway.Account{Spec: m.o.Spec.Address()})
	if err != nil {
		return p, err
	}
	if p, err = progress(ctx, m.o.Book, m.o.Spec, usage, at); err != nil {
		return p, err
	}
	p.Waits, p.Spent = waits, m.spent.spent()
	m.rates(&p)
	return p, nil
}

// rates tells how long the miner has been at it, and how much it did in that time.
func (m *Miner) rates(p *Progress) {
	m.mu.Lock()
	began, before := m.began, m.before
	m.mu.Unlock()
	if began.IsZero() {
		return
	}
	p.ElapsedS = float64(time.Since(began).Milliseconds()) / 1000
	if hours := p.ElapsedS / 3600; hours > 0 {
		p.SeenPerHour, p.DecidedPerHour = float64(p.Seen-before.Seen)/hours, float64(p.Seen-p.Open-before.Seen+before.Open)/hours
	}
}

// Reached reads from a book how far a spec is that nobody works for, and that has spent that much.
func Reached(ctx context.Context, book Book, spec config.Mining, usage gateway.Usage) (Progress, error) {
	return progress(ctx, book, spec, usage, nil)
}

// progress is that of a spec with so many pull requests under way at each stage.
func progress(ctx context.Context, book Book, spec config.Mining, usage gateway.Usage, at map[string]int) (p Progress, err error) {
	c, err := book.Counts(ctx)
	if err != nil {
		return p, err
	}
	p = Progress{
		Open: c.Open, Accepted: c.Total(), Classes: c.Accepted, Stages: tally(c, at), Usage: usage, CostUSD: usage.CostUSD,
		Wanted: wanted(spec), BudgetLeft: left(totalOf(spec), usage),
	}
	for _, of := range c.Ended {
		p.Rejected += of[Rejected]
		p.Failed += of[Failed]
	}
	p.Seen = p.Open + p.Accepted + p.Rejected + p.Failed
	if p.Accepted > 0 {
		p.USDPerTask, p.TokensPerTask = p.CostUSD/float64(p.Accepted), float64(p.Usage.Tokens())/float64(p.Accepted)
	}
	p.Hours, err = hours(ctx, book, spec)
	return p, err
}

// wanted is how many tasks a spec wants in all; 0 = no limit.
func wanted(spec config.Mining) int {
	if q := spec.Quota; q != nil {
		return q.Easy + q.Medium + q.Hard
	}
	return spec.MaxTasks
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
