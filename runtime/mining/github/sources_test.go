package github_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/mining/github"
	"github.com/assayd/assayd/runtime/mining/github/githubtest"
	"github.com/assayd/assayd/runtime/mining/reason"
)

// source is Search or Merged.
type source func(c *github.Client, keep github.Keep, each func(github.Ref) error) error

// all runs a source, as a new process each time that it is paused, and returns what the last
// run told, sorted.
func all(t *testing.T, s *githubtest.Server, keep github.Keep, from source, tokens ...string) (told []string) {
	t.Helper()
	for range 300 {
		told = nil
		err := from(client(t, s, tokens...), keep, func(r github.Ref) error {
			told = append(told, r.String())
			return nil
		})
		if paused, ok := errors.AsType[*github.Paused](err); ok {
			time.Sleep(time.Until(paused.Until))
			continue
		}
		if err == nil {
			slices.Sort(told)
			if n := len(told); n != len(slices.Compact(told)) {
				t.Errorf("told %d times, of them twice: %d", n, n-len(slices.Compact(told)))
			}
			return told
		}
		if reason.Of(err) != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("it never ends")
	return nil
}

func names(all []github.Pull, wanted func(github.Pull) bool) (of []string) {
	for _, p := range all {
		if wanted(p) {
			of = append(of, p.Ref.String())
		}
	}
	slices.Sort(of)
	return of
}

// crowd are pull requests of which most were merged on one day, and many in one second.
func crowd() []github.Pull {
	world := pulls("o/r", 2600)
	for i := range world {
		switch {
		case i < 900:
			world[i].MergedAt = epoch.AddDate(0, 0, -30)
		case i < 2500:
			world[i].MergedAt = epoch.AddDate(0, 0, -30).Add(time.Duration(i*19) * time.Second)
		}
		if i%50 == 0 {
			world[i].Merged = false
		}
	}
	return world
}

func TestSearchFindsAllThatWasMerged(t *testing.T) {
	from, to := epoch.AddDate(-1, 0, 0), epoch.AddDate(0, 0, -1)
	world := crowd()
	want := names(world, func(p github.Pull) bool { return p.Merged && !p.MergedAt.Before(from) && p.MergedAt.Before(to) })
	for _, faults := range []float64{0, 0.2} {
		synctest.Test(t, func(t *testing.T) {
			s := githubtest.Offline(githubtest.World{Pulls: world, Faults: githubtest.Faults{Seed: 3, Share: faults}})
			keep := &memory{}
			from := source(func(c *github.Client, keep github.Keep, each func(github.Ref) error) error {
				return c.Search(t.Context(), "  language:go   repo:o/r ", from, to, keep, each)
			})
			if diff := cmp.Diff(want, all(t, s, keep, from, "t")); diff != "" {
				t.Error(diff)
			}
			calls := s.Calls()
			if faults == 0 && calls > 60 { // 26 pages are full
				t.Errorf("%d calls", calls)
			}
			if diff := cmp.Diff(want, all(t, s, keep, from, "t")); diff != "" || s.Calls() != calls {
				t.Errorf("once more, with %d calls: %s", s.Calls()-calls, diff)
			}
			if all := s.Repeated(); len(all) > 0 {
				t.Errorf("repeated: %q", all)
			}
		})
	}
}

func TestSearchLooksAgainWhereResultsAreMissing(t *testing.T) {
	const long = 20 * time.Hour
	from, to := epoch.AddDate(0, -1, 0), epoch.AddDate(0, 0, -1)
	world := pulls("o/r", 700)
	want := names(world, func(p github.Pull) bool { return !p.MergedAt.Before(from) && p.MergedAt.Before(to) })
	for name, cut := range map[string]func(page int, length time.Duration) githubtest.Cut{
		"on the first page": func(page int, length time.Duration) githubtest.Cut {
			return when(page == 1 && length > long, githubtest.Incomplete)
		},
		"on a later page": func(page int, length time.Duration) githubtest.Cut {
			return when(page == 3 && length > long, githubtest.Incomplete)
		},
		"a page is empty": func(page int, length time.Duration) githubtest.Cut {
			return when(page == 4 && length > long, githubtest.Empty)
		},
		"the first page is empty": func(page int, length time.Duration) githubtest.Cut {
			return when(page == 1 && length > long, githubtest.Empty)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, keep := githubtest.Offline(githubtest.World{Pulls: world, Cut: cut}), &memory{}
				look := source(func(c *github.Client, keep github.Keep, each func(github.Ref) error) error {
					return c.Search(t.Context(), "repo:o/r", from, to, keep, each)
				})
				for range 2 {
					if diff := cmp.Diff(want, all(t, s, keep, look, "t")); diff != "" {
						t.Error(diff)
					}
				}
			})
		})
	}
}

