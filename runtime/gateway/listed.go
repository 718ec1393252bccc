package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/assayd/assayd/runtime/gateway/wire"
)

// How long a list of prices holds, or that there is none, how long it is waited for, and how
// large it is at most, in bytes.
const (
	listHolds    = time.Hour
	noListHolds  = time.Minute
	listPatience = 10 * time.Second
	maxList      = 32 << 20
)

// list is what OpenRouter asks for its models. It is needed only where nobody has set a price
// and an answer broke off before it told its cost: who hangs up early pays, too.
type list struct {
	place  chan struct{} // taken by who reads or renews it
	until  time.Time
	prices map[string]Price
}

// listed is the price of a model by the provider's own list, where it tells what answers cost.
func (p *provider) listed(ctx context.Context, model string) (price Price, ok bool, err error) {
	if !p.tellsCost {
		return Price{}, false, nil
	}
	p.list.place <- struct{}{}
	defer func() { <-p.list.place }()
	if now := time.Now(); now.After(p.list.until) {
		prices, err := p.readList(ctx)
		if err != nil {
			p.list.until = now.Add(noListHolds)
			return Price{}, false, fmt.Errorf("read what provider %s asks for its models: %w", p.Name, err)
		}
		p.list.prices, p.list.until = prices, now.Add(listHolds)
	}
	if price, ok = p.list.prices[model]; !ok {
		whole, _, _ := strings.Cut(model, ":") // without the kind of server that is wanted
		price, ok = p.list.prices[whole]
	}
	return price, ok, nil
}

// readList reads the list. Its prices are for one token, as texts.
func (p *provider) readList(ctx context.Context) (map[string]Price, error) {
	ctx, cancel := context.WithTimeout(ctx, listPatience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.target("/v1/models", ""), nil)
	if err != nil {
		return nil, err
	}
	res, err := p.client.Do(req) // it is for everybody, without a key
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("it answered %s", res.Status)
	}
	var told struct {
		Data []struct {
			ID      string
			Pricing struct {
				Prompt, Completion string
				Read               string `json:"input_cache_read"`
				Write              string `json:"input_cache_write"`
			}
		}
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxList))
	if err != nil {
		return nil, err
	}
	if !wire.Decode(body, &told) {
		return nil, errors.New("it is no list")
	}
	prices := map[string]Price{}
	for _, m := range told.Data {
		input := perMillion(m.Pricing.Prompt, 0)
		write := perMillion(m.Pricing.Write, input)
		prices[m.ID] = Price{
			Input: input, Output: perMillion(m.Pricing.Completion, 0),
			Cached: perMillion(m.Pricing.Read, input), CacheWrite: write, CacheWrite1h: write,
		}
	}
	return prices, nil
}

// perMillion reads a price for one token; what is none is the other one.
func perMillion(text string, other float64) float64 {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n >= 0 && n <= wire.MaxCost) {
		return other
	}
	return n * 1e6
}
