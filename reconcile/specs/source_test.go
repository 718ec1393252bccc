package specs

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/reconcile/store/storetest"
)

const agentFile = "agent \"a\" { command = \"x\" }\n"

// runFile declares a benchmark and run.r.
const runFile = agentFile + `
benchmark "edge" {
  task "one" {
    image       = "work:1"
    instruction = "do it"
    judge {
      image   = "judge:1"
      command = "true"
      parser  = "pytest"
    }
  }
}
run "r" {
  tasks = [benchmark.edge]
  agent "nop" {}
}
`

// fixture is a source of one watched folder, and what it had adopted.
type fixture struct {
	*Source
	root    string
	kept    *store.Store
	adopted []Change
	refuse  error // of Adopt
	open    bool  // whether runs have not come to their end
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{root: t.TempDir(), kept: storetest.Open(t), open: true}
	f.again()
	return f
}

// again makes the source that the next daemon has.
func (f *fixture) again() {
	f.Source = New(Options{
		Store: f.kept, Config: config.Options{Mined: config.NewMined()}, Roots: []string{f.root}, Log: slog.New(slog.DiscardHandler),
		Adopt: func(_ context.Context, _ *config.Set, since Change) error {
			f.adopted = append(f.adopted, since)
			return f.refuse
		},
		Open: func(_ context.Context, blocks config.Blocks) (bool, error) {
			return f.open && len(blocks.Runs) > 0, nil
		},
		Do: func(_ context.Context, g func()) error {
			g()
			return nil
		},
		Heartbeat: func() {},
	})
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// reported are the types of the records about files, in order.
func (f *fixture) reported(t *testing.T) string {
	t.Helper()
	var types []string
	for _, path := range []string{"a.hcl", "b.hcl"} {
		path = filepath.Join(f.root, path)
		if err := f.kept.View(t.Context(), func(tx *store.Tx) error {
			text, err := tx.Meta(toldKey(path))
			if text != "" {
				types = append(types, filepath.Base(path))
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	return strings.Join(types, " ")
}

func TestWhatIsValidIsAcceptedAndInForce(t *testing.T) {
	f := newFixture(t)
	put(t, filepath.Join(f.root, "a.hcl"), runFile)
	f.Rescan(t.Context(), All)
	if f.Set() == nil || f.InForce() != f.Set() || f.Set().Run("r") == nil || f.Blind() != "" {
		t.Fatalf("in force is %v; %s", f.Set(), f.Blind())
	}
	if s := f.Stream("run.r"); s.Path != filepath.Join(f.root, "a.run.r.jsonl") || s.Root != f.root {
		t.Errorf("results go to %+v", s)
	}
	if got := f.reported(t); got != "a.hcl" {
		t.Errorf("reported is %q", got)
	}
	put(t, filepath.Join(f.root, "b.hcl"), "run {")
	f.Rescan(t.Context(), All)
	if !f.Set().Diagnostics.HasErrors() || f.Set().Run("r") == nil {
		t.Errorf("with a file that is wrong: %v", f.Set().Diagnostics)
	}
	if stored, err := f.Accepted(t.Context()); err != nil || len(stored) != 1 {
		t.Errorf("stored are %v, %v", stored, err)
	}
}

// What could not be adopted is not in force, and the next scan adopts it.
func TestASetThatIsNotAdoptedIsNotInForce(t *testing.T) {
	f := newFixture(t)
	put(t, filepath.Join(f.root, "a.hcl"), agentFile)
	f.Rescan(t.Context(), All)
	before := f.Set()
	put(t, filepath.Join(f.root, "a.hcl"), runFile)
	f.refuse = errors.New("the disk is full")
	f.Rescan(t.Context(), All)
	if f.Set() != before || f.InForce() != before || !strings.Contains(f.Blind(), "the disk is full") || f.Next().IsZero() {
		t.Errorf("in force is %v; %q", f.Set(), f.Blind())
	}
	f.refuse = nil
	f.Rescan(t.Context(), All)
	if f.Set().Run("r") == nil || f.Blind() != "" {
		t.Errorf("in force is %v; %q", f.Set(), f.Blind())
	}
	if last := f.adopted[len(f.adopted)-1]; last.Last != before {
		t.Errorf("the set before is %v", last.Last)
	}
}

func TestFilesThatAreHandedInStayUntilTheyAreWithdrawn(t *testing.T) {
	f := newFixture(t)
	f.Rescan(t.Context(), nil)
	path := filepath.Join(t.TempDir(), "r.hcl")
	put(t, path, "run {")
	if addresses, ds, added, err := f.Submit(t.Context(), []string{path}); err != nil || added || len(addresses) > 0 || !ds.HasErrors() {
		t.Errorf("what is wrong: %v, %v, %v, %v", addresses, ds, added, err)
	}
	put(t, path, runFile)
	addresses, ds, added, err := f.Submit(t.Context(), []string{path})
	if err != nil || !added || ds.HasErrors() || !slices.Equal(addresses, []string{"run.r"}) {
		t.Fatalf("%v, %v, %v, %v", addresses, ds, added, err)
	}
	f.again() // its run is open
	f.Rescan(t.Context(), nil)
	put(t, path, "")
	if f.Rescan(t.Context(), All); f.Set().Run("r") != nil {
		t.Error("a file of an open submission is not read again")
	}
	put(t, path, runFile)
	f.Rescan(t.Context(), All)
	f.again()
	f.open = false // and now it is over: what it said stays known, whatever the file says
	put(t, path, "")
	f.Rescan(t.Context(), nil)
	if f.Set().Run("r") == nil {
		t.Error("what a submission said that is over is not known")
	}
	if err := f.Withdraw(t.Context(), []string{path}); err != nil || f.Set().Run("r") != nil {
		t.Errorf("after it was withdrawn: %v, %v", f.Set().Blocks.Runs, err)
	}
}

func TestARehearsalChangesNothing(t *testing.T) {
	f := newFixture(t)
	put(t, filepath.Join(f.root, "a.hcl"), agentFile)
	f.Rescan(t.Context(), All)
	before, times := f.Set(), len(f.adopted)
	in := config.Input{Path: filepath.Join(f.root, "a.hcl"), Display: "a.hcl", Text: []byte(runFile)}
	var run *config.Run
	err := f.Rehearse(t.Context(), []config.Input{in}, config.Options{Mined: config.NewMined()}, func(there Rehearsed) error {
		run = there.Set.Run("r")
		return nil
	})
	if err != nil || run == nil {
		t.Errorf("%v, %v", run, err)
	}
	if f.Set() != before || len(f.adopted) != times {
		t.Error("it was accepted")
	}
}

// Who only reads has the set that was accepted last.
func TestWhatWasAcceptedLastIsInForceWithoutALook(t *testing.T) {
	f := newFixture(t)
	put(t, filepath.Join(f.root, "a.hcl"), runFile)
	f.Rescan(t.Context(), All)
	if err := os.Remove(filepath.Join(f.root, "a.hcl")); err != nil {
		t.Fatal(err)
	}
	f.again()
	if err := f.Resume(t.Context()); err != nil || f.Set().Run("r") == nil || len(f.Set().Diagnostics) > 0 {
		t.Errorf("%v, %v", f.Set(), err)
	}
	if set, err := InForce(t.Context(), f.kept, config.Options{}); err != nil || set.Run("r") == nil {
		t.Errorf("%v, %v", set, err)
	}
}
