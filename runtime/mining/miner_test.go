package mining

import (
	"context"
	"errors"
	"fmt"
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
	"github.com/assayd/assayd/runtime/gateway"
	"github.com/assayd/assayd/runtime/gateway/modeltest"
)

const (
	shop  = "acme/shop"
	store = "acme/store"
)

func TestPullRequestsBecomeTasks(t *testing.T) {
	t.Parallel()
	w := newFixture(t, repository{name: shop, pulls: []int{1, 2, 3}}).serve()
	w.mine(nothingMore)
	w.verdicts(map[string]string{"acme/shop#1": "accepted easy", "acme/shop#2": "accepted easy", "acme/shop#3": "accepted easy"})
	d := w.book.decision(ref(shop, 2))
	if k := d.Mined.Task; k.Name != "acme-shop-2" || !slices.Equal(k.FailToPass, []string{"tests/test_f2.py::test_f2"}) || !slices.Equal(k.PassToPass, []string{"tests/test_f2.py::test_base"}) ||
		k.Repo.URL != "https://github.com/acme/shop" || !slices.Contains(k.Submit.Exclude, "tests/test_f2.py") || d.DifficultyScore != 0.2 || d.QualityScore != 0.9 {
		t.Errorf("%+v", d)
	}
	for n := 1; n <= 3; n++ {
		if _, err := os.Stat(filepath.Join(w.spec.Output.Dir, fmt.Sprint("acme-shop-", n), "workspace.yaml")); err != nil {
			t.Error(err)
		}
	}
	if n := w.questions("environment/0"); n != 1 {
		t.Errorf("how to test a repository was asked %d times", n)
	}
	if all := append(w.github.Repeated(), fmt.Sprint(w.repeated())); len(all) > 1 || all[0] != "[]" {
		t.Errorf("asked more than once: %v", all)
	}
}

// What a spec wants decides how many tasks are made, and nobody pays for more than can be.
func TestNoMoreThanASpecWants(t *testing.T) {
	t.Parallel()
	shared := newFixture(t, repository{name: shop, pulls: []int{1, 2, 3, 4}}, repository{name: store, pulls: []int{5, 6}})
	for name, tc := range map[string]struct {
		change func(*fixture)
		cause  string
		want   map[string]int // number of verdicts that begin so
	}{
		"as many as there are": {func(w *fixture) {}, nothingMore, map[string]int{"accepted": 6}},
		"two":                  {func(w *fixture) { w.spec.MaxTasks = 2 }, errEnough.Error(), map[string]int{"accepted": 2, "rejected enrich enough": 4}},
		"two by several at once": {
			func(w *fixture) {
				w.spec.MaxTasks, w.spec.Concurrency = 2, config.Concurrency{Archive: 1, Enrich: 2, Classify: 3, Deep: 3}
			},
			errEnough.Error(),
			map[string]int{"accepted": 2, "rejected enrich enough": 4},
		},
		"one of each repository": {
			func(w *fixture) { w.spec.Filter.PerRepo, w.spec.Concurrency.Deep = 1, 3 },
			nothingMore,
			map[string]int{"accepted": 2, "rejected triage per_repo": 4},
		},
		"hard ones": {
			func(w *fixture) {
				w.spec.Difficulty = []string{"hard"}
				w.class[title(shop, 3)] = "hard"
			},
			nothingMore,
			map[string]int{"accepted hard": 1, "rejected triage difficulty": 5},
		},
		"hard ones, of which one only looks so": {
			func(w *fixture) {
				w.spec.Difficulty = []string{"hard"}
				w.class[title(shop, 3)] = "hard"
				w.looks(title(store, 5), "hard")
			},
			nothingMore,
			map[string]int{"accepted hard": 1, "rejected triage difficulty": 4, "rejected classify difficulty": 1},
		},
		"one of each class": {
			func(w *fixture) {
				w.spec.Quota, w.spec.Concurrency.Deep = &config.Quota{Easy: 1, Medium: 1, Hard: 1}, 3
				w.class[title(shop, 2)], w.class[title(shop, 3)], w.class[title(store, 6)] = "medium", "medium", "hard"
			},
			errEnough.Error(),
			map[string]int{"accepted easy": 1, "accepted medium": 1, "accepted hard": 1, "rejected": 3},
		},
		"a class that there is not": {
			func(w *fixture) { w.spec.Quota = &config.Quota{Easy: 2, Hard: 1} },
			nothingMore,
			map[string]int{"accepted easy": 2, "rejected triage enough": 4},
		},
		"one that only looks as if it was of a class": {
			func(w *fixture) {
				w.spec.Quota = &config.Quota{Easy: 1, Hard: 1}
				w.class[title(shop, 1)] = "medium"
				w.class[title(store, 6)] = "hard"
				w.looks(title(shop, 1), "hard")
			},
			errEnough.Error(),
			map[string]int{"accepted easy": 1, "accepted hard": 1, "rejected classify enough": 1, "rejected": 4},
		},
		"good ones": {
			func(w *fixture) {
				w.spec.MinQuality = 0.5
				w.odd = func(q question) (modeltest.Answer, bool) {
					return calling("rate_quality", map[string]any{"reasoning": "It is vague.", "score": 0.4}), q == question{title(shop, 4), "quality/0"}
				}
			},
			nothingMore,
			map[string]int{"accepted": 5, "rejected quality low_quality": 1},
		},
		"none of a list": {
			func(w *fixture) {
				w.spec.PRFile = filepath.Join(t.TempDir(), "prs.jsonl")
				if err := os.WriteFile(w.spec.PRFile, []byte(`{"repo":"acme/shop","pr":1}`+"\n"+`{"repo":"acme/other","pr":1}`+"\n"), 0o600); err != nil {
					w.t.Fatal(err)
				}
			},
			nothingMore,
			map[string]int{"accepted": 5, "rejected source decided_elsewhere": 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := shared.again(t)
			tc.change(w)
			w.serve().mine(tc.cause)
			for words, n := range tc.want {
				if w.book.count(words) != n {
					t.Errorf("%d %q, want %d of %v", w.book.count(words), words, n, w.book.verdicts())
				}
			}
			if made := w.questions("quality/0"); made > tc.want["accepted"]+tc.want["accepted easy"]+tc.want["accepted medium"]+tc.want["accepted hard"]+tc.want["rejected quality low_quality"] {
				t.Errorf("%d were paid for to the end", made)
			}
		})
	}
}