// What not even the shortest window shows is not taken for all there is.
func TestSearchDoesNotSettleForMissingResults(t *testing.T) {
	for _, cut := range []githubtest.Cut{githubtest.Incomplete, githubtest.Empty} {
		t.Run(string(cut), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				world := pulls("o/r", 4)
				for i := range world {
					world[i].MergedAt = epoch.Add(-time.Hour)
				}
				s := githubtest.Offline(githubtest.World{Pulls: world, Cut: func(int, time.Duration) githubtest.Cut { return cut }})
				keep := &memory{}
				look := source(func(c *github.Client, keep github.Keep, each func(github.Ref) error) error {
					return c.Search(t.Context(), "repo:o/r", epoch.Add(-time.Hour-4*time.Second), epoch.Add(-time.Hour+4*time.Second), keep, each)
				})
				if told := all(t, s, keep, look, "t"); len(told) == 4 {
					t.Errorf("nothing is missing: %q", told)
				}
				s.Change(func(w *githubtest.World) { w.Cut = nil })
				if told := all(t, s, keep, look, "t"); len(told) != 4 {
					t.Errorf("later there are %q", told)
				}
			})
		})
	}
}

func when(is bool, cut githubtest.Cut) githubtest.Cut {
	if is {
		return cut
	}
	return ""
}

func TestSearchGoesOnWhereItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := githubtest.Offline(githubtest.World{Pulls: pulls("o/r", 50)})
		keep := &memory{}
		begin := time.Now().Add(-20 * time.Hour)
		look := func() []string {
			return all(t, s, keep, func(c *github.Client, keep github.Keep, each func(github.Ref) error) error {
				return c.Search(t.Context(), "repo:o/r", begin, time.Now(), keep, each)
			}, "t")
		}
		if n := len(look()); n != 20 {
			t.Errorf("%d told", n)
		}
		for i := range 30 {
			time.Sleep(time.Hour)
			one := onePull("o/r", 100+i)
			one.MergedAt = time.Now().Add(-time.Second)
			calls := s.Calls()
			s.Change(func(w *githubtest.World) { w.Pulls = append(w.Pulls, one) })
			if told := look(); len(told) != 21+i || !slices.Contains(told, one.Ref.String()) {
				t.Errorf("%d told an hour later", len(told))
			}
			if s.Calls() > calls+2 { // what is settled, and what is not
				t.Errorf("%d calls for an hour", s.Calls()-calls)
			}
		}
		// From another time on, within what is known and before it.
		time.Sleep(time.Minute)
		begin = begin.Add(9*time.Hour + 30*time.Minute)
		calls := s.Calls()
		if n := len(look()); n != 40 || s.Calls() > calls+2 {
			t.Errorf("%d told, with %d calls", n, s.Calls()-calls)
		}
		time.Sleep(time.Minute)
		begin = begin.Add(-20 * time.Hour)
		if n := len(look()); n != 60 {
			t.Errorf("%d told from before", n)
		}
		if all := s.Repeated(); len(all) > 0 {
			t.Errorf("repeated: %q", all)
		}
	})
}

func TestSearchesThatAreWrong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := githubtest.Offline(githubtest.World{Pulls: pulls("o/r", 3)})
		stop := errors.New("stop")
		for query, want := range map[string]string{"stars:>5": "422", "repo:o/r -merged:2020": "merged:", "repo:o/r": "stop"} {
			err := client(t, s, "t").Search(t.Context(), query, epoch.AddDate(-1, 0, 0), epoch, &memory{}, func(github.Ref) error { return stop })
			if err == nil || !strings.Contains(err.Error(), want) || want == "stop" && !errors.Is(err, stop) {
				t.Errorf("%q ends with %v", query, err)
			}
		}
		err := client(t, s, "t").Search(t.Context(), "repo:o/r", epoch, epoch.AddDate(-1, 0, 0), nil, func(github.Ref) error { return stop })
		if err != nil {
			t.Errorf("no time at all: %v", err)
		}
	})
}

