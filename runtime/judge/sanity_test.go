package judge

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/judge/scoring"
)

func TestTheUntouchedTreeIsJudgedApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t)
		b.open("t", func(s *round.Session) { s.Max, s.Cooldown, s.Deadline = 1, time.Hour, time.Time{} })
		ask := func() round.Submission {
			sub, err := b.Submit(t.Context(), "t", round.SubmitRequest{Kind: round.KindSanity, Key: "sanity"})
			if err != nil {
				t.Fatal(err)
			}
			return b.judged(t, sub.ID)
		}
		sane := ask()
		if sane.Round != "sanity-1" || sane.Report.Status == round.StatusError {
			t.Errorf("%s: %+v", sane.Round, sane.Report)
		}
		if again := ask(); again.ID != sane.ID {
			t.Error("a repeated key is another round")
		}
		b.Close("t") // it is asked before an agent may, and after
		if again, err := b.Submit(t.Context(), "t", round.SubmitRequest{Kind: round.KindSanity, Key: "more"}); err != nil {
			t.Error(err)
		} else {
			b.judged(t, again.ID)
		}
		b.open("t", func(s *round.Session) { s.Max, s.Cooldown, s.Deadline = 1, time.Hour, time.Time{} })
		mine, err := b.Submit(t.Context(), "t", round.SubmitRequest{Kind: round.KindFinal, SkipKnown: true}) // the same tree
		if err != nil {
			t.Fatal(err)
		}
		if mine = b.judged(t, mine.ID); mine.Kind != round.KindFinal || mine.Report.Cached {
			t.Errorf("a tree that was not touched is %s, cached %t", mine.Round, mine.Report.Cached)
		}
		first := b.submit(t, "t", round.KindAgent, "a passed\n") // neither budget nor cooldown were spent
		b.judged(t, first.ID)
		view := scoring.HistoryView(b.session("t").Task, "t", []round.Submission{b.judged(t, first.ID)})
		if view.Agent != 1 {
			t.Errorf("history %+v", view)
		}
		for _, sub := range b.ledger.Of("t") {
			w := b.get(t, "t", "/api/v1/result/"+sub.ID)
			if known := w.Code == http.StatusOK; known != (sub.Kind == round.KindAgent) {
				t.Errorf("the agent learns of %s: %d %s", sub.Round, w.Code, w.Body)
			}
		}
	})
}
