package github_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/mining/github"
	"github.com/assayd/assayd/runtime/mining/github/githubtest"
	"github.com/assayd/assayd/runtime/mining/reason"
)

func TestBothAPIsTellTheSame(t *testing.T) {
	plain := onePull("o/r", 1)
	many := onePull("o/r", 2)
	many.Files, many.ChangedFiles = nil, 250
	for i := range many.ChangedFiles {
		many.Files = append(many.Files, github.File{Name: fmt.Sprint(i, ".txt"), Status: "added", Added: 1})
	}
	moved := onePull("o/r", 3)
	moved.Files[0].Previous, moved.Files[0].Status = "old.go", "renamed"
	bot := onePull("o/r", 4)
	bot.Author, bot.AuthorType, bot.MergedBy = "dependabot[bot]", "Bot", ""
	ghost := onePull("o/r", 5)
	ghost.Author, ghost.AuthorType, ghost.Body, ghost.Issues, ghost.Labels = "", "", "", nil, nil
	bare := onePull("u/bare", 7)
	bare.Repository = github.Repository{Name: "u/bare", OwnerType: "User", DefaultBranch: "trunk", Fork: true, Archived: true, Private: true}
	squashed := onePull("o/r", 8)
	squashed.Parents = squashed.Parents[:1]
	world := []github.Pull{plain, many, moved, bot, ghost, bare, squashed}
	for _, tt := range []struct {
		name   string
		tokens []string
		w      githubtest.World
		calls  int
	}{
		{"GraphQL", []string{"t"}, githubtest.World{}, 1 + 3 + 1},
		{"REST", nil, githubtest.World{Limits: map[string]githubtest.Limit{"core": {Requests: 1000, Window: time.Hour}}}, 55},
		{"an Enterprise server", []string{"t"}, githubtest.World{Enterprise: true}, 5},
		{"an Enterprise server without GraphQL", []string{"t"}, githubtest.World{Enterprise: true, NoGraphQL: true}, 56},
		{"GraphQL that answers small batches", []string{"t"}, githubtest.World{MaxBatch: 2}, 5 + 6 + 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tt.w.Pulls = world
				s := githubtest.Offline(tt.w)
				keep := &memory{}
				c := client(t, s, tt.tokens...)
				got, err := c.Pulls(t.Context(), refs(world), 0, keep)
				if err != nil {
					t.Fatal(err)
				}
				same(t, world, given(t, got))
				if s.Calls() > tt.calls {
					t.Errorf("%d calls, want %d", s.Calls(), tt.calls)
				}
				calls := s.Calls()
				again, err := c.Pulls(t.Context(), refs(world), 0, keep)
				if err != nil {
					t.Fatal(err)
				}
				same(t, world, given(t, again))
				if s.Calls() != calls {
					t.Error("what is kept is asked for again")
				}
				if all := s.Repeated(); len(all) > 0 {
					t.Errorf("repeated: %q", all)
				}
			})
		})
	}
}

func TestFilesThatAreNotListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		huge := onePull("o/r", 6)
		huge.ChangedFiles, huge.FilesCut, huge.Files = 3001, true, nil
		for i := range 3000 {
			huge.Files = append(huge.Files, github.File{Name: fmt.Sprint(i), Status: "modified"})
		}
		s := githubtest.Offline(githubtest.World{Pulls: []github.Pull{huge}})
		got, err := client(t, s, "t").Pulls(t.Context(), []github.Ref{huge.Ref}, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		if same(t, []github.Pull{huge}, given(t, got)); s.Calls() != 31 {
			t.Errorf("%d calls", s.Calls())
		}
	})
}

func TestABatchIsOneRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		world := append(pulls("o/r", 60), pulls("p/q", 40)...)
		s := githubtest.Offline(githubtest.World{Pulls: world})
		got, err := client(t, s, "t").Pulls(t.Context(), refs(world), 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		if same(t, world, given(t, got)); s.Calls() != 1 {
			t.Errorf("%d calls: %q", s.Calls(), answered(s))
		}
	})
}

