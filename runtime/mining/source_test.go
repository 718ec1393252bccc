package mining

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/runtime/mining/github"
	"github.com/assayd/assayd/runtime/mining/github/githubtest"
)

func TestHoursOfAnArchiveBecomeTasks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, repository{name: shop, pulls: []int{1, 2}}).archived([]github.Ref{ref(shop, 2), ref(shop, 2)}, nil, []github.Ref{ref(shop, 1), ref("acme/gone", 9)}).serve()
	delete(w.hours, "2026-03-01-5.json.gz")
	w.rules.ExcludeRepos = []string{"acme/hid*"}
	w.mine(nothingMore)
	w.verdicts(map[string]string{"acme/shop#1": "accepted easy", "acme/shop#2": "accepted easy", "acme/gone#9": "rejected enrich gone"})
	if diff := cmp.Diff(&Hours{Read: 2, Gaps: []string{"2026-03-01-5 missing"}}, w.book.last.Hours); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	// Who does not work for it tells the same.
	end, err := Reached(t.Context(), w.book, w.spec, w.book.last.Usage)
	ofWork := cmpopts.IgnoreFields(Progress{}, "ElapsedS", "SeenPerHour", "DecidedPerHour", "Spent")
	if diff := cmp.Diff(w.book.last, end, ofWork); diff != "" || err != nil {
		t.Errorf("%v -reported +read\n%s", err, diff)
	}
	// What was read is read no more, and what the rules refuse at once is asked about by nobody.
	calls := w.github.Calls()
	w.archived([]github.Ref{ref("acme/other", 1)}, nil, nil, []github.Ref{ref("acme/hidden", 7), ref(shop, 1)})
	w.mine(nothingMore)
	if v := w.book.verdicts(); len(v) != 4 || v["acme/hidden#7"] != "rejected source excluded_repo" || w.github.Calls() != calls {
		t.Errorf("%v after %d calls, %d before", v, w.github.Calls(), calls)
	}
}

// A pull request is kept under the name that the source has, and is one task under any.
func TestRenamedRepositories(t *testing.T) {
	t.Parallel()
	w := newWorld(t, repository{name: store, pulls: []int{1, 2, 3}})
	w.hub.Rename = map[string]string{shop: store}
	w.archived([]github.Ref{ref(shop, 1), ref(store, 1), ref(store, 2)}).serve()
	w.mine(nothingMore)
	w.verdicts(map[string]string{"acme/shop#1": "accepted easy", "acme/store#1": "rejected extract seen_before", "acme/store#2": "accepted easy"})
	if name := w.book.decision(ref(shop, 1)).Mined.Task.Name; name != "acme-store-1" {
		t.Errorf("the task is called %q", name)
	}
	// Another life counts both as of one repository.
	w.spec.Filter.PerRepo = 2
	w.archived(nil, []github.Ref{ref(shop, 3)})
	w.mine(nothingMore)
	if v := w.book.verdicts()["acme/shop#3"]; v != "rejected triage per_repo" {
		t.Error(v)
	}
}

// Two repositories may have names that make one.
func TestEachTaskHasANameOfItsOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, repository{name: "a/b-c", pulls: []int{1}}, repository{name: "a-b/c", pulls: []int{1}}).serve()
	w.mine(nothingMore)
	var names []string
	for _, p := range w.book.pulls {
		names = append(names, p.decision.Mined.Task.Name)
	}
	if slices.Sort(names); len(names) != 2 || names[0] != "a-b-c-1" || len(names[1]) != len("a-b-c-1-12345678") {
		t.Errorf("%q", names)
	}
	all, err := filepath.Glob(filepath.Join(w.spec.Output.Dir, "a-b-c-1*"))
	if err != nil || len(all) != 2 {
		t.Errorf("%q, %v", all, err)
	}
}

// unwanted is a world in which a rule refuses what GitHub tells of each pull request.
func unwanted(t *testing.T, numbers ...int) *world {
	w := newWorld(t, repository{name: shop, pulls: numbers})
	w.rules.MinStars = 1000
	return w
}

// all are so many numbers.
func all(n int) (numbers []int) {
	for i := range n {
		numbers = append(numbers, i+1)
	}
	return numbers
}

// count is how many pull requests were refused by that rule.
func (w *world) refused() int { return w.book.count("rejected filter stars") }

func TestEveryHourTheSourceIsReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := unwanted(t, 1, 2, 3)
		held := w.hub.Pulls
		w.hub.Pulls = held[:1]
		w.offline()
		w.spec.Once, w.spec.Every = false, time.Hour
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		m := New(w.options(t))
		ended := make(chan error)
		go func() {
			_, err := m.Run(ctx)
			ended <- err
		}()
		for n := 1; n <= 3; n++ {
			time.Sleep(59 * time.Minute) // the clock of the test
			synctest.Wait()
			if got := w.refused(); got != n {
				t.Errorf("in hour %d there are %d", n, got)
			}
			w.github.Change(func(hub *githubtest.World) {
				hub.Pulls = held[:min(n+1, 3)]
				hub.Update = map[github.Ref]time.Time{held[min(n, 2)].Ref: time.Now()}
			})
			time.Sleep(time.Minute)
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if n := len(w.book.reports); n < 300 || w.book.reports[n-1] != "mining.progress" {
			t.Errorf("%d reports in three hours", n)
		}
		addsUp(t, w.book.last)
		if w.book.last.Seen != 3 || w.book.last.SeenPerHour == 0 {
			t.Errorf("%+v", w.book.last)
		}
	})
}

// Where limits are used up all waits, and goes on with what was answered before.
func TestLimitsOfGitHubAreWaitedFor(t *testing.T) {
	for name, hub := range map[string]githubtest.World{
		"few requests an hour": {NoGraphQL: true, Limits: map[string]githubtest.Limit{"core": {Requests: 7, Window: time.Hour}}},
		"trouble of all kinds": {Faults: githubtest.Faults{Seed: 1, Share: 0.5}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := unwanted(t, all(12)...)
				hub.Pulls, hub.Tokens = w.hub.Pulls, w.hub.Tokens
				w.hub = hub
				w.spec.Batch = 5
				w.offline()
				m := New(w.options(t))
				var waited atomic.Bool
				watch, stop := context.WithCancel(t.Context())
				go func() {
					for watch.Err() == nil {
						if p, err := m.Progress(watch, time.Now()); err == nil && p.Waits != "" {
							waited.Store(true)
						}
						time.Sleep(time.Second)
					}
				}()
				cause, err := m.Run(t.Context())
				stop()
				if err != nil || cause != nothingMore || w.refused() != 12 {
					t.Fatalf("%q, %v: %v", cause, err, w.book.verdicts())
				}
				w.sound()
				if hub.Limits != nil && (!waited.Load() || len(w.github.Repeated()) > 0) {
					t.Errorf("waited %v, repeated %v", waited.Load(), w.github.Repeated())
				}
				time.Sleep(time.Second)
			})
		})
	}
}

// What can be asked about is asked about, whatever a spec takes for a batch.
func TestABatchIsNoLargerThanGitHubAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := unwanted(t, all(130)...)
		w.spec.Batch, w.hub.MaxBatch = 1000, 100
		w.offline()
		w.mine(nothingMore)
		if w.refused() != 130 {
			t.Errorf("%d of 130", w.refused())
		}
	})
}

func TestASearchMayHaveOpenEnds(t *testing.T) {
	for name, source := range map[string]config.Source{
		"both":       {Kind: "search", Query: "repo:acme/shop"},
		"without":    {Kind: "search", Query: "repo:acme/shop", From: "2026-03-01T00:00:00Z", To: "2026-03-02"},
		"at the end": {Kind: "search", Query: "repo:acme/shop", From: "2026-03-01"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := unwanted(t, 1, 2)
			w.spec.Source = source
			w.serve()
			w.mine(nothingMore)
			if w.refused() != 2 {
				t.Errorf("%v", w.book.verdicts())
			}
		})
	}
}

func TestARepositoryThatIsGoneHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := unwanted(t, 1)
		w.spec.Source.Names = slices.Insert(w.spec.Source.Names, 0, "acme/gone")
		w.offline()
		w.mine(nothingMore)
		if w.refused() != 1 {
			t.Errorf("%v", w.book.verdicts())
		}
	})
}

// Counters add up whatever is under way, also what has been decided meanwhile.
func TestCountersAddUp(t *testing.T) {
	c := Counts{
		Open: 3, Accepted: map[string]int{"easy": 2, "hard": 1},
		Ended: map[string]map[string]int{StageSource: {Rejected: 4}, StageFilter: {Rejected: 5, Failed: 1}, StageExport: {Rejected: 1}},
	}
	for name, at := range map[string]map[string]int{
		"nothing is known to be under way": nil,
		"some":                             {StageEnrich: 1, StageQuality: 1},
		"all":                              {StageTriage: 2, StageExport: 1},
		"more than are open":               {StageEnrich: 5, StageTriage: 2, StageExport: 2},
	} {
		t.Run(name, func(t *testing.T) {
			p := Progress{Seen: 17, Open: 3, Accepted: 3, Rejected: 10, Failed: 1, Stages: tally(c, at)}
			addsUp(t, p)
			if got := fmt.Sprint(p.Stages[0]); got != "{source 17 13 4 0 0}" {
				t.Error(got)
			}
		})
	}
}
