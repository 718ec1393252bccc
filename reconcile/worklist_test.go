package reconcile

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/admission"
	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/history/historytest"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
	"github.com/assayd/assayd/runtime/gateway"
	"github.com/assayd/assayd/runtime/trial"
)

// plantEnded stores so many trials of an execution as resolved, in place of trials that were done.
func (h *fixture) plantEnded(d *plan.Run, n int, change ...func(*trial.State)) {
	h.t.Helper()
	check(h.t, h.store.Do(h.t.Context(), func(tx *store.Tx) error { return historytest.PutEnded(tx, d, n, change...) }))
}

// manyAttempts is run.r with so many attempts, one at a time.
func manyAttempts(n int) string {
	return benchmarkSpec + fmt.Sprintf("run \"r\" {\n tasks = [benchmark.edge]\n auto_eval = \"0s\"\n parallel = 1\n attempts = %d\n agent \"nop\" {}\n}\n", n)
}

// What a trial costs the store does not depend on how many are done.
func TestATrialCostsTheSameWhateverIsDone(t *testing.T) {
	const left = 4
	read := map[int]int64{}
	for _, done := range []int{20, 600} {
		h := newFixture(t)
		close(h.let)
		h.write("r.hcl", manyAttempts(done+left))
		set := loaded(t, manyAttempts(done+left))
		d, err := plan.Compile(set, *set.Run("r"))
		if err != nil {
			t.Fatal(err)
		}
		h.plantEnded(d, done)
		var mu sync.Mutex
		var begun []int64 // rows that were read when a trial began
		h.fake.Handle(func(ctx context.Context, c *containertest.FakeContainer) int {
			if c.Workload().Labels[container.LabelRole] == container.RoleWork {
				mu.Lock()
				begun = append(begun, h.store.Work().Rows)
				mu.Unlock()
				h.work(ctx, c)
			}
			<-ctx.Done()
			return 137
		})
		running := h.start()
		deadline := time.Now().Add(patience)
		for n := 0; n < left; <-time.After(2 * time.Millisecond) {
			mu.Lock()
			n = len(begun)
			mu.Unlock()
			if time.Now().After(deadline) {
				t.Fatal("the run does not go on")
			}
		}
		running.stop()
		read[done] = begun[left-1] - begun[1]
	}
	t.Logf("rows read for two trials, by trials done before: %v", read)
	if read[600] > read[20]+200 { // what goes on beside reads some, too
		t.Errorf("rows read for two trials, by trials done before: %v", read)
	}
}

// loaded is what a spec says, as a daemon would read it.
func loaded(t *testing.T, text string) *config.Set {
	t.Helper()
	set := config.Load([]config.Input{{Path: "r.hcl", Display: "r.hcl", Text: []byte(text)}}, nil, config.Options{})
	if set.Diagnostics.HasErrors() {
		t.Fatal(set.Diagnostics)
	}
	return set
}

// A trial that could not be paid for has a verdict that stands, until the run may spend more.
func TestWhatCouldNotBePaidForBeginsWhenTheBudgetIsRaised(t *testing.T) {
	h := newFixture(t)
	close(h.let)
	text := func(usd int) string {
		return benchmarkSpec + fmt.Sprintf("run \"r\" {\n tasks = [benchmark.edge]\n auto_eval = \"0s\"\n budget {\n total {\n usd = %d\n }\n }\n agent \"nop\" {}\n}\n", usd)
	}
	set := loaded(t, text(1))
	d, err := plan.Compile(set, *set.Run("r"))
	if err != nil {
		t.Fatal(err)
	}
	h.plantEnded(d, 1, func(s *trial.State) {
		s.Result = &trial.Finished{Trial: s.ID, Try: 1, Status: trial.Cancelled, Reason: gateway.OverUSD, Final: true}
	})
	h.write("r.hcl", text(2))
	running := h.start()
	run := running.untilTrials(t, "nop/2 resolved")
	if b := run.Budget; b == nil || b.USD != 2 {
		t.Errorf("it may spend %+v", b)
	}
	running.stop()
}

