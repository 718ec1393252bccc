package mining

import (
	"path/filepath"
	"testing"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/runtime/gateway/modeltest"
	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/mining/output"
	"github.com/assayd/assayd/runtime/task"
)

// What the triage has said stands in the record of whatever is decided later, until the pull request is
// classified.
func TestWhatTheTriageHasSaidIsTold(t *testing.T) {
	t.Parallel()
	shared := newFixture(t, repository{name: shop, pulls: []int{1}})
	for want, wanted := range map[string]string{"rejected triage difficulty": "easy", "rejected validation passes_before": "hard"} {
		w := shared.again(t)
		w.spec.Difficulty = []string{wanted}
		w.odd = func(q question) (modeltest.Answer, bool) {
			return calling("rate_difficulty", map[string]any{"reasoning": "It moves all.", "difficulty": "hard", "score": 0.8}), q == question{title(shop, 1), "triage/0"}
		}
		w.judge = func(task.Task, []byte) (round.Report, error) {
			return report(parser.Test{Name: "tests/test_f1.py::test_f1", Status: parser.Passed}), nil // also before
		}
		w.serve().mine(nothingMore)
		w.verdicts(map[string]string{"acme/shop#1": want})
		if d := w.book.decision(ref(shop, 1)); d.Classification != "hard" || d.DifficultyScore != 0.8 || d.Reasoning != "It moves all." {
			t.Errorf("%s: %+v", want, d)
		}
	}
}

// A pull request that was not wanted for its class is wanted by specs that want its class, and nobody is
// asked for that again.
func TestTheClassOfAListIsUsed(t *testing.T) {
	t.Parallel()
	shared := newFixture(t, repository{name: shop, pulls: []int{1, 2, 3, 4}})
	list := []output.PR{{Ref: ref(shop, 1), Class: "hard"}, {Ref: ref(shop, 2), Class: "medium"}, {Ref: ref(shop, 3)}}
	for name, tc := range map[string]struct {
		change func(*fixture)
		want   map[string]string
		asked  int // for triage
		cause  string
	}{
		"by a difficulty": {
			func(w *fixture) { w.spec.Difficulty = []string{"hard"} },
			map[string]string{"1": "accepted hard", "2": "rejected source decided_elsewhere", "3": "rejected source decided_elsewhere", "4": "rejected triage difficulty"},
			1, nothingMore,
		},
		"by a quota": {
			func(w *fixture) { w.spec.Quota = &config.Quota{Hard: 2} },
			map[string]string{"1": "accepted hard", "2": "rejected source enough", "3": "rejected source decided_elsewhere", "4": "rejected triage enough"},
			1, nothingMore,
		},
		"by any": {
			func(*fixture) {},
			map[string]string{"1": "accepted hard", "2": "accepted medium", "3": "rejected source decided_elsewhere", "4": "accepted easy"},
			0, nothingMore,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := shared.again(t)
			w.class[title(shop, 1)], w.class[title(shop, 2)] = "hard", "medium"
			w.spec.PRFile = filepath.Join(t.TempDir(), "prs.jsonl")
			if err := output.AppendPRs(w.spec.PRFile, list...); err != nil {
				t.Fatal(err)
			}
			tc.change(w)
			w.serve().mine(tc.cause)
			want := map[string]string{}
			for n, verdict := range tc.want {
				want["acme/shop#"+n] = verdict
			}
			w.verdicts(want)
			if n := w.questions("triage/0"); n != tc.asked {
				t.Errorf("%d were asked for, want %d", n, tc.asked)
			}
		})
	}
}
