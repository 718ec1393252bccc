package swebench_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/task/swebench"
)

// The rows of a dataset in every container are the same tasks.
func TestTextThatIsNoUTF8IsNotAltered(t *testing.T) {
	for name, c := range map[string]struct{ column, written, want string }{
		"half a surrogate":      {"problem_statement", `"a \ud800 b"`, "holds text that is no UTF-8"},
		"a byte":                {"problem_statement", "\"a \xff b\"", "holds text that is no UTF-8"},
		"a byte beside escapes": {"hints_text", "\"\\u00e9 \xff\"", "holds text that is no UTF-8"},
		"in a list":             {"FAIL_TO_PASS", "[\"\\ud800\"]", `"FAIL_TO_PASS" is no list of names`},
		"in metadata":           {"labels", "[\"\xff\"]", `Metadata["labels"] is no UTF-8`},
		"the character itself":  {"problem_statement", "\"\xef\xbf\xbd \\uFFFD\"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(encode(t, with(classic(), map[string]any{c.column: "@"})), `"@"`, c.written, 1)
			got := swebench.Read(write(t, "a.jsonl", text+"\n"), options())
			if c.want == "" {
				if len(got.Tasks) != 1 || got.Tasks[0].Instruction != "\ufffd \ufffd" {
					t.Errorf("%+v", got)
				}
			} else if len(got.Problems) == 0 || !strings.Contains(got.Problems[0].Text, c.want) {
				t.Errorf("%d tasks, problems %+v", len(got.Tasks), got.Problems)
			}
		})
	}
}

func TestEveryContainerHoldsTheSameTasks(t *testing.T) {
	a, b := classic(), with(classic(), map[string]any{"instance_id": "acme__calc-2", "meta": map[string]any{"n": 1.50, "l": []any{"x"}}})
	lines := encode(t, a) + "\n\n" + encode(t, b)
	want := swebench.Read(write(t, "a.jsonl", lines), options()).Tasks
	if len(want) != 2 || want[1].Metadata["meta"] != `{"l":["x"],"n":1.5}` {
		t.Fatalf("%+v", want)
	}
	for name, text := range map[string]string{
		"bom.jsonl": "\xef\xbb\xbf" + lines, "list.json": "[" + encode(t, a) + "," + encode(t, b) + "]",
		"dict.json": encode(t, map[string]any{"acme__calc-2": with(b, map[string]any{"instance_id": nil}), "acme__calc-1": a}),
	} {
		t.Run(name, func(t *testing.T) {
			got := swebench.Read(write(t, name, text), options())
			if diff := cmp.Diff(want, got.Tasks); diff != "" || len(got.Problems) > 0 {
				t.Error(got.Problems, diff)
			}
		})
	}
	t.Run("one row", func(t *testing.T) {
		got := swebench.Read(write(t, "one.json", encode(t, a)), options())
		if diff := cmp.Diff(want[:1], got.Tasks); diff != "" || len(got.Problems) > 0 {
			t.Error(got.Problems, diff)
		}
	})
	dir := filepath.Join(t.TempDir(), "out")
	if problems, err := swebench.Write(dir, want, nil); err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	for _, name := range []string{".", "instances.jsonl", "test.parquet"} {
		t.Run("written "+name, func(t *testing.T) {
			got := swebench.Read(filepath.Join(dir, name), task.ReadOptions{})
			if diff := cmp.Diff(want, got.Tasks); diff != "" || len(got.Problems)+len(got.Notices) > 0 {
				t.Error(got.Problems, got.Notices, diff)
			}
		})
	}
}

