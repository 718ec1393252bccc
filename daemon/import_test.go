//go:build linux

package daemon_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/daemon"
	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/task/remote/remotetest"
)

// noTrees is for tasks without folders of their own.
type noTrees struct{ task.Trees }

func (noTrees) Keep(string) (task.Tree, error) { return task.Tree{Digest: "x"}, nil }

func TestAnArchiveIsImported(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for name, text := range harborTask("one") {
		files["set-1/tasks/"+name] = text
	}
	files["set-1/README.md"] = "hello"
	files["set-1/out"] = "->/etc/passwd"
	name := filepath.Join(t.TempDir(), "set")
	if err := os.WriteFile(name, remotetest.Gzip(t, remotetest.Tar(t, files)), 0o600); err != nil {
		t.Fatal(err)
	}
	tasks, problems := daemon.Importer{Trees: noTrees{}}.Import(config.Import{Format: "harbor", Path: name, Include: []string{"*"}})
	told := ""
	for _, p := range problems {
		if !p.Notice {
			t.Errorf("problem %+v", p)
		}
		told += p.Text + "\n"
	}
	if len(tasks) != 1 || tasks[0].Name != "one" || !strings.Contains(told, "left out: set-1/out is a link that leads out") {
		t.Errorf("%d tasks, told:\n%s", len(tasks), told)
	}
	_, problems = daemon.Importer{Trees: noTrees{}}.Import(config.Import{Format: "harbor", Dataset: "o/n"})
	if len(problems) != 1 || !problems[0].Pending {
		t.Errorf("without a daemon: %+v", problems)
	}
	_, problems = daemon.Importer{Trees: noTrees{}}.Import(config.Import{Format: "harbor", URL: "ext::sh"})
	if len(problems) != 1 || problems[0].Pending || !strings.Contains(problems[0].Text, "is no URL") {
		t.Errorf("of no URL: %+v", problems)
	}
}

func TestTheFolderOfTheTasksIsFound(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		format, want, wrong string
		files               []string
	}{
		"at the top":            {"harbor", ".", "", []string{"a/task.toml", "x/tasks/b/task.toml"}},
		"below":                 {"harbor", "x/tasks", "", []string{"README.md", "x/tasks/b/task.toml"}},
		"one task":              {"harbor", ".", "", []string{"task.toml"}},
		"twice":                 {"terminal-bench", "", "there are tasks in old, tasks: name one", []string{"old/a/task.yaml", "tasks/b/task.yaml"}},
		"hidden":                {"sforge", ".", "", []string{".x/BENCHMARK.yaml"}},
		"rows before documents": {"swebench", "data", "", []string{"dataset_infos.json", "data/test.parquet"}},
		"documents":             {"swebench", ".", "", []string{"rows.json"}},
		"anywhere":              {"sweforge", ".", "", []string{"a/b/workspace.yaml"}},
	} {
		dir := t.TempDir()
		for _, file := range tt.files {
			file = filepath.Join(dir, file)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got, err := daemon.Formats()[tt.format].Find(dir)
		if tt.wrong != "" && (err == nil || !strings.Contains(err.Error(), tt.wrong)) || tt.wrong == "" && (err != nil || got != filepath.Join(dir, tt.want)) {
			t.Errorf("%s: %s, %v, want %s%s", name, got, err, tt.want, tt.wrong)
		}
	}
}
