package mining

import (
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

	"github.com/assayd/assayd/runtime/gateway/modeltest"
	"github.com/assayd/assayd/runtime/git"
	"github.com/assayd/assayd/runtime/judge"
	"github.com/assayd/assayd/runtime/llm"
	"github.com/assayd/assayd/runtime/mining/extract"
	"github.com/assayd/assayd/runtime/mining/github"
	"github.com/assayd/assayd/runtime/task"
)

// Trouble that no waiting mends ends a pull request at the third try, and only that one.
func TestTroubleThatStays(t *testing.T) {
	t.Parallel()
	w := newWorld(t, repository{name: shop, pulls: []int{1, 2}}).serve()
	var tries atomic.Int32
	w.judge = func(t task.Task, fix []byte) (judge.Report, error) {
		if t.Name == "acme-shop-1" {
			tries.Add(1)
			return judge.Report{}, errors.New("the judge has lost its mind")
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
	w := newWorld(t, repository{name: shop, pulls: []int{1}}).serve()
	var calls atomic.Int32
	w.waitable = func(err error) bool { return errors.Is(err, errAway) }
	w.judge = func(t task.Task, fix []byte) (judge.Report, error) {
		if calls.Add(1) <= 2 {
			return judge.Report{}, errAway
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
				p, err := m.purse(t.Context(), ref(shop, 1))
				if err != nil {
					t.Fatal(err)
				}
				defer p.close()
				tries := 0
				done := make(chan error)
				go func() {
					done <- m.attempt(t.Context(), p, func() error {
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

// What a provider has against all questions is no pull request's fault.
func TestAProviderThatWorksForNobodyIsWaitedFor(t *testing.T) {
	t.Parallel()
	shared := newWorld(t, repository{name: shop, pulls: []int{1}})
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
	shared := newWorld(t, repository{name: shop, pulls: []int{1}})
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
	shared := newWorld(t, repository{name: shop, pulls: []int{1}})
	for name, tc := range map[string]struct {
		trouble func(w *world)
		lives   int
	}{
		"the provider is away": {func(w *world) {
			away := true
			w.odd = func(q question) (modeltest.Answer, bool) {
				was := away
				away = away && q.key != "classify/0"
				return modeltest.Answer{Status: http.StatusUnauthorized}, was && q.key == "classify/0"
			}
		}, 1},
		"a life ends when it is proved": {func(w *world) { w.endsAt(func(x write) bool { return x.key == "classify/0" }) }, 2},
		"a life ends when it is written": {
			func(w *world) { w.endsAt(func(x write) bool { return x.what == "decide" && x.key == Accepted }) }, 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := shared.again(t)
			tc.trouble(w)
			w.judge = func(of task.Task, fix []byte) (judge.Report, error) {
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
func (w *world) endsAt(there func(write) bool) {
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
	shared := newWorld(t, repository{name: shop, pulls: []int{1}})
	for name, change := range map[string]func(w *world){
		"another command timeout": func(w *world) { w.spec.TestGeneration.CommandTimeout = time.Hour },
		"more repeats":            func(w *world) { w.spec.Repeats = 2 },
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
			w.judge = func(of task.Task, fix []byte) (judge.Report, error) {
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
	w := newWorld(t, repository{name: shop, pulls: []int{1, 2, 3}})
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
	w := newWorld(t, repository{name: shop, pulls: []int{1}})
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