func TestEachRefHasItsOutcome(t *testing.T) {
	open := onePull("o/r", 2)
	open.Merged, open.MergeSHA, open.Parents = false, "", nil
	lost := onePull("o/r", 5)
	lost.MergeSHA = ""
	world := githubtest.World{
		Pulls:  []github.Pull{onePull("o/r", 1), open, onePull("o/r", 3), onePull("new/name", 4), lost, onePull("dmca/r", 6)},
		Gone:   map[string]int{"o/r#3": 410, "dmca/r": 451},
		Rename: map[string]string{"old/name": "new/name"},
	}
	asked := []github.Ref{{"o/r", 1}, {"o/r", 2}, {"o/r", 3}, {"old/name", 4}, {"o/r", 5}, {"dmca/r", 6}, {"o/none", 7}, {"o/r", 99}, {"o/../x", 8}, {"o/r", 0}, {"o/r", 9999999999}, {"o/r", 1}}
	want := []string{"o/r#1", "not_merged", "gone", "new/name#4", "gone", "gone", "gone", "gone", "gone", "gone", "gone", "o/r#1"}
	for _, tokens := range [][]string{nil, {"t"}} {
		t.Run(fmt.Sprint(len(tokens), " tokens"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := githubtest.Offline(world)
				keep := &memory{}
				c := client(t, s, tokens...)
				for range 2 {
					all, err := c.Pulls(t.Context(), asked, 0, keep)
					if err != nil {
						t.Fatal(err)
					}
					var got []string
					for i, o := range all {
						if o.Asked != asked[i] {
							t.Errorf("%s has the outcome of %s", asked[i], o.Asked)
						}
						switch r := reason.Of(o.Err); {
						case r != nil:
							got = append(got, r.Code)
						case o.Err != nil:
							t.Error(o.Err)
						default:
							got = append(got, o.Pull.Ref.String())
							if o.Pull.Repository.Name != o.Pull.Repo {
								t.Errorf("%s is in %s", o.Pull.Ref, o.Pull.Repository.Name)
							}
						}
					}
					if diff := cmp.Diff(want, got); diff != "" {
						t.Error(diff)
					}
				}
				if all := s.Repeated(); len(all) > 0 {
					t.Errorf("repeated: %q", all)
				}
			})
		})
	}
}

func TestIssuesByREST(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := onePull("o/r", 1)
		p.Body = "Fixes #9001, closes other/repo#7, resolves #2 and fixes #404"
		p.Issues = append(p.Issues, github.Issue{Repo: "other/repo", Number: 7, Title: "Seven"})
		world := []github.Pull{p, onePull("o/r", 2), onePull("other/repo", 1)}
		s := githubtest.Offline(githubtest.World{Pulls: world})
		got, err := client(t, s).Pulls(t.Context(), refs(world[:1]), 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		same(t, world[:1], given(t, got))
	})
}

// Pull requests that GitHub never answers about are trouble of their own, however many there are.
func TestPullRequestsWithoutAnAnswerHoldUpNoOther(t *testing.T) {
	for _, tokens := range [][]string{nil, {"t"}} {
		t.Run(fmt.Sprint(len(tokens), " tokens"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				world := pulls("o/r", 9)
				refuse := map[string]int{}
				for i := range world {
					world[i].Files[0].Previous, world[i].Files[0].Status = "old.go", "renamed"
					if i%2 == 0 {
						refuse[fmt.Sprintf("/repos/o/r/pulls/%d/files", i+1)] = 502
					}
				}
				s := githubtest.Offline(githubtest.World{Pulls: world, Refuse: refuse, Limits: map[string]githubtest.Limit{"core": {Requests: 1000, Window: time.Hour}}})
				c, keep := client(t, s, tokens...), &memory{}
				for range 3 { // the others are settled at the first time
					all, err := c.Pulls(t.Context(), refs(world), 0, keep)
					if err != nil {
						t.Fatal(err)
					}
					for i, o := range all {
						if bad := i%2 == 0; bad != (o.Err != nil) || bad && !strings.Contains(o.Err.Error(), "502") {
							t.Errorf("%s: %v", o.Asked, o.Err)
						}
					}
				}
			})
		})
	}
}

// Whoever may write a description is shown nothing that only the token may read.
func TestIssuesOfPrivateRepositoriesAreNotShown(t *testing.T) {
	for _, tokens := range [][]string{nil, {"t"}} {
		t.Run(fmt.Sprint(len(tokens), " tokens"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, secret, other := onePull("o/r", 1), onePull("corp/internal", 1), onePull("p/q", 1)
				secret.Repository.Private = true
				p.Body = "Fixes #9001, closes corp/internal#45, fixes p/q#7, fixes corp/internal#46"
				public := github.Issue{Repo: "p/q", Number: 7, Title: "Seven"}
				p.Issues = append(p.Issues, github.Issue{Repo: "corp/internal", Number: 45, Title: "The key is 1234"}, public)
				s := githubtest.Offline(githubtest.World{Pulls: []github.Pull{p, secret, other}})
				keep := &memory{}
				got, err := client(t, s, tokens...).Pulls(t.Context(), []github.Ref{p.Ref}, 0, keep)
				if err != nil {
					t.Fatal(err)
				}
				want := p
				want.Issues = []github.Issue{p.Issues[0], public}
				same(t, []github.Pull{want}, given(t, got))
				for what, n := range s.Answered() {
					if strings.Contains(what, "corp/internal/issues") || n > 1 {
						t.Errorf("%s is asked for %d times", what, n)
					}
				}
				for key, value := range keep.m {
					if strings.Contains(string(value), "1234") {
						t.Errorf("%s keeps %s", key, value)
					}
				}
			})
		})
	}
}