// What was observed of a run is no base for a plan once the run is another.
func TestAPlanIsMadeForTheRunThatWasObserved(t *testing.T) {
	h := newFixture(t)
	h.write("a.hcl", spec("x"))
	d := h.start()
	d.untilTrials(t, "x/1 running")
	check(t, d.do(t.Context(), func() {
		was := d.runs.desired["run.r"]
		delete(d.runs.desired, "run.r") // as when its file was away
		seen := d.observer.observe(t.Context(), []string{"run.r"})[0]
		d.runs.desired["run.r"] = was
		check(t, d.reconcile(t.Context(), "run.r", seen))
		for _, id := range d.trials.Of("run.r") {
			if _, cancelled, _ := d.trials.Driven(id); cancelled {
				t.Errorf("%s is cancelled", id)
			}
		}
	}))
	close(h.let)
	d.untilTrials(t, "x/1 resolved")
	d.stop()
}

// For what an execution was over is no answer where it ended without a block.
func TestAnExecutionThatEndedWithoutABlockIsReadAgain(t *testing.T) {
	d, fewer := &plan.Run{}, &plan.Run{}
	d.SetCells([]plan.Cell{{Key: "a"}, {Key: "b"}})
	fewer.SetCells(d.Cells()[:1])
	var e store.ExecutionRow
	check(t, history.EndFor(&e, d))
	if x, err := history.ExecutionOf(e); err != nil || x.Ended != d.Sum() || (plan.Execution{Finished: true, Ended: x.Ended}).Over(fewer) {
		t.Errorf("%+v, %v", x, err)
	}
	check(t, history.EndFor(&e, nil))
	if x, err := history.ExecutionOf(e); err != nil || x.Ended != "" || (plan.Execution{Finished: true}).Over(d) {
		t.Errorf("%+v, %v", x, err)
	}
}

// Who asks the loop waits for a few trials to begin, and not for all that a run may have at once. So it
// is after a crash, when all of them go on: what is stored of them is not stored again.
func TestALargeRunBeginsAFewTrialsATurn(t *testing.T) {
	h := newFixture(t)
	h.write("r.hcl", strings.Replace(manyAttempts(100), "parallel = 1", "parallel = 100", 1))
	h.more = func(o *Options) {
		o.Admission = admission.New(admission.Limits{CPUs: 1000, Memory: 1 << 40}, roomy, func() {})
	}
	begin := func(d *daemon) {
		t.Helper()
		for live, deadline := 0, time.Now().Add(patience); live < 100; {
			check(t, d.do(t.Context(), func() {
				before := d.trials.Len()
				d.pace.started = 0
				d.turn(t.Context())
				if live = d.trials.Len(); live > before+startsAtOnce {
					t.Errorf("%d trials began in one turn", live-before)
				}
			}))
			if time.Now().After(deadline) {
				t.Fatalf("%d trials live", live)
			}
		}
	}
	stored := func() map[string]time.Time {
		t.Helper()
		at := map[string]time.Time{}
		check(t, h.store.View(t.Context(), func(tx *store.Tx) error {
			rows, err := tx.Trials("run.r", 1)
			for _, row := range rows {
				at[row.ID] = row.UpdatedAt
			}
			return err
		}))
		return at
	}
	d := h.start()
	begin(d)
	d.until(t, "at work", func(r query.RunStatus) bool { return r.Cells[history.StateWorking] == 100 })
	d.stop()
	before := stored()
	d = h.start()
	begin(d)
	d.stop()
	if diff := cmp.Diff(before, stored()); diff != "" {
		t.Errorf("trials that go on are stored again (-before +after): %s", diff)
	}
}

// Of a hundred thousand cells two have keys that begin alike: each has a trial of its own.
func TestCellsWhoseKeysBeginAlikeHaveTrialsOfTheirOwn(t *testing.T) {
	h := newFixture(t)
	close(h.let)
	text := manyAttempts(2)
	h.write("r.hcl", text)
	set := loaded(t, text)
	d, err := plan.Compile(set, *set.Run("r"))
	check(t, err)
	first := d.Cells()[0].Key
	h.plantEnded(d, 1, func(s *trial.State) { s.Key = first[:8] + strings.Repeat("0", len(first)-8) }) // as if another cell had its name
	run := h.start().until(t, "finished with both", func(r query.RunStatus) bool { return r.State == "finished" && r.Cells[string(trial.Resolved)] == 2 })
	var names []string
	for _, x := range run.Trials {
		if x.Wanted {
			names = append(names, x.ID)
		}
	}
	want := []string{"r.e1." + first[:16], "r.e1." + d.Cells()[1].Key[:8]}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
