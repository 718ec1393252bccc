package trial

import (
	"context"
	"log/slog"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/agent"
	"github.com/assayd/assayd/runtime/gateway"
)

// triesLedger says that try n took n tokens.
type triesLedger struct{ gateway.Ledger }

func (triesLedger) Spent(_ context.Context, a gateway.Account) (gateway.Usage, error) {
	if a.Spec != "run.r" || a.Execution != 2 || a.Trial != "t1" {
		return gateway.Usage{}, nil
	}
	return gateway.Usage{InputTokens: int64(a.Try), Requests: 1, CostUSD: float64(a.Try)}, nil
}

// What a trial takes is what all of its tries took, and what those took that do not count is
// said apart.
func TestAllTriesAreCharged(t *testing.T) {
	g, err := gateway.New(gateway.Options{Ledger: triesLedger{}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	asks := Cell{Agent: agent.Agent{API: "openai"}}
	used := func(tokens, tries int64) Usage {
		return Usage{InputTokens: tokens, Requests: tries, CostUSD: float64(tokens)}
	}
	for name, tc := range map[string]struct {
		try              int
		final            bool
		whole, discarded Usage
	}{
		"the only one":               {1, true, used(1, 1), Usage{}},
		"one that is tried again":    {1, false, used(1, 1), used(1, 1)},
		"the third, which counts":    {3, true, used(6, 3), used(3, 2)},
		"the second, which does not": {2, false, used(3, 2), used(3, 2)},
	} {
		f := Finished{Final: tc.final, DiscardedUsage: used(100, 1)} // of the last time that it was asked
		if err := (Host{Gateway: g}).Charge(t.Context(), State{ID: "t1", Spec: "run.r", Execution: 2, Try: tc.try, Cell: asks}, &f); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]Usage{tc.whole, tc.discarded, tc.discarded}, []Usage{f.Usage, f.DiscardedUsage, f.LostUsage}); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
