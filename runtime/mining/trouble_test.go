package mining

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/runtime/gateway/modeltest"
	"github.com/assayd/assayd/runtime/git"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/llm"
	"github.com/assayd/assayd/runtime/mining/archive"
	"github.com/assayd/assayd/runtime/mining/extract"
	"github.com/assayd/assayd/runtime/mining/github"
	"github.com/assayd/assayd/runtime/mining/github/githubtest"
	"github.com/assayd/assayd/runtime/task"
)

// Trouble that no waiting mends ends a pull request at the third try, and only that one.
func TestTroubleThatStays(t *testing.T) {
	t.Parallel()
	w := newFixture(t, repository{name: shop, pulls: []int{1, 2}}).serve()
	var tries atomic.Int32
	w.judge = func(t task.Task, fix []byte) (round.Report, error) {
		if t.Name == "acme-shop-1" {
			tries.Add(1)
			return round.Report{}, errors.New("the judge has lost its mind")
		}
		return outcome(t, fix)
	}
	w.mine(nothingMore)
	w.verdicts(map[string]string{"acme/shop#1": "failed validation trouble", "acme/shop#2": "accepted easy"})
	if all := w.repeated(); len(all) > 0 {
		t.Errorf("asked again: %v", all)
	}
	if n := tries.Load(); n < maxTries || n > 2*maxTries { // two judgings at once
		t.Errorf("judged %d times", n)
	}
}

// errAway is what the engine's being away looks like here.
var errAway = errors.New("the engine is away")

// Trouble that passes costs nothing but time.
func TestTroubleThatPasses(t *testing.T) {
	t.Parallel()
	w := newFixture(t, repository{name: shop, pulls: []int{1}}).serve()
	var calls atomic.Int32
	w.waitable = func(err error) bool { return errors.Is(err, errAway) }
	w.judge = func(t task.Task, fix []byte) (round.Report, error) {
		if calls.Add(1) <= 2 {
			return round.Report{}, errAway
		}
		return outcome(t, fix)
	}
	w.mine(nothingMore)
	w.verdicts(map[string]string{"acme/shop#1": "accepted easy"})
	if all := w.repeated(); len(all) > 0 {
		t.Errorf("asked again: %v", all)
	}
}

// What is away for long is no reason to give anything up, and is told in the status.
func TestWhatPassesIsWaitedForHoweverLong(t *testing.T) {
	for name, trouble := range map[string]error{
		"an engine":                errAway,
		"a server of repositories": fmt.Errorf("extract: %w", &extract.Unavailable{Repo: shop, Err: errAway}),
		"Git itself":               fmt.Errorf("fetch: %w", git.ErrMissing),
		"room on the disk":         fmt.Errorf("clone: %w", &fs.PathError{Op: "mkdir", Path: "clones", Err: syscall.ENOSPC}),
		"the folder of tasks":      &unwritten{fs.ErrPermission},
		"GitHub, for its limit":    &github.Paused{},
		"a provider":               &llm.Unavailable{Status: http.StatusServiceUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := unwanted(t, 1).offline()
				m := New(w.options(t))
				m.o.Waitable = func(err error) bool { return errors.Is(err, errAway) }
				p, err := m.budgetFor(t.Context(), ref(shop, 1))
				if err != nil {
					t.Fatal(err)
				}
				defer p.close()
				tries := 0
				done := make(chan error)
				go func() {
					done <- m.attempt(t.Context(), p, func(context.Context) error {
						if tries++; tries < 100 {
							return trouble
						}
						return nil
					})
				}()
				synctest.Wait()
				if _, waits := m.stages(); waits != ref(shop, 1).String()+": "+trouble.Error() {
					t.Errorf("the status tells %q", waits)
				}
				if err := <-done; err != nil || tries != 100 {
					t.Errorf("%d tries, %v", tries, err)
				}
			})
		})
	}
}

