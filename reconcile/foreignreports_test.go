package reconcile

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/task/sweforge"
)

// Trials end faster than summaries are written, and after `assayd run` there is no next daemon.
func TestTheSummaryIsWholeWhenTheDaemonEnds(t *testing.T) {
	h := newFixture(t)
	h.write("a.hcl", strings.Replace(strings.Replace(spec("a", "b"),
		`"work:1"`, `"none:1"`, 1),
		"parallel = 4", "parallel = 4\n mode = \"single\"\n retry {\n  infra = 0\n }", 1))
	d := h.start()
	d.untilTrials(t, "a/1 setup_error, b/1 setup_error")
	dir := t.TempDir()
	check(t, h.store.Do(t.Context(), func(tx *store.Tx) error { // what the writer of the records does
		s, err := tx.Stream("run.r")
		if err != nil {
			return err
		}
		s.File = filepath.Join(dir, filepath.Base(s.Path))
		return tx.MarkWritten(s)
	}))
	d.stop()
	text, err := os.ReadFile(filepath.Join(dir, "a.run.r.summary.json"))
	if err != nil {
		t.Fatal(err)
	}
	var got sweforge.Summary
	if err := json.Unmarshal(text, &got); err != nil || len(got.Results) != 2 || got.Controls["a"].SetupError+got.Controls["b"].SetupError != 2 {
		t.Errorf("%v, %s", err, text)
	}
}
