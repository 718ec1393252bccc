package gateway

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/assayd/assayd/runtime/gateway/wire"
)

// reservePatience is how many times the hold a request waits for others to end, so that there is
// room for it in the budget. They may take minutes.
const reservePatience = 5

// reservation is the part of a budget that requests under way may take.
type reservation struct {
	requests int
	usd      float64 // +Inf where one of them has no price
	tokens   int64
}

func (r *reservation) add(o reservation, sign int) {
	r.requests += sign * o.requests
	r.tokens += int64(sign) * o.tokens
	if r.requests == 0 {
		r.usd = 0 // no remains of rounding, and no infinity
	} else if r.usd += float64(sign) * o.usd; math.IsNaN(r.usd) {
		r.usd = math.Inf(1)
	}
}

// fits reports whether a request may go out beside those that are under way. One alone always may
// while something is left: that is by how much a budget is exceeded at most.
func (b Budget) fits(spent Usage, held, more reservation) bool {
	return held.requests == 0 ||
		(b.USD <= 0 || spent.CostUSD+held.usd+more.usd <= b.USD) && (b.Tokens <= 0 || spent.Tokens()+held.tokens+more.tokens <= b.Tokens)
}

// reserve keeps the part of the budgets that the exchange may take. It waits for those under way
// while there is no room.
func (x *exchange) reserve() *refusal {
	x.bound = x.at.Generates.Bound(x.q)
	g, s := x.s.gateway, x.s
	each, total := s.limits()
	if each == (Budget{}) && total == (Budget{}) {
		return nil
	}
	more := reservation{requests: 1, tokens: x.bound.Input + x.bound.Output, usd: x.mostUSD(each.USD > 0 || total.USD > 0)}
	ctx, cancel := context.WithTimeoutCause(x.ctx, reservePatience*g.opts.Hold, errCrowded)
	defer cancel()
	for {
		if bad := x.broke(); bad != nil {
			return bad
		}
		freed, ok := g.reserve(s, more)
		if ok {
			x.held = more
			return nil
		}
		select {
		case <-freed:
		case <-s.over:
		case <-ctx.Done():
			return overloaded(x.protocol(), broken(ctx, context.Cause(ctx)))
		}
	}
}

var errCrowded = errors.New("the rest of the budget is kept for requests that are under way")

// mostUSD is what the bound costs, +Inf where there is no price to tell by.
func (x *exchange) mostUSD(limited bool) float64 {
	if !limited {
		return 0
	}
	x.priced()
	price, ok := x.prices(x.bound)
	if !ok {
		return math.Inf(1)
	}
	price.CacheWrite = max(price.Input, price.Cached, price.CacheWrite, price.CacheWrite1h)
	return usageOf(x.bound, price, true).CostUSD
}

// priced looks a price up where the settings have none: the list of the provider may tell.
func (x *exchange) priced() {
	if _, ok := x.prices(wire.Tokens{}); ok {
		return
	}
	ctx, cancel := context.WithTimeout(x.ctx, listPatience+time.Second)
	defer cancel()
	if price, ok, err := x.s.provider.listed(ctx, x.q.Model); err == nil && ok {
		x.listed, x.isListed = price, true
	}
}

// reserve adds to what is held of a session's budgets, if it fits. Otherwise freed is closed when
// something is given back.
func (g *Gateway) reserve(s *Session, more reservation) (freed <-chan struct{}, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	together := g.pools[pool{s.grant.Spec, s.grant.Execution}]
	if !s.grant.Each.fits(s.spent, s.held, more) || !s.total().fits(together.usage, together.held, more) {
		return together.freed, false
	}
	s.held.add(more, 1)
	together.held.add(more, 1)
	return nil, true
}

// release gives back what the exchange held.
func (x *exchange) release() {
	if x.held.requests == 0 {
		return
	}
	g, s := x.s.gateway, x.s
	g.mu.Lock()
	defer g.mu.Unlock()
	together := g.pools[pool{s.grant.Spec, s.grant.Execution}]
	s.held.add(x.held, -1)
	together.held.add(x.held, -1)
	x.held = reservation{}
	together.free()
}
