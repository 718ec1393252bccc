package pinned

import (
	"maps"
	"slices"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/runtime/image"
	"github.com/assayd/assayd/runtime/trial"
)

// Repin adds a layer of those tasks of some trials of which no verdict counts and no trial
// runs; where that are all tasks of the execution, all content is as it is now.
func (p *Compiler) Repin(run *config.Run, c *plan.Content, again, all []trial.State) (tasks []string, err error) {
	if c == nil {
		return nil, nil
	}
	decided, some := map[string]bool{}, false
	for _, s := range all {
		if s.Result == nil || s.Result.Status.Counts() {
			decided[plan.TaskAddressOf(s)], some = true, true
		}
	}
	for _, s := range again {
		if at := plan.TaskAddressOf(s); !decided[at] && !slices.Contains(tasks, at) {
			tasks = append(tasks, at)
		}
	}
	if len(tasks) == 0 {
		return nil, nil
	}
	if !some {
		now, err := p.Begun(run, c.N)
		if err == nil {
			c.Layers = now.Layers
		}
		return tasks, err
	}
	over := plan.Layer{Tasks: tasks, Files: map[string]plan.PinnedFile{}}
	for path := range plan.FilesOf(p.set, run) {
		if now, ok := p.set.Accepted()[path]; ok {
			if over.Files[path], err = p.keep(now); err != nil {
				return nil, err
			}
		}
	}
	for i := 1; i < len(c.Layers); i++ { // the last layer of a task counts
		c.Layers[i].Tasks = slices.DeleteFunc(slices.Clone(c.Layers[i].Tasks), func(t string) bool { return slices.Contains(tasks, t) })
	}
	c.Layers = slices.DeleteFunc(c.Layers, func(l plan.Layer) bool { return l.Tasks != nil && len(l.Tasks) == 0 })
	c.Layers = append(c.Layers, over)
	return tasks, nil
}

// moved tells which names of images mean others now than an execution has pinned, and whose
// tasks those are; nil = none. A name that means nothing now has not moved.
func (p *Compiler) moved(address string, n int, d *plan.Run) (*plan.Stale, error) {
	names := p.o.Names
	if names == nil {
		return nil, nil
	}
	var out plan.Stale
	for _, ref := range slices.Sorted(maps.Keys(d.Images)) {
		pinned, err := p.tx.Meta(history.PinKey(address, n, ref))
		if err != nil {
			return nil, err
		}
		if id := names[image.FullName(ref)]; pinned != "" && id != "" && id != pinned {
			out.Files, out.Images = append(out.Files, "image "+ref), append(out.Images, id)
			out.Tasks = append(out.Tasks, d.Images[ref]...)
		}
	}
	if len(out.Files) == 0 {
		return nil, nil
	}
	out.Tasks = slices.Compact(slices.Sorted(slices.Values(out.Tasks)))
	return &out, nil
}
