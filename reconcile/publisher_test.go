package reconcile

import (
	"fmt"
	"testing"
	"time"

	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/reconcile/retention"
)

// Questions are answered while the loop is at work on something long.
func TestQuestionsNeedNoLoop(t *testing.T) {
	h := newFixture(t)
	close(h.let)
	h.write("a.hcl", spec("x"))
	d := h.start()
	trial := d.untilState(t, "finished").Trials[0].ID
	begun, let := make(chan struct{}), make(chan struct{})
	released := make(chan error)
	go func() { released <- d.do(t.Context(), func() { close(begun); <-let }) }()
	<-begun
	ctx := t.Context()
	for name, ask := range map[string]func() error{
		"status":     func() error { _, err := d.Status(ctx, ""); return err },
		"runs":       func() error { _, err := d.RunsAfter(ctx, "", 10); return err },
		"run":        func() error { _, err := d.RunOf(ctx, "run.r"); return err },
		"executions": func() error { _, err := d.ExecutionsBefore(ctx, "run.r", 0, 10); return err },
		"trials": func() error {
			_, err := d.CellsAfter(ctx, query.CellFilter{Run: "run.r"}, query.CellKey{}, 10)
			return err
		},
		"lines":   func() error { _, err := d.Lines(ctx, "run.r", 1, 10); return err },
		"records": func() error { _, err := d.Records(ctx, trial); return err },
		"report":  func() error { _, err := d.Summaries.Report(ctx, "run.r"); return err },
		"specs":   func() error { _, err := d.SpecsAfter(ctx, "", 10); return err },
		"tasks":   func() error { _, err := d.TasksAfter(ctx, "", "", 10); return err },
		"harness": func() error { _, _, err := d.Foreign.Harness(ctx, "run.r"); return err },
		"images":  func() error { _, err := d.Retention.Collect(ctx, retention.Sweep{Dry: true}); return err },
	} {
		answered := make(chan error)
		go func() { answered <- ask() }()
		select {
		case err := <-answered:
			check(t, err)
		case <-time.After(patience):
			t.Errorf("%s waits for the loop", name)
		}
	}
	close(let)
	check(t, <-released)
}

// A page of runs is read from where it begins: the rows read do not depend on how many runs there are.
func TestAPageOfRunsCostsThePage(t *testing.T) {
	read := map[int]int64{}
	for _, runs := range []int{20, 200} {
		h := newFixture(t)
		text := benchmarkSpec
		for i := range runs {
			text += fmt.Sprintf("run \"r%03d\" {\n tasks = [benchmark.edge]\n schedule = \"0 0 1 1 *\"\n agent \"nop\" {}\n}\n", i)
		}
		h.write("a.hcl", text)
		d := h.start()
		d.untilDeclared(t, runs)
		before := h.store.Work().Queries
		page, err := d.RunsAfter(t.Context(), "run.r015", 3)
		check(t, err)
		if len(page) != 3 || page[0].Address != "run.r016" {
			t.Errorf("%+v", page)
		}
		read[runs] = h.store.Work().Queries - before
		d.stop()
	}
	if read[20] != read[200] {
		t.Errorf("queries of a page by runs: %v", read)
	}
}

// untilDeclared waits until so many runs are declared: a young file is given time.
func (d *daemon) untilDeclared(t *testing.T, runs int) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; <-time.After(2 * time.Millisecond) {
		all, err := d.RunsAfter(t.Context(), "", runs)
		check(t, err)
		if len(all) == runs {
			return
		}
		if !time.Now().Before(deadline) {
			t.Fatalf("%d of %d runs are declared", len(all), runs)
		}
	}
}
