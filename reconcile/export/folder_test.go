package export_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/assayd/assayd/reconcile/export"
	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/trial"
	"github.com/assayd/assayd/runtime/trial/trydir"
)

func TestAnExportIsRefreshed(t *testing.T) {
	h := newFixture(t)
	one := judged(round.KindAgent, 1, round.Report{Status: round.StatusOK, Valid: true})
	one.Archive = h.archive("x")
	s := h.trial(func(*trial.State) {}, one)
	h.export(0)
	foreign := filepath.Join(h.dir, "runs/r.e1/t/submissions/agent-1/notes.txt")
	if err := os.WriteFile(foreign, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	h.begin(2)
	h.trial(func(s *trial.State) { s.Execution = 2 })
	h.export(0)
	h.do(func(tx *store.Tx) error { return tx.DeleteSubmission("0000000000000002") })
	second := judged(round.KindAgent, 2, round.Report{Status: round.StatusOK, Valid: true})
	h.round(s, second)
	h.export(1)
	files := h.files()
	for name, want := range map[string]bool{
		"runs/r.e1/t/submissions/agent-1/notes.txt":         true, // not ours
		"runs/r.e1/t/submissions/agent-1/report.json":       false,
		"runs/r.e1/t/submissions/agent-1/submission.tar.gz": false,
		"runs/r.e1/t/final_archive.tar.gz":                  false,
		"runs/r.e1/t/submissions/agent-2/report.json":       true,
		"runs/r.e2/t/final_result.json":                     true, // of another execution
	} {
		if got := slices.Contains(files, name); got != want {
			t.Errorf("%s is there: %v", name, got)
		}
	}
}

func TestAFolderOfSomethingElseIsLeftAlone(t *testing.T) {
	const other = `{"owner":"0","run":"run.q","folders":["runs/r.e1"]}`
	for name, files := range map[string]map[string]string{
		"other files":                  {"a.txt": "x"},
		"hidden files":                 {".a": "x"},
		"a run of somebody else":       {".assayd-export-run.q.json": `{"owner":"0","run":"run.q"}`, "runs/r.e1/summary.json": "{}"},
		"a file in a run's place":      {".assayd-export-run.q.json": `{"owner":"0","run":"run.q"}`, "runs/r.e1": ""},
		"a run that another export is": {".assayd-export-run.q.json": other},
		"another state directory":      {".assayd-export-run.r.json": `{"owner":"0","run":"run.r"}`},
		"another run":                  {".assayd-export-run.r.json": `{"owner":"0","run":"run.q"}`},
		"a marker that lies":           {".assayd-export-run.r.json": `[`},
		"another marker that lies":     {".assayd-export-run.q.json": `[`},
	} {
		t.Run(name, func(t *testing.T) {
			h := newFixture(t)
			h.trial(func(*trial.State) {})
			h.fill(files)
			_, err := export.SForge(t.Context(), h.store, "run.r", 0, h.dir, "v")
			if _, ok := errors.AsType[*export.TakenError](err); !ok {
				t.Errorf("%v", err)
			}
			h.holds(files)
		})
	}
}

// The viewers of this layout compare the runs of one folder.
func TestOneFolderHoldsManyRuns(t *testing.T) {
	h, other := newFixture(t), newFixture(t)
	one := judged(round.KindAgent, 1, round.Report{Status: round.StatusOK, Valid: true})
	s := h.trial(func(*trial.State) {}, one)
	h.do(func(tx *store.Tx) error {
		return tx.PutExecution(store.ExecutionRow{Spec: "run.q", N: 1, Trigger: "accepted", StartedAt: begun})
	})
	h.trial(func(s *trial.State) { s.Spec = "run.q" })
	other.do(func(tx *store.Tx) error {
		return tx.PutExecution(store.ExecutionRow{Spec: "run.o", N: 1, Trigger: "accepted", StartedAt: begun})
	})
	other.trial(func(s *trial.State) { s.Spec = "run.o" })
	other.trial(func(*trial.State) {})
	foreign := map[string]string{"runs/theirs/summary.json": "{}", "notes.txt": "mine"}
	for i, from := range []struct {
		*fixture
		address string
	}{{h, "run.r"}, {h, "run.q"}, {other, "run.o"}} {
		if _, err := export.SForge(t.Context(), from.store, from.address, 0, h.dir, "v"); err != nil {
			t.Fatalf("%s: %v", from.address, err)
		}
		if i == 0 {
			h.fill(foreign)
		}
	}
	h.do(func(tx *store.Tx) error { return tx.DeleteSubmission("0000000000000002") })
	h.round(s, judged(round.KindAgent, 2, round.Report{Status: round.StatusOK, Valid: true}))
	h.export(0) // of run.r again
	files := h.files()
	for name, want := range map[string]bool{
		"runs/r.e1/t/submissions/agent-1/report.json": false,
		"runs/r.e1/t/submissions/agent-2/report.json": true,
		"runs/q.e1/t/final_result.json":               true,
		"runs/o.e1/t/final_result.json":               true,
	} {
		if got := slices.Contains(files, name); got != want {
			t.Errorf("%s is there: %v", name, got)
		}
	}
	h.holds(foreign)
	// Of two state directories only one can have its run.r here.
	_, err := export.SForge(t.Context(), other.store, "run.r", 0, h.dir, "v")
	if _, ok := errors.AsType[*export.TakenError](err); !ok {
		t.Errorf("a run of the same name from elsewhere: %v", err)
	}
}

// An export that stopped half-way has written files that no list names yet.
func TestAnExportThatWasInterruptedCanBeRepeated(t *testing.T) {
	h := newFixture(t)
	s := h.trial(func(*trial.State) {}, judged(round.KindAgent, 1, round.Report{Status: round.StatusOK, Valid: true}))
	log := trydir.Of(h.store.Dir(), s.ID, s.Try).Log()
	if err := os.MkdirAll(log, 0o755); err != nil { // which cannot be read
		t.Fatal(err)
	}
	if _, err := export.SForge(t.Context(), h.store, "run.r", 0, h.dir, "v"); err == nil || len(h.files()) == 0 {
		t.Fatalf("it was not interrupted: %v, %q", err, h.files())
	}
	if err := os.Remove(log); err != nil {
		t.Fatal(err)
	}
	h.export(0)
	if files := h.files(); !slices.Contains(files, "runs/r.e1/summary.json") {
		t.Errorf("files %q", files)
	}
}

// What a marker lists is removed when it is no more, so it must not reach outside; nor may
// links that somebody put into the folder.
func TestAnExportStaysInItsFolder(t *testing.T) {
	h := newFixture(t)
	h.trial(func(*trial.State) {})
	victim := filepath.Join(t.TempDir(), "victim")
	if err := os.WriteFile(victim, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	outside, err := filepath.Rel(h.dir, victim)
	if err != nil {
		t.Fatal(err)
	}
	h.export(0)
	marker := fmt.Sprintf(`{"owner":%q,"run":"run.r","folders":["runs/r.e1"],"executions":{"e1":[%q,%q]}}`, h.store.Owner(), outside, victim)
	if err := os.WriteFile(filepath.Join(h.dir, ".assayd-export-run.r.json"), []byte(marker), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := export.SForge(t.Context(), h.store, "run.r", 0, h.dir, "v"); err == nil {
		t.Error("a marker that names a file outside was taken")
	}
	if err := errors.Join(os.RemoveAll(h.dir), os.MkdirAll(h.dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	h.export(0)
	away := t.TempDir()
	if err := errors.Join(os.RemoveAll(filepath.Join(h.dir, "runs")), os.Symlink(away, filepath.Join(h.dir, "runs"))); err != nil {
		t.Fatal(err)
	}
	if _, err := export.SForge(t.Context(), h.store, "run.r", 0, h.dir, "v"); err == nil {
		t.Error("a link out of the folder was followed")
	}
	left, err := os.ReadDir(away)
	if _, gone := os.Stat(victim); err != nil || gone != nil || len(left) > 0 {
		t.Errorf("outside: %v, %v, %q", err, gone, left)
	}
}

func TestARunThatIsNotThere(t *testing.T) {
	h := newFixture(t)
	for _, tc := range []struct {
		address   string
		execution int
	}{{"run.q", 0}, {"run.r", 2}, {"run.r", -1}} {
		if _, err := export.SForge(t.Context(), h.store, tc.address, tc.execution, h.dir, "v"); !errors.Is(err, history.ErrUnknown) {
			t.Errorf("%v: %v", tc, err)
		}
	}
	if _, err := os.Stat(h.dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder was made all the same: %v", err)
	}
}
