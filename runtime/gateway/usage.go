package gateway

import (
	"context"

	"github.com/assayd/assayd/runtime/gateway/wire"
)

// Usage is what requests to models cost. Its JSON names are those of the records.
type Usage struct {
	InputTokens     int64   `json:"input_tokens"`     // whole prompts, with what came from a cache
	OutputTokens    int64   `json:"output_tokens"`    // reasoning included
	CachedTokens    int64   `json:"cached_tokens"`    // of InputTokens, read from a cache
	EstimatedTokens int64   `json:"estimated_tokens"` // of both, counted from text because no provider told them
	Requests        int64   `json:"requests"`         // that a model answered, or that were not waited for
	CostUSD         float64 `json:"cost_usd"`
}

// Add adds what others cost.
func (u *Usage) Add(o Usage) {
	u.InputTokens += o.InputTokens
	u.OutputTokens += o.OutputTokens
	u.CachedTokens += o.CachedTokens
	u.EstimatedTokens += o.EstimatedTokens
	u.Requests += o.Requests
	u.CostUSD += o.CostUSD
}

// Tokens is what a budget of tokens is compared with.
func (u Usage) Tokens() int64 { return u.InputTokens + u.OutputTokens }

// Price is in US dollars per million tokens.
type Price struct {
	Input      float64 // of a prompt, where it is neither read from a cache nor written to one
	Output     float64
	Cached     float64 // read from a cache
	CacheWrite float64 // written to one
	// CacheWrite1h is of what is written to one that keeps it for an hour, where the provider
	// tells it apart.
	CacheWrite1h float64
}

// usageOf prices an exchange. A provider's own word on the cost counts where no price is set.
func usageOf(t wire.Tokens, p Price, priced bool) Usage {
	u := Usage{
		InputTokens: t.Input, OutputTokens: t.Output, CachedTokens: t.Cached, EstimatedTokens: t.Estimated, Requests: 1,
	}
	switch {
	case priced:
		plain := max(t.Input-t.Cached-t.Written, 0)
		u.CostUSD = (float64(plain)*p.Input + float64(t.Cached)*p.Cached + float64(t.Output)*p.Output +
			float64(t.Written-t.Hour)*p.CacheWrite + float64(t.Hour)*p.CacheWrite1h) / 1e6
	case t.Reported != nil:
		u.CostUSD = *t.Reported
	}
	return u
}

// Budget bounds what may be spent; zero is no limit.
type Budget struct {
	USD    float64 `json:"usd,omitempty"`
	Tokens int64   `json:"tokens,omitempty"`
}

// Reasons why a budget is used up; they are reasons of a trial's end, too.
const (
	OverUSD    = "budget_usd"
	OverTokens = "budget_tokens"
)

// over says which limit is reached, "" if none.
func (b Budget) over(u Usage) string {
	switch {
	case b.USD > 0 && u.CostUSD >= b.USD:
		return OverUSD
	case b.Tokens > 0 && u.Tokens() >= b.Tokens:
		return OverTokens
	}
	return ""
}

// Account is whom an exchange is charged to. Trials of two specs may have the same name.
type Account struct {
	Spec      string // address of the run, or of what mines
	Execution int    // 0 of what mines, which has none
	Trial     string // or the pull request, "owner/name#12"
	Try       int
}

// Charge is what is kept of one exchange.
type Charge struct {
	Account
	Provider string
	Model    string
	Usage    Usage
}

// Ledger keeps what was spent. It is written before an agent learns that its exchange is
// over, so that no crash makes an exchange free.
type Ledger interface {
	// Begin notes an exchange that a model has begun to answer, with what it costs at least.
	// It stays as it is if nothing is said of it any more.
	Begin(context.Context, Charge) (id int64, err error)
	// End replaces what Begin noted.
	End(ctx context.Context, id int64, c Charge) error
	// Spent sums up the exchanges of a try, or of a whole execution if the trial is "".
	Spent(context.Context, Account) (Usage, error)
}
