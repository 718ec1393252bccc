package ledger

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/reconcile/store/storetest"
	"github.com/assayd/assayd/runtime/gateway"
)

// An exchange counts from its beginning, with what it costs at least, and in the end with what
// it took; the books know it by its try and by its execution.
func TestBooksAreKeptByTryAndByExecution(t *testing.T) {
	s := storetest.Open(t)
	b := NewUsageLedger(s)
	spent := func(a gateway.Account) gateway.Usage {
		t.Helper()
		u, err := b.Spent(t.Context(), a)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	first := gateway.Account{Spec: "run.r", Execution: 1, Trial: "r.e1.1", Try: 1}
	second, other, next, mined := first, first, first, gateway.Account{Spec: "mining.m", Trial: "owner/name#12", Try: 1}
	second.Try, other.Trial, next.Trial, next.Execution = 2, "r.e1.2", "r.e2.1", 2
	again := mined // by another spec
	again.Spec = "mining.n"
	least := gateway.Usage{InputTokens: 10, EstimatedTokens: 10, CostUSD: 0.5, Requests: 1}
	whole := gateway.Usage{InputTokens: 100, OutputTokens: 20, CachedTokens: 30, CostUSD: 1.25, Requests: 1}
	for _, a := range []gateway.Account{first, first, second, other, next, mined, mined, again} {
		id, err := b.Begin(t.Context(), gateway.Charge{Account: a, Provider: "p", Model: "m", Usage: least})
		if err != nil {
			t.Fatal(err)
		}
		if a == second {
			continue // it is cut off here
		}
		if err := b.End(t.Context(), id, gateway.Charge{Account: a, Provider: "p", Model: "m", Usage: whole}); err != nil {
			t.Fatal(err)
		}
	}
	twice := whole
	twice.Add(whole)
	run := twice
	run.Add(least)
	run.Add(whole)
	for name, tc := range map[string]struct {
		of   gateway.Account
		want gateway.Usage
	}{
		"a try": {first, twice}, "its next one": {second, least}, "another trial": {other, whole},
		"the execution":   {gateway.Account{Spec: "run.r", Execution: 1}, run},
		"its next one, e": {gateway.Account{Spec: "run.r", Execution: 2}, whole},
		"a pull request":  {mined, twice},
		"all of them":     {gateway.Account{Spec: "mining.m"}, twice},
		"by another spec": {again, whole},
		"what never was":  {gateway.Account{Spec: "run.x", Execution: 1}, gateway.Usage{}},
		"who never was":   {gateway.Account{Spec: "run.r", Execution: 1, Trial: "x"}, gateway.Usage{}},
	} {
		if diff := cmp.Diff(tc.want, spent(tc.of)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if err := b.End(t.Context(), 99, gateway.Charge{Account: first}); err == nil {
		t.Error("what never began has ended")
	}
}

// The books that a daemon leaves are those that the next one finds.
func TestBooksSurviveARestart(t *testing.T) {
	dir := t.TempDir()
	a := gateway.Account{Spec: "run.r", Execution: 1, Trial: "r.e1.1", Try: 1}
	for n := range 3 {
		s, err := store.Open(t.Context(), dir, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		b := NewUsageLedger(s)
		if u, err := b.Spent(t.Context(), a); err != nil || u.Requests != int64(n) || u.InputTokens != int64(7*n) {
			t.Errorf("after %d exchanges: %+v, %v", n, u, err)
		}
		if _, err := b.Begin(t.Context(), gateway.Charge{Account: a, Usage: gateway.Usage{InputTokens: 7}}); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// Entries that are made at once are made together, and each has its own outcome.
func TestManyWriteIntoTheBooksAtOnce(t *testing.T) {
	s := storetest.Open(t)
	b := NewUsageLedger(s)
	var all sync.WaitGroup
	var mu sync.Mutex
	ids := map[int64]bool{}
	for n := range 100 {
		a := gateway.Account{Spec: "run.r", Execution: 1, Trial: fmt.Sprint(n % 10), Try: 1}
		all.Go(func() {
			id, err := b.Begin(t.Context(), gateway.Charge{Account: a, Usage: gateway.Usage{InputTokens: 1, EstimatedTokens: 1}})
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			ids[id] = true
			mu.Unlock()
			if err := b.End(t.Context(), -id, gateway.Charge{Account: a}); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("what never began has ended: %v", err)
			}
			if err := b.End(t.Context(), id, gateway.Charge{Account: a, Usage: gateway.Usage{InputTokens: int64(n)}}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	u, err := b.Spent(t.Context(), gateway.Account{Spec: "run.r", Execution: 1})
	if want := (gateway.Usage{InputTokens: 99 * 100 / 2, Requests: 100}); err != nil || u != want || len(ids) != 100 {
		t.Errorf("%+v, %v, %d ids", u, err, len(ids))
	}
}

// One entry that cannot be made spoils none of those that are made with it.
func TestABadEntrySpoilsNoOther(t *testing.T) {
	s := storetest.Open(t)
	b := NewUsageLedger(s)
	a := gateway.Account{Spec: "run.r", Execution: 1, Trial: "1", Try: 1}
	b.writing = true // so that all that come wait
	var all sync.WaitGroup
	for _, bad := range []bool{false, true, false} {
		all.Go(func() {
			if bad {
				if err := b.End(t.Context(), 99, gateway.Charge{Account: a}); !errors.Is(err, store.ErrNotFound) {
					t.Errorf("what never began has ended: %v", err)
				}
			} else if _, err := b.Begin(t.Context(), gateway.Charge{Account: a, Usage: gateway.Usage{InputTokens: 5}}); err != nil {
				t.Error(err)
			}
		})
	}
	for waiting := 0; waiting < 3; time.Sleep(time.Millisecond) {
		b.mu.Lock()
		waiting = len(b.waiting)
		b.mu.Unlock()
	}
	first := &entry{make: func(*store.Tx) error { return nil }, done: make(chan error, 1)}
	if err := b.write(t.Context(), []*entry{first}); err != nil {
		t.Error(err)
	}
	all.Wait()
	if u, err := b.Spent(t.Context(), a); err != nil || u.Requests != 2 || u.InputTokens != 10 {
		t.Errorf("%+v, %v", u, err)
	}
}
