package task_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/task/harbor"
	"github.com/assayd/assayd/runtime/task/sforge"
	"github.com/assayd/assayd/runtime/task/tasktest"
	"github.com/assayd/assayd/runtime/task/terminalbench"
)

// Formats that are folders hold tasks with folders, too: several at once, out and in twice.
func TestFoldersOfTasksComeBackWithTheTasks(t *testing.T) {
	t.Parallel()
	for _, f := range []struct {
		format
		beyond []string
	}{
		{format{"harbor", harbor.Read, harbor.Write}, nil},
		{format{"terminal-bench", terminalbench.Read, terminalbench.Write}, []string{"written", "scored.1"}},
		{format{"sforge", sforge.Read, sforge.Write}, []string{"scored.1"}},
	} {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			trees := &tasktest.Trees{}
			want := slices.DeleteFunc(tasktest.All(t, trees), func(t task.Task) bool { return slices.Contains(f.beyond, t.Name) })
			onWork := tasktest.Written(t, trees)
			onWork.Name, onWork.Judge.FromBase = "on-work", false
			want = append(want, onWork)
			slices.SortFunc(want, func(a, b task.Task) int { return strings.Compare(a.Name, b.Name) })
			for range 2 {
				dir := filepath.Join(t.TempDir(), "new")
				problems, err := f.write(dir, want, trees)
				if err != nil || len(problems) > 0 {
					t.Fatalf("%v, problems %+v", err, problems)
				}
				got := f.read(dir, task.ReadOptions{Trees: trees})
				if diff := cmp.Diff(want, got.Tasks); diff != "" || len(got.Problems)+len(got.Notices) > 0 {
					t.Fatalf("problems %+v, notices %+v\n%s", got.Problems, got.Notices, diff)
				}
				want = got.Tasks
			}
		})
	}
}
