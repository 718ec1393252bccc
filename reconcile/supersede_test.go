package reconcile

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/agent"
	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/trial"
)

// counted are the ids that the records of run.r count in its last execution, as the jq line of
// the page on records does: the last of a trial's records decides.
func (h *fixture) counted() []string {
	h.t.Helper()
	counts, last := map[string]bool{}, 0
	err := h.store.View(h.t.Context(), func(tx *store.Tx) error {
		stream, err := tx.Stream("run.r")
		if err != nil {
			return err
		}
		lines, err := tx.LinesFrom(stream.ID, 1, 10_000)
		for _, l := range lines {
			var x struct {
				Type, Trial, Execution string
				Final                  bool
			}
			err = errors.Join(err, json.Unmarshal(l.Data, &x))
			var n int
			if _, wrong := fmt.Sscanf(x.Execution, "e%d", &n); wrong == nil && n > last {
				last = n
				clear(counts)
			}
			switch {
			case x.Type == "trial.finished" && x.Final:
				counts[x.Trial] = true
			case x.Type == "trial.superseded":
				delete(counts, x.Trial)
			}
		}
		return err
	})
	check(h.t, err)
	all := []string{}
	for id := range counts {
		all = append(all, id)
	}
	slices.Sort(all)
	return all
}

// numbers are what everything that counts trials of run.r says; they are to be the same.
func (h *fixture) numbers(d *daemon, run query.RunStatus) {
	h.t.Helper()
	want := h.counted()
	if run.Summary == nil || run.Summary.Total != len(want) {
		h.t.Errorf("the status counts %+v, the records %v", run.Summary, want)
	}
	report, err := d.Summaries.Report(h.t.Context(), "run.r")
	if err != nil || report.Summary.Total != len(want) {
		h.t.Errorf("the report counts %d, the records %v: %v", report.Summary.Total, want, err)
	}
	record, err := history.Records(h.t.Context(), h.store, "run.r", 0)
	check(h.t, err)
	var exported []string
	for _, t := range record.Trials {
		exported = append(exported, t.ID)
	}
	if diff := cmp.Diff(want, exported); diff != "" {
		h.t.Errorf("trials of the records and of exports (-records +exports):\n%s", diff)
	}
}

func TestWhatAnEditReplacesIsInNoNumber(t *testing.T) {
	h := newFixture(t)
	close(h.let)
	first := spec("x", "y")
	second := strings.Replace(spec("x"), `"do it"`, `"do it well"`, 1)
	h.write("a.hcl", first)
	d := h.start()
	d.untilState(t, "finished")
	h.write("a.hcl", second)
	d.look(t)
	done := func(n, superseded int) func(query.RunStatus) bool {
		return func(r query.RunStatus) bool {
			marked := 0
			for _, x := range r.Trials {
				if x.Superseded {
					marked++
				}
			}
			return r.State == "finished" && len(r.Trials) == n && marked == superseded
		}
	}
	run := d.until(t, "edited", done(3, 2))
	h.numbers(d, run)
	if run.Summary.Total != 1 {
		t.Errorf("%d trials count, want the one of the edited task", run.Summary.Total)
	}
	h.write("a.hcl", first)
	d.look(t)
	run = d.until(t, "as it was", done(3, 1))
	h.numbers(d, run)
	if run.Summary.Total != 2 || run.Summary.Resolved != 2 {
		t.Errorf("after the edit was taken back: %+v", run.Summary.Counts)
	}
	d.stop()
	before := h.records()
	d = h.start()
	h.numbers(d, d.untilState(t, "finished"))
	if after := h.records(); after != before {
		t.Errorf("a restart records\n%s\nafter\n%s", after, before)
	}
}

// An earlier version left no marks: what counts is found once, and until then by those who only read.
func TestSupersededTrialsOfAnEarlierVersionAreMarkedOnce(t *testing.T) {
	h := newFixture(t)
	cell := func(agentName, instruction string) trial.Cell {
		return trial.Cell{Task: task.Task{Benchmark: "edge", Name: "one", Instruction: instruction}, Agent: agent.Agent{Name: agentName}, Attempt: 1}
	}
	put := func(c trial.Cell, status trial.Status, unwanted bool, detail string) {
		check(t, h.store.Do(t.Context(), func(tx *store.Tx) error {
			s := trial.State{
				ID: trial.ID("r", 1, c.Key()), Spec: "run.r", Execution: 1, Key: c.Key(), Cell: c, Try: 1, Phase: trial.Done, Unwanted: unwanted,
				Result: &trial.Finished{Trial: trial.ID("r", 1, c.Key()), Final: true, Status: status, Detail: detail},
			}
			data, err := json.Marshal(s)
			if err != nil {
				return err
			}
			return errors.Join(
				tx.PutExecution(store.ExecutionRow{Spec: "run.r", N: 1, Trigger: "accepted", StartedAt: noon, SettledAt: noon, FinishedAt: noon}),
				tx.PutTrial(store.TrialRow{ID: s.ID, Spec: "run.r", Execution: 1, Cell: s.Key, Try: 1, Phase: "done", Status: string(status), Wanted: !unwanted, Data: data, FinishedAt: noon}))
		}))
	}
	check(t, h.store.Do(t.Context(), func(tx *store.Tx) error {
		_, err := tx.AppendLine(store.StreamRef{Spec: "run.r", Root: h.specs, Path: h.specs + "/a.run.r.jsonl"}, store.Envelope{Type: "run.started", Execution: 1}, nil)
		return err
	}))
	put(cell("mine", "first"), trial.Unresolved, false, "")
	put(cell("mine", "second"), trial.Resolved, false, "")
	put(cell("other", "first"), trial.Resolved, false, "")
	put(cell("taken", "first"), trial.Cancelled, true, plan.NoLongerWanted+"; it ran")
	put(cell("ended", "first"), trial.Cancelled, true, "the block is gone; it ran")
	want := []string{
		trial.ID("r", 1, cell("mine", "second").Key()), trial.ID("r", 1, cell("other", "first").Key()), trial.ID("r", 1, cell("ended", "first").Key()),
	}
	slices.Sort(want)
	ids := func() (all []string) {
		record, err := history.Records(t.Context(), h.store, "run.r", 1)
		check(t, err)
		for _, x := range record.Trials {
			all = append(all, x.ID)
		}
		return all
	}
	if diff := cmp.Diff(want, ids()); diff != "" {
		t.Errorf("before a daemon has marked them (-want +got):\n%s", diff)
	}
	for range 2 {
		h.start().stop()
		if diff := cmp.Diff(want, ids()); diff != "" {
			t.Errorf("when a daemon has marked them (-want +got):\n%s", diff)
		}
		if got := h.records(); got != "run.started trial.superseded trial.superseded" {
			t.Errorf("the records are %s", got)
		}
	}
}
