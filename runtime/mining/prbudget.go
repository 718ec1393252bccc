package mining

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/runtime/gateway"
	"github.com/assayd/assayd/runtime/llm"
	"github.com/assayd/assayd/runtime/mining/github"
)

// errPerTask says that one pull request has cost as much as one may.
var errPerTask = errors.New("it has cost as much as one task may")

// prBudget pays for what models are asked about one pull request.
type prBudget struct {
	m       *Miner
	ref     github.Ref
	each    gateway.Budget
	session *gateway.Session
	model   *llm.Model
}

func (m *Miner) budgetFor(ctx context.Context, ref github.Ref) (*prBudget, error) {
	p := &prBudget{m: m, ref: ref}
	grant := gateway.Grant{Account: m.account(ref), Provider: m.o.Spec.Provider, Model: m.o.Spec.Model, Total: totalOf(m.o.Spec)}
	if b := m.o.Spec.Budget; b != nil {
		grant.Each = gateway.Budget(b.Each)
		p.each = grant.Each
	}
	var err error
	if p.session, err = m.o.Gateway.Open(ctx, grant); err != nil {
		return nil, fmt.Errorf("open a session for %s: %w", ref.String(), err)
	}
	p.model = modelOf(p.session, m.o.Spec.Model)
	return p, nil
}

// totalOf is what a spec may spend over its life.
func totalOf(spec config.Mining) gateway.Budget {
	if b := spec.Budget; b != nil {
		return gateway.Budget(b.Total)
	}
	return gateway.Budget{}
}

func (p *prBudget) close() {
	if err := p.session.Close(); err != nil {
		p.m.o.Log.Warn("close the session of a pull request", "pull", p.ref.String(), "error", err)
	}
}

// account is that of a pull request.
func (m *Miner) account(ref github.Ref) gateway.Account {
	address := m.o.Spec.Address()
	return gateway.Account{Spec: address, Trial: address + "/" + ref.String(), Try: 1}
}

// paid is what models were paid for a pull request, by all daemons.
func (m *Miner) paid(ctx context.Context, ref github.Ref) (gateway.Usage, error) {
	return m.o.Gateway.Spent(ctx, m.account(ref))
}

// kept is an answer as the book keeps it.
type kept struct {
	Answer    llm.Answer
	Malformed *llm.Malformed `json:",omitempty"` // it was paid for, too
}

// ask asks the model at a stage. What it has answered before is given again: the questions of
// a stage are numbered, and the same ones are asked again after a crash.
func (p *prBudget) ask(stage string) llm.Ask {
	n := 0
	return func(ctx context.Context, messages []llm.Message, tools []llm.Tool) (llm.Answer, error) {
		key := fmt.Sprintf("%s/%d", stage, n)
		n++
		var k kept
		value, ok, err := p.m.o.Book.Answer(ctx, p.ref.String(), key)
		if err != nil {
			return llm.Answer{}, err
		}
		if ok {
			if err := json.Unmarshal(value, &k); err != nil {
				return llm.Answer{}, fmt.Errorf("read the answer %s about %s: %w", key, p.ref.String(), err)
			}
		} else if k, err = p.pay(ctx, key, messages, tools); err != nil {
			return llm.Answer{}, err
		}
		if k.Malformed != nil {
			return k.Answer, k.Malformed
		}
		return k.Answer, nil
	}
}

// pay asks the model and keeps what it answers before anybody uses it.
func (p *prBudget) pay(ctx context.Context, key string, messages []llm.Message, tools []llm.Tool) (k kept, err error) {
	asked := time.Now()
	k.Answer, err = p.model.Ask(ctx, messages, tools)
	p.m.spent.since(onModel, asked)
	if malformed, ok := errors.AsType[*llm.Malformed](err); ok {
		k.Malformed, err = malformed, nil
	}
	if err != nil {
		return k, p.m.broke(ctx, p, err)
	}
	value, err := json.Marshal(k)
	if err != nil {
		return k, fmt.Errorf("encode the answer %s about %s: %w", key, p.ref.String(), err)
	}
	return k, p.m.o.Book.Keep(context.WithoutCancel(ctx), Answer{p.ref.String(), key, value})
}

// broke says whose budget is used up, where that is why a model was not asked. Where it is
// none of ours, the account at the provider is empty: that is llm.ErrBudget still, and passes
// when somebody pays.
func (m *Miner) broke(ctx context.Context, p *prBudget, err error) error {
	if !errors.Is(err, llm.ErrBudget) {
		return err
	}
	code, detail, other := m.o.Gateway.OverBudget(ctx, gateway.Account{Spec: m.o.Spec.Address()}, gateway.Budget{}, totalOf(m.o.Spec))
	switch {
	case other != nil:
		return other
	case code != "":
		return fmt.Errorf("%w: %s", errBroke, detail)
	}
	if code, detail = p.session.Reason(); code == "" {
		return fmt.Errorf("the account at the provider: %w", err)
	}
	spent := p.session.Usage()
	if each := p.each; each.USD > 0 && spent.CostUSD >= each.USD || each.Tokens > 0 && spent.Tokens() >= each.Tokens {
		return fmt.Errorf("%w: %s", errPerTask, detail)
	}
	return fmt.Errorf("%w: %s", errBroke, detail)
}
