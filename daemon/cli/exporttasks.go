package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/daemon"
	"github.com/assayd/assayd/daemon/engines"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/query/tasklookup"
	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/task"
)

// exported is what assayd export has written of tasks, as --json prints it.
type exported struct {
	Format   string           `json:"format"`
	Dir      string           `json:"dir"`
	Tasks    []string         `json:"tasks"`
	Problems []importedNotice `json:"problems"` // of what is not written
	Notices  []importedNotice `json:"notices"`
}

// exportTasks writes tasks in another system's format.
func (e *env) exportTasks(ctx context.Context, format, from, of, dir string) (err error) {
	settings, err := e.settings()
	if err != nil {
		return err
	}
	isNew, err := vacant(dir, "")
	if err != nil {
		return err
	}
	out := exported{Format: format, Dir: dir, Tasks: []string{}, Problems: []importedNotice{}, Notices: []importedNotice{}}
	tasks, trees, done, err := e.tasksToExport(ctx, settings, from, of, &out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	problems, err := daemon.Formats()[format].Write(dir, tasks, trees)
	if err != nil {
		return fmt.Errorf("write tasks as %s: %w", format, err)
	}
	lost := map[string]bool{}
	for _, p := range problems {
		out.Problems = append(out.Problems, asNotice(p))
		lost[p.Task] = true
	}
	for _, t := range tasks {
		if !lost[t.Name] {
			out.Tasks = append(out.Tasks, t.Name)
		}
	}
	out.Notices = append(out.Notices, onlyHere(ctx, settings, tasks, lost)...)
	if len(out.Tasks) == 0 && isNew {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	return e.showExported(out)
}

// onlyHere tells of images that an exported task names and that came from no registry: whoever runs it
// elsewhere does not find them. Without an engine nothing is known of images.
func onlyHere(ctx context.Context, settings *config.Settings, tasks []task.Task, lost map[string]bool) (notices []importedNotice) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second) // an engine that hangs is as none
	defer cancel()
	engine, err := engines.Default(ctx, settings)
	if err != nil {
		return nil
	}
	defer func() { _ = engine.Close() }() // it was only asked
	images, ok := engine.(container.Images)
	if !ok {
		return nil
	}
	here := map[string]bool{}
	for _, t := range tasks {
		names := []string{t.Image, t.Work.Image, t.Judge.Image}
		if t.Base != nil {
			names = append(names, t.Base.Image)
		}
		for _, name := range names {
			if name == "" || lost[t.Name] || here[name] {
				continue
			}
			here[name] = true
			if img, err := images.Image(ctx, name); err == nil && len(img.Digests) == 0 {
				notices = append(notices, importedNotice{Task: t.Name, Text: fmt.Sprintf("its image %s came from no registry: push it to one, and name it so, before the task is run elsewhere", name)})
			}
		}
	}
	return notices
}

// tasksToExport finds the tasks that are meant: of a dataset in a format, of spec files, or of
// the specs in force.
func (e *env) tasksToExport(ctx context.Context, settings *config.Settings, from, of string, out *exported) (tasks []task.Task, trees task.Trees, done func() error, err error) {
	var source *daemon.Source
	switch {
	case from != "":
		if !exists(of) {
			return nil, nil, nil, usage{fmt.Errorf("there is no file or folder %s", of)}
		}
		source, err = daemon.Folder(ctx, settings)
	case exists(of):
		var inputs []config.Input
		if inputs, err = readSpecs([]string{of}); err == nil {
			source, err = daemon.Specs(ctx, settings, inputs)
		}
	default:
		source, err = e.specsInForce(ctx, settings)
	}
	if err != nil {
		return nil, nil, nil, err
	}
	if from != "" {
		found := daemon.Formats()[from].Read(of, task.ReadOptions{Trees: source.Trees, Image: daemon.DefaultImage})
		tasks = found.Tasks
		for _, p := range found.Problems {
			out.Problems = append(out.Problems, asNotice(p))
		}
		for _, p := range found.Notices {
			out.Notices = append(out.Notices, asNotice(p))
		}
	} else {
		address := of
		if exists(of) {
			address = ""
		}
		tasks, err = e.tasksOf(source.Set, address)
	}
	if err != nil {
		return nil, nil, nil, errors.Join(err, source.Close())
	}
	return tasks, source.Trees, source.Close, nil
}

func (e *env) specsInForce(ctx context.Context, settings *config.Settings) (*daemon.Source, error) {
	state, err := e.stateDir(settings)
	if err != nil {
		return nil, err
	}
	source, err := daemon.InForce(ctx, settings, state)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no state of a daemon in %s; name the state directory with --state, or a spec file instead of an address", state)
	}
	return source, err
}

// tasksOf compiles the tasks of an address, or all.
func (e *env) tasksOf(set *config.Set, address string) (tasks []task.Task, err error) {
	if address == "" && set.Diagnostics.HasErrors() {
		return nil, e.rejected(set.Diagnostics)
	}
	selected, err := tasklookup.Selected(set, address)
	if err != nil {
		return nil, usage{err}
	}
	for _, one := range selected {
		t, err := plan.CompileTask(one)
		if err != nil {
			return nil, err
		}
		tasks = append(tasks, t)
	}
	return tasks, nil
}

// showExported prints what is lost, task by task, and how many tasks there are.
func (e *env) showExported(out exported) error {
	switch {
	case e.json:
		if err := e.printJSON(out); err != nil {
			return err
		}
	case len(out.Problems)+len(out.Notices) > 0:
		t := tabwriter.NewWriter(e.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "TASK\tSTATE\tWHAT")
		for _, n := range out.Problems {
			n.row(t, "left out")
		}
		for _, n := range out.Notices {
			n.row(t, "notice")
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	if len(out.Tasks) == 0 {
		if !e.json {
			fmt.Fprintln(e.err, "The format can hold none of these tasks, so nothing was written.")
		}
		return exit{ExitSpecs}
	}
	if !e.json {
		fmt.Fprintf(e.err, "%s in %s\n", counted(len(out.Tasks), "task"), out.Dir)
	}
	return nil
}

// isRun reports whether a source is a run or a trial rather than tasks.
func isRun(of string) bool {
	return !exists(of) && !isAddress(of) && filepath.Ext(of) != ".hcl"
}
