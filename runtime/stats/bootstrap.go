package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// resamples is how many means an interval is made of, and seed what the generator starts
// from, together with the number of groups: the same samples always have the same interval.
const (
	resamples = 2000
	seed      = 1
)

// z is the normal quantile of 0.975: intervals are those of 95 %.
const z = 1.959963984540054

// bootstrap is the BCa interval of the mean (Efron 1987, "Better Bootstrap Confidence
// Intervals"; Efron and Tibshirani 1993, chapter 14). Whole groups are resampled and
// whole groups left out for the acceleration (Davison and Hinkley 1997, section 3.8).
// Of few groups, less than ten say, such intervals are too narrow, whatever their kind.
func bootstrap(groups []group) (low, high float64) {
	return interval(groups, replicatesOf(len(groups), []point{{groups: groups}})[0])
}

// interval is that of bootstrap, from the means of its resamples.
func interval(groups []group, replicates []float64) (low, high float64) {
	return bca(z, ratio(groups), replicates, leftOut(groups))
}

// leftOut are the means without one group each.
func leftOut(groups []group) []float64 {
	sum, n := 0.0, 0
	for _, g := range groups {
		sum += g.sum
		n += g.n
	}
	means := make([]float64, len(groups))
	for i, g := range groups {
		means[i] = (sum - g.sum) / float64(n-g.n)
	}
	return means
}

// bca is the interval between the percentiles of the replicates at ±z, corrected for their
// bias and for a variance that grows with the value. Without either it is the interval
// between the percentiles themselves.
func bca(z, value float64, replicates, jackknife []float64) (low, high float64) {
	slices.Sort(replicates)
	if same(replicates[0], replicates[len(replicates)-1]) {
		return value, value
	}
	z0, a := bias(value, replicates), acceleration(jackknife)
	at := func(z float64) float64 {
		p := distuv.UnitNormal.CDF(z0 + (z0+z)/(1-a*(z0+z)))
		return stat.Quantile(p, stat.Empirical, replicates, nil)
	}
	return at(-z), at(z)
}

// bias is the normal quantile of the part of replicates below the value; those that are
// the value count half, as there are many of them where scores are few.
func bias(value float64, sorted []float64) float64 {
	below := 0.0
	for _, r := range sorted {
		switch {
		case same(r, value):
			below += 0.5
		case r < value:
			below++
		}
	}
	n := float64(len(sorted))
	return distuv.UnitNormal.Quantile(min(max(below, 0.5), n-0.5) / n)
}

// acceleration is the skewness of what the value is without one group each, over six. It does not
// depend on the size of the numbers, whose cubes may be too small or too large to be numbers.
func acceleration(jackknife []float64) float64 {
	centre, widest := average(jackknife), 0.0
	for _, v := range jackknife {
		widest = max(widest, math.Abs(centre-v))
	}
	if widest == 0 {
		return 0
	}
	var squares, cubes float64
	for _, v := range jackknife {
		d := (centre - v) / widest
		squares += d * d
		cubes += d * d * d
	}
	return cubes / (6 * math.Pow(squares, 1.5))
}

// same reports whether two numbers differ by no more than rounding does.
func same(a, b float64) bool {
	return math.Abs(a-b) <= 1e-12*max(math.Abs(a), math.Abs(b))
}
