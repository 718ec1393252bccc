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
	"github.com/assayd/assayd/reconcile/query/trialview"
	"github.com/assayd/assayd/reconcile/retention"
	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/trial"
)

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
	all, err := retention.FindKept(t.Context(), h.store, h.fake)
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
	d.Retention.SweepFormer(t.Context(), nil, d.runs.now().Add(-time.Hour))
	h.untilKept("judge exited", "work running")
	out, err := d.Retention.Collect(t.Context(), retention.Sweep{Kept: true})
	if err != nil || len(out.Containers) != 1 {
		t.Errorf("with somebody in the work container %q go, %v", out.Containers, err)
	}
	leaves[container.RoleWork]()
	if out, err = d.Retention.Collect(t.Context(), retention.Sweep{}); err != nil || len(out.Containers) != 0 {
		t.Errorf("without being asked %q go, %v", out.Containers, err)
	}
	for deadline := time.Now().Add(patience); ; <-time.After(2 * time.Millisecond) { // the sweep of this daemon may be in it for a moment
		if out, err = d.Retention.Collect(t.Context(), retention.Sweep{Kept: true}); err != nil || len(out.Containers) == 1 {
			break
		}
		if !time.Now().Before(deadline) {
			t.Fatal("a container that nobody is in does not go")
		}
	}
	check(t, err)
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
		return slices.ContainsFunc(r.Trials, func(s trialview.TrialStatus) bool { return s.ID != first && s.Status == trial.Resolved })
	})
	h.untilKept("judge exited", "work exited")
	if _, err := retention.FindKeptOf(t.Context(), h.store, h.fake, first, container.RoleWork); err == nil || !strings.Contains(err.Error(), "has no work container") {
		t.Errorf("what was replaced: %v", err)
	}
	if _, err := retention.FindKeptOf(t.Context(), h.store, h.fake, "r.e1.none", container.RoleWork); !errors.Is(err, history.ErrUnknown) {
		t.Errorf("what there never was: %v", err)
	}
}
