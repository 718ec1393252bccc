package reconcile

import (
	"strings"
	"testing"
)

// Reading contexts anew, for a rerun or a reload, never touches an execution that runs.
func TestAnOpenExecutionKeepsItsContexts(t *testing.T) {
	h := newHouse(t)
	put(t, h.specs, "extra/a.txt", "first")
	h.write("a.hcl", strings.Replace(spec("x"), `image       = "work:1"`, "image = \"work:1\"\n    solution {\n      context = \"extra\"\n    }", 1))
	h.write("b.hcl", `agent "mine" {
  dir     = "extra"
  command = "work"
}
`)
	d := h.start()
	d.untilTrials(t, "x/1 running")
	digests := func() (inUse, idle string) {
		set := d.shown.Load()
		return set.Benchmark("edge").Tasks[0].Solution.Context.Digest, set.Agent("mine").Dir.Digest
	}
	benchmark, agent := digests()
	put(t, h.specs, "extra/b.txt", "second")
	check(t, d.Look(t.Context(), true))
	inUse, idle := digests()
	if inUse != benchmark {
		t.Error("the context of a run that runs was read anew")
	}
	if idle == agent {
		t.Error("the folder of an agent that nobody uses was not read anew")
	}
	close(h.let)
	d.untilState(t, "finished")
	check(t, d.Look(t.Context(), true))
	if inUse, _ = digests(); inUse == benchmark {
		t.Error("the context was not read anew after the run's end")
	}
}
