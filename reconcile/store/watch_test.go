package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/assayd/assayd/reconcile/store/change"
)

func appendRecord(spec string) func(*Tx) error {
	return func(tx *Tx) error {
		_, err := tx.AppendLine(StreamRef{Spec: spec, Root: "/r", Path: "/r/" + spec}, Envelope{Type: "x"}, nil)
		return err
	}
}

func seen(t *testing.T, w *change.Watcher) change.Touched {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	touched, err := w.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return touched
}

func TestAWatcherHearsWhatCommitsTouch(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	w := s.Watch()
	defer w.Close()
	do(t, s, func(tx *Tx) error { return plant(tx, cell("t", "working")) })
	do(t, s, appendRecord("run.b"))
	do(t, s, appendRecord("status:/r/a.hcl"))
	do(t, s, func(tx *Tx) error { return tx.PutMeta("k", "v") }) // which is nobody's business
	touched := seen(t, w)
	want := map[string]change.What{"run.a": change.Cells, "t": change.Cells, "run.b": change.Records, change.SpecFiles: change.Records}
	if !maps.Equal(touched.Topics, want) || touched.All {
		t.Errorf("%+v", touched)
	}
	if now := read(t, s, (*Tx).Last); touched.N != now || now == 0 {
		t.Errorf("change %d of %d", touched.N, now)
	}
	failed := errors.New("no")
	if err := s.Do(t.Context(), func(tx *Tx) error { return errors.Join(appendRecord("run.a")(tx), failed) }); !errors.Is(err, failed) {
		t.Fatal(err)
	}
	do(t, s, func(tx *Tx) error {
		id, err := tx.InsertExchange(ExchangeRow{Spec: "run.a", Execution: 1, Trial: "t", Try: 1, Input: 1})
		return errors.Join(err, tx.UpdateExchange(id, ExchangeRow{Input: 3}))
	})
	if touched := seen(t, w); !maps.Equal(touched.Topics, map[string]change.What{"run.a": change.Usage, "t": change.Usage}) {
		t.Errorf("after an exchange %+v", touched)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if _, err := w.Next(stopped); !errors.Is(err, context.Canceled) {
		t.Errorf("without a commit: %v", err)
	}
}

// What a slow watcher is kept has a bound.
func TestAWatcherWhoDoesNotLookIsToldThatAllMayHaveChanged(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	w := s.Watch()
	defer w.Close()
	do(t, s, func(tx *Tx) error {
		for i := range change.MaxTopics {
			if err := appendRecord(fmt.Sprintf("run.r%d", i))(tx); err != nil {
				return err
			}
		}
		return nil
	})
	do(t, s, appendRecord("run.other"))
	do(t, s, appendRecord("run.another"))
	if touched := seen(t, w); !touched.All || touched.Topics != nil || touched.N != read(t, s, (*Tx).Last) {
		t.Errorf("%d topics, all %t, change %d", len(touched.Topics), touched.All, touched.N)
	}
	do(t, s, appendRecord("run.r1"))
	if touched := seen(t, w); touched.All || len(touched.Topics) != 1 {
		t.Errorf("after that %+v", touched)
	}
}

// Numbers of changes rise over all streams and over restarts, and lines have one each.
func TestChangesAreNumberedOverAllStreams(t *testing.T) {
	dir := t.TempDir()
	var last int64
	for range 3 {
		s, err := Open(t.Context(), dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range []string{"run.a", "run.b", "run.a"} {
			do(t, s, appendRecord(spec))
		}
		numbers := read(t, s, func(tx *Tx) ([]int64, error) {
			return list(tx, func(r row) (n int64, err error) { return n, r.Scan(&n) }, "SELECT n FROM lines WHERE n > ? ORDER BY n", last)
		})
		if len(numbers) != 3 || !slices.IsSorted(numbers) {
			t.Errorf("after %d come %d", last, numbers)
		}
		last = read(t, s, (*Tx).Last)
		if last != numbers[2] {
			t.Errorf("the last is %d, not %d", last, numbers[2])
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// Who was away is told everything that changed meanwhile, whenever that was and however often the
// store was opened since.
func TestNothingThatChangedIsMissed(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir := t.TempDir()
		s, err := Open(t.Context(), dir, Options{})
		if err != nil {
			rt.Fatal(err)
		}
		defer func() { _ = s.Close() }()
		at, missed := int64(0), map[string]bool{}
		for range rapid.IntRange(1, 15).Draw(rt, "steps") {
			name := rapid.SampledFrom([]string{"run.a", "run.b", "t", "u"}).Draw(rt, "of")
			switch rapid.SampledFrom([]string{"change", "change", "look", "restart"}).Draw(rt, "step") {
			case "look":
				touched := read(t, s, func(tx *Tx) (change.Touched, error) { return tx.TouchedSince(at, 100) })
				for topic := range missed {
					if touched.Topics[topic] == 0 {
						rt.Fatalf("%s changed after %d, told is %v", topic, at, touched.Topics)
					}
				}
				for topic := range touched.Topics {
					if !missed[topic] {
						rt.Fatalf("%s has not changed after %d", topic, at)
					}
				}
				at, missed = touched.N, map[string]bool{}
			case "restart":
				if err := s.Close(); err != nil {
					rt.Fatal(err)
				}
				if s, err = Open(t.Context(), dir, Options{}); err != nil {
					rt.Fatal(err)
				}
			case "change":
				if name == "t" || name == "u" {
					do(t, s, func(tx *Tx) error { return plant(tx, cell(name, "working")) })
					missed["run.a"] = true
				} else {
					do(t, s, appendRecord(name))
				}
				missed[name] = true
			}
		}
		if _, err := func() (touched change.Touched, err error) {
			err = s.View(t.Context(), func(tx *Tx) error { touched, err = tx.TouchedSince(1<<40, 10); return err })
			return touched, err
		}(); !errors.Is(err, ErrNotFound) {
			rt.Fatalf("a change that is yet to come: %v", err)
		}
	})
}

func TestTooMuchThatWasMissedIsAll(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	do(t, s, func(tx *Tx) error {
		for i := range 11 {
			if err := plant(tx, cell(fmt.Sprintf("t%d", i), "working")); err != nil {
				return err
			}
		}
		return nil
	})
	if touched := read(t, s, func(tx *Tx) (change.Touched, error) { return tx.TouchedSince(0, 10) }); !touched.All || touched.Topics != nil {
		t.Errorf("%+v", touched)
	}
	if touched := read(t, s, func(tx *Tx) (change.Touched, error) { return tx.TouchedSince(0, 12) }); touched.All || len(touched.Topics) != 12 {
		t.Errorf("%+v", touched)
	}
}

// Sums of what models take are those of the exchanges, also of those that an earlier version stored.
func TestSumsAreThoseOfTheExchanges(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		run++
		spec := fmt.Sprintf("run.r%d", run)
		var ids []int64
		var rows []ExchangeRow
		for range rapid.IntRange(1, 12).Draw(rt, "exchanges") {
			x := ExchangeRow{
				Spec: spec, Execution: 1, Trial: rapid.SampledFrom([]string{"t", "u"}).Draw(rt, "trial"), Try: rapid.IntRange(1, 2).Draw(rt, "try"),
				Input: rapid.Int64Range(0, 1000).Draw(rt, "input"), USD: float64(rapid.IntRange(0, 100_000).Draw(rt, "usd")) / 1e6,
			}
			switch rapid.SampledFrom([]string{"begin", "end", "earlier"}).Draw(rt, "step") {
			case "begin":
				do(t, s, func(tx *Tx) error {
					id, err := tx.InsertExchange(x)
					ids, rows = append(ids, id), append(rows, x)
					return err
				})
			case "end":
				if len(ids) > 0 {
					at := rapid.IntRange(0, len(ids)-1).Draw(rt, "at")
					rows[at].Input, rows[at].USD = x.Input, x.USD
					do(t, s, func(tx *Tx) error { return tx.UpdateExchange(ids[at], x) })
				}
			case "earlier": // it kept no sums
				do(t, s, func(tx *Tx) error { _, err := tx.exec("DELETE FROM spent WHERE spec = ?", spec); return err })
			}
		}
		var want Spent
		units := 0
		for _, x := range rows {
			want.Exchanges++
			want.Input += x.Input
			units += int(x.USD*1e6 + 0.5)
		}
		want.USD = float64(units) / 1e6
		if got := read(t, s, func(tx *Tx) (Spent, error) { return tx.SpentByExecution(spec, 1) }); got != want {
			rt.Fatalf("the execution spent %+v, not %+v", got, want)
		}
		var tries Spent
		for _, trial := range []string{"t", "u"} {
			for try := 1; try <= 2; try++ {
				s := read(t, s, func(tx *Tx) (Spent, error) { return tx.SpentByTry(spec, 1, trial, try) })
				tries.Exchanges += s.Exchanges
				tries.Input += s.Input
			}
		}
		if tries.Exchanges != want.Exchanges || tries.Input != want.Input {
			rt.Fatalf("the tries spent %+v, not %+v", tries, want)
		}
	})
}
