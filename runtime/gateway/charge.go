package gateway

import (
	"context"
	"errors"

	"github.com/assayd/assayd/runtime/fault"
	"github.com/assayd/assayd/runtime/gateway/transcript"
	"github.com/assayd/assayd/runtime/gateway/wire"
)

// book enters the exchange into the ledger with what it costs at least. The session's budget
// is not charged yet: an estimate must not end a trial that has money left.
func (x *exchange) book() *refusal {
	prompt := wire.Estimate(x.q.TextBytes)
	c := x.bill(wire.Tokens{Input: prompt, Estimated: prompt})
	id, err := x.s.gateway.opts.Ledger.Begin(context.WithoutCancel(x.ctx), c)
	if err != nil {
		x.s.log.Error("an exchange with a model cannot be entered into the books, and is refused", "error", err)
		return overloaded(x.protocol(), "the gateway cannot keep its books")
	}
	fault.Reached(fault.ExchangeBooked)
	x.charge = id
	return nil
}

// bill is what tokens of this exchange cost. A model beside the run's that nobody has set a
// price for costs as the dearest does, so that a budget in dollars holds whatever is asked for.
func (x *exchange) bill(t wire.Tokens) Charge {
	price, priced := x.prices(t)
	return Charge{Account: x.s.grant.Account, Provider: x.s.provider.Name, Model: x.q.Model, Usage: usageOf(t, price, priced)}
}

// prices are those of the exchange, and whether there are any.
func (x *exchange) prices(t wire.Tokens) (price Price, priced bool) {
	price, priced = x.s.provider.price(x.q.Model)
	if beside := x.s.grant.Model == "" || x.q.Model != x.s.grant.Model; beside && !priced && t.Reported == nil {
		price, priced = x.s.provider.dearest()
	}
	if x.isListed && !priced {
		price, priced = x.listed, t.Reported == nil
	}
	return price, priced
}

// lookUp looks for a price where there is none and the provider did not come to tell the cost.
func (x *exchange) lookUp() {
	p, t := x.s.provider, x.meter.Tokens
	if _, priced := p.price(x.q.Model); priced || t.Reported != nil || t.Input+t.Output == 0 {
		return
	}
	var err error
	if x.listed, x.isListed, err = p.listed(context.WithoutCancel(x.ctx), x.q.Model); err != nil {
		x.s.log.Warn("it is not known what an answer costs that broke off", "model", x.q.Model, "error", err)
	}
}

// settle enters what the exchange cost in the end.
func (x *exchange) settle(broken string) {
	x.cut = broken != ""
	x.got(x.empty(broken))
	left := x.ctx.Err() != nil || x.asking().Err() != nil
	if left && broken != "" && !errors.Is(context.Cause(x.asking()), errQuiet) {
		x.meter.TakeBound(x.bound)
	}
	x.meter.Settle(x.q.TextBytes)
	x.lookUp()
	c := x.bill(x.meter.Tokens)
	if err := x.s.gateway.opts.Ledger.End(context.WithoutCancel(x.ctx), x.charge, c); err != nil {
		x.s.log.Error("what an exchange with a model cost cannot be entered into the books; its estimate stands", "error", err)
	}
	fault.Reached(fault.ExchangeSettled)
	x.s.gateway.spend(x.s, c.Usage)
	x.charged = c.Usage
	u := c.Usage
	x.over(transcript.Response{
		Broken: broken, Model: x.meter.Model, Error: wire.Clip([]byte(x.meter.Err)), Reply: x.meter.Reply(),
		Tokens: transcript.Tokens{
			Input: u.InputTokens, Cached: u.CachedTokens, Output: u.OutputTokens, Estimated: u.EstimatedTokens, CostUSD: u.CostUSD,
		},
	})
}

// leave gives the place in the provider's line back.
func (x *exchange) leave() {
	if x.placed {
		x.placed = false
		x.s.provider.line.leave(x.charged.Tokens() - x.entered)
	}
}
