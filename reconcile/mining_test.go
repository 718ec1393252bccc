package reconcile

import (
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/mining"
	"github.com/assayd/assayd/runtime/mining/github"
)

// What was answered about a pull request goes with its decision, unless it may be taken up
// again.
func TestAnswersStayWithWhatMayBeTakenUpAgain(t *testing.T) {
	s, _ := openStore(t)
	r := New(Options{Store: s, Log: slog.New(slog.DiscardHandler)})
	spec := config.Mining{Block: config.Block{Kind: "mining", Name: "x"}}
	book := &miningBook{r: r, spec: spec, stream: store.StreamRef{Spec: spec.Address(), Root: s.Dir(), Path: filepath.Join(s.Dir(), "x.jsonl")}}
	for i, c := range []struct {
		reason string
		stays  bool
	}{{mining.ReasonEnough, true}, {mining.ReasonBudget, true}, {"low_quality", false}, {"trouble", false}} {
		ref := github.Ref{Repo: "acme/shop", Number: i + 1}
		check(t, book.Find(t.Context(), []mining.Found{{Ref: ref}}, mining.Mark{}))
		check(t, book.Keep(t.Context(), mining.Answer{Pull: ref.String(), Key: "triage/0", Value: []byte("paid")}))
		check(t, book.Decide(t.Context(), mining.Decision{Ref: ref, Verdict: mining.Rejected, Stage: mining.StageQuality, Reason: c.reason}))
		if _, ok, err := book.Answer(t.Context(), ref.String(), "triage/0"); ok != c.stays || err != nil {
			t.Errorf("%s: the answer is there: %v, %v", c.reason, ok, err)
		}
	}
}
