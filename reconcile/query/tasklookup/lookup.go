package tasklookup

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/request"
	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/trial"
)

// AddressIn is the address of a task of a benchmark, or of one that was mined; plan.TaskAddress where the set has no such task.
func AddressIn(set *config.Set, benchmark, name string) string {
	for _, kind := range []string{"benchmark", "mining"} {
		all, _ := Of(set, config.Ref{Kind: kind, Name: benchmark})
		if i := slices.IndexFunc(all, func(s config.Selected) bool { return s.Name() == name }); i >= 0 {
			return all[i].Address()
		}
	}
	return plan.TaskAddress(benchmark, name)
}

// Find finds benchmark.x["t"], benchmark.x.t, or the only task of benchmark.x, and the same
// of mining.x among what was mined so far.
func Find(set *config.Set, address string) (config.Selected, error) {
	ref, err := Split(address)
	if err != nil {
		return config.Selected{}, err
	}
	all, known := Of(set, ref)
	switch {
	case !known && ref.Task == "":
		return config.Selected{}, request.Mistakef("there is no task or benchmark %s%s", address, request.Suggest(address, Blocks(set)))
	case !known:
		return config.Selected{}, request.Mistakef("there is no task %s%s", address, request.Suggest(address, taskAddresses(set)))
	case ref.Task == "" && len(all) == 0:
		return config.Selected{}, request.Mistakef("%s has no tasks", address)
	case ref.Task == "" && len(all) > 1:
		ref.Task = "NAME"
		return config.Selected{}, request.Mistakef("%s has %d tasks; name one, as in %s", address, len(all), ref)
	case ref.Task == "":
		return all[0], nil
	}
	if i := slices.IndexFunc(all, func(s config.Selected) bool { return s.Name() == ref.Task }); i >= 0 {
		return all[i], nil
	}
	return config.Selected{}, request.Mistakef("there is no task %s%s", address, request.Suggest(ref.String(), taskAddresses(set)))
}

// Of are the tasks of a benchmark, or what was mined so far, and whether there is such a
// block.
func Of(set *config.Set, ref config.Ref) (all []config.Selected, known bool) {
	if ref.Kind == "mining" {
		all = set.MinedTasks(ref.Name)
		return all, len(all) > 0 || set.Mining(ref.Name) != nil
	}
	b := set.Benchmark(ref.Name)
	if b == nil {
		return nil, false
	}
	return b.All(), true
}

// All are the tasks of all benchmarks, and what was mined so far by the mining specs.
func All(set *config.Set) (all []config.Selected) {
	for i := range set.Blocks.Benchmarks {
		all = append(all, set.Blocks.Benchmarks[i].All()...)
	}
	for _, m := range set.Blocks.Minings {
		all = append(all, set.MinedTasks(m.Name)...)
	}
	return all
}

var errAddress = errors.New(`a task is named as benchmark.NAME["TASK"] or benchmark.NAME.TASK, and a mined one as mining.NAME["TASK"]`)

// Split reads an address of a task, or of all that a block has.
func Split(address string) (ref config.Ref, err error) {
	kind, rest, _ := strings.Cut(address, ".")
	if kind != "benchmark" && kind != "mining" || rest == "" {
		return ref, request.Mistakef("%q is no task: %w", address, errAddress)
	}
	ref.Kind = kind
	name, quoted, ok := strings.Cut(rest, "[")
	if !ok {
		ref.Name, ref.Task, _ = strings.Cut(rest, ".")
		return ref, nil
	}
	ref.Name = name
	ref.Task, err = strconv.Unquote(strings.TrimSuffix(quoted, "]"))
	if err != nil || ref.Task == "" || !strings.HasSuffix(quoted, "]") {
		return ref, request.Mistakef("%q is no task: %w", address, errAddress)
	}
	return ref, nil
}

// Blocks are the addresses of all benchmarks and mining specs.
func Blocks(set *config.Set) (all []string) {
	for i := range set.Blocks.Benchmarks {
		all = append(all, set.Blocks.Benchmarks[i].Address())
	}
	for _, m := range set.Blocks.Minings {
		all = append(all, m.Address())
	}
	return all
}

func taskAddresses(set *config.Set) (all []string) {
	for _, s := range All(set) {
		all = append(all, s.Address())
	}
	return all
}

// OfRun is the task of a trial as its run declares it now, with the run's overrides.
func OfRun(set *config.Set, s trial.State) (task.Task, bool) {
	run := set.Run(strings.TrimPrefix(s.Spec, "run."))
	if run == nil {
		return task.Task{}, false
	}
	d, err := plan.Compile(set, *run)
	if err != nil {
		return task.Task{}, false
	}
	for _, c := range d.Cells() {
		if t := c.Whole().Task; t.Benchmark == s.Cell.Task.Benchmark && t.Name == s.Cell.Task.Name {
			return t, true
		}
	}
	return task.Task{}, false
}

// Selected are the tasks that an address means: that of a task, or of a benchmark or a mining
// spec with all that it has; "" means all of a set. An address that means nothing is a
// *request.Mistake.
func Selected(set *config.Set, address string) ([]config.Selected, error) {
	if address == "" {
		all := All(set)
		if len(all) == 0 {
			return nil, request.Mistakef("there is no task in these files")
		}
		return all, nil
	}
	ref, err := Split(address)
	if err != nil {
		return nil, err
	}
	if all, _ := Of(set, ref); ref.Task == "" && len(all) > 0 {
		return all, nil
	}
	found, err := Find(set, address)
	if err != nil {
		return nil, err
	}
	return []config.Selected{found}, nil
}
