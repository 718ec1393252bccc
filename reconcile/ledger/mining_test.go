package ledger

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/reconcile/store/storetest"
	"github.com/assayd/assayd/runtime/mining"
	"github.com/assayd/assayd/runtime/mining/github"
	"github.com/assayd/assayd/runtime/mining/output"
)

// What was answered about a pull request goes with its decision, unless it may be taken up
// again.
func TestAnswersStayWithWhatMayBeTakenUpAgain(t *testing.T) {
	s := storetest.Open(t)
	spec := config.Mining{Block: config.Block{Kind: "mining", Name: "x"}}
	book := &Mining{Store: s, Spec: spec, Log: slog.New(slog.DiscardHandler), Stream: store.StreamRef{Spec: spec.Address(), Root: s.Dir(), Path: filepath.Join(s.Dir(), "x.jsonl")}}
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

// What a crash kept from being listed is listed by the next life, once, however much there is.
func TestDecidedPullRequestsAreListedAfterACrash(t *testing.T) {
	s := storetest.Open(t)
	spec := config.Mining{Block: config.Block{Kind: "mining", Name: "x"}, PRFile: filepath.Join(t.TempDir(), "prs.jsonl")}
	book := &Mining{Store: s, Spec: spec, Log: slog.New(slog.DiscardHandler)}
	const seen = 2*catchUpAtOnce + 10
	check(t, s.Do(t.Context(), func(tx *store.Tx) error {
		for n := 1; n <= seen; n++ {
			_, err := tx.FindPull(spec.Address(), "acme/shop", n)
			why := []string{"stars", mining.ReasonEnough}[n%2]
			if _, bad := tx.DecidePull(store.PullRow{Spec: spec.Address(), Repo: "acme/shop", Number: n, Verdict: mining.Rejected, Reason: why}); errors.Join(err, bad) != nil {
				return errors.Join(err, bad)
			}
		}
		return nil
	}))
	book.list(output.PR{Ref: github.Ref{Repo: "acme/shop", Number: 4}})
	for range 2 {
		check(t, book.CatchUp(t.Context()))
		listed, err := book.noted()
		text, bad := os.ReadFile(spec.PRFile)
		if lines := strings.Count(string(text), "\n"); err != nil || bad != nil || len(listed) != seen/2 || lines != seen/2 {
			t.Errorf("%d pull requests in %d lines, %v, %v", len(listed), lines, err, bad)
		} else if _, ok := listed[github.Ref{Repo: "acme/shop", Number: 1}]; ok {
			t.Error("one that may be taken up again is listed")
		}
	}
}

// What was not wanted for its class is listed with it, once, also over a crash; what is decided for
// another reason later is listed without.
func TestPullRequestsOfAnUnwantedClassAreListedWithIt(t *testing.T) {
	s := storetest.Open(t)
	spec := config.Mining{Block: config.Block{Kind: "mining", Name: "x"}, PRFile: filepath.Join(t.TempDir(), "prs.jsonl")}
	life := func() *Mining {
		b := &Mining{Store: s, Spec: spec, Log: slog.New(slog.DiscardHandler), Stream: store.StreamRef{Spec: spec.Address(), Root: s.Dir(), Path: filepath.Join(s.Dir(), "x.jsonl")}}
		check(t, b.CatchUp(t.Context()))
		return b
	}
	decide := func(b *Mining, n int, verdict, why, class string) {
		check(t, b.Decide(t.Context(), mining.Decision{
			Ref: github.Ref{Repo: "acme/shop", Number: n}, Verdict: verdict, Stage: mining.StageTriage, Reason: why, Classification: class,
		}))
	}
	has := func(want ...string) {
		t.Helper()
		text, err := os.ReadFile(spec.PRFile)
		if diff := cmp.Diff(strings.Join(want, "\n")+"\n", string(text)); diff != "" || err != nil {
			t.Error(err, diff)
		}
	}
	first := life()
	var found []mining.Found
	for n := range 6 {
		found = append(found, mining.Found{Ref: github.Ref{Repo: "acme/shop", Number: n + 1}})
	}
	check(t, first.Find(t.Context(), found, mining.Mark{}))
	decide(first, 1, mining.Rejected, mining.ReasonDifficulty, "easy")
	decide(first, 2, mining.Rejected, mining.ReasonEnough, "hard")
	decide(first, 3, mining.Rejected, mining.ReasonEnough, "")
	decide(first, 4, mining.Rejected, mining.ReasonListed, "hard")
	decide(first, 5, mining.Rejected, "low_quality", "hard")
	lines := []string{
		`{"pr":1,"repo":"acme/shop","classification":"easy"}`, `{"pr":2,"repo":"acme/shop","classification":"hard"}`, `{"pr":5,"repo":"acme/shop"}`,
	}
	has(lines...)
	again := life()
	decide(again, 2, mining.Rejected, mining.ReasonEnough, "hard")
	has(lines...)
	check(t, os.Remove(spec.PRFile))
	life()
	has(lines...)
	again = life()
	again.list(output.PR{Ref: github.Ref{Repo: "acme/shop", Number: 2}})
	life()
	has(append(lines, `{"pr":2,"repo":"acme/shop"}`)...)
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
