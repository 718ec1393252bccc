package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/assayd/assayd/runtime/task/sforge"
)

// writeRuns makes run blocks of the experiments that lie beside SForge's tasks.
func (i *imported) writeRuns(b *strings.Builder) {
	experiments, problems, notices := sforge.Experiments(i.Data)
	for _, p := range problems {
		i.Problems = append(i.Problems, asNotice(p))
	}
	for _, p := range notices {
		i.Notices = append(i.Notices, asNotice(p))
	}
	known := map[string]bool{}
	for _, t := range i.Tasks {
		known[t.Name] = true
	}
	for _, x := range experiments {
		if x.Runs = i.possible(x, known); len(x.Runs) > 0 {
			fmt.Fprintf(b, "\n# %s\n%s", oneLine(x.File), x.HCL(i.Benchmark))
		}
	}
}

// possible are the runs of an experiment with the tasks that are there, on the engine that is.
func (i *imported) possible(x sforge.Experiment, known map[string]bool) (runs []sforge.Run) {
	notice := func(format string, args ...any) {
		i.Notices = append(i.Notices, importedNotice{File: x.File, Text: fmt.Sprintf(format, args...)})
	}
	for _, r := range x.Runs {
		for _, name := range r.Tasks {
			if !known[name] {
				notice("the run %s leaves out %q, which is not among the tasks", r.Name, name)
			}
		}
		r.Tasks = slices.DeleteFunc(slices.Clone(r.Tasks), func(name string) bool { return !known[name] })
		if len(r.Tasks) == 0 {
			continue
		}
		if r.Engine != "" {
			notice("the run %s is done by this machine's engine instead of %s", r.Name, r.Engine)
			r.Engine = ""
		}
		i.Runs = append(i.Runs, "run."+r.Name)
		runs = append(runs, r)
	}
	return runs
}