// looks has a pull request look otherwise than it is.
func (w *fixture) looks(title, class string) {
	w.odd = func(q question) (modeltest.Answer, bool) {
		return calling("rate_difficulty", map[string]any{"reasoning": "So it seems.", "difficulty": class}), q == question{title, "triage/0"}
	}
}

// A task that is made and not decided is nobody's yet: who finds that the spec has all it
// wants has it decided first.
func TestALastTaskIsNotLostToAnother(t *testing.T) {
	t.Parallel()
	w := newFixture(t, repository{name: shop, pulls: []int{1, 2, 3}})
	w.spec.MaxTasks, w.spec.Concurrency.Deep = 2, 2
	both, arrived := make(chan struct{}), make(chan struct{}, 3)
	first := make(chan struct{})
	w.book.before = func(x write) error {
		if x.what != "decide" || x.key != Accepted {
			return nil
		}
		if arrived <- struct{}{}; len(arrived) == 2 {
			close(both)
			<-first // the other has been decided
			return nil
		}
		<-both
		return nil
	}
	w.book.after = func(x write) error {
		if x.what == "decide" && x.key == Accepted && len(arrived) == 2 {
			select {
			case <-first:
			default:
				close(first)
			}
		}
		return nil
	}
	w.serve().mine(errEnough.Error())
	if w.book.count("accepted") != 2 {
		t.Errorf("%v", w.book.verdicts())
	}
}

// leftOver is a world in which a spec has all it wants and n more are open.
func leftOver(t *testing.T, n int) *fixture {
	t.Helper()
	w := newFixture(t, repository{name: shop, pulls: []int{1}}).offline()
	var found []Found
	for i := range n + 1 {
		found = append(found, Found{Ref: ref(store, i)})
	}
	accepted := Decision{Ref: ref(store, 0), Verdict: Accepted, Classification: "easy"}
	if err := errors.Join(w.book.Find(t.Context(), found, Mark{}), w.book.Decide(t.Context(), accepted)); err != nil {
		t.Fatal(err)
	}
	w.spec.MaxTasks, w.book.writes = 1, nil
	return w
}

// What nobody wants any more is decided a page at a time, however much it is.
func TestWhatIsLeftIsDecidedTogether(t *testing.T) {
	t.Parallel()
	w := leftOver(t, 2*pageSize)
	w.mine(errEnough.Error())
	if n := w.book.count("rejected enrich enough"); n != 2*pageSize || len(w.book.writes) != 2 {
		t.Errorf("%d are decided in %d writes", n, len(w.book.writes))
	}
}

