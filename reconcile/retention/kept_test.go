package retention

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/trial"
)

var noon = time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)

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