// The status tells what mining waits for as soon as the first try has failed, whichever part tries
// again, and tells nothing any more when it goes on.
func TestTheStatusTellsOfTheFirstTryThatFails(t *testing.T) {
	badGateway := githubtest.World{Faults: githubtest.Faults{Share: 1, Kinds: []githubtest.Fault{githubtest.BadGateway}}}
	hour := config.Source{Kind: "gharchive", From: "1999-12-31T22:00:00Z", To: "1999-12-31T23:00:00Z"} // by the clock of the test it is over
	for name, tc := range map[string]struct {
		source config.Source
		want   string
	}{
		"an archive":    {hour, `the archive: read 1999-12-31-22.json.gz: the server answers "503 Service Unavailable"`},
		"a search":      {config.Source{Kind: "search", Query: "repo:acme/shop", From: "1999-12-31"}, "the search: GET /search/issues: no answer: 502 Bad Gateway"},
		"a repository":  {config.Source{Kind: "repos", Names: []string{shop}}, "acme/shop: GET /repos/acme/shop/pulls: no answer: 502 Bad Gateway"},
		"pull requests": {hour, "GitHub: POST /graphql: no answer: 502 Bad Gateway"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := unwanted(t, 1)
				hub := badGateway
				hub.Pulls, hub.Tokens = w.hub.Pulls, w.hub.Tokens
				w.hub = hub
				w.offline()
				w.archived([]github.Ref{ref(shop, 1)}).spec.Source = tc.source
				w.hours["1999-12-31-22.json.gz"] = w.hours[archive.Name(merged)]
				if strings.HasPrefix(tc.want, "the archive") {
					w.refuse = slices.Repeat([]http.Response{{StatusCode: 503, Status: "503 Service Unavailable"}}, 3)
				}
				m := New(w.options(t))
				what, _, _ := strings.Cut(tc.want, ": ")
				ended := make(chan error)
				go func() {
					_, err := m.Run(t.Context())
					ended <- err
				}()
				synctest.Wait() // no time has passed since the first try
				if p, err := m.Progress(t.Context()); err != nil || p.Waits != tc.want {
					t.Errorf("the status tells %q, %v, not %q", p.Waits, err, tc.want)
				}
				time.Sleep(pauseOf(1)) // by the clock of the test: others have been tried and failed
				if p, err := m.Progress(t.Context()); err != nil || !strings.HasPrefix(p.Waits, what+": ") {
					t.Errorf("between two tries the status tells %q, %v", p.Waits, err)
				}
				w.github.Change(func(hub *githubtest.World) { hub.Faults = githubtest.Faults{} })
				if err := <-ended; err != nil {
					t.Fatal(err)
				}
				if _, waits := m.stages(); waits != "" {
					t.Errorf("at the end it waits for %s", waits)
				}
			})
		})
	}
}

// So it is with a model, which is asked through the gateway.
func TestTheStatusTellsOfAModelThatIsAway(t *testing.T) {
	t.Parallel()
	w := newFixture(t, repository{name: shop, pulls: []int{1}})
	told := make(chan struct{})
	w.odd = func(q question) (modeltest.Answer, bool) {
		select {
		case <-told:
			return modeltest.Answer{}, false
		default:
			return modeltest.Answer{Status: http.StatusServiceUnavailable, Message: "It is too much"}, true
		}
	}
	m := New(w.serve().options(t))
	ctx, cancel := context.WithTimeout(t.Context(), patient)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := m.Run(ctx)
		ended <- err
	}()
	const want = `acme/shop#1: provider p answered 503: `
	for waits := ""; !strings.HasPrefix(waits, want); time.Sleep(time.Millisecond) {
		select {
		case err := <-ended:
			t.Fatalf("it has ended, and nobody was told that the model is away: %v", err)
		default:
		}
		_, waits = m.stages()
	}
	close(told)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	w.verdicts(map[string]string{"acme/shop#1": "accepted easy"})
	if _, waits := m.stages(); waits != "" {
		t.Errorf("at the end it waits for %s", waits)
	}
}

// What a provider has against all questions is no pull request's fault.
func TestAProviderThatWorksForNobodyIsWaitedFor(t *testing.T) {
	t.Parallel()
	shared := newFixture(t, repository{name: shop, pulls: []int{1}})
	for name, refusal := range map[string]modeltest.Answer{
		"the account is empty":   {Status: http.StatusPaymentRequired, Message: "Insufficient credits"},
		"the key is not taken":   {Status: http.StatusUnauthorized, Message: "No auth credentials found"},
		"the model is not there": {Status: http.StatusNotFound, Message: "No endpoints found"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := shared.again(t)
			refused := false
			w.odd = func(q question) (modeltest.Answer, bool) {
				first := !refused
				refused = refused || q.title != "" // else it is the gateway's own question
				return refusal, first
			}
			w.serve().mine(nothingMore)
			w.verdicts(map[string]string{"acme/shop#1": "accepted easy"})
			if n := w.questions("statement/0"); n != 2 {
				t.Errorf("the statement was asked for %d times", n)
			}
		})
	}
}

// What comes again however often it is tried is tried once.
func TestWhatComesAgainIsTriedOnce(t *testing.T) {
	t.Parallel()
	shared := newFixture(t, repository{name: shop, pulls: []int{1}})
	for name, tc := range map[string]struct {
		answer    modeltest.Answer
		questions int
	}{
		"answers that cannot be used":  {calling("classify", map[string]any{"reasoning": "So it is.", "class": "easy", "score": 0.9}), 2},
		"a question that is not taken": {modeltest.Answer{Status: http.StatusBadRequest, Message: "This is too long"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := shared.again(t)
			w.odd = func(q question) (modeltest.Answer, bool) { return tc.answer, strings.HasPrefix(q.key, StageClassify) }
			tries := 0
			w.book.read = func(_, key string) {
				if key == "classify/0" {
					tries++
				}
			}
			w.serve().mine(nothingMore)
			w.verdicts(map[string]string{"acme/shop#1": "failed classify trouble"})
			if n := w.questions("classify/0") + w.questions("classify/1"); n != tc.questions || tries != 1 {
				t.Errorf("%d questions in %d tries", n, tries)
			}
		})
	}
}