// However long the end takes, nobody tells of progress beside it.
func TestNothingIsToldAfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := leftOver(t, 1)
		w.book.before = func(write) error {
			time.Sleep(2 * reportEvery) // by the clock of the test
			return nil
		}
		w.mine(errEnough.Error())
		if !slices.Equal(w.book.reports, []string{"mining.finished"}) {
			t.Errorf("told are %s", w.book.reports)
		}
	})
}

// A miner that is run again after trouble tells how it does since it was run first.
func TestRatesAreOfAllRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := unwanted(t, 1, 2).offline()
		w.endsAt(func(x write) bool { return x.what == "decide" })
		m := New(w.options(t))
		if cause, err := m.Run(t.Context()); err == nil {
			t.Fatalf("it ended with %q", cause)
		}
		time.Sleep(time.Hour) // by the clock of the test
		if _, err := m.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if p := w.book.last; p.ElapsedS < 3600 || p.ElapsedS > 3660 || p.SeenPerHour < 1.9 || p.SeenPerHour > 2 {
			t.Errorf("%d are seen, %v an hour, in %v s", p.Seen, p.SeenPerHour, p.ElapsedS)
		}
	})
}

// A task that cannot be written for the folder's sake waits until the folder is mended.
func TestAFolderThatCannotBeWrittenIsWaitedFor(t *testing.T) {
	t.Parallel()
	shared := newFixture(t, repository{name: shop, pulls: []int{1, 2}})
	for name, wrong := range map[string]string{"a file is in its place": "", "a file is in the place of a task": "acme-shop-1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := shared.again(t)
			wrong := filepath.Join(w.spec.Output.Dir, wrong)
			if err := errors.Join(os.MkdirAll(filepath.Dir(wrong), 0o700), os.WriteFile(wrong, nil, 0o600)); err != nil {
				t.Fatal(err)
			}
			tries := 0
			w.book.read = func(pull, key string) {
				if pull != "acme/shop#1" || key != writtenKey {
					return
				}
				if tries++; tries == 2 {
					if err := os.Remove(wrong); err != nil {
						t.Error(err)
					}
				}
			}
			w.serve().mine(nothingMore)
			w.verdicts(map[string]string{"acme/shop#1": "accepted easy", "acme/shop#2": "accepted easy"})
			if all := w.repeated(); len(all) > 0 || tries != 2 {
				t.Errorf("at try %d asked again: %v", tries, all)
			}
		})
	}
}

// A task that was written and is none after all is not left in the folder.
func TestWhatBecomesNoTaskAfterAllIsNotLeft(t *testing.T) {
	t.Parallel()
	shared := newFixture(t, repository{name: shop, pulls: []int{1, 2}})
	for name, tc := range map[string]struct {
		change func(w *fixture)
		cause  string
		want   string
	}{
		"the rules were edited": {func(w *fixture) { w.rules.MinStars = 1000 }, nothingMore, "rejected filter stars"},
		"another took its place": {
			func(w *fixture) {
				w.spec.MaxTasks = 1
				other := Decision{Ref: ref(store, 1), Verdict: Accepted, Classification: "easy"}
				if err := errors.Join(w.book.Find(w.t.Context(), []Found{{Ref: other.Ref}}, Mark{}), w.book.Decide(w.t.Context(), other)); err != nil {
					w.t.Fatal(err)
				}
			},
			errEnough.Error(),
			"rejected enrich enough",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := shared.again(t)
			w.spec.Output.Formats = []string{"sforge", "sweforge"}
			tasks := func() []string {
				all, err := filepath.Glob(filepath.Join(w.spec.Output.Dir, "*", "acme-*"))
				if err != nil {
					t.Fatal(err)
				}
				return all
			}
			w.endsAt(func(x write) bool { return x.what == "decide" })
			w.serve()
			if cause, err := w.run(t.Context()); err == nil || len(tasks()) != 2 {
				t.Fatalf("it ended with %q, %v, and %q are written", cause, err, tasks())
			}
			tc.change(w)
			w.broken = true
			w.mine(tc.cause)
			if v := w.book.verdicts()["acme/shop#1"]; v != tc.want || len(tasks()) > 0 {
				t.Errorf("%s, and left are %q", v, tasks())
			}
		})
	}
}

