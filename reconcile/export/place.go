package export

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/assayd/assayd/reconcile/history"
)

// place is where a trial goes: runs/<run>/<task>.
type place struct{ run, task string }

// places gives each trial of an execution a place of its own. The layout knows one agent
// and one attempt a run: <run>.e<N>, and where there are several agents .<agent>, several
// models of one agent .<model>, several efforts .<effort>, several attempts .a<N>. Of what is still the same, which an
// edit of the spec left behind, the youngest stays and the others get eight digits of their
// cell's key.
func places(run history.RunRecord) map[string]place {
	titles, models, attempts := map[string]bool{}, map[string]map[string]bool{}, 1
	benchmarks := map[string]map[string]bool{} // by task name
	efforts := map[string]map[string]bool{}    // by agent and model
	for _, t := range run.Trials {
		title := t.Cell.Agent.Title()
		titles[title] = true
		put(models, title, t.Cell.Agent.Model)
		put(benchmarks, t.Cell.Task.Name, t.Cell.Task.Benchmark)
		put(efforts, title+"\x00"+t.Cell.Agent.Model, t.Cell.Agent.Effort)
		attempts = max(attempts, t.Cell.Attempt)
	}
	found, youngest := map[string]place{}, map[place]history.TrialRecord{}
	for _, t := range run.Trials {
		title := t.Cell.Agent.Title()
		p := place{fmt.Sprintf("%s.e%d", safe(strings.TrimPrefix(run.Address, "run.")), run.Execution), safe(t.Cell.Task.Name)}
		if len(titles) > 1 {
			p.run += "." + safe(title)
		}
		if len(models[title]) > 1 {
			p.run += "." + safe(t.Cell.Agent.Model)
		}
		if len(efforts[title+"\x00"+t.Cell.Agent.Model]) > 1 {
			p.run += "." + safe(t.Cell.Agent.Effort)
		}
		if attempts > 1 {
			p.run += fmt.Sprintf(".a%d", t.Cell.Attempt)
		}
		if len(benchmarks[t.Cell.Task.Name]) > 1 || ofRun(p.task) {
			p.task = safe(t.Cell.Task.Benchmark + "." + t.Cell.Task.Name)
		}
		found[t.ID] = p
		if old, taken := youngest[p]; !taken || younger(t, old) {
			youngest[p] = t
		}
	}
	for _, t := range run.Trials {
		if p := found[t.ID]; youngest[p].ID != t.ID {
			p.run += "." + safe(t.Key[:min(8, len(t.Key))])
			found[t.ID] = p
		}
	}
	return found
}

func folderOf(run string) string { return path.Join("runs", run) }

// foldersOf are the folders of all runs that trials go to.
func foldersOf(at map[string]place) []string {
	folders := map[string]bool{}
	for _, p := range at {
		folders[folderOf(p.run)] = true
	}
	return slices.Sorted(maps.Keys(folders))
}

// younger reports whether a trial began after another; one that has not begun is the youngest.
func younger(t, than history.TrialRecord) bool {
	if t.StartedAt.IsZero() || than.StartedAt.IsZero() {
		return t.StartedAt.IsZero() && !than.StartedAt.IsZero()
	}
	return t.StartedAt.After(than.StartedAt)
}

// ofRun reports whether a file of the run is where a task of that name would have its
// folder, be it for the moment in which it is written.
func ofRun(task string) bool {
	task = strings.TrimSuffix(task, partialSuffix)
	return task == runConfigName || task == summaryName
}

func put(sets map[string]map[string]bool, key, value string) {
	if sets[key] == nil {
		sets[key] = map[string]bool{}
	}
	sets[key][value] = true
}

// maxName bounds one part of a path.
const maxName = 100

// safe makes one part of a path of a name that others chose: it names no other folder, is
// not hidden, and is no option of a command.
func safe(name string) string {
	name = strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '_', c == '-':
			return c
		}
		return '_'
	}, name)
	name = name[:min(len(name), maxName)]
	if name == "" || name[0] == '.' || name[0] == '-' {
		name = "_" + name
	}
	return name
}
