package result

import (
	"math"
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
			if got := Quantile(tc.samples, tc.q); math.Abs(got-tc.want) > 1e-9 {
				t.Errorf("%v, want %v", got, tc.want)
			}
		})
	}
}

func TestSamplesKeepTheirOrder(t *testing.T) {
	samples := []float64{3, 1, 2}
	Median(samples)
	if diff := cmp.Diff([]float64{3, 1, 2}, samples); diff != "" {
		t.Error(diff)
	}
}

func TestRatioIsAlwaysANumber(t *testing.T) {
	for _, tc := range []struct{ ours, reference, want float64 }{{300, 200, 1.5}, {0, 5, 0}, {5, 0, 0}, {0, 0, 0}} {
		if got := Ratio(tc.ours, tc.reference); got != tc.want {
			t.Errorf("%v over %v is %v, want %v", tc.ours, tc.reference, got, tc.want)
		}
	}
}

func TestCompareTakesMedians(t *testing.T) {
	got := Compare("ms", []float64{10, 30, 20}, []float64{8, 10, 900}).Called("n", "ours", "theirs")
	want := Result{Name: "n", What: "ours", Against: "theirs", Unit: "ms", Ours: 20, Reference: 10, Ratio: 2, P90: 28, Samples: 3}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestMeasuresAreMediansByName(t *testing.T) {
	m := Samples{}
	m.Add(map[string]float64{"a": 1, "b": 10, "c": 5})
	m.Add(map[string]float64{"a": 3, "b": 20})
	m.Add(map[string]float64{"a": 100})
	if diff := cmp.Diff(map[string]float64{"a": 3, "b": 15}, m.Medians("a", "b")); diff != "" {
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
		if got := Figure(tc.x, tc.unit); got != want {
			t.Errorf("%v %s is %q, want %q", tc.x, tc.unit, got, want)
		}
	}
}