func TestBudgets(t *testing.T) {
	t.Parallel()
	const each = 110 // tokens of an answer
	shared := newFixture(t, repository{name: shop, pulls: []int{1, 2, 3}})
	for name, tc := range map[string]struct {
		budget config.Budget
		cause  string
		want   map[string]string
		left   map[string]float64
	}{
		"of a task": { // the second has its environment from the first, and needs one answer less
			config.Budget{Each: config.Spend{Tokens: 3 * each}},
			nothingMore,
			map[string]string{"acme/shop#1": "failed quality budget_per_task", "acme/shop#2": "accepted easy", "acme/shop#3": "accepted easy"},
			map[string]float64{},
		},
		"of a task, in dollars": {
			config.Budget{Each: config.Spend{USD: 0.6}},
			nothingMore,
			map[string]string{"acme/shop#1": "failed quality budget_per_task", "acme/shop#2": "accepted easy", "acme/shop#3": "accepted easy"},
			map[string]float64{},
		},
		"of the spec": {
			config.Budget{Total: config.Spend{Tokens: 6 * each}},
			errBroke.Error(),
			map[string]string{"acme/shop#1": "accepted easy", "acme/shop#2": "rejected enrich budget", "acme/shop#3": "rejected enrich budget"},
			map[string]float64{"tokens": 0},
		},
		"of both": {
			config.Budget{Each: config.Spend{Tokens: 4 * each}, Total: config.Spend{Tokens: 4 * each, USD: 100}},
			errBroke.Error(),
			map[string]string{"acme/shop#1": "accepted easy", "acme/shop#2": "rejected enrich budget", "acme/shop#3": "rejected enrich budget"},
			map[string]float64{"tokens": 0, "usd": 99.2},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := shared.again(t).serve()
			w.spec.Budget = &tc.budget
			w.mine(tc.cause)
			w.verdicts(tc.want)
			for what, n := range tc.left {
				if got := w.book.last.BudgetLeft[what]; got-n > 1e-6 || n-got > 1e-6 {
					t.Errorf("%v %s are left, want %v", got, what, n)
				}
			}
			if w.model.Usage().Prompt() != 100*w.questions("") {
				t.Error("an answer was not whole")
			}
		})
	}
}

// What was paid for a pull request that is taken up again is not paid for again, and the
// records tell all that was paid.
func TestWhatIsTakenUpAgainIsNotPaidAgain(t *testing.T) {
	t.Parallel()
	shared := newFixture(t, repository{name: shop, pulls: []int{1, 2, 3}})
	for name, tc := range map[string]struct {
		less, more func(*fixture)
		cause      string
		want       map[string]string
	}{
		"when there is money": {
			func(w *fixture) { w.spec.Budget = &config.Budget{Total: config.Spend{Tokens: 6 * 110}} },
			func(w *fixture) { w.spec.Budget.Total.Tokens *= 10 },
			errBroke.Error(),
			map[string]string{"acme/shop#1": "accepted easy", "acme/shop#2": "rejected enrich budget", "acme/shop#3": "rejected enrich budget"},
		},
		"when more are wanted": {
			func(w *fixture) {
				w.spec.Quota = &config.Quota{Easy: 1, Hard: 1}
				w.class[title(shop, 2)] = "medium"
				w.class[title(shop, 3)] = "hard"
				w.looks(title(shop, 2), "hard")
			},
			func(w *fixture) { w.spec.Quota.Medium, w.spec.Quota.Hard = 1, 2 },
			errEnough.Error(),
			map[string]string{"acme/shop#1": "accepted easy", "acme/shop#2": "rejected classify enough", "acme/shop#3": "accepted hard"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := shared.again(t)
			tc.less(w)
			w.serve().mine(tc.cause)
			w.verdicts(tc.want)
			w.recordsTellAll()
			w.book.reopen()
			tc.more(w)
			if _, err := w.run(t.Context()); err != nil || w.book.count("accepted") != 3 {
				t.Errorf("%v: %v", w.book.verdicts(), err)
			}
			w.recordsTellAll()
			if all := w.repeated(); len(all) > 0 {
				t.Errorf("paid again: %v", all)
			}
			if all := w.github.Repeated(); len(all) > 0 {
				t.Errorf("asked again: %v", all)
			}
		})
	}
}

