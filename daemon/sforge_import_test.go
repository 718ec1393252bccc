//go:build linux

package daemon_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/daemon"
	"github.com/assayd/assayd/reconcile/plan"
)

// load compiles a spec that imports the folder tasks beside it.
func load(t *testing.T, dir, more string) *config.Set {
	t.Helper()
	spec := filepath.Join(dir, "b.hcl")
	text := "benchmark \"b\" {\n  import \"sforge\" {\n    path = \"tasks\"\n" + more + "  }\n}\n"
	if err := os.WriteFile(spec, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return config.Load([]config.Input{config.Read(spec)}, nil, config.Options{Import: daemon.Importer{}.Import, Formats: daemon.FormatNames()})
}

// many lays out a benchmark of tasks that differ in their names.
func many(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	text, err := os.ReadFile("testdata/sforge/tasks/numbers.json")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"BENCHMARK.yaml": fmt.Sprintf(baseYAML, "b")}
	for i := range n {
		name := fmt.Sprintf("n%d", i)
		files[name+".json"] = strings.Replace(string(text), `"numbers"`, `"`+name+`"`, 1)
	}
	if err := os.Mkdir(filepath.Join(dir, "tasks"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, "tasks", name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestOneBrokenTaskIsOneWarning(t *testing.T) {
	dir := many(t, 134)
	broken := filepath.Join(dir, "tasks", "n77.json")
	if err := os.WriteFile(broken, []byte("{\n  \"task_id\": \"n77\",\n}"), 0o644); err != nil {
		t.Fatal(err)
	}
	set := load(t, dir, "")
	if n := len(set.Benchmark("b").All()); n != 133 {
		t.Errorf("%d tasks, want 133", n)
	}
	if len(set.Diagnostics) != 1 || set.Diagnostics[0].Severity != config.Warning || set.Diagnostics[0].Summary != "Not imported: "+broken+":3" {
		t.Errorf("it tells %+v", set.Diagnostics)
	}
}

func TestAnImportTakesWhatItsGlobsSay(t *testing.T) {
	set := load(t, many(t, 20), "    include = [\"n1*\", \"n4\"]\n    exclude = [\"n1[3-9]\"]\n")
	var names []string
	for _, one := range set.Benchmark("b").All() {
		names = append(names, one.Name())
	}
	if diff := cmp.Diff([]string{"n1", "n10", "n11", "n12", "n4"}, names); diff != "" {
		t.Error(diff)
	}
}

// W-36: there is one definition of a task. What runs is what was compiled from its file,
// and a file that says something else makes another cell.
func TestAnImportedTaskIsWhatItsFileSays(t *testing.T) {
	dir := many(t, 1)
	first := load(t, dir, "").Benchmark("b")
	compiled, err := plan.CompileTask(first.All()[0])
	if err != nil {
		t.Fatal(err)
	}
	if compiled.Benchmark != "b" || compiled.Judge.Ref != "b.judge.n0:920a57b7adc3" || compiled.Judge.Rescale.Anchors["upper"] != 3 || compiled.Metadata["category"] != "Sorting" {
		t.Errorf("%+v", compiled)
	}
	file := filepath.Join(dir, "tasks", "n0.json")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), "python3 /opt/judge/judge.py", "python3 -I /opt/judge/judge.py", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	second := load(t, dir, "").Benchmark("b")
	edited, err := plan.CompileTask(second.All()[0])
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(edited.Judge.Command.Argv[4], "-I") || first.Generation == second.Generation {
		t.Errorf("the edit shows neither in the command %q nor in the generation", edited.Judge.Command.Argv)
	}
	if string(first.All()[0].Imported.Task) == string(second.All()[0].Imported.Task) || !json.Valid(second.All()[0].Imported.Task) {
		t.Error("the compiled task is the same")
	}
}

func TestAFormatThatIsNotReadIsTold(t *testing.T) {
	tasks, problems := daemon.Importer{}.Import(config.Import{Format: "floppy", Path: t.TempDir()})
	if tasks != nil || problems != nil {
		t.Errorf("%v, %v", tasks, problems)
	}
}
