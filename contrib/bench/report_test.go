package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestQuantile(t *testing.T) {
	tests := map[string]struct {
		samples []float64
		q, want float64
	}{
		"none":                                 {nil, 0.5, 0},
		"one is every quantile":                {[]float64{7}, 0.9, 7},
		"the middle of an odd number":          {[]float64{9, 1, 5}, 0.5, 5},
		"the mean of the two middle ones":      {[]float64{4, 1, 2, 3}, 0.5, 2.5},
		"one far away does not move a median":  {[]float64{1, 2, 3, 2, 1000}, 0.5, 2},
		"between the two nearest":              {[]float64{0, 10}, 0.9, 9},
		"the last at the end":                  {[]float64{3, 1, 2}, 1, 3},
		"the first at the beginning":           {[]float64{3, 1, 2}, 0, 1},
		"nine tenths of eleven is the tenth":   {[]float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, 0.9, 10},
		"equal samples are their own quantile": {[]float64{2, 2, 2}, 0.5, 2},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := quantile(tc.samples, tc.q); math.Abs(got-tc.want) > 1e-9 {
				t.Errorf("%v, want %v", got, tc.want)
			}
		})
	}
}

func TestSamplesKeepTheirOrder(t *testing.T) {
	samples := []float64{3, 1, 2}
	median(samples)
	if diff := cmp.Diff([]float64{3, 1, 2}, samples); diff != "" {
		t.Error(diff)
	}
}

func TestRatioIsAlwaysANumber(t *testing.T) {
	for _, tc := range []struct{ ours, reference, want float64 }{{300, 200, 1.5}, {0, 5, 0}, {5, 0, 0}, {0, 0, 0}} {
		if got := ratio(tc.ours, tc.reference); got != tc.want {
			t.Errorf("%v over %v is %v, want %v", tc.ours, tc.reference, got, tc.want)
		}
	}
}

func TestCompareTakesMedians(t *testing.T) {
	got := compare("ms", []float64{10, 30, 20}, []float64{8, 10, 900}).called("n", "ours", "theirs")
	want := result{Name: "n", What: "ours", Against: "theirs", Unit: "ms", Ours: 20, Reference: 10, Ratio: 2, P90: 28, Samples: 3}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestMeasuresAreMediansByName(t *testing.T) {
	m := measures{}
	m.add(map[string]float64{"a": 1, "b": 10, "c": 5})
	m.add(map[string]float64{"a": 3, "b": 20})
	m.add(map[string]float64{"a": 100})
	if diff := cmp.Diff(map[string]float64{"a": 3, "b": 15}, m.medians("a", "b")); diff != "" {
		t.Error(diff)
	}
}

func TestFigureHasThreeDigitsThatCount(t *testing.T) {
	for want, tc := range map[string]struct {
		x    float64
		unit string
	}{
		"0":       {0, ""},
		"0.0197":  {0.019705, ""},
		"1.50":    {1.5, ""},
		"26.2":    {26.185, ""},
		"908 ms":  {908.43, "ms"},
		"1071 ms": {1070.8, "ms"},
		"4.26 ms": {4.263, "ms"},
	} {
		if got := figure(tc.x, tc.unit); got != want {
			t.Errorf("%v %s is %q, want %q", tc.x, tc.unit, got, want)
		}
	}
}

var sample = report{
	Machine: machine{CPU: "Example 1", Cores: 2, Memory: 8e9, Engine: "20.10", Go: "go1.26", Load: "0.1 0.2 0.3"},
	Results: []result{
		compare("ms", []float64{300}, []float64{200}).called("a", "submit → verdict", "the engine"),
		compare("MB", []float64{40.5}, []float64{20.25}).called("b", "memory", "with one"),
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
