package swebench_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/task/swebench"
)

// fuzzed reads a file, and what comes of it once more after it was written.
func fuzzed(t *testing.T, name string, data []byte) {
	name = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
	got := swebench.Read(name, options())
	if len(got.Tasks) == 0 {
		return
	}
	out := t.TempDir()
	problems, err := swebench.Write(out, got.Tasks, nil)
	if err != nil {
		t.Fatal(err)
	}
	left := map[string]bool{}
	for _, p := range problems {
		left[p.Task] = true
	}
	var want []task.Task
	for _, tk := range got.Tasks {
		if !left[tk.Name] {
			want = append(want, tk)
		}
	}
	for _, form := range []string{".", "instances.jsonl", "test.parquet"} {
		again := swebench.Read(filepath.Join(out, form), task.ReadOptions{})
		if diff := cmp.Diff(want, again.Tasks); diff != "" {
			t.Error(form, again.Problems, diff)
		}
	}
}

func FuzzReadJSONL(f *testing.F) {
	f.Add([]byte(`{"instance_id":"a","repo":"a/b","base_commit":"0123456","problem_statement":"x","test_patch":"--- a/t.py\n+++ b/t.py\n","FAIL_TO_PASS":"['t.py::x']","PASS_TO_PASS":[],"m":{"a":[1]}}`))
	f.Add([]byte(`{"instance_id":"a","image":"i","eval_script":"s","log_parser":"parse_log_pytest","problem_statement":"x","FAIL_TO_PASS":["a"],"assayd":"{}","swebench.json":"[]"}` + "\n{"))
	f.Fuzz(func(t *testing.T, data []byte) { fuzzed(t, "a.jsonl", data) })
}

func FuzzReadParquet(f *testing.F) {
	type instance struct {
		ID    string   `parquet:"instance_id,dict,snappy"`
		Tests string   `parquet:"test_patch,zstd"`
		F2P   []string `parquet:"FAIL_TO_PASS,list"`
		N     int64    `parquet:"n,delta"`
	}
	for _, options := range [][]parquet.WriterOption{nil, {parquet.DataPageVersion(1)}} {
		var b bytes.Buffer
		if err := parquet.Write(&b, []instance{{"a", "x", []string{"b", "c"}, 1}, {"d", "x", nil, 2}}, options...); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Fuzz(func(t *testing.T, data []byte) { fuzzed(t, "a.parquet", data) })
}

func FuzzPredictions(f *testing.F) {
	f.Add([]byte(`{"instance_id":"a","model_patch":"x"}` + "\n{"))
	f.Add([]byte(`[{"org":"a","repo":"b","number":1,"fix_patch":null}]`))
	f.Add([]byte(`{"a":{"model_patch":"x"},"b":"y"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := swebench.ReadPredictions(bytes.NewReader(data))
		if err != nil {
			return
		}
		var b bytes.Buffer
		_ = swebench.WritePredictions(&b, got) // which names patches that JSON cannot hold
		again, err := swebench.ReadPredictions(&b)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range again {
			if p.Problem != "" {
				t.Errorf("written with a problem: %+v", p)
			}
		}
	})
}
