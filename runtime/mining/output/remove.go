package output

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/assayd/assayd/runtime/task"
)

// Remove takes out what Write has written of a task in all the formats. A task that comes from
// another pull request, or was mined at another time, stays, and so do all others of a dataset.
func Remove(ctx context.Context, dir string, names []string, m Mined, trees task.Trees) (err error) {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return in(ctx, dir, names, m, trees, writer.remove)
}

// remove takes the task out of every format that has it.
func (w writer) remove(ctx context.Context, to []target) error {
	for _, t := range to {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		there, err := w.there(t)
		if err == nil && there {
			err = w.takeOut(t)
		}
		if err != nil {
			return fmt.Errorf("remove the task %s from %s: %w", w.task.Name, t.dir, err)
		}
	}
	return nil
}

// there reports whether a dataset has the task, and not only one of its name.
func (w writer) there(t target) (bool, error) {
	if t.about == nil {
		all := t.read(t.dir, task.ReadOptions{Trees: w.trees, Wanted: func(name string) bool { return name == w.task.Name }})
		return slices.ContainsFunc(all.Tasks, func(k task.Task) bool {
			return k.Name == w.task.Name && k.Metadata["pull_url"] == w.about.URL && k.Metadata["mined_at"] == stamp(w.about.MinedAt)
		}), nil
	}
	text, err := os.ReadFile(filepath.Join(t.dir, t.about(w.task.Name), aboutFile))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	var has struct { // of what another version has written, too
		URL     string    `json:"url"`
		MinedAt time.Time `json:"mined_at"`
	}
	if err == nil {
		err = json.Unmarshal(text, &has)
	}
	return has.URL == w.about.URL && has.MinedAt.Equal(w.about.MinedAt), err
}

// takeOut has a dataset be what it is without the task. What tells of it goes before itself.
func (w writer) takeOut(t target) error {
	others, err := w.others(t)
	if err != nil {
		return err
	}
	if len(others) > 0 {
		if _, err := t.format.write(t.staged, others, w.trees); err != nil {
			return err
		}
	}
	for _, part := range slices.Backward(t.parts(w.task.Name)) {
		staged, to := filepath.Join(t.staged, part), filepath.Join(t.dir, part)
		_, err := os.Lstat(staged)
		switch {
		case err == nil:
			err = w.stage.publish(staged, to)
		case errors.Is(err, fs.ErrNotExist):
			err = w.stage.retire(to)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
