package miningspec

import (
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/ledger"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/mining"
	"github.com/assayd/assayd/runtime/mining/github"
)

// A daemon that begins finds a run over a block that is gone.
func TestARunDoesNotGrowByABlockThatIsGone(t *testing.T) {
	set := &config.Set{}
	set.Blocks.Runs = []config.Run{{Tasks: []config.Ref{{Kind: "mining", Name: "x"}}}}
	for _, c := range []struct{ known, grows bool }{{true, true}, {false, false}} { // known: its grace is not over
		m := New(Options{Mined: config.NewMined()})
		m.known = map[string]bool{"mining.x": c.known}
		if m.Declare(t.Context(), set); m.o.Mined.Grows("x") != c.grows {
			t.Errorf("known %v: the run grows: %v", c.known, !c.grows)
		}
	}
}

// What ended was the spec as it was: as it is declared now it goes on.
func TestARunGrowsOnWhenMiningEndsDuringAnEdit(t *testing.T) {
	now := &config.Mining{Block: config.Block{Kind: "mining", Name: "x", Generation: "now"}}
	for generation, grows := range map[string]bool{"before": true, "now": false} {
		var due, grown []string
		m := New(Options{
			Mined: config.NewMined(), Log: slog.New(slog.DiscardHandler), Spec: func(string) *config.Mining { return now },
			Due: func(address string) { due = append(due, address) }, Grown: func(name string) { grown = append(grown, name) },
		})
		m.live["mining.x"] = &live{generation: generation}
		m.ended("mining.x", true, "enough")
		if got := m.o.Mined.Grows("x"); got != grows || (len(grown) == 0) != grows {
			t.Errorf("what ended is %q: the run grows: %v, and is told so %v", generation, got, grown)
		}
		if m.Works("mining.x") || len(due) != 1 {
			t.Errorf("what ended is %q: it works: %v, looked at are %v", generation, m.Works("mining.x"), due)
		}
	}
}

// Each work that is stopped is that of the spec, or all.
func TestWorkIsStoppedByAddress(t *testing.T) {
	for address, want := range map[string]int{"mining.x": 1, "mining.z": 0, "": 2} {
		m, stopped := New(Options{}), 0
		for _, at := range []string{"mining.x", "mining.y"} {
			m.live[at] = &live{stop: func() { stopped++ }}
		}
		if m.Stop(address); stopped != want {
			t.Errorf("%q stops %d", address, stopped)
		}
	}
}

// What was mined is known to those who compile runs, also before a spec is declared.
func TestWhatWasMinedIsLoaded(t *testing.T) {
	s := openStore(t)
	put := func(task, data string) {
		t.Helper()
		check(t, s.Do(t.Context(), func(tx *store.Tx) error {
			return tx.PutMined(store.MinedRow{Spec: "mining.x", Task: task, Data: []byte(data)})
		}))
	}
	put("one", `{"Name":"one"}`)
	mined := config.NewMined()
	if err := LoadMined(t.Context(), s, mined); err != nil || len(mined.Tasks("x")) != 1 {
		t.Errorf("known are %v, %v", mined.Tasks("x"), err)
	}
	put("two", `[]`)
	if err := LoadMined(t.Context(), s, config.NewMined()); err == nil {
		t.Error("a task that cannot be read is no error")
	}
}

// A pull request has one record between two edits or reruns, and another only where it is taken up
// again; it is counted once, as it was decided last.
func TestAPullRequestHasOneRecordUntilItIsTakenUpAgain(t *testing.T) {
	for reason, again := range map[string]int{mining.ReasonEnough: 1, mining.ReasonBudget: 1, "low_quality": 0} {
		t.Run(reason, func(t *testing.T) {
			s := openStore(t)
			m := New(Options{Store: s, Mined: config.NewMined(), Grown: func(string) {}})
			spec := config.Mining{Block: config.Block{Kind: "mining", Name: "x", Generation: "g"}}
			book := &ledger.Mining{Store: s, Spec: spec, Log: slog.New(slog.DiscardHandler), Stream: store.StreamRef{Spec: spec.Address(), Root: s.Dir(), Path: filepath.Join(s.Dir(), "x.jsonl")}}
			ref := github.Ref{Repo: "acme/shop", Number: 1}
			for life := range 3 {
				check(t, m.renew(t.Context(), spec, ledger.MiningState{Generation: spec.Generation, Over: life > 0}, nil))
				for range 2 { // the source tells of it twice, and it is decided twice
					check(t, book.Find(t.Context(), []mining.Found{{Ref: ref}}, mining.Mark{}))
					check(t, book.Decide(t.Context(), mining.Decision{Ref: ref, Verdict: mining.Rejected, Stage: mining.StageEnrich, Reason: reason}))
				}
				var lines []store.Line
				check(t, s.View(t.Context(), func(tx *store.Tx) error {
					stream, err := tx.Stream(spec.Address())
					if err == nil {
						lines, err = tx.LinesFrom(stream.ID, 1, 100)
					}
					return err
				}))
				if want := 1 + life*again; len(lines) != want {
					t.Errorf("there are %d records in life %d, not %d", len(lines), life, want)
				}
				c, err := book.Counts(t.Context())
				if err != nil || c.Open != 0 || c.Total() != 0 || c.Ended[mining.StageEnrich][mining.Rejected] != 1 {
					t.Errorf("in life %d it is counted as %+v, %v", life, c, err)
				}
			}
		})
	}
}

func openStore(t *testing.T) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "s"), store.Options{})
	check(t, err)
	t.Cleanup(func() { check(t, s.Close()) })
	return s
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