// recordsTellAll compares what was paid for each pull request with what was paid for the spec.
func (w *fixture) recordsTellAll() {
	w.t.Helper()
	var sum gateway.Usage
	for _, p := range w.book.pulls {
		sum.Add(p.decision.Usage)
	}
	if diff := cmp.Diff(w.book.last.Usage, sum, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		w.t.Errorf("the end tells otherwise than the records: -want +got\n%s", diff)
	}
}

// What is paid for is finished when there is no money for anything else.
func TestATaskThatCostsNothingMoreIsFinished(t *testing.T) {
	t.Parallel()
	w := newFixture(t, repository{name: shop, pulls: []int{1, 2}})
	w.spec.Concurrency.Deep, w.spec.Budget = 2, &config.Budget{Total: config.Spend{Tokens: 5 * 110}}
	paid, broke := make(chan struct{}), make(chan struct{})
	w.book.before = func(x write) error {
		switch {
		case x.pull == "acme/shop#1" && x.key == writtenKey:
			close(paid)
			<-broke
		case x.pull == "acme/shop#2" && x.key == "statement/0":
			<-paid
		}
		return nil
	}
	w.book.read = func(pull, key string) {
		if pull == "acme/shop#2" && key == "classify/0" { // for which there is no money
			close(broke)
		}
	}
	w.serve().mine(errBroke.Error())
	w.verdicts(map[string]string{"acme/shop#1": "accepted easy", "acme/shop#2": "rejected enrich budget"})
}

// A life may end at each write of the book. The next one comes to the same tasks, and asks a
// model nothing again that had its answer kept.
func TestALifeMayEndAtEachWrite(t *testing.T) {
	t.Parallel()
	shared := newFixture(t, repository{name: shop, pulls: []int{1, 2}})
	endsAnywhere(t, map[string]string{"acme/shop#1": "accepted easy", "acme/shop#2": "rejected classify difficulty"}, func(t *testing.T) *fixture {
		w := shared.again(t)
		w.spec.Difficulty = []string{"easy"}
		w.class[title(shop, 2)] = "hard"
		w.looks(title(shop, 2), "easy")
		return w.serve()
	})
}

// endsAnywhere has a life end before and after each write that one in peace makes, and another
// one go on.
func endsAnywhere(t *testing.T, want map[string]string, begin func(*testing.T) *fixture) {
	t.Helper()
	calm := begin(t)
	calm.mine(nothingMore)
	calm.verdicts(want)
	seen := map[string]bool{}
	for _, x := range calm.book.writes {
		if seen[x.what+x.pull+x.key] || strings.HasPrefix(x.key, "github/") {
			continue // what GitHub has answered is kept, or asked for again
		}
		seen[x.what+x.pull+x.key] = true
		for how, end := range map[string]func(b *memory, stop func(), there func(write) bool){
			"before it": func(b *memory, _ func(), there func(write) bool) {
				b.before = func(x write) error {
					if there(x) {
						return errors.New("the disk is full")
					}
					return nil
				}
			},
			"after it": func(b *memory, stop func(), there func(write) bool) {
				b.after = func(x write) error {
					if there(x) {
						stop()
					}
					return nil
				}
			},
		} {
			t.Run(strings.ReplaceAll(fmt.Sprintf("%s %s %s %s", how, x.what, x.pull, x.key), "/", " "), func(t *testing.T) {
				t.Parallel()
				w := begin(t)
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				var done atomic.Bool
				end(w.book, stop, func(at write) bool { return at == x && done.CompareAndSwap(false, true) })
				if cause, err := w.run(ctx); err == nil {
					t.Fatalf("it ended with %q", cause)
				}
				w.book.before, w.book.after, w.broken = nil, nil, true
				kept := w.kept()
				w.mine(nothingMore)
				w.verdicts(want)
				if n := w.questions("") - calm.questions(""); n > 2 {
					t.Errorf("%d questions more than in one life", n)
				}
				for _, q := range w.repeated() {
					if kept[q] {
						t.Errorf("%v was asked again", q)
					}
				}
			})
		}
	}
}

// kept are the questions that have their answers now, or need none any more.
func (w *fixture) kept() map[question]bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	all, verdicts := map[question]bool{}, w.book.verdicts()
	w.book.mu.Lock()
	defer w.book.mu.Unlock()
	for q := range w.asked {
		_, rest, _ := strings.Cut(q.title, " f")
		n, repo, _ := strings.Cut(rest, " of ")
		pull := repo + "#" + n
		_, ok := w.book.answers[[2]string{pull, q.key}]
		all[q] = ok || verdicts[pull] != "open"
	}
	return all
}