func TestFilesOfWhatChangesTooManyAreNotAskedFor(t *testing.T) {
	for _, tokens := range [][]string{nil, {"t"}} {
		synctest.Test(t, func(t *testing.T) {
			p := onePull("o/r", 1)
			p.ChangedFiles = 51
			for i := range 48 {
				p.Files = append(p.Files, github.File{Name: fmt.Sprint(i), Previous: "x", Status: "renamed"})
			}
			s := githubtest.Offline(githubtest.World{Pulls: []github.Pull{p}})
			got, err := client(t, s, tokens...).Pulls(t.Context(), []github.Ref{p.Ref}, 50, nil)
			if err != nil {
				t.Fatal(err)
			}
			if one := given(t, got)[0]; !one.FilesCut {
				t.Error("files that were not asked for are not said to be cut")
			}
			if slices.ContainsFunc(answered(s), func(what string) bool { return strings.Contains(what, "/files") }) {
				t.Errorf("asked for files: %q", answered(s))
			}
		})
	}
}

// The check of issue 7: limits of fifty an hour, faults of all kinds, and nothing that was
// answered is asked for again.
func TestNothingIsAskedTwiceWhateverGoesWrong(t *testing.T) {
	for _, tokens := range [][]string{nil, {"t"}, {"t", "u", "v"}} {
		for seed := range uint64(5) {
			t.Run(fmt.Sprint(len(tokens), " tokens, seed ", seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					world := pulls("o/r", 40)
					for i := range world {
						if i%3 == 0 {
							world[i].Files[0].Previous, world[i].Files[0].Status = "old", "renamed"
						}
					}
					limit := githubtest.Limit{Requests: 50, Window: time.Hour}
					s := githubtest.Offline(githubtest.World{
						Pulls: world, MaxBatch: 15, Faults: githubtest.Faults{Seed: seed, Share: 0.25},
						Limits: map[string]githubtest.Limit{"core": limit, "graphql": limit, "search": limit},
					})
					keep := &memory{}
					got := persist(t, s, keep, tokens, refs(world))
					same(t, world, got)
					if all := s.Repeated(); len(all) > 0 {
						t.Errorf("repeated: %q", all)
					}
				})
			})
		}
	}
}

// persist asks again, each time as a new process, until every ref is answered, and waits while
// it is paused.
func persist(t *testing.T, s *githubtest.Server, keep github.Keep, tokens []string, asked []github.Ref) []github.Pull {
	t.Helper()
	for range 200 {
		all, err := client(t, s, tokens...).Pulls(t.Context(), asked, 0, keep)
		if paused, ok := errors.AsType[*github.Paused](err); ok {
			if !paused.Until.After(time.Now()) {
				t.Errorf("paused until %s, now is %s", paused.Until, time.Now())
			}
			time.Sleep(time.Until(paused.Until))
			continue
		}
		if err == nil && !slices.ContainsFunc(all, func(o github.Outcome) bool { return o.Err != nil }) {
			return given(t, all)
		}
	}
	t.Fatal("it never ends")
	return nil
}

// A crash finds all of an answer kept, or nothing of it.
func TestABatchIsKeptAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		world := pulls("o/r", 20)
		world[3].Files[0].Previous, world[3].Files[0].Status = "old.go", "renamed" // the rest by REST: an answer of its own
		s, keep := githubtest.Offline(githubtest.World{Pulls: world[:19], Gone: map[string]int{"o/r#2": 404}}), &memory{}
		if _, err := client(t, s, "t").Pulls(t.Context(), refs(world), 0, keep); err != nil {
			t.Fatal(err)
		}
		if calls := s.Calls(); keep.puts > calls+1 || len(keep.m) < len(world) { // an outcome is kept, too
			t.Errorf("%d values were kept in %d parts for %d calls", len(keep.m), keep.puts, calls)
		}
	})
}

func TestMoreThanABatch(t *testing.T) {
	s := githubtest.Offline(githubtest.World{})
	if _, err := client(t, s, "t").Pulls(t.Context(), make([]github.Ref, 101), 0, nil); err == nil || s.Calls() > 0 {
		t.Errorf("%v after %d calls", err, s.Calls())
	}
}

func TestWhatCannotBeKeptEndsTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full := errors.New("disk full")
		world := pulls("o/r", 2)
		for _, tokens := range [][]string{nil, {"t"}} {
			_, err := client(t, githubtest.Offline(githubtest.World{Pulls: world}), tokens...).Pulls(t.Context(), refs(world), 0, &memory{fail: full})
			if !errors.Is(err, full) {
				t.Errorf("it ends with %v", err)
			}
		}
	})
}

func TestSeveralAtOnceKeepWithinTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		world := pulls("o/r", 40)
		for i := range world {
			world[i].Body = "" // an issue that many close would be asked for by several at once
			world[i].Issues = nil
		}
		s := githubtest.Offline(githubtest.World{Pulls: world, Limits: map[string]githubtest.Limit{"core": {Requests: 20, Window: time.Hour}}})
		c, keep := client(t, s), &memory{}
		if _, err := c.Pulls(t.Context(), refs(world[:1]), 0, keep); err != nil { // the languages are known then
			t.Fatal(err)
		}
		var several sync.WaitGroup
		for part := range slices.Chunk(world, 10) {
			several.Go(func() {
				for {
					all, err := c.Pulls(t.Context(), refs(part), 0, keep)
					paused, ok := errors.AsType[*github.Paused](err)
					if !ok {
						if err != nil {
							t.Error(err)
						}
						same(t, part, given(t, all))
						return
					}
					time.Sleep(time.Until(paused.Until))
				}
			})
		}
		several.Wait()
		// Who asks is never refused: GitHub has said what is left.
		if refused := s.Calls() - len(answered(s)); refused > 0 || len(s.Repeated()) > 0 {
			t.Errorf("%d of %d calls were refused, repeated %q", refused, s.Calls(), s.Repeated())
		}
	})
}

// held is a server whose languages come when they are let go.
type held struct {
	http.RoundTripper
	until chan struct{}
}

func (h held) RoundTrip(q *http.Request) (*http.Response, error) {
	if strings.HasSuffix(q.URL.Path, "/languages") {
		select {
		case <-h.until:
		case <-q.Context().Done():
			return nil, q.Context().Err()
		}
	}
	return h.RoundTripper.RoundTrip(q)
}

// What several ask for at once is asked for once, kept by each, and not lost with the first.
func TestWhoAsksForTheSameIsNotBrokenOffWithAnother(t *testing.T) {
	for name, broken := range map[string]bool{"both want it": false, "the first is broken off": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				world := pulls("o/r", 2)
				s, until := githubtest.Offline(githubtest.World{Pulls: world}), make(chan struct{})
				c := opened(t, github.Options{BaseURL: s.API, Client: &http.Client{Transport: held{s.Transport(), until}}})
				first, stop := context.WithCancel(t.Context())
				defer stop()
				ctx, keeps, errs := []context.Context{first, t.Context()}, []*memory{{}, {}}, make([]error, 2)
				var both sync.WaitGroup
				for i := range 2 {
					both.Go(func() { _, errs[i] = c.Pulls(ctx[i], refs(world[i:i+1]), 0, keeps[i]) })
					synctest.Wait() // the first asks, the second waits for the same
				}
				if broken {
					stop()
					synctest.Wait()
				}
				close(until)
				both.Wait()
				for i, err := range errs {
					ended := broken && i == 0
					if ended != errors.Is(err, context.Canceled) || !ended && err != nil {
						t.Errorf("call %d ends with %v", i, err)
					}
					kept := slices.ContainsFunc(slices.Collect(maps.Keys(keeps[i].m)), func(key string) bool { return strings.Contains(key, " languages ") })
					if kept == ended {
						t.Errorf("call %d keeps them: %t", i, kept)
					}
				}
				if all := s.Repeated(); len(all) > 0 {
					t.Errorf("repeated: %q", all)
				}
			})
		})
	}
}

func TestOverANetwork(t *testing.T) {
	world := pulls("now/here", 30)
	s := githubtest.New(t, githubtest.World{Pulls: world, Enterprise: true, Rename: map[string]string{"once/there": "now/here"}, Tokens: []string{"t"}})
	c := opened(t, github.Options{BaseURL: s.API, Tokens: []string{"wrong", "t"}})
	var asked []github.Ref
	err := c.Merged(t.Context(), "once/there", time.Time{}, nil, func(r github.Ref) error {
		asked = append(asked, r)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(asked, func(a, b github.Ref) int { return a.Number - b.Number })
	got, err := c.Pulls(t.Context(), asked, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	same(t, world, given(t, got))
}
