package sweforge_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/task/sweforge"
)

// Whatever the file holds, there is a task or a problem; and a task that can be written reads
// back as itself.
func FuzzReadWorkspace(f *testing.F) {
	f.Add(theirs)
	f.Add("id: a\nassayd: '{\"task\":{}}'\n")
	f.Add("id: &a [*a]\n")
	f.Fuzz(func(t *testing.T, text string) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "workspace.yaml"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		got := sweforge.Read(dir, task.ReadOptions{Image: "i"})
		if len(got.Tasks) > 1 || len(got.Tasks) == 0 && len(got.Problems) == 0 || len(got.Tasks) == 1 && len(got.Problems) > 0 {
			t.Fatalf("%d tasks, problems %+v", len(got.Tasks), got.Problems)
		}
		if len(got.Tasks) == 0 {
			return
		}
		out := t.TempDir()
		problems, err := sweforge.Write(out, got.Tasks, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(problems) > 0 {
			return
		}
		again := sweforge.Read(out, task.ReadOptions{Image: "i"})
		if diff := cmp.Diff(got.Tasks, again.Tasks); diff != "" {
			t.Error(again.Problems, diff)
		}
	})
}
