//go:build linux

package daemon_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// TestWhatIsReadEndsWithinItsBound: specs and datasets in each format that are made to unfold, or to
// be read without end, are refused by name, with the daemon's memory within its bound; what is
// sound beside them is accepted. What agents and submissions can make larger is in the tests of
// greedy ones, and what a repository of Git unfolds to in those of runtime/git.
func TestWhatIsReadEndsWithinItsBound(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	importing := func(name, format, path string) string {
		return fmt.Sprintf("benchmark %q {\n  import %q {\n    path = %q\n  }\n}\n", name, format, path)
	}
	laughs := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for n := 1; n < 10; n++ {
		laughs += fmt.Sprintf("a%d: &a%d [%s]\n", n, n, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", n-1), 10), ", "))
	}
	bad := map[string]map[string]string{ // by what complaints have to name
		"hcl-deep":   {"hcl-deep.hcl": "x = " + strings.Repeat("[", 400_000)},
		"hcl-wide":   {"hcl-wide.hcl": "locals {\n  x = [" + strings.Repeat("0,", 2_000_000) + "0]\n}\n"},
		"hcl-text":   {"hcl-text.hcl": "locals {\n  x = \"" + strings.Repeat("${1}", 900_000) + "\"\n}\n"},
		"hcl-large":  {"hcl-large.hcl": "# " + strings.Repeat("x", 64<<20)},
		"json-deep":  {"j1.hcl": importing("json-deep", "swebench", "json-deep.jsonl"), "json-deep.jsonl": strings.Repeat("[", 15<<20) + "\n"},
		"json-lines": {"j2.hcl": importing("json-lines", "swebench", "json-lines.jsonl"), "json-lines.jsonl": strings.Repeat("{}\n", 8<<20)},
		"sforge":     {"j3.hcl": importing("sforge", "sforge", "sforge"), "sforge/one.json": strings.Repeat(`{"a":`, 2<<20)},
		"toml":       {"t.hcl": importing("toml", "harbor", "toml"), "toml/one/task.toml": "a" + strings.Repeat(".a", 7<<20) + " = 1\n", "toml/one/instruction.md": "x"},
		"tables":     {"u.hcl": importing("tables", "harbor", "tables"), "tables/one/task.toml": strings.Repeat("[[a]]\n", 2<<20), "tables/one/instruction.md": "x"},
		"keys":       {"k.hcl": importing("keys", "sweforge", "keys"), "keys/one/workspace.yaml": "meta:\n" + strings.Repeat("  k: v\n", 450_000)},
		"yaml":       {"y.hcl": importing("yaml", "sweforge", "yaml"), "yaml/one/workspace.yaml": laughs + "id: *a9\n"},
		"parquet":    {"p.hcl": importing("parquet", "swebench", "parquet.parquet"), "parquet.parquet": unfolding(t)},
	}
	for _, files := range bad {
		for name, text := range files {
			name = filepath.Join(w.specs, name)
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	w.write("good.hcl", w.benchmark())
	w.serve()
	w.until("each is complained of", func() error {
		s, err := w.client.Status(w.Context(), "")
		if err != nil {
			return err
		}
		var told strings.Builder
		for _, d := range s.Diagnostics {
			fmt.Fprintln(&told, d.String())
			if strings.Contains(d.File, "good.hcl") {
				return fmt.Errorf("of the sound one it is said: %s", d.String())
			}
		}
		for name := range bad {
			if !strings.Contains(told.String(), name) {
				return fmt.Errorf("%s is not complained of:\n%s", name, told.String())
			}
		}
		return nil
	})
	if memory := peak(fmt.Sprintf("/proc/%d", w.daemon.cmd.Process.Pid)); memory > 500<<10 || memory == 0 {
		t.Errorf("the daemon used %d MiB of memory", memory>>10)
	}
	w.terminate()
}

// unfolding is a small parquet file with gigabytes of text: one value, named two thousand times.
func unfolding(t *testing.T) string {
	t.Helper()
	type instance struct {
		ID        string `parquet:"instance_id,zstd"`
		Statement string `parquet:"problem_statement,dict,zstd"`
	}
	var b strings.Builder
	text := strings.Repeat("x", 1<<20)
	out := parquet.NewGenericWriter[instance](&b)
	for n := range 2000 {
		if _, err := out.Write([]instance{{fmt.Sprint("i", n), text}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	if b.Len() > 8<<20 {
		t.Fatalf("the file takes %d bytes by itself", b.Len())
	}
	return b.String()
}
