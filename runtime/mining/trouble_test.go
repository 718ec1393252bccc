package mining

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"

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
				m.o.Waitable = func(err error) bool { return err == errAway }
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
				if _, waits, _ := m.stages(); waits != ref(shop, 1).String()+": "+trouble.Error() {
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
