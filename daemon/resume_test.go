//go:build linux

package daemon_test

import (
	"errors"
	"strings"
	"testing"
)

// A container that was killed under its trial is started again from its own layer, the
// agent is resumed, and the clock goes on as if nothing had happened.
func TestAKilledContainerGoesOnFromItsLayer(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.write("r.hcl", w.benchmark()+w.agent("waiter", waiter)+w.run("resume", []string{`agent "waiter" {}`}, `timeout = "3m"`, `auto_eval = "0s"`))
	const file = "r.run.resume.jsonl"
	w.serve()
	started := w.recorded(file, "the trial's start", func(r record) bool { return r.Type == "trial.started" })
	id := started.Trial
	w.said(id, "waiting")
	first := w.body(id)

	w.strike(first.ID)
	w.said(id, "start 2")
	second := w.body(id)
	if second.ID != first.ID || !second.Started.After(first.Started) {
		t.Errorf("before %+v, after %+v; want another start of the same container", first, second)
	}
	w.recorded(file, "the kill", func(r record) bool { return r.Type == "trial.event" && r.Event == "engine_lost" })
	w.recorded(file, "the resume", func(r record) bool {
		return r.Type == "trial.resumed" && r.Count == 1 && r.Reason == "container_restart"
	})

	w.kill() // now with nobody there to see it
	w.strike(second.ID)
	w.serve()
	w.said(id, "start 3")
	w.letGo(id)
	run := w.settled("run.resume", patience)
	trial := run.Trials[0]
	if trial.Status != "resolved" || trial.Try != 1 || !trial.Deadline.Equal(started.Deadline) {
		t.Errorf("the trial is %s in try %d with the deadline %s; want resolved in try 1 by %s: %s", trial.Status, trial.Try, trial.Deadline, started.Deadline, trial.Detail)
	}
	all := w.history(file)
	w.oneVerdictEach(all)
	if resumed := ofType("trial.resumed", all); len(resumed) != 2 {
		t.Errorf("%d resumes are recorded, want 2", len(resumed))
	}
	w.noContainerIsLeft()
}

// strike kills the first process of a container and waits until it is dead.
func (w *fixture) strike(id string) {
	w.Helper()
	before := w.instance(id)
	if err := w.engine.Stop(w.Context(), id, 0); err != nil {
		w.Fatal(err)
	}
	w.until("the container was stopped", func() error {
		if now := w.instance(id); !now.FinishedAt.After(before.FinishedAt) {
			return errors.New("it runs")
		}
		return nil
	})
}

// A container that is gone, with its layer, costs a try and no more.
func TestALostContainerCostsOneTry(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.write("r.hcl", w.benchmark()+w.agent("waiter", waiter)+w.run("lost", []string{`agent "waiter" {}`}, `timeout = "3m"`, `auto_eval = "0s"`))
	const file = "r.run.lost.jsonl"
	w.serve()
	started := w.recorded(file, "the trial's start", func(r record) bool { return r.Type == "trial.started" })
	w.said(started.Trial, "waiting")
	if err := w.engine.Remove(w.Context(), w.body(started.Trial).ID); err != nil {
		t.Fatal(err)
	}
	failed := w.recorded(file, "the first try's end", func(r record) bool { return r.Type == "trial.finished" })
	if failed.Try != 1 || failed.Final || failed.Status != "infra_error" || failed.Reason != "guest_lost" {
		t.Errorf("the first try ended as %+v", failed)
	}
	w.recorded(file, "the second try", func(r record) bool { return r.Type == "trial.started" && r.Try == 2 })
	w.letGo(started.Trial)
	trial := w.settled("run.lost", patience).Trials[0]
	if trial.Status != "resolved" || trial.Try != 2 {
		t.Errorf("the trial is %s in try %d, want resolved in try 2: %s", trial.Status, trial.Try, trial.Detail)
	}
	for _, r := range ofType("submission", w.history(file)) {
		if strings.HasPrefix(r.Round, "auto") {
			t.Errorf("there is a round %s", r.Round)
		}
	}
	w.oneVerdictEach(w.history(file))
	w.noContainerIsLeft()
}
