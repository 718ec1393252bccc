package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/contrib/bench/result"
)

var sample = report{
	Machine: machine{CPU: "Example 1", Cores: 2, Memory: 8e9, Engine: "20.10", Go: "go1.26", Load: "0.1 0.2 0.3"},
	Results: []result.Result{
		result.Compare("ms", []float64{300}, []float64{200}).Called("a", "submit → verdict", "the engine"),
		result.Compare("MB", []float64{40.5}, []float64{20.25}).Called("b", "memory", "with one"),
	},
}

func TestTable(t *testing.T) {
	const want = `| what             |    ours | against    | reference | ratio |
|------------------|--------:|------------|----------:|------:|
| submit → verdict |  300 ms | the engine |    200 ms |  1.50 |
| memory           | 40.5 MB | with one   |   20.2 MB |  2.00 |

Example 1, 2 cores, 8 GB; Docker 20.10; go1.26; load before the run 0.1 0.2 0.3
`
	if diff := cmp.Diff(want, sample.table()); diff != "" {
		t.Error(diff)
	}
}

func TestTheFileHoldsTheReport(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bench.json")
	if err := sample.write(path); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got report
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sample, got); diff != "" {
		t.Error(diff)
	}
}