func TestMergedTellsTheWholeHistory(t *testing.T) {
	world := append(pulls("now/here", 730), pulls("o/other", 5)...)
	for i := range world {
		world[i].Merged = i%7 != 0
	}
	since := epoch.Add(-700 * time.Hour)
	want := names(world, func(p github.Pull) bool { return p.Merged && p.Repo == "now/here" && !p.MergedAt.Before(since) })
	for _, faults := range []float64{0, 0.25} {
		synctest.Test(t, func(t *testing.T) {
			s := githubtest.Offline(githubtest.World{
				Pulls: world, Rename: map[string]string{"once/there": "now/here"}, Faults: githubtest.Faults{Seed: 5, Share: faults},
				Limits: map[string]githubtest.Limit{"core": {Requests: 3, Window: time.Hour}},
			})
			keep := &memory{}
			merged := source(func(c *github.Client, keep github.Keep, each func(github.Ref) error) error {
				return c.Merged(t.Context(), "once/there", since, keep, each)
			})
			if diff := cmp.Diff(want, all(t, s, keep, merged)); diff != "" {
				t.Error(diff)
			}
			time.Sleep(time.Hour)
			if diff := cmp.Diff(want, all(t, s, keep, merged)); diff != "" {
				t.Error(diff)
			}
			if all := s.Repeated(); len(all) > 0 {
				t.Errorf("repeated: %q", all)
			}
		})
	}
}

func TestMergedMissesNothingThatChangesMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		world := pulls("o/r", 450)
		s := githubtest.Offline(githubtest.World{Pulls: world, Update: map[github.Ref]time.Time{}})
		told := map[github.Ref]int{}
		each := func(r github.Ref) error {
			if told[r]++; len(told)%90 == 0 { // the oldest goes to the top, before it was seen
				s.Change(func(w *githubtest.World) {
					w.Update[world[449-len(told)/90].Ref] = epoch.Add(time.Duration(len(told)) * time.Second)
				})
			}
			return nil
		}
		keep := &memory{}
		c := client(t, s)
		if err := c.Merged(t.Context(), "o/r", time.Time{}, keep, each); err != nil {
			t.Fatal(err)
		}
		for r, n := range told {
			if n != 1 {
				t.Errorf("%s is told %d times", r, n)
			}
		}
		if len(told) != 450 {
			t.Errorf("%d are told", len(told))
		}
		// Later one is merged, and one is talked about.
		one := onePull("o/r", 1000)
		one.MergedAt = epoch.Add(time.Hour)
		s.Change(func(w *githubtest.World) {
			w.Pulls = append(w.Pulls, one)
			w.Update[world[300].Ref] = epoch.Add(time.Hour)
		})
		calls, again := s.Calls(), map[github.Ref]int{}
		if err := c.Merged(t.Context(), "o/r", time.Time{}, keep, func(r github.Ref) error { again[r]++; return nil }); err != nil {
			t.Fatal(err)
		}
		if len(again) != 451 || again[one.Ref] != 1 || again[world[300].Ref] != 1 || s.Calls() != calls+1 {
			t.Errorf("%d are told later, with %d calls", len(again), s.Calls()-calls)
		}
		// And nothing happens.
		puts := keep.puts
		if err := c.Merged(t.Context(), "o/r", epoch.Add(-10*time.Hour), keep, func(github.Ref) error { return nil }); err != nil || keep.puts != puts {
			t.Errorf("%v, %d puts for nothing", err, keep.puts-puts)
		}
	})
}

func TestMergedFromAnEarlierTimeOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		world := pulls("o/r", 350)
		s := githubtest.Offline(githubtest.World{Pulls: world})
		keep := &memory{}
		for _, hours := range []int{50, 220, 350, 10} {
			since := epoch.Add(-time.Duration(hours) * time.Hour)
			told := all(t, s, keep, func(c *github.Client, keep github.Keep, each func(github.Ref) error) error {
				return c.Merged(t.Context(), "o/r", since, keep, each)
			})
			if len(told) != hours {
				t.Errorf("%d told of the last %d", len(told), hours)
			}
		}
	})
}

func TestMergedOfNoRepository(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := githubtest.Offline(githubtest.World{Pulls: pulls("o/r", 1), Gone: map[string]int{"o/r": 451}})
		for _, repo := range []string{"o/r", "o/none", "none", "../x", "a/b/c", ""} {
			err := client(t, s).Merged(t.Context(), repo, time.Time{}, nil, func(r github.Ref) error { return fmt.Errorf("%s is told", r) })
			if r := reason.Of(err); r == nil || r.Code != "gone" {
				t.Errorf("%q: %v", repo, err)
			}
		}
	})
}
