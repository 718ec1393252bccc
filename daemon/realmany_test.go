//go:build real

package daemon_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assayd/assayd/reconcile/retention"
	"github.com/assayd/assayd/runtime/image"
	"github.com/assayd/assayd/runtime/trial"
)

// Many trials of imported tasks, eight at a time, of which a daemon that is killed twice
// loses none: every one is resolved, no container is left, and what images take on the disk
// is brought within the setting when the run is over.
func TestRealThreeHundredTrials(t *testing.T) {
	const attempts, kills, keep = 25, 2, 2 << 20
	pulls := realPulls(t)
	w := newFixture(t)
	writeRows(t, filepath.Join(w.specs, "rows"), w.rowsOf(pulls)...)
	var names []string
	for _, p := range pulls {
		names = append(names, p.ID)
	}
	w.flags = []string{"--config", w.forge(fmt.Sprintf("  keep = \"%dMiB\"\n", keep>>20))}
	w.write("real.hcl", singleSpec{
		bench: w.bench, include: names, runs: map[string][]string{"many": {"oracle"}},
		more: fmt.Sprintf("parallel = 8\n  attempts = %d", attempts),
	}.text())
	total := attempts * len(pulls)
	began := time.Now()
	for i := range kills {
		w.serve()
		w.untilWithin(time.Hour, "a part of the trials is over", func() error {
			over, err := w.over("run.many")
			if err == nil && over < total*(i+1)/(kills+1) {
				err = fmt.Errorf("%d of %d", over, total)
			}
			return err
		})
		w.kill()
	}
	w.serve()
	built := w.allImageBytes(t)
	run := w.settled("run.many", time.Hour)
	wall := time.Since(began)
	w.noContainerIsLeft()
	log := readResults(t, run.Results)
	if len(run.Trials) != total || len(log.finished) != total {
		t.Errorf("%d trials and %d verdicts; want %d", len(run.Trials), len(log.finished), total)
	}
	for _, p := range pulls {
		for _, x := range run.Trials {
			if x.Task == p.ID {
				checkFinished(t, p, x, log, trial.Resolved, true)
			}
		}
	}
	own, spent := harnessTimes(t, run.Results)
	t.Logf("%d trials in %s, %s each; between start and verdict %s, of it outside of agent, queue and tests %s (medians)",
		total, wall.Round(time.Second), (wall / time.Duration(total)).Round(time.Millisecond), spent, own)
	t.Logf("the state directory holds %d MiB, and images were %d MiB", size(t, w.state)>>20, built>>20)
	if built <= keep {
		t.Errorf("%d KiB of images are no more than the setting says, %d", built>>10, keep>>10)
	}
	w.untilWithin(5*time.Minute, "images are within the setting, by themselves", func() error {
		if left := w.imageBytes(t); left > keep {
			return fmt.Errorf("%d KiB are left; the setting says %d", left>>10, keep>>10)
		}
		return nil
	})
	w.terminate()
}

// over is how many trials of a run have a verdict.
func (w *fixture) over(address string) (n int, err error) {
	run, err := w.status(address)
	for _, x := range run.Trials {
		if x.Status != "" {
			n++
		}
	}
	return n, err
}

// allImageBytes is what images that the daemon built take, each with what it is made of.
func (w *fixture) allImageBytes(t *testing.T) (bytes int64) {
	t.Helper()
	all, err := w.engine.ListImages(w.Context(), image.LabelImageOwner, w.owner)
	if err != nil {
		t.Fatal(err)
	}
	for _, img := range all {
		bytes += img.Size
	}
	return bytes
}

// imageBytes is what images take that no open run needs.
func (w *fixture) imageBytes(t *testing.T) (bytes int64) {
	t.Helper()
	var swept retention.Swept
	if err := json.Unmarshal([]byte(w.ok("gc", "--dry-run", "--keep", "0", "--json")), &swept); err != nil {
		t.Fatal(err)
	}
	for _, img := range swept.Images {
		bytes += img.Bytes
	}
	return bytes
}

func size(t *testing.T, dir string) (bytes int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			bytes += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}

// harnessTimes are the medians of how long trials took from start to verdict, and of what of
// that is neither the agent's, nor waiting for a turn, nor the judge command's.
func harnessTimes(t *testing.T, file string) (own, all time.Duration) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	type times struct{ started, all, elsewhere time.Duration }
	trials := map[string]*times{}
	for line := range strings.Lines(string(text)) {
		var r struct {
			Time          time.Time
			Type, Trial   string
			JudgeMS       int64   `json:"judge_ms"`
			QueuedMS      int64   `json:"queued_ms"`
			AgentDuration float64 `json:"agent_duration_s"`
		}
		decode(t, []byte(line), &r)
		if trials[r.Trial] == nil {
			trials[r.Trial] = &times{}
		}
		x, at := trials[r.Trial], time.Duration(r.Time.UnixNano())
		switch r.Type {
		case "trial.started":
			x.started = at
		case "submission":
			x.elsewhere += time.Duration(r.JudgeMS+r.QueuedMS) * time.Millisecond
		case "trial.finished":
			x.all = at - x.started
			x.elsewhere += time.Duration(r.AgentDuration * float64(time.Second))
		}
	}
	var owns, alls []time.Duration
	for _, x := range trials {
		if x.all > 0 {
			owns, alls = append(owns, x.all-x.elsewhere), append(alls, x.all)
		}
	}
	slices.Sort(owns)
	slices.Sort(alls)
	return owns[len(owns)/2].Round(time.Millisecond), alls[len(alls)/2].Round(time.Millisecond)
}
