package export_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assayd/assayd/reconcile/export"
	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/agent"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/trial"
	"github.com/assayd/assayd/runtime/trial/trydir"
)

// fixture is a store with one run, whose trials a test puts in.
type fixture struct {
	*testing.T
	store *store.Store
	dir   string // of the export
	n     int
}

var begun = time.Date(2026, 3, 4, 5, 6, 7, 250e6, time.UTC)

func newFixture(t *testing.T) *fixture {
	t.Helper()
	s, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "s"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	h := &fixture{T: t, store: s, dir: filepath.Join(t.TempDir(), "logs")}
	h.begin(1)
	return h
}

func (h *fixture) do(f func(*store.Tx) error) {
	h.Helper()
	if err := h.store.Do(h.Context(), f); err != nil {
		h.Fatal(err)
	}
}

func (h *fixture) begin(n int) {
	h.Helper()
	h.do(func(tx *store.Tx) error {
		return tx.PutExecution(store.ExecutionRow{Spec: "run.r", N: n, Trigger: "accepted", StartedAt: begun})
	})
}

// trial puts one in; change makes it what the test needs.
func (h *fixture) trial(change func(*trial.State), rounds ...round.Submission) trial.State {
	h.Helper()
	h.n++
	s := trial.State{
		Spec: "run.r", Execution: 1, Key: fmt.Sprintf("%08x%056x", h.n, h.n), Try: 1, Phase: trial.Done,
		StartedAt: begun, EndedAt: begun.Add(90 * time.Second),
		JudgeImage: trial.ImageRef{Ref: "j:1", ID: "sha256:j"}, WorkImage: trial.ImageRef{Ref: "w:1", ID: "sha256:w"},
		Cell: trial.Cell{
			Task: task.Task{
				Benchmark: "b", Name: "t", Work: task.Part{CPUs: 2, Memory: 4 << 30},
				Judge: task.Judge{Part: task.Part{CPUs: 0.5, Memory: 256 << 20}, Parser: "pytest", Select: "pass_rate_first", Direction: "maximize"},
			},
			Agent: agent.Agent{Name: "a", Model: "m"}, Attempt: 1, Mode: "iterative", Timeout: time.Hour, AutoEval: 5 * time.Minute, StopHook: true,
		},
		Result: &trial.Finished{Status: trial.Unresolved, Reason: trial.ReasonDeadline, Flags: []string{}},
	}
	change(&s)
	s.ID = trial.ID("r", s.Execution, s.Key)
	h.do(func(tx *store.Tx) error {
		data, err := json.Marshal(s)
		if err != nil {
			return err
		}
		row := store.TrialRow{ID: s.ID, Spec: s.Spec, Execution: s.Execution, Cell: s.Key, Try: s.Try, Phase: string(s.Phase), Data: data}
		if s.Result != nil {
			row.Status, row.FinishedAt = string(s.Result.Status), begun.Add(100*time.Second)
		}
		return tx.PutTrial(row)
	})
	for _, sub := range rounds {
		h.round(s, sub)
	}
	return s
}

func (h *fixture) round(s trial.State, sub round.Submission) {
	h.Helper()
	h.n++
	sub.ID, sub.Trial = fmt.Sprintf("%016x", h.n), s.ID
	sub.Round = fmt.Sprintf("%s-%d", sub.Kind, sub.Number)
	if sub.Try == 0 {
		sub.Try = s.Try
	}
	if sub.AcceptedAt.IsZero() {
		sub.AcceptedAt = begun.Add(time.Duration(h.n) * time.Second)
	}
	ledger := history.NewLedger(h.store)
	reserve := sub
	reserve.Report, reserve.State = nil, round.StateReserved
	_, err := ledger.Reserve(h.Context(), s.ID, func([]round.Submission) (round.Submission, error) { return reserve, nil })
	if err == nil && sub.State != round.StateReserved {
		_, err = ledger.Update(h.Context(), sub.ID, func(u *round.Submission) error { *u = sub; return nil })
	}
	if err != nil {
		h.Fatal(err)
	}
}

func (h *fixture) blob(content []byte) string {
	h.Helper()
	w, err := h.store.Blobs().Create()
	if err != nil {
		h.Fatal(err)
	}
	_, err = w.Write(content)
	digest, _, cerr := w.Commit()
	if err := errors.Join(err, cerr); err != nil {
		h.Fatal(err)
	}
	return digest
}

func (h *fixture) archive(name string) string {
	h.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	err := errors.Join(w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Format: tar.FormatPAX}), w.Close())
	if err != nil {
		h.Fatal(err)
	}
	return h.blob(b.Bytes())
}

func (h *fixture) export(execution int) export.Written {
	h.Helper()
	w, err := export.SForge(h.Context(), h.store, "run.r", execution, h.dir, "v-test")
	if err != nil {
		h.Fatal(err)
	}
	return w
}

// files lists what was written, without the marker.
func (h *fixture) files() (names []string) {
	h.Helper()
	err := fs.WalkDir(os.DirFS(h.dir), ".", func(name string, d fs.DirEntry, err error) error {
		if !d.IsDir() && !strings.HasPrefix(name, ".") {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		h.Fatal(err)
	}
	return names
}

// fill puts files into the folder of the export.
func (h *fixture) fill(files map[string]string) {
	h.Helper()
	for name, text := range files {
		name = filepath.Join(h.dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
			h.Fatal(err)
		}
	}
}

// holds checks that files are as they were filled in.
func (h *fixture) holds(files map[string]string) {
	h.Helper()
	for name, want := range files {
		if got, err := os.ReadFile(filepath.Join(h.dir, name)); err != nil || string(got) != want {
			h.Errorf("%s reads %q, %v", name, got, err)
		}
	}
}

func (h *fixture) read(name string) map[string]any {
	h.Helper()
	text, err := os.ReadFile(filepath.Join(h.dir, name))
	if err != nil {
		h.Fatal(err)
	}
	var v map[string]any
	if err := json.Unmarshal(text, &v); err != nil {
		h.Fatalf("%s: %v\n%s", name, err, text)
	}
	return v
}

// says writes the log of an agent.
func (h *fixture) says(s trial.State, text string) {
	h.Helper()
	log := trydir.Of(h.store.Dir(), s.ID, s.Try).Log()
	if err := errors.Join(os.MkdirAll(filepath.Dir(log), 0o755), os.WriteFile(log, []byte(text), 0o644)); err != nil {
		h.Fatal(err)
	}
}

// has compares members by their JSON.
func (h *fixture) has(name string, got map[string]any, want map[string]any) {
	h.Helper()
	for key, value := range want {
		g, there := got[key]
		a, _ := json.Marshal(g)
		b, _ := json.Marshal(value)
		if !there || !bytes.Equal(a, b) {
			h.Errorf("%s: %s is %s, want %s", name, key, a, b)
		}
	}
}

func judged(kind round.Kind, n int, r round.Report) round.Submission {
	return round.Submission{Kind: kind, Number: n, State: round.StateJudged, Report: &r}
}

// inside names the first member of a tar.gz.
func (h *fixture) inside(name string) string {
	h.Helper()
	f, err := os.Open(filepath.Join(h.dir, name))
	if err != nil {
		h.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	zip, err := gzip.NewReader(f)
	if err != nil {
		h.Fatal(err)
	}
	head, err := tar.NewReader(zip).Next()
	if err != nil {
		h.Fatal(err)
	}
	return head.Name
}
