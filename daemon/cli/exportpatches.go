package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/renameio/v2"

	"github.com/assayd/assayd/daemon/api"
	"github.com/assayd/assayd/reconcile/query/trialview"
	"github.com/assayd/assayd/runtime/task/swebench"
)

// predictionsFormat is the format of export that is one file of patches.
const predictionsFormat = "predictions"

// predictionsName is what others call the file.
const predictionsName = "all_preds.jsonl"

// exportPredictions writes what each trial of a run has changed, for an agent and an attempt a
// file. Patches that were not kept are made from archives, which takes a container engine.
func (e *env) exportPredictions(ctx context.Context, name, to string) error {
	settings, state, err := e.place()
	if err != nil {
		return err
	}
	c, done, err := e.connectTo(ctx, settings, state, true)
	if err != nil {
		return err
	}
	files, err := e.predictions(ctx, c, name, to)
	done()
	if errors.Is(err, api.NoEngine) { // only this process answered
		c, done, err := e.judgeAt(ctx, settings, state, nil)
		if err != nil {
			return err
		}
		files, err = e.predictions(ctx, c, name, to)
		if err = errors.Join(err, done()); err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	return e.writePredictions(files, name)
}

// predictions asks for the patches of a run's trials, by file.
func (e *env) predictions(ctx context.Context, c *api.Client, name, to string) (map[string][]swebench.Prediction, error) {
	s, err := c.Status(ctx, name)
	if err != nil {
		return nil, err
	}
	var trials []trialview.TrialStatus
	groups := map[string]string{}
	for _, run := range s.Runs {
		for _, t := range run.Trials {
			if t.Status != "" && (run.Address == name && !t.Superseded || t.ID == name) {
				trials = append(trials, t)
				groups[groupOf(t)] = ""
			}
		}
	}
	single := strings.HasSuffix(to, ".jsonl")
	switch {
	case len(trials) == 0:
		return nil, usage{fmt.Errorf("%s: no trial of it has ended", name)}
	case single && len(groups) > 1:
		return nil, usage{fmt.Errorf("%s has several agents or attempts, and a file holds one prediction a task: name a folder instead of %s", name, to)}
	}
	files := map[string][]swebench.Prediction{}
	for _, t := range trials {
		diff, err := c.Patch(ctx, t.ID)
		if err != nil {
			return nil, err
		}
		file := to
		if !single {
			file = filepath.Join(to, groupOf(t), predictionsName)
		}
		files[file] = append(files[file], swebench.Prediction{Instance: t.Task, Model: modelOf(t), Patch: diff})
	}
	return files, nil
}

// groupOf is the folder for the trials of an agent's attempt.
func groupOf(t trialview.TrialStatus) string {
	return strings.Map(func(r rune) rune {
		if r == '/' || r == 0 {
			return '-'
		}
		return r
	}, fmt.Sprintf("%s.%d", modelOf(t), t.Attempt))
}

func modelOf(t trialview.TrialStatus) string {
	if t.Model == "" {
		return t.Agent
	}
	return t.Agent + "/" + t.Model
}

// writePredictions writes the files. A patch that none can hold is named at the end, and all
// others are there.
func (e *env) writePredictions(files map[string][]swebench.Prediction, name string) error {
	count := 0
	written := []string{}
	var left []error
	for _, file := range slices.Sorted(maps.Keys(files)) {
		var b bytes.Buffer
		if err := swebench.WritePredictions(&b, files[file]); err != nil {
			left = append(left, fmt.Errorf("%s does not have every prediction:\n%w", file, err))
		}
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := renameio.WriteFile(file, b.Bytes(), 0o644); err != nil {
			return fmt.Errorf("write the predictions of %s: %w", name, err)
		}
		count += bytes.Count(b.Bytes(), []byte("\n"))
		written = append(written, file)
	}
	if e.json {
		err := e.printJSON(map[string]any{"files": written, "predictions": count})
		return errors.Join(append(left, err)...)
	}
	for _, file := range written {
		fmt.Fprintln(e.out, file)
	}
	_, err := fmt.Fprintln(e.err, counted(count, "prediction"))
	return errors.Join(append(left, err)...)
}
