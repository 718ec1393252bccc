package export_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/assayd/assayd/reconcile"
	"github.com/assayd/assayd/reconcile/export"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/judge"
	"github.com/assayd/assayd/runtime/trial"
)

func TestAnExportIsRefreshed(t *testing.T) {
	h := newHouse(t)
	round := judged(judge.KindAgent, 1, judge.Report{Status: judge.StatusOK, Valid: true})
	round.Archive = h.archive("x")
	s := h.trial(func(*trial.State) {}, round)
	h.export(0)
	foreign := filepath.Join(h.dir, "runs/r.e1/t/submissions/agent-1/notes.txt")
	if err := os.WriteFile(foreign, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	h.begin(2)
	h.trial(func(s *trial.State) { s.Execution = 2 })
	h.export(0)
	h.do(func(tx *store.Tx) error { return tx.DeleteSubmission("0000000000000002") })
	second := judged(judge.KindAgent, 2, judge.Report{Status: judge.StatusOK, Valid: true})
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
	fill := func(name, text string) func(*house) {
		return func(h *house) {
			if err := errors.Join(os.MkdirAll(h.dir, 0o755), os.WriteFile(filepath.Join(h.dir, name), []byte(text), 0o644)); err != nil {
				h.Fatal(err)
			}
		}
	}
	for name, prepare := range map[string]func(*house){
		"other files":        fill("a.txt", "x"),
		"hidden files":       fill(".a", "x"),
		"another run":        fill(".assayd-export.json", `{"owner":"0","run":"run.q"}`),
		"a marker that lies": fill(".assayd-export.json", `[`),
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			h.trial(func(*trial.State) {})
			prepare(h)
			before := h.files()
			_, err := export.SForge(t.Context(), h.store, "run.r", 0, h.dir, "v")
			if _, ok := errors.AsType[*export.TakenError](err); !ok || !slices.Equal(h.files(), before) {
				t.Errorf("%v, files %q", err, h.files())
			}
		})
	}
}

// What a marker lists is removed when it is no more, so it must not reach outside; nor may
// links that somebody put into the folder.
func TestAnExportStaysInItsFolder(t *testing.T) {
	h := newHouse(t)
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
	marker := fmt.Sprintf(`{"owner":%q,"run":"run.r","executions":{"e1":[%q,%q]}}`, h.store.Owner(), outside, victim)
	if err := os.WriteFile(filepath.Join(h.dir, ".assayd-export.json"), []byte(marker), 0o644); err != nil {
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
	h := newHouse(t)
	for _, tc := range []struct {
		address   string
		execution int
	}{{"run.q", 0}, {"run.r", 2}, {"run.r", -1}} {
		if _, err := export.SForge(t.Context(), h.store, tc.address, tc.execution, h.dir, "v"); !errors.Is(err, reconcile.ErrUnknown) {
			t.Errorf("%v: %v", tc, err)
		}
	}
	if _, err := os.Stat(h.dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder was made all the same: %v", err)
	}
}
