package reconcile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/trial"
)

// keptBy is a kept container of an ended trial.
func keptBy(id, keep string, status trial.Status, change func(*Kept)) Kept {
	k := Kept{Last: 1, Trial: trial.State{ID: id, Try: 1, Keep: keep, Phase: trial.Done, Result: &trial.Finished{Status: status}}}
	k.Name, k.CreatedAt = id, noon
	if change != nil {
		change(&k)
	}
	return k
}

func TestWhichContainersStayNoLonger(t *testing.T) {
	for name, tc := range map[string]struct {
		k    Kept
		goes bool
	}{
		"of a trial that is kept always":                 {keptBy("t", "always", trial.Resolved, nil), false},
		"of a failed one":                                {keptBy("t", "failed", trial.Unresolved, nil), false},
		"of one that failed, and turned out resolved":    {keptBy("t", "failed", trial.Resolved, nil), true},
		"of one whose run keeps none":                    {keptBy("t", "never", trial.Unresolved, nil), true},
		"of an earlier try":                              {keptBy("t", "always", trial.Unresolved, func(k *Kept) { k.Last = 2 }), true},
		"of one that an edit replaced":                   {keptBy("t", "always", trial.Resolved, func(k *Kept) { k.Trial.Replaced = &trial.Superseded{} }), true},
		"of one that ended without a verdict of a judge": {keptBy("t", "failed", trial.InfraError, nil), false},
	} {
		if gone := surplus([]Kept{tc.k}); (len(gone) == 1) != tc.goes {
			t.Errorf("a container %s goes: %v, want %v", name, len(gone) == 1, tc.goes)
		}
	}
}

// TestOnlySoManyTrialsKeepContainers: the oldest go, with both of their containers.
func TestOnlySoManyTrialsKeepContainers(t *testing.T) {
	var all []Kept
	for i := range mostKept + 2 {
		for range 2 { // work and judge
			all = append(all, keptBy(fmt.Sprintf("t%03d", i), "always", trial.Resolved, func(k *Kept) { k.CreatedAt = noon.Add(time.Duration(i) * time.Minute) }))
		}
	}
	var gone []string
	for _, k := range surplus(all) {
		gone = append(gone, k.Name)
	}
	if want := []string{"t000", "t000", "t001", "t001"}; !slices.Equal(gone, want) {
		t.Errorf("%q go, want %q", gone, want)
	}
}

