package trialview

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/request"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/reconcile/store/storetest"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/trial"
	"github.com/assayd/assayd/runtime/trial/trydir"
)

// fixture is a store with a trial that has files.
type fixture struct {
	t     *testing.T
	store *store.Store
}

func (h *fixture) trials() *Trials {
	return New(Options{Store: h.store, StateDir: h.store.Dir(), OpenBlob: h.store.Blobs().Open})
}

// keptFiles is a fixture with a trial of two tries, and its id.
func keptFiles(t *testing.T, rounds int) (h *fixture, id string) {
	id = "r.e1.1"
	h = &fixture{t, storetest.Open(t)}
	check(t, h.store.Do(t.Context(), func(tx *store.Tx) error {
		state := trial.State{
			ID: id, Spec: "run.r", Execution: 1, Key: "k", Try: 2, Phase: trial.Done, Cell: trial.Cell{Task: task.Task{Name: "one", Instruction: "do"}},
			Result: &trial.Finished{Transcript: &trial.FileRecord{File: "x", SHA256: "of the transcript"}},
		}
		data, err := json.Marshal(state)
		if err != nil {
			return err
		}
		return errors.Join(
			tx.PutExecution(store.ExecutionRow{Spec: "run.r", N: 1}),
			tx.PutTrial(store.TrialRow{ID: id, Spec: "run.r", Execution: 1, Cell: "k", Try: 2, Phase: string(trial.Done), Status: "unresolved", Data: data}),
		)
	}))
	write := func(path, text string) {
		check(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)))
	}
	write(trydir.Of(h.store.Dir(), id, 1).Log(), "the first log")
	write(trydir.Of(h.store.Dir(), id, 2).Log(), "the second log")
	write(trydir.Of(h.store.Dir(), id, 2).Transcript(), "{}\n")
	write(trydir.Of(h.store.Dir(), id, 2).Patch(), "--- a\n")
	archive, output := h.blob("an archive"), h.blob("an output")
	gone := fmt.Sprintf("%064x", 1)
	check(t, h.store.Do(t.Context(), func(tx *store.Tx) error {
		for n := 1; n <= rounds; n++ {
			sub := round.Submission{
				ID: fmt.Sprintf("%016x", n), Trial: id, Try: 2, Round: fmt.Sprintf("agent-%d", n), Number: n, Kind: round.KindAgent, State: round.StateJudged, Archive: archive, Bytes: 10,
				Report: &round.Report{Status: round.StatusOK, Output: output},
			}
			if n == rounds {
				sub.Report.Outputs = gone
			}
			data, err := json.Marshal(sub)
			if err != nil {
				return err
			}
			if _, err := tx.InsertSubmission(store.SubmissionRow{ID: sub.ID, Trial: id, Kind: string(sub.Kind), Number: n, State: string(sub.State), Data: data}); err != nil {
				return err
			}
		}
		return nil
	}))
	return h, id
}

func (h *fixture) blob(text string) string {
	h.t.Helper()
	w, err := h.store.Blobs().Create()
	check(h.t, err)
	_, err = io.WriteString(w, text)
	check(h.t, err)
	digest, _, err := w.Commit()
	check(h.t, err)
	return digest
}

// Pages of any size have each file once, in one order.
func TestFilesOfATrialComeInPages(t *testing.T) {
	h, id := keptFiles(t, 3)
	r := h.trials()
	want := []string{
		"try-1.log.txt", "try-2.prompt.md", "try-2.log.txt", "try-2.transcript.jsonl", "try-2.patch.diff", "agent-1.archive.tar", "agent-1.output.txt",
		"agent-2.archive.tar", "agent-2.output.txt", "agent-3.archive.tar", "agent-3.output.txt", "agent-3.stage.tar",
	}
	for limit := 1; limit <= len(want)+1; limit++ {
		var names []string
		for after := 0; ; {
			page, err := r.Files(t.Context(), id, after, limit)
			check(t, err)
			for _, f := range page {
				names, after = append(names, f.Name), f.N
			}
			if len(page) < limit {
				break
			}
		}
		if !slices.Equal(names, want) {
			t.Fatalf("%d a page: %q", limit, names)
		}
	}
}

// What the list says of a file is true of what is read.
func TestFilesOfATrialAreAsListed(t *testing.T) {
	h, id := keptFiles(t, 1)
	r := h.trials()
	files, err := r.Files(t.Context(), id, 0, 100)
	check(t, err)
	texts := map[string]string{}
	for _, f := range files {
		again, file, err := r.OpenFile(t.Context(), id, f.Name)
		if f.Gone {
			var conflict *request.Conflict
			if !errors.As(err, &conflict) {
				t.Errorf("%s is gone, and opening it says %v", f.Name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", f.Name, err)
			continue
		}
		text, err := io.ReadAll(file)
		check(t, errors.Join(err, file.Close()))
		texts[f.Name] = string(text)
		if again.N = f.N; int64(len(text)) != f.Bytes || again != f {
			t.Errorf("%+v has %d bytes, and is then %+v", f, len(text), again)
		}
		if digest := f.SHA256; digest != "" && f.Kind != FileTranscript && digest != h.blob(string(text)) {
			t.Errorf("%s has another digest than %s", f.Name, digest)
		}
	}
	for name, text := range map[string]string{"try-1.log.txt": "the first log", "try-2.log.txt": "the second log", "agent-1.archive.tar": "an archive", "agent-1.output.txt": "an output"} {
		if texts[name] != text {
			t.Errorf("%s is %q", name, texts[name])
		}
	}
	for _, name := range []string{"", ".md", "try-1.prompt.md", "try-3.log.txt", "try-0.log.txt", "try-01.log.txt", "try--1.log.txt", "agent-1.stage.md", "agent-01.output.txt", "agent-2.output.txt", "../try-1.log.txt", "agent-1.log.txt"} {
		if _, _, err := r.OpenFile(t.Context(), id, name); !errors.Is(err, history.ErrUnknown) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := r.Files(t.Context(), "none", 0, 1); !errors.Is(err, history.ErrUnknown) {
		t.Errorf("of no trial: %v", err)
	}
	var hidden *request.Hidden
	if _, _, err := r.OpenFile(request.WithoutContent(t.Context()), id, "agent-1.output.txt"); !errors.As(err, &hidden) {
		t.Errorf("without content: %v", err)
	}
}

// A page of the files of a trial with thousands of rounds reads its own rounds.
func TestAPageOfFilesReadsItsRounds(t *testing.T) {
	rows := map[int]int64{}
	for _, rounds := range []int{60, 600} {
		h, id := keptFiles(t, rounds)
		r := h.trials()
		before := h.store.Work().Rows
		page, err := r.Files(t.Context(), id, firstRound+50*placesOfRound+2, 10)
		check(t, err)
		rows[rounds] = h.store.Work().Rows - before
		if len(page) != 10 || page[0].Name != "agent-51.archive.tar" {
			t.Errorf("of %d rounds: %v", rounds, page)
		}
	}
	if rows[600] > rows[60]+2 {
		t.Errorf("%d rows of 60 rounds, %d of 600", rows[60], rows[600])
	}
}
