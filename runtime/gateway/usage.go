package gateway

import (
	"context"
	"math"
	"strconv"
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

// tokens is what a provider says of one exchange, or what was counted in its place.
type tokens struct {
	input, cached, written, output int64 // input is the whole prompt, cached and written are of it
	hour                           int64 // of written, for an hour
	estimated                      int64
	reported                       *float64 // cost, by providers that tell it
}

// maxTokens and maxCost are more than any exchange takes: what is beyond them is no number.
const (
	maxTokens = 100e6
	maxCost   = 10e3 // dollars
)

// count is a number of tokens as a provider writes it. What is no such number is -1.
type count int64

// UnmarshalJSON implements json.Unmarshaler. It never fails, so that the rest is read.
func (c *count) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		return nil
	}
	n, err := strconv.ParseFloat(string(text), 64)
	if *c = count(n); err != nil || n != math.Trunc(n) || n < 0 || n > maxTokens {
		*c = -1
	}
	return nil
}

// cost is a number of dollars as a provider writes it. What is no such number is negative.
type cost float64

// UnmarshalJSON implements json.Unmarshaler. It never fails, so that the rest is read.
func (c *cost) UnmarshalJSON(text []byte) error {
	n, err := strconv.ParseFloat(string(text), 64)
	if *c = cost(n); err != nil || !(n >= 0 && n <= maxCost) {
		*c = -1
	}
	return nil
}

// usageTold is what a provider that speaks OpenAI's says of an exchange.
type usageTold struct {
	input, cached, written, output count
	reasoning, total               count
	cost                           *cost
}

// told makes tokens of what a provider says of a whole exchange; ok is false where that
// cannot be. What caches had to do with is a part of the prompt.
func told(u usageTold) (t tokens, ok bool) {
	if u.input < 0 || u.cached < 0 || u.output < 0 {
		return tokens{}, false
	}
	cached := min(u.cached, u.input)
	t = tokens{
		input: int64(u.input), cached: int64(cached), written: int64(max(min(u.written, u.input-cached), 0)),
		output: int64(min(u.output+u.beside(), maxTokens)),
	}
	reported := u.cost
	if reported != nil && *reported >= 0 {
		t.reported = (*float64)(reported)
	}
	return t, true
}

// beside is what a model took to reason where that is not within the output. With most
// providers it is; with others the total says that it is not, or that it is more than all of
// the output.
func (u usageTold) beside() count {
	switch {
	case u.reasoning <= 0:
		return 0
	case u.total > 0:
		return max(min(u.total-u.input-u.output, u.reasoning), 0)
	case u.reasoning > u.output:
		return u.reasoning
	}
	return 0
}

// usage prices an exchange. A provider's own word on the cost counts where no price is set.
func (t tokens) usage(p Price, priced bool) Usage {
	u := Usage{
		InputTokens: t.input, OutputTokens: t.output, CachedTokens: t.cached, EstimatedTokens: t.estimated, Requests: 1,
	}
	switch {
	case priced:
		plain := max(t.input-t.cached-t.written, 0)
		u.CostUSD = (float64(plain)*p.Input + float64(t.cached)*p.Cached + float64(t.output)*p.Output +
			float64(t.written-t.hour)*p.CacheWrite + float64(t.hour)*p.CacheWrite1h) / 1e6
	case t.reported != nil:
		u.CostUSD = *t.reported
	}
	return u
}

// estimate counts the tokens of so many bytes of text: about four bytes make one in English
// and in code. It is only used where nobody tells a number.
func estimate(bytes int) int64 { return int64(bytes+3) / 4 }

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