func TestWhyATrialCannotBeEntered(t *testing.T) {
	state := func(change func(*trial.State)) trial.State {
		s := trial.State{ID: "r.e1.0a", Spec: "run.r", Phase: trial.Done, Keep: "always", Container: "c", Result: &trial.Finished{Status: trial.Resolved}}
		change(&s)
		return s
	}
	for name, tc := range map[string]struct {
		s          trial.State
		role, want string
	}{
		"it may be":  {state(func(*trial.State) {}), container.RoleWork, ""},
		"under way":  {state(func(s *trial.State) { s.Phase = trial.Running }), container.RoleWork, "assayd cancel r.e1.0a"},
		"never kept": {state(func(s *trial.State) { s.Keep = "never" }), container.RoleWork, `Set keep = "always" in run.r`},
		"not kept":   {state(func(s *trial.State) { s.Keep = "failed" }), container.RoleJudge, `it is resolved, and its run has keep = "failed"`},
		"never begun": {state(func(s *trial.State) {
			s.Container, s.Result = "", &trial.Finished{Status: trial.SetupError, Detail: "no image"}
		}), container.RoleWork, "setup_error, no image"},
		"of a game":    {state(func(s *trial.State) { s.Cell.Task = task.Task{Judge: task.Judge{Game: "play"}} }), container.RoleJudge, "those of games"},
		"of its agent": {state(func(s *trial.State) { s.Cell.Task = task.Task{Judge: task.Judge{Game: "play"}} }), container.RoleWork, ""},
	} {
		if err := closed(tc.s, tc.role); (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}

// kept are the containers that are there, "role phase".
func (h *fixture) kept() (all []string) {
	h.t.Helper()
	found, err := h.fake.Observe(h.t.Context(), h.store.Owner())
	check(h.t, err)
	for _, c := range found {
		if c.Labels[container.LabelTrial] != "" { // those that stand ready have none
			all = append(all, c.Labels[container.LabelRole]+" "+string(c.Phase))
		}
	}
	slices.Sort(all)
	return all
}

func (h *fixture) untilKept(want ...string) {
	h.t.Helper()
	var all []string
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-time.After(2 * time.Millisecond) {
		if all = h.kept(); slices.Equal(all, want) {
			return
		}
	}
	h.t.Fatalf("the containers are %q, want %q", all, want)
}

func withKeep(text, keep string) string {
	return strings.Replace(text, "run \"r\" {", "run \"r\" {\n keep = \""+keep+"\"", 1)
}

// TestKeptContainersOutliveDaemonsUntilGc: the sweep of the next daemon leaves them, and stops one
// that nobody is in any more; gc removes all, with what they had mounted.
func TestKeptContainersOutliveDaemonsUntilGc(t *testing.T) {
	h := newFixture(t)
	lives := 0
	h.more = func(o *Options) { lives++; o.Daemon = fmt.Sprint("life ", lives) }
	close(h.let)
	h.write("a.hcl", withKeep(spec("x"), "always"))
	d := h.start()
	d.untilTrials(t, "x/1 resolved")
	h.untilKept("judge exited", "work exited")
	d.stop()

	d = h.start()
	all, err := FindKept(t.Context(), h.store, h.fake)
	if err != nil || len(all) != 2 {
		t.Fatalf("%d containers are found, %v", len(all), err)
	}
	leaves := map[string]func(){}
	for _, k := range all {
		if leaves[k.Role()], err = k.Enter(h.store.Dir()); err != nil {
			t.Fatal(err)
		}
		if _, err := h.fake.Restart(t.Context(), k.ID); err != nil {
			t.Fatal(err)
		}
	}
	leaves[container.RoleJudge]() // who was in it is gone
	d.sweepAll(t.Context(), nil, d.now().Add(-time.Hour))
	h.untilKept("judge exited", "work running")
	out, err := d.Collect(t.Context(), Sweep{Kept: true})
	if err != nil || len(out.Containers) != 1 {
		t.Errorf("with somebody in the work container %q go, %v", out.Containers, err)
	}
	leaves[container.RoleWork]()
	if out, err = d.Collect(t.Context(), Sweep{}); err != nil || len(out.Containers) != 0 {
		t.Errorf("without being asked %q go, %v", out.Containers, err)
	}
	if out, err = d.Collect(t.Context(), Sweep{Kept: true}); err != nil || len(out.Containers) != 1 {
		t.Errorf("at last %q go, %v", out.Containers, err)
	}
	h.untilKept()
	if folders, err := os.ReadDir(filepath.Join(h.store.Dir(), "t")); err != nil || len(folders) > 0 {
		t.Errorf("the folders %v are left, %v", folders, err)
	}
}

// TestWhatReplacesATrialRemovesItsContainers: an edit that changes its cell.
func TestWhatReplacesATrialRemovesItsContainers(t *testing.T) {
	h := newFixture(t)
	close(h.let)
	h.write("a.hcl", withKeep(spec("x"), "always"))
	d := h.start()
	first := d.untilTrials(t, "x/1 resolved").Trials[0].ID
	h.untilKept("judge exited", "work exited")
	h.write("a.hcl", strings.Replace(withKeep(spec("x"), "always"), `"do it"`, `"do it well"`, 1))
	d.look(t)
	d.until(t, "done by another trial", func(r query.RunStatus) bool {
		return slices.ContainsFunc(r.Trials, func(s query.TrialStatus) bool { return s.ID != first && s.Status == trial.Resolved })
	})
	h.untilKept("judge exited", "work exited")
	if _, err := FindKeptOf(t.Context(), h.store, h.fake, first, container.RoleWork); err == nil || !strings.Contains(err.Error(), "has no work container") {
		t.Errorf("what was replaced: %v", err)
	}
	if _, err := FindKeptOf(t.Context(), h.store, h.fake, "r.e1.none", container.RoleWork); !errors.Is(err, history.ErrUnknown) {
		t.Errorf("what there never was: %v", err)
	}
}
