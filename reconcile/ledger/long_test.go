package ledger

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/assayd/assayd/reconcile/store/storetest"
	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/round"
)

// A list that is kept in memory is at each moment the one that the store would give.
func TestALongListIsTheStores(t *testing.T) {
	s := storetest.Open(t)
	l := unheard(s)
	l.long.least = 3
	trials, n := 0, 0
	rapid.Check(t, func(r *rapid.T) {
		trials++
		trial := fmt.Sprintf("t%d", trials)
		var ids []string
		reserveOne := func(ctx context.Context, id string) error {
			_, err := l.Reserve(ctx, trial, func([]round.Submission) (round.Submission, error) {
				n++
				return round.Submission{ID: id, Trial: trial, Try: 1, Kind: round.KindAgent, Number: n, State: round.StateReserved}, nil
			})
			return err
		}
		ids = append(ids, trial+".0")
		if err := reserveOne(t.Context(), ids[0]); err != nil {
			r.Fatal(err)
		}
		pick := func(r *rapid.T) string { return ids[rapid.IntRange(0, len(ids)-1).Draw(r, "which")] }
		cut, cancel := context.WithCancel(t.Context())
		cancel()
		r.Repeat(map[string]func(*rapid.T){
			"reserve": func(r *rapid.T) {
				ids = append(ids, fmt.Sprintf("%s.%d", trial, len(ids)))
				if err := reserveOne(t.Context(), ids[len(ids)-1]); err != nil {
					r.Fatal(err)
				}
			},
			"take over": func(r *rapid.T) {
				if err := reserveOne(t.Context(), pick(r)); err != nil {
					r.Fatal(err)
				}
			},
			"judge": func(r *rapid.T) {
				_, _ = l.Update(t.Context(), pick(r), func(u *round.Submission) error { // it may be released
					u.State = round.StateJudged
					u.Report = &round.Report{Status: round.StatusOK, Tests: []parser.Test{{Name: "a", Status: parser.Passed}}}
					return nil
				})
			},
			"release": func(r *rapid.T) {
				if err := l.Release(t.Context(), pick(r)); err != nil {
					r.Fatal(err)
				}
			},
			"fail": func(r *rapid.T) {
				if err := reserveOne(cut, "never"); err == nil {
					r.Fatal("reserved although nobody waits")
				}
				wrong := errors.New("no")
				if _, err := l.Reserve(t.Context(), trial, func([]round.Submission) (round.Submission, error) { return round.Submission{}, wrong }); !errors.Is(err, wrong) {
					r.Fatal(err)
				}
			},
			"": func(r *rapid.T) {
				want, err := unheard(s).Submissions(t.Context(), trial)
				got, errGot := l.Submissions(t.Context(), trial)
				if err := errors.Join(err, errGot); err != nil {
					r.Fatal(err)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					r.Fatalf("the list is not the store's:\n%s", diff)
				}
			},
		})
	})
	if len(l.long.all) == 0 || len(l.long.all) > maxLongLists {
		t.Errorf("%d lists are kept", len(l.long.all))
	}
}