// A task is proved once: neither trouble that comes later nor the end of a life has it proved
// again, with another outcome.
func TestATaskIsProvedOnce(t *testing.T) {
	t.Parallel()
	shared := newFixture(t, repository{name: shop, pulls: []int{1}})
	for name, tc := range map[string]struct {
		trouble func(w *fixture)
		lives   int
	}{
		"the provider is away": {func(w *fixture) {
			away := true
			w.odd = func(q question) (modeltest.Answer, bool) {
				was := away
				away = away && q.key != "classify/0"
				return modeltest.Answer{Status: http.StatusUnauthorized}, was && q.key == "classify/0"
			}
		}, 1},
		"a life ends when it is proved": {func(w *fixture) { w.endsAt(func(x write) bool { return x.key == "classify/0" }) }, 2},
		"a life ends when it is written": {
			func(w *fixture) { w.endsAt(func(x write) bool { return x.what == "decide" && x.key == Accepted }) }, 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := shared.again(t)
			tc.trouble(w)
			w.judge = func(of task.Task, fix []byte) (round.Report, error) {
				if w.questions("classify/0") > 0 {
					t.Error("the task is proved again")
				}
				return outcome(of, fix)
			}
			w.serve()
			for range tc.lives - 1 {
				if cause, err := w.run(t.Context()); err == nil {
					t.Fatalf("it ended with %q", cause)
				}
			}
			w.mine(nothingMore)
			w.verdicts(map[string]string{"acme/shop#1": "accepted easy"})
			d := w.book.decision(ref(shop, 1)).Mined.Task
			if !slices.Equal(d.FailToPass, []string{"tests/test_f1.py::test_f1"}) || d.Work.Setup[0] != "pip install ." || len(d.Judge.Patch) == 0 {
				t.Errorf("%+v", d)
			}
		})
	}
}

// endsAt has the life end before the first such write.
func (w *fixture) endsAt(there func(write) bool) {
	var over atomic.Bool
	w.book.before = func(x write) error {
		if there(x) && over.CompareAndSwap(false, true) {
			return errors.New("the disk is full")
		}
		return nil
	}
}

// What was proved in another way than the spec wants now is proved again.
func TestAProofIsOfWhatIsProved(t *testing.T) {
	t.Parallel()
	shared := newFixture(t, repository{name: shop, pulls: []int{1}})
	for name, change := range map[string]func(w *fixture){
		"another command timeout": func(w *fixture) { w.spec.TestGeneration.CommandTimeout = time.Hour },
		"more repeats":            func(w *fixture) { w.spec.Repeats = 2 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := shared.again(t)
			w.endsAt(func(x write) bool { return x.key == "classify/0" })
			w.serve()
			if cause, err := w.run(t.Context()); err == nil {
				t.Fatalf("it ended with %q", cause)
			}
			change(w)
			var again atomic.Bool
			w.judge = func(of task.Task, fix []byte) (round.Report, error) {
				again.Store(true)
				return outcome(of, fix)
			}
			w.broken = true
			w.mine(nothingMore)
			if !again.Load() {
				t.Error("it is not proved again")
			}
		})
	}
}

// A book that cannot be written fails no pull request: the miner ends, and is run again.
func TestTroubleOfTheBookEndsTheMiner(t *testing.T) {
	t.Parallel()
	w := newFixture(t, repository{name: shop, pulls: []int{1, 2, 3}})
	w.spec.Concurrency.Deep = 3
	full := errors.New("the disk is full")
	w.book.before = func(x write) error {
		if x.key == "classify/0" {
			return full
		}
		return nil
	}
	w.serve()
	for range 3 {
		if cause, err := w.run(t.Context()); !errors.Is(err, full) {
			t.Fatalf("%q, %v", cause, err)
		}
	}
	if open := w.book.count("open"); open != 3 {
		t.Errorf("%v", w.book.verdicts())
	}
	w.book.before, w.broken = nil, true
	w.mine(nothingMore)
	if w.book.count("accepted") != 3 {
		t.Errorf("%v", w.book.verdicts())
	}
}

// A model that uses more tokens for the workbench than it may has failed at it.
func TestTheWorkbenchHasItsTokens(t *testing.T) {
	t.Parallel()
	w := newFixture(t, repository{name: shop, pulls: []int{1}})
	w.spec.TestGeneration.MaxTokens = 300 // two answers, and one begun
	w.odd = func(q question) (modeltest.Answer, bool) {
		return calling("list_dir", map[string]any{"path": "."}), len(q.key) > len(StageEnvironment) && q.key[:len(StageEnvironment)] == StageEnvironment
	}
	w.serve().mine(nothingMore)
	w.verdicts(map[string]string{"acme/shop#1": "rejected environment tokens"})
	if n := w.questions(""); n != 4 {
		t.Errorf("%d questions", n)
	}
}
