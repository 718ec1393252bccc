package query

import (
	"context"
	"strings"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/query/tasklookup"
	"github.com/assayd/assayd/reconcile/request"
	"github.com/assayd/assayd/runtime/task"
)

// TaskInfo is one task of a benchmark in force, or one that was mined, in the words of existing clients.
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

// Tasks lists the tasks of all benchmarks in force, and what was mined by the mining specs; or
// of those that spec files declare.
func (r *Reader) Tasks(ctx context.Context, files []string) ([]TaskInfo, error) {
	set, ds, err := r.SpecsFor(ctx, files)
	if err != nil {
		return nil, err
	}
	if ds.HasErrors() {
		return nil, request.Mistakef("the spec files have errors: %s", ds[0].Summary)
	}
	infos := []TaskInfo{}
	for _, s := range tasklookup.All(set) {
		infos = append(infos, taskInfo(s))
	}
	return infos, nil
}

func taskInfo(s config.Selected) TaskInfo {
	info := TaskInfo{
		ID: s.Name(), Address: s.Address(), Benchmark: s.Benchmark.Name, Name: s.Name(),
		Missing: strings.Join(s.Unsupported(), "; "),
	}
	t, err := plan.CompileTask(s)
	if err != nil {
		info.Missing = err.Error()
	} else {
		describe(&info, t)
	}
	return info
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
