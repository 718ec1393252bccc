package plan

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/runtime/trial"
)

// anyTrial is a trial of a cell of that name, in any state that a store can have.
func anyTrial(t *rapid.T, name string) Trial {
	x := known(name, slotAs(rapid.SampledFrom([]string{"a", "b", name}).Draw(t, "slot")), try(rapid.IntRange(1, 4).Draw(t, "try")))
	yes := rapid.Bool()
	switch rapid.SampledFrom([]string{"left", "live", "ended", "ended", "ended"}).Draw(t, "state") {
	case "live":
		x.Live, x.Cancelled = true, yes.Draw(t, "cancelled")
	case "ended":
		ended(rapid.SampledFrom([]trial.Status{trial.Resolved, trial.InfraError, trial.Cancelled}).Draw(t, "status"), ago(time.Duration(rapid.IntRange(0, 20).Draw(t, "ago"))*time.Second))(&x)
		x.Unwanted, x.Superseded, x.Again, x.Funded = yes.Draw(t, "unwanted"), yes.Draw(t, "superseded"), yes.Draw(t, "again"), yes.Draw(t, "funded")
	}
	return x
}

// What is followed trial by trial gives the plan that all trials together give, however often each
// of them changes.
func TestAnIndexOfCellsPlansAsAllTrialsDo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := wantedRun(rapid.StringMatching(`a?b?c?d?e?`).Draw(t, "cells"), parallel(rapid.IntRange(1, 4).Draw(t, "parallel")))
		d.Stagger = time.Duration(rapid.IntRange(0, 2).Draw(t, "stagger")) * time.Hour
		if rapid.IntRange(0, 9).Draw(t, "declared") == 0 {
			d = nil
		}
		e := execution(1)
		e.Finished, e.Cancelled = rapid.Bool().Draw(t, "finished"), rapid.IntRange(0, 4).Draw(t, "cancelled") == 0
		index, all := NewCellIndex(d, e), map[string]Trial{}
		for range rapid.IntRange(0, 12).Draw(t, "changes") {
			x := anyTrial(t, rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "x"}).Draw(t, "trial"))
			if before, known := all[x.ID]; known {
				x.Slot = before.Slot // an edit makes another cell, not another slot
			}
			all[x.ID] = x
			index.Put(x)
		}
		o := Observed{Execution: e, GoneSince: ago(30 * time.Second)}
		got := index.Worklist(o).Diff("run.r", d, noon)
		for _, x := range all {
			o.Trials = append(o.Trials, x)
		}
		slices.SortFunc(o.Trials, func(a, b Trial) int { return strings.Compare(a.ID, b.ID) })
		if diff := cmp.Diff(Diff("run.r", d, o, noon).String(), got.String()); diff != "" {
			t.Fatalf("plan (-from all +from the index):\n%s", diff)
		}
		if d != nil && len(index.asking) > len(all) {
			t.Fatalf("%d trials ask, of %d", len(index.asking), len(all))
		}
	})
}

// A run that gets a task is as one that had it from the beginning. Its other cells are not made again,
// and its trials are not read again.
func TestARunGrowsByItsNewTasksAlone(t *testing.T) {
	for _, attempts := range []int{1, 3} {
		t.Run(fmt.Sprint(attempts, " attempts"), func(t *testing.T) { growsByItsNewTasks(t, attempts) })
	}
}

func growsByItsNewTasks(t *testing.T, attempts int) {
	t.Helper()
	text := "mining \"pulls\" {\n  provider = \"openai\"\n}\n" + fmt.Sprintf("run \"r\" {\n tasks = [mining.pulls]\n attempts = %d\n", attempts) + " agent \"nop\" {}\n agent \"nop\" { label = \"b\" }\n}\n"
	options := config.Options{
		Mined: config.NewMined(), Secret: func(string) (string, bool) { return "", true },
		Env: func(name string) (string, bool) { return "sk", name == "OPENAI_API_KEY" },
	}
	for _, name := range []string{"a-b-1", "a-b-2"} {
		options.Mined.Add("pulls", config.Imported{Name: name, Task: json.RawMessage(`{"Benchmark":"pulls","Name":"` + name + `","Image":"x"}`)})
	}
	set := config.Load([]config.Input{{Path: "/w/a.hcl", Display: "a.hcl", Root: "/w", Text: []byte(text)}}, nil, options)
	if set.Diagnostics.HasErrors() {
		t.Fatal(set.Diagnostics)
	}
	was, err := NewCompiler(set).Compile(set.Run("r"))
	if err != nil {
		t.Fatal(err)
	}
	index := NewCellIndex(was, execution(1))
	done := Trial{ID: trial.ID("r", 1, was.Cells()[0].Key), Key: was.Cells()[0].Key, Slot: was.Cells()[0].Slot(), Status: trial.Resolved, Final: true, Try: 1}
	index.Put(done)
	options.Mined.Add("pulls", config.Imported{Name: "a-b-3", Task: json.RawMessage(`{"Benchmark":"pulls","Name":"a-b-3","Image":"y"}`)})
	grown, err := NewCompiler(set).Grow(was, set.Run("r"))
	if err != nil {
		t.Fatal(err)
	}
	if grown.source != was.source {
		t.Error("all cells were made again")
	}
	whole, err := NewCompiler(set).Compile(set.Run("r"))
	if err != nil {
		t.Fatal(err)
	}
	keys := func(d *Run) (all []string) {
		for _, c := range d.Cells() {
			all = append(all, c.Key)
			if cell := c.Whole(); cell.Key() != c.Key {
				t.Errorf("a cell of %s has the key of another", cell.Task.Name)
			}
		}
		slices.Sort(all) // the grown run has the new cells last
		return all
	}
	if diff := cmp.Diff(keys(whole), keys(grown)); diff != "" || len(grown.Cells()) != 6*attempts {
		t.Errorf("cells (-whole +grown): %s", diff)
	}
	if diff := cmp.Diff(whole.Images, grown.Images); diff != "" {
		t.Errorf("images (-whole +grown): %s", diff)
	}
	if !index.grow(grown, execution(1)) {
		t.Error("its trials are read again")
	}
	want := Diff("run.r", grown, Observed{Execution: execution(1), Trials: []Trial{done}}, noon).String()
	if diff := cmp.Diff(want, index.Worklist(Observed{Execution: execution(1)}).Diff("run.r", grown, noon).String()); diff != "" {
		t.Errorf("plan (-all +grown): %s", diff)
	}
	options.Mined.Add("pulls", config.Imported{Name: "a-b-1", Task: json.RawMessage(`{"Benchmark":"pulls","Name":"a-b-1","Image":"z"}`)})
	other, err := NewCompiler(set).Grow(grown, set.Run("r"))
	if err != nil || other.source == grown.source || index.grow(other, execution(1)) {
		t.Errorf("a task is another now, and its run was taken for grown: %v", err)
	}
}
