//go:build real

package daemon_test

import (
	"context"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/daemon"
	"github.com/assayd/assayd/runtime/image"
	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/task/swebench"
	"github.com/assayd/assayd/runtime/task/tasktest"
	"github.com/assayd/assayd/runtime/trial"
)

// cloning are trees of which the clones are real ones.
type cloning struct {
	*tasktest.Trees
	ctx     context.Context
	builder *image.Builder
}

// Clone implements task.Trees.
func (c cloning) Clone(repo task.Repo) (io.ReadCloser, error) {
	return c.builder.Mirrors().Clone(c.ctx, repo)
}

// whole are the formats of which a folder has all that a task is made of, the clone included.
func whole() []string { return []string{"harbor", "terminal-bench"} }

// A task of each language that is written in each format and imported again is judged as it
// was before: by the oracle and by nop, test by test. What is in the files beside our note is
// judged the same, too, as far as nothing has to be fetched for it and the format can tell.
func TestRealTasksAreJudgedTheSameInEveryFormat(t *testing.T) {
	pulls := slices.DeleteFunc(realPulls(t), func(p pull) bool {
		return !slices.Contains([]string{"python-semver__python-semver-427", "tidwall__gjson-291", "delvedor__find-my-way-442"}, p.ID)
	})
	w := newFixture(t)
	writeRows(t, filepath.Join(w.specs, "rows"), w.rowsOf(pulls)...)
	settings := w.forge("")
	original := swebench.Read(filepath.Join(w.specs, "rows"), task.ReadOptions{})
	if len(original.Tasks) != len(pulls) {
		t.Fatalf("%d tasks of %d rows: %+v", len(original.Tasks), len(pulls), original.Problems)
	}
	trees := cloning{&tasktest.Trees{}, t.Context(), image.New(image.Options{
		Engine: w.engine, CacheDir: t.TempDir(), BuildSecrets: image.BuildSecrets{Mirrors: map[string]string{"git": w.mirror()}}, Log: slog.New(slog.DiscardHandler),
	})}
	agents := []string{"oracle", "nop"}
	var names []string
	for _, p := range pulls {
		names = append(names, p.ID)
	}
	text := singleSpec{bench: w.bench, include: names, runs: map[string][]string{"original": agents}}.text()
	for name, format := range daemon.Formats() {
		problems, err := format.Write(filepath.Join(w.specs, "as", name), original.Tasks, trees)
		if err != nil || len(problems) > 0 {
			t.Fatalf("%s: %v %+v", name, err, problems)
		}
		again := format.Read(filepath.Join(w.specs, "as", name), task.ReadOptions{Trees: &tasktest.Trees{}})
		if diff := cmp.Diff(original.Tasks, again.Tasks); diff != "" {
			t.Errorf("%s: another task comes back: %s", name, diff)
		}
		if slices.Contains(whole(), name) {
			withoutNotes(t, filepath.Join(w.specs, "as", name), filepath.Join(w.specs, "bare", name))
			text += singleSpec{
				bench: w.bench + "-bare-" + name, format: name, path: "bare/" + name, include: names, runs: map[string][]string{"bare-" + name: agents},
			}.text()
		}
		text += singleSpec{
			bench: w.bench + "-" + name, format: name, path: "as/" + name, include: names, runs: map[string][]string{"as-" + name: agents},
		}.text()
	}
	write(t, filepath.Join(w.specs, "real.hcl"), text)
	runs := w.single(settings, filepath.Join(w.specs, "real.hcl"))
	w.noContainerIsLeft()
	for name, run := range runs {
		t.Run(name, func(t *testing.T) {
			log := readResults(t, run.Results)
			for _, p := range pulls {
				if strings.HasPrefix(name, "bare-") {
					// A foreign verdict does not tell the tests apart: Harbor's is the exit code of all of them,
					// and Terminal-Bench reads pytest alone.
					if p.Language != "python" {
						continue
					}
					for agent, want := range map[string]trial.Status{"oracle": trial.Resolved, "nop": trial.Unresolved} {
						if x := trialOf(t, run, p, agent); x.Status != want {
							t.Errorf("%s: %s is %s (%s %s), want %s", p.ID, agent, x.Status, x.Reason, x.Detail, want)
						}
					}
					continue
				}
				checkFinished(t, p, trialOf(t, run, p, "oracle"), log, trial.Resolved, true)
				checkFinished(t, p, trialOf(t, run, p, "nop"), log, trial.Unresolved, false)
			}
		})
	}
	if len(runs) != 1+len(daemon.Formats())+len(whole()) {
		t.Errorf("%d runs: %s", len(runs), strings.Join(daemon.FormatNames(), ", "))
	}
}
