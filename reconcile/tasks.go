package reconcile

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/trial"
)

// TaskInfo is one task of a benchmark in force, in the words of existing clients.
type TaskInfo struct {
	ID        string `json:"task_id"`
	Address   string `json:"address"`
	Benchmark string `json:"benchmark"`
	Name      string `json:"name"` // its title
	Base      string `json:"base_image"`
	Parser    string `json:"parser"`
	Select    string `json:"selection"`
	Direction string `json:"score_direction"`
	Game      bool   `json:"game_mode"`
	Missing   string `json:"unsupported,omitempty"` // what of it this version cannot do
}

// Tasks lists the tasks of all benchmarks in force, or of those that spec files declare.
func (r *Reconciler) Tasks(ctx context.Context, files []string) ([]TaskInfo, error) {
	set, ds, err := r.specsFor(ctx, files)
	if err != nil {
		return nil, err
	}
	if ds.HasErrors() {
		return nil, mistake("the spec files have errors: %s", ds[0].Summary)
	}
	infos := []TaskInfo{}
	for i := range set.Blocks.Benchmarks {
		for _, s := range set.Blocks.Benchmarks[i].All() {
			info := TaskInfo{
				ID: s.Name(), Address: s.Address(), Benchmark: s.Benchmark.Name, Name: s.Name(),
				Missing: strings.Join(s.Unsupported(), "; "),
			}
			t, err := CompileTask(s)
			if err != nil {
				info.Missing = err.Error()
			} else {
				describe(&info, t)
			}
			infos = append(infos, info)
		}
	}
	return infos, nil
}

func describe(info *TaskInfo, t task.Task) {
	if t.Title != "" {
		info.Name = t.Title
	}
	info.Base = t.Image
	if t.Base != nil {
		info.Base = t.Base.Name
	}
	info.Parser, info.Select, info.Direction = t.Judge.Parser, t.Judge.Select, t.Judge.Direction
	info.Game = t.Judge.Game != ""
}

// addressOf is a task's address as specs write it, benchmark.x["t"].
func addressOf(benchmark, name string) string {
	return config.Ref{Kind: "benchmark", Name: benchmark, Task: name}.String()
}

// findTask finds benchmark.x["t"], benchmark.x.t, or the only task of benchmark.x.
func findTask(set *config.Set, address string) (config.Selected, error) {
	if isMining(address) {
		return findMined(set, address)
	}
	benchmark, name, err := splitAddress(address)
	if err != nil {
		return config.Selected{}, err
	}
	b := set.Benchmark(benchmark)
	if b == nil && name == "" {
		return config.Selected{}, mistake("there is no task or benchmark %s%s", address, suggest(address, benchmarkAddresses(set)))
	}
	if b == nil {
		return config.Selected{}, mistake("there is no task %s%s", address, suggest(address, taskAddresses(set)))
	}
	if all := b.All(); name == "" && len(all) == 1 {
		return all[0], nil
	} else if name == "" {
		return config.Selected{}, mistake("%s has %d tasks; name one, as in %s", address, len(all), addressOf(benchmark, "NAME"))
	}
	found, ok := b.Find(name)
	if !ok {
		return found, mistake("there is no task %s%s", address, suggest(addressOf(benchmark, name), taskAddresses(set)))
	}
	return found, nil
}

// findMined finds mining.x["t"] or mining.x.t among what was mined so far.
func findMined(set *config.Set, address string) (config.Selected, error) {
	mining, name, err := splitAddress("benchmark." + strings.TrimPrefix(address, "mining."))
	if err != nil {
		return config.Selected{}, mistake("%q is no task: a mined one is named as mining.NAME[\"TASK\"]", address)
	}
	var known []string
	for _, s := range set.Mined().Tasks(mining) {
		if s.Name() == name {
			return s, nil
		}
		known = append(known, s.Address())
	}
	return config.Selected{}, mistake("there is no task %s%s", address, suggest(address, known))
}

var errAddress = errors.New(`a task is named as benchmark.NAME["TASK"] or benchmark.NAME.TASK`)

func splitAddress(address string) (benchmark, name string, err error) {
	rest, ok := strings.CutPrefix(address, "benchmark.")
	if !ok || rest == "" {
		return "", "", mistake("%q is no task: %w", address, errAddress)
	}
	if benchmark, quoted, ok := strings.Cut(rest, "["); ok {
		name, err := strconv.Unquote(strings.TrimSuffix(quoted, "]"))
		if err != nil || name == "" || !strings.HasSuffix(quoted, "]") {
			return "", "", mistake("%q is no task: %w", address, errAddress)
		}
		return benchmark, name, nil
	}
	benchmark, name, _ = strings.Cut(rest, ".")
	return benchmark, name, nil
}

func benchmarkAddresses(set *config.Set) (all []string) {
	for i := range set.Blocks.Benchmarks {
		all = append(all, set.Blocks.Benchmarks[i].Address())
	}
	return all
}

func taskAddresses(set *config.Set) (all []string) {
	for i := range set.Blocks.Benchmarks {
		for _, s := range set.Blocks.Benchmarks[i].All() {
			all = append(all, s.Address())
		}
	}
	return all
}

// taskOfRun is the task of a trial as its run declares it now, with the run's overrides.
func taskOfRun(set *config.Set, s trial.State) (task.Task, bool) {
	run := set.Run(strings.TrimPrefix(s.Spec, "run."))
	if run == nil {
		return task.Task{}, false
	}
	d, err := Compile(set, *run)
	if err != nil {
		return task.Task{}, false
	}
	for _, c := range d.Cells {
		if t := c.Whole().Task; t.Benchmark == s.Cell.Task.Benchmark && t.Name == s.Cell.Task.Name {
			return t, true
		}
	}
	return task.Task{}, false
}

// Selected are the tasks that an address means: that of a task, or of a benchmark with all that
// it has; "" means all of a set. An address that means nothing is a *Mistake.
func Selected(set *config.Set, address string) (all []config.Selected, err error) {
	name, one := "", ""
	if address != "" {
		if name, one, err = splitAddress(address); err != nil {
			return nil, err
		}
	}
	if one != "" || address != "" && set.Benchmark(name) == nil {
		found, err := findTask(set, address)
		return []config.Selected{found}, err
	}
	for i := range set.Blocks.Benchmarks {
		if b := &set.Blocks.Benchmarks[i]; name == "" || b.Name == name {
			all = append(all, b.All()...)
		}
	}
	if len(all) == 0 {
		return nil, mistake("there is no task in %s", cmp.Or(address, "these files"))
	}
	return all, nil
}