// Columns of nested types, as Arrow writes them: three levels for a list.
func TestParquetWithRealLists(t *testing.T) {
	type config struct {
		Install []string `parquet:"install,list"`
		TestCmd string   `parquet:"test_cmd"`
	}
	type instance struct {
		ID        string   `parquet:"instance_id,dict,snappy"`
		Repo      string   `parquet:"repo,dict,gzip"`
		Commit    string   `parquet:"base_commit,zstd"`
		Statement string   `parquet:"problem_statement,snappy"`
		Tests     string   `parquet:"test_patch"`
		F2P       []string `parquet:"FAIL_TO_PASS,list"`
		P2P       []string `parquet:"PASS_TO_PASS"`
		Config    config   `parquet:"install_config"`
		Created   int64    `parquet:"created_at"`
		Hints     *string  `parquet:"hints_text,optional"`
	}
	var all []instance
	for i := range 300 {
		all = append(all, instance{
			fmt.Sprintf("acme__calc-%03d", i), "acme/calc", commit, "x is wrong", tests,
			[]string{"tests/test_calc.py::test_x"},
			[]string{"tests/test_calc.py::test_y", "tests/test_calc.py::test_z"}[:i%3],
			config{[]string{"pip install -e .", "make"}, "pytest -rA"},
			1706695200000, nil,
		})
	}
	name := filepath.Join(t.TempDir(), "train-00000-of-00001.parquet")
	if err := parquet.WriteFile(name, all); err != nil {
		t.Fatal(err)
	}
	got := swebench.Read(filepath.Dir(name), options())
	if len(got.Problems) > 0 || len(got.Tasks) != 300 {
		t.Fatalf("%d tasks, problems %+v", len(got.Tasks), got.Problems)
	}
	last := got.Tasks[299]
	show := []any{last.Name, last.FailToPass, last.PassToPass, last.Work.Setup, last.Judge.Command.Shell, last.Metadata["created_at"], last.Metadata["hints_text"]}
	want := []any{
		"acme__calc-299",
		[]string{"tests/test_calc.py::test_x"},
		[]string{"tests/test_calc.py::test_y", "tests/test_calc.py::test_z"},
		[]string{"pip install -e .", "make"},
		"pytest -rA tests/test_calc.py", "1706695200000", "",
	}
	if diff := cmp.Diff(want, show); diff != "" {
		t.Error(diff)
	}
}

func TestOneBadLineHidesNoOther(t *testing.T) {
	a, b := encode(t, classic()), encode(t, with(classic(), map[string]any{"instance_id": "b"}))
	got := swebench.Read(write(t, "a.jsonl", a+"\n{\"instance_id\": \n[]\n"+a+"\n"+b+"\n"), options())
	var said []string
	for _, p := range got.Problems {
		said = append(said, fmt.Sprintf("%s:%d:%s: %s", p.File, p.Line, p.Task, p.Text))
	}
	want := []string{
		"a.jsonl:2:: is no JSON object: unexpected end of JSON input",
		"a.jsonl:3:: is no JSON object: json: cannot unmarshal array into Go value of type map[string]json.RawMessage",
		"a.jsonl:4:acme__calc-1: is there twice",
	}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Error(diff)
	}
	if len(got.Tasks) != 2 {
		t.Errorf("%d tasks", len(got.Tasks))
	}
	wanted := options()
	wanted.Wanted = func(name string) bool { return name == "b" }
	if got := swebench.Read(write(t, "a.jsonl", a+"\n"+b), wanted); len(got.Tasks) != 1 || got.Tasks[0].Name != "b" {
		t.Errorf("%+v", got)
	}
}

func TestSourcesThatHoldNothing(t *testing.T) {
	linked := t.TempDir()
	if err := os.Symlink(write(t, "a.jsonl", encode(t, classic())), filepath.Join(linked, "a.jsonl")); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ dir, want string }{
		"missing":    {filepath.Join(t.TempDir(), "none"), "no such file or directory"},
		"empty":      {t.TempDir(), "holds no instances"},
		"a link out": {linked, "path escapes from parent"},
		"a text":     {write(t, "a.parquet", "hello hello hello"), "is no parquet file, or a broken one"},
		"a number":   {write(t, "a.json", "1"), "is neither a list nor an object of instances in JSON"},
		"cut":        {write(t, "a.json", "["), "is cut short after 0 instances"},
	} {
		t.Run(name, func(t *testing.T) {
			got := swebench.Read(c.dir, options())
			if len(got.Tasks) != 0 || len(got.Problems) != 1 || !strings.Contains(got.Problems[0].Text, c.want) {
				t.Errorf("%d tasks, problems %+v, want %q", len(got.Tasks), got.Problems, c.want)
			}
		})
	}
}

// What is said of a row of a JSON list has the row's line.
func TestARowOfAListIsToldWithItsLine(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "rows.json")
	text := "[\n  {\"instance_id\": \"a\"},\n\n  {\"instance_id\": \"b\",\n   \"repo\": 1}, {\"x\": 1},\n  7\n]\n"
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	var got []int
	for _, p := range swebench.Read(name, task.ReadOptions{}).Problems {
		if !slices.Contains(got, p.Line) {
			got = append(got, p.Line)
		}
	}
	if want := []int{2, 4, 5, 6}; !slices.Equal(got, want) {
		t.Errorf("lines %v, want %v", got, want)
	}
}
