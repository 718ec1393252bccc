package mining

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/runtime/mining/archive"
	"github.com/assayd/assayd/runtime/mining/github"
	"github.com/assayd/assayd/runtime/mining/github/githubtest"
)

func TestHoursOfAnArchiveBecomeTasks(t *testing.T) {
	t.Parallel()
	w := newFixture(t, repository{name: shop, pulls: []int{1, 2}}).archived([]github.Ref{ref(shop, 2), ref(shop, 2)}, nil, []github.Ref{ref(shop, 1), ref("acme/gone", 9)}).serve()
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

// An hour that comes while nobody looks, for longer than the lookback, is read all the same.
func TestNoHourIsLostBetweenTwoLooks(t *testing.T) {
	for name, tc := range map[string]struct {
		every time.Duration
		read  int
		gaps  []string
	}{
		"again and again": {time.Hour, 23, []string{}},
		"once":            {0, 6, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := unwanted(t).offline()
				w.spec.Source = config.Source{Kind: "gharchive", Lookback: 3 * time.Hour}
				w.spec.Every, w.spec.Once = tc.every, tc.every == 0
				for hour := time.Now().Add(-24 * time.Hour); hour.Before(time.Now().Add(24 * time.Hour)); hour = hour.Add(time.Hour) {
					w.hours[archive.Name(hour)] = emptyHour(t)
				}
				look := func() *Hours {
					m := New(w.options(t))
					if err := m.read(t.Context(), make(chan struct{}, 1)); err != nil {
						t.Fatal(err)
					}
					hours, err := hours(t.Context(), m.o.Book, m.o.Spec)
					if err != nil {
						t.Fatal(err)
					}
					return hours
				}
				if diff := cmp.Diff(&Hours{Read: 3, Gaps: []string{}}, look()); diff != "" {
					t.Errorf("-want +got\n%s", diff)
				}
				time.Sleep(20 * time.Hour) // the clock of the test
				if diff := cmp.Diff(&Hours{Read: tc.read, Gaps: tc.gaps}, look()); diff != "" {
					t.Errorf("-want +got\n%s", diff)
				}
			})
		})
	}
}

