package scoring

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/assayd/assayd/runtime/task"
)

func TestRescaling(t *testing.T) {
	none := math.NaN() // no value at all
	anchors := func(names ...string) func(values ...float64) map[string]float64 {
		return func(values ...float64) map[string]float64 {
			m := map[string]float64{}
			for i, name := range names {
				m[name] = values[i]
			}
			return m
		}
	}
	bounds, expert, unit := anchors("lower", "upper"), anchors("baseline", "expert"), anchors("anchor_raw", "anchor_score")
	upper, pieces := anchors("baseline", "upper"), anchors("baseline", "rank30", "rank1", "super_anchor")
	for _, tt := range []struct {
		kind    string
		anchors map[string]float64
		want    map[float64]float64 // raw -> scaled
	}{
		{"linear", bounds(10, 30), map[float64]float64{10: 0, 15: 25, 30: 100, 40: 100, -5: 0}},
		{"linear", bounds(30, 10), map[float64]float64{30: 0, 15: 75, 5: 100}},
		{"linear", bounds(10, 10), map[float64]float64{10: none, 20: none}},
		{"min_linear", expert(100, 20), map[float64]float64{100: 0, 80: 25, 20: 100, 0: 100, 200: 0}},
		{"min_linear", expert(20, 20), map[float64]float64{20: none, 1: none}},
		{"min_linear_positive", expert(100, 20), map[float64]float64{80: 25, 0: 0, -1: 0, 1: 100}},
		{"min_linear_positive", expert(20, 20), map[float64]float64{10: 0}},
		{"min_inverse_anchor", unit(10, 50), map[float64]float64{20: 25, 10: 50, 1: 100, 0: 0, -3: 0}},
		{"min_inverse_anchor", unit(0, 50), map[float64]float64{20: 0}},
		{"compression_ratio_cropped_guarded", expert(1, 0.2), map[float64]float64{0.6: 50, 0.05: 100, 0.049: 0, 1: 0, 2: 0}},
		{"compression_ratio_cropped_guarded", expert(1, 1), map[float64]float64{0.5: 0}},
		{"log_anchor", unit(100, 50), map[float64]float64{10: 25, 100: 50, 1: 0, 0: 0, 1e9: 100}},
		{"log_anchor", unit(1, 50), map[float64]float64{10: 0}},
		{"log_max", expert(1e5, 1e9), map[float64]float64{1e7: 50, 1e5: 0, 1e9: 100, 1e3: 0, 1e12: 100, 0: 0, -1: 0}},
		{"log_max", expert(10, 10), map[float64]float64{100: 0}},
		{"log_max", expert(0, 10), map[float64]float64{100: 0}},
		{"log_min", expert(1e9, 1e5), map[float64]float64{1e7: 50, 1e9: 0, 1e5: 100, 1: 100, 1e12: 0, 0: 0}},
		{"log_min", expert(-1, 10), map[float64]float64{100: 0}},
		{"log1p_max", upper(10, 1000), map[float64]float64{10: 15.0190, 1000: 100, 0: 0, -1: 0, 1e6: 100}},
		{"log1p_max", upper(10, 0), map[float64]float64{10: 0}},
		{"log1p_max", upper(1e300, 1e-300), map[float64]float64{1e-320: none}}, // ln(1 + 0) is the denominator
		{"piecewise_max", pieces(0, 10, 20, 30), map[float64]float64{5: 10, 15: 50, 25: 90, 0: 0, 10: 20, 20: 80, 30: 100, 31: 100, -1: 0}},
		{"piecewise_max", pieces(0, 10, 10, 30), map[float64]float64{5: none, 25: none, 0: 0, 31: 100}},
		{"piecewise_max", pieces(0, 20, 10, 30), map[float64]float64{5: 5, 15: 15, 20: 20, 25: 95}}, // out of order: each line in its band
		{"piecewise_min", pieces(100, 50, 20, 10), map[float64]float64{75: 10, 35: 50, 15: 90, 100: 0, 50: 20, 20: 80, 10: 100, 5: 100, 0: 0, -1: 0, 200: 0}},
		{"piecewise_min", pieces(100, 100, 20, 10), map[float64]float64{75: none, 5: 100, 100: 0}},
		{"piecewise_log_min", pieces(1000, 100, 10, 1), map[float64]float64{316.22776601683796: 10, 31.622776601683793: 50, 3.1622776601683795: 90, 1000: 0, 0.5: 100, 0: 0}},
		{"piecewise_log_min", pieces(1000, 100, 10, 0), map[float64]float64{50: 0, 0.5: 0}},
		{"no such kind", nil, map[float64]float64{42: 42, -1: 0, 1e9: 100}},
	} {
		for raw, want := range tt.want {
			got := Rescale(&task.Rescale{Kind: tt.kind, Anchors: tt.anchors}, &raw)
			switch {
			case math.IsNaN(want):
				if got != nil {
					t.Errorf("%s %v of %v is %v, want nothing", tt.kind, tt.anchors, raw, *got)
				}
			case got == nil || math.Abs(*got-want) > 1e-4:
				t.Errorf("%s %v of %v is %v, want %v", tt.kind, tt.anchors, raw, got, want)
			}
		}
	}
}

func TestRescalingGivesANumberOrNothing(t *testing.T) {
	names := []string{"lower", "upper", "baseline", "expert", "rank30", "rank1", "super_anchor", "anchor_raw", "anchor_score"}
	kinds := []string{"unknown"}
	for kind := range scales {
		kinds = append(kinds, kind)
	}
	if len(scales) != 12 {
		t.Errorf("there are %d kinds, want 12", len(scales))
	}
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{0, 1, -1, math.MaxFloat64, math.SmallestNonzeroFloat64, math.Inf(1), math.NaN()}))
		r := &task.Rescale{Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), Anchors: map[string]float64{}}
		for _, name := range names {
			r.Anchors[name] = number.Draw(t, name)
		}
		raw := number.Draw(t, "raw")
		if v := Rescale(r, &raw); v != nil && !(*v >= 0 && *v <= 100) {
			t.Fatalf("%s of %v is %v", r.Kind, raw, *v)
		}
	})
	if Rescale(nil, new(1.0)) != nil || Rescale(&task.Rescale{Kind: "linear"}, nil) != nil {
		t.Error("want nothing without rescaling or without a score")
	}
}
