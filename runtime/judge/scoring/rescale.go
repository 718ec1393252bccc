package scoring

import (
	"math"

	"github.com/assayd/assayd/runtime/task"
)

// Rescale maps a raw score to 0..100. It is nil where there is no rescaling, no score, or
// no number that the anchors could give.
func Rescale(r *task.Rescale, score *float64) *float64 {
	if r == nil || finite(score) == nil {
		return nil
	}
	formula := scales[r.Kind]
	if formula == nil {
		formula = func(x float64, _ map[string]float64) float64 { return x }
	}
	value := formula(*score, r.Anchors)
	if math.IsNaN(value) {
		return nil
	}
	return new(clamp(value, 0, 100))
}

// scales are the formulas by kind. NaN is what anchors give that are equal and must not be.
var scales = map[string]func(x float64, a map[string]float64) float64{
	"linear":     func(x float64, a map[string]float64) float64 { return 100 * part(x, a["lower"], a["upper"]) },
	"min_linear": minLinear,
	"min_linear_positive": func(x float64, a map[string]float64) float64 {
		if x <= 0 || a["baseline"] == a["expert"] {
			return 0
		}
		return minLinear(x, a)
	},
	"compression_ratio_cropped_guarded": func(x float64, a map[string]float64) float64 {
		if x < 0.05 || a["baseline"] == a["expert"] {
			return 0
		}
		return minLinear(x, a)
	},
	"min_inverse_anchor": func(x float64, a map[string]float64) float64 {
		if x <= 0 || a["anchor_raw"] <= 0 {
			return 0
		}
		return a["anchor_score"] * a["anchor_raw"] / x
	},
	"log_anchor": func(x float64, a map[string]float64) float64 {
		if x <= 1 || a["anchor_raw"] <= 1 {
			return 0
		}
		return a["anchor_score"] * math.Log(x) / math.Log(a["anchor_raw"])
	},
	"log_max": func(x float64, a map[string]float64) float64 {
		if anyNotPositive(x, a["baseline"], a["expert"]) || a["baseline"] == a["expert"] {
			return 0
		}
		return 100 * logRatio(x, a["baseline"]) / logRatio(a["expert"], a["baseline"])
	},
	"log_min": func(x float64, a map[string]float64) float64 {
		if anyNotPositive(x, a["baseline"], a["expert"]) || a["baseline"] == a["expert"] {
			return 0
		}
		return 100 * logRatio(a["baseline"], x) / logRatio(a["baseline"], a["expert"])
	},
	"log1p_max": func(x float64, a map[string]float64) float64 {
		if anyNotPositive(x, a["baseline"], a["upper"]) {
			return 0
		}
		return 100 * math.Log1p(x/a["baseline"]) / math.Log1p(a["upper"]/a["baseline"])
	},
	"piecewise_max": func(x float64, a map[string]float64) float64 {
		return piecewise(x, a["baseline"], a["rank30"], a["rank1"], a["super_anchor"])
	},
	"piecewise_min": func(x float64, a map[string]float64) float64 {
		if x <= 0 {
			return 0
		}
		return piecewise(-x, -a["baseline"], -a["rank30"], -a["rank1"], -a["super_anchor"])
	},
	"piecewise_log_min": func(x float64, a map[string]float64) float64 {
		if anyNotPositive(x, a["baseline"], a["rank30"], a["rank1"], a["super_anchor"]) {
			return 0
		}
		return piecewise(-math.Log(x), -math.Log(a["baseline"]), -math.Log(a["rank30"]), -math.Log(a["rank1"]), -math.Log(a["super_anchor"]))
	},
}

func minLinear(x float64, a map[string]float64) float64 {
	return 100 * part(x, a["baseline"], a["expert"])
}

// piecewise is three lines, 0 to 20 between the first two anchors, then to 80, then to 100.
// Each stays in its own band, whatever the order of the anchors.
func piecewise(x, baseline, rank30, rank1, super float64) float64 {
	switch {
	case x <= baseline:
		return 0
	case x > super:
		return 100
	case baseline == rank30 || rank30 == rank1 || rank1 == super:
		return math.NaN()
	case x <= rank30:
		return clamp(20*part(x, baseline, rank30), 0, 20)
	case x <= rank1:
		return clamp(20+60*part(x, rank30, rank1), 20, 80)
	}
	return clamp(80+20*part(x, rank1, super), 80, 100)
}

// part is how much of the way from one number to another x has come; NaN where there is no
// way.
func part(x, from, to float64) float64 {
	if from == to {
		return math.NaN()
	}
	return (x - from) / (to - from)
}

func logRatio(a, b float64) float64 { return math.Log(a) - math.Log(b) }

func anyNotPositive(values ...float64) bool {
	for _, v := range values {
		if v <= 0 {
			return true
		}
	}
	return false
}

func clamp(x, low, high float64) float64 { return min(max(x, low), high) }