// An hour that a server does not give is asked for when it wants that, and one that it refuses is a gap.
func TestAnArchiveThatRefuses(t *testing.T) {
	forbidden := http.Response{StatusCode: 403, Status: "403 Forbidden"}
	busy := http.Response{StatusCode: 503, Status: "503 Service Unavailable", Header: http.Header{"Retry-After": {"7200"}}}
	for name, tc := range map[string]struct {
		refuse []http.Response
		want   Hours
		took   time.Duration // at least, and a minute more at most
	}{
		"it has another word for missing": {slices.Repeat([]http.Response{forbidden}, 10), Hours{Gaps: []string{"1999-12-31-22 missing"}}, 0},
		"it refuses for a moment":         {slices.Repeat([]http.Response{forbidden}, 2), Hours{Read: 1, Gaps: []string{}}, 0},
		"it has no time for long":         {[]http.Response{busy}, Hours{Read: 1, Gaps: []string{}}, 2 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := unwanted(t).offline()
				w.spec.Source = config.Source{Kind: "gharchive", From: "1999-12-31T22:00:00Z", To: "1999-12-31T23:00:00Z"}
				w.hours["1999-12-31-22.json.gz"], w.refuse = emptyHour(t), tc.refuse
				began := time.Now()
				if cause, err := New(w.options(t)).Run(t.Context()); err != nil || cause != nothingMore {
					t.Fatalf("it ended with %q, %v", cause, err)
				}
				if diff := cmp.Diff(&tc.want, w.book.last.Hours); diff != "" {
					t.Errorf("-want +got\n%s", diff)
				}
				if took := time.Since(began); took < tc.took || took > tc.took+time.Minute {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}

// emptyHour is the file of an hour in which nothing was merged.
func emptyHour(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte("{}\n")); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A pull request is kept under the name that the source has, and is one task under any.
func TestRenamedRepositories(t *testing.T) {
	t.Parallel()
	w := newFixture(t, repository{name: store, pulls: []int{1, 2, 3}})
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

// What was a task under a name that the repository has no more is none under the new one.
func TestARepositoryIsRenamedBetweenTwoPasses(t *testing.T) {
	t.Parallel()
	w := newFixture(t, repository{name: shop, pulls: []int{1}})
	w.archived([]github.Ref{ref(shop, 1)}).serve()
	w.mine(nothingMore)
	if err := os.Rename(filepath.Join(w.forge, shop), filepath.Join(w.forge, store)); err != nil {
		t.Fatal(err)
	}
	w.github.Change(func(hub *githubtest.World) {
		hub.Pulls[0].Repo, hub.Pulls[0].Repository.Name, hub.Rename = store, store, map[string]string{shop: store}
	})
	w.archived(nil, []github.Ref{ref(store, 1)})
	w.mine(nothingMore)
	w.verdicts(map[string]string{"acme/shop#1": "accepted easy", "acme/store#1": "rejected extract seen_before"})
}

// Two repositories may have names that make one.
func TestEachTaskHasANameOfItsOwn(t *testing.T) {
	t.Parallel()
	w := newFixture(t, repository{name: "a/b-c", pulls: []int{1}}, repository{name: "a-b/c", pulls: []int{1}}).serve()
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
func unwanted(t *testing.T, numbers ...int) *fixture {
	w := newFixture(t, repository{name: shop, pulls: numbers})
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
func (w *fixture) refused() int { return w.book.count("rejected filter stars") }

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

// What GitHub said of a pull request is forgotten when that is decided, whichever name it has now.
func TestAnswersAboutADecidedPullRequestAreDropped(t *testing.T) {
	for _, noGraph := range []bool{false, true} {
		t.Run(fmt.Sprint("without GraphQL: ", noGraph), func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, repository{name: store, pulls: []int{1, 2}})
			w.rules.MinStars = 1000
			w.hub.Rename, w.hub.NoGraphQL = map[string]string{shop: store}, noGraph
			for i := range w.hub.Pulls {
				p := &w.hub.Pulls[i]
				p.Body, p.Issues = "Fixes #9 and closes acme/store#10", []github.Issue{{Repo: store, Number: 9, Title: "Zero"}, {Repo: store, Number: 10, Title: "Ten"}}
				p.Files[0].Status, p.Files[0].Previous = "renamed", "old.py"
			}
			w.archived([]github.Ref{ref(shop, 1), ref(shop, 2)}).serve()
			w.mine(nothingMore)
			if w.refused() != 2 {
				t.Errorf("%v", w.book.verdicts())
			}
			for key := range w.book.answers {
				if words := strings.Fields(key[1]); key[0] != "" || words[0] != "hour/2026-03-01T04:00:00Z" && words[2] != "languages" {
					t.Errorf("left is %q", key)
				}
			}
		})
	}
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
						if p, err := m.Progress(watch); err == nil && p.Waits != "" {
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

// The files of a change that is far too large are not asked for, page by page.
func TestFilesThatAreTooManyCostNothing(t *testing.T) {
	for n, want := range map[int]string{501: "rejected filter many_files", 400: "rejected filter stars"} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := unwanted(t, 1)
				p := &w.hub.Pulls[0]
				p.Files, p.ChangedFiles = nil, n
				for i := range n {
					p.Files = append(p.Files, github.File{Name: fmt.Sprintf("vendor/%d.go", i), Status: "added", Added: 1})
				}
				if n > 500 {
					w.rules.MinStars = 0
				}
				w.offline()
				w.mine(nothingMore)
				w.verdicts(map[string]string{"acme/shop#1": want})
				pages := 0
				for what := range w.github.Answered() {
					if strings.Contains(what, "/files?") {
						pages++
					}
				}
				if asked := pages > 0; asked != (n <= 500) {
					t.Errorf("%d pages of files", pages)
				}
			})
		})
	}
}

// When GitHub is away that is no pull request's fault, however few there are to ask about. One
// that is never told of holds up the others for some minutes only.
func TestFewPullRequestsAreNotBlamedForGitHub(t *testing.T) {
	for name, tc := range map[string]struct {
		away time.Duration
		want string
	}{
		"for minutes": {5 * time.Minute, "rejected filter stars"},
		"for ever":    {time.Hour, "failed enrich trouble"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := unwanted(t, 1, 2).offline()
				w.book.after = func(x write) error {
					if x.what == "find" {
						w.github.Change(func(hub *githubtest.World) {
							hub.Faults = githubtest.Faults{Share: 1, Kinds: []githubtest.Fault{githubtest.BadGateway}}
						})
					}
					return nil
				}
				m := New(w.options(t))
				ended := make(chan error)
				go func() {
					_, err := m.Run(t.Context())
					ended <- err
				}()
				told := false
				for range int(tc.away / time.Second) {
					p, err := m.Progress(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					told = told || strings.HasPrefix(p.Waits, "GitHub: ") && p.Open == 2
					time.Sleep(time.Second) // by the clock of the test
				}
				if !told {
					t.Error("nobody is told that GitHub is away")
				}
				w.github.Change(func(hub *githubtest.World) { hub.Faults = githubtest.Faults{} })
				if err := <-ended; err != nil {
					t.Fatal(err)
				}
				w.verdicts(map[string]string{"acme/shop#1": tc.want, "acme/shop#2": tc.want})
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

// Neither is asked for by waiting.
func TestARepositoryThatIsKeptFromUsHoldsUpNoOther(t *testing.T) {
	for _, status := range []int{400, 403, 451} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := unwanted(t, 1)
				w.spec.Source.Names = slices.Insert(w.spec.Source.Names, 0, "acme/closed")
				w.hub.Refuse = map[string]int{"/repos/acme/closed": status}
				w.offline()
				w.mine(nothingMore)
				if w.refused() != 1 {
					t.Errorf("%v", w.book.verdicts())
				}
			})
		})
	}
}

// A question that GitHub never takes ends the spec, after what is there has been looked at.
func TestASearchThatIsRefusedEndsTheSpec(t *testing.T) {
	for query, want := range map[string]string{
		"stars:>5":                    "422",
		"repo:acme/shop merged:>2025": "merged:",
		"repo:acme/shop is:issue":     "no pull request",
	} {
		t.Run(query, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := unwanted(t, 1)
				w.spec.Source = config.Source{Kind: "search", Query: query, From: "1999-01-01"}
				w.spec.Once, w.spec.Every = false, time.Hour
				w.hub.Issues = []github.Issue{{Repo: shop, Number: 7}}
				w.offline()
				if err := w.book.Find(t.Context(), []Found{{Ref: ref(shop, 1)}}, Mark{}); err != nil {
					t.Fatal(err)
				}
				cause, err := w.run(t.Context())
				if err != nil || !strings.HasPrefix(cause, "the source cannot be read: ") || !strings.Contains(cause, want) {
					t.Errorf("it ended with %q, %v", cause, err)
				}
				if w.refused() != 1 {
					t.Errorf("%v", w.book.verdicts())
				}
				w.sound()
			})
		})
	}
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
