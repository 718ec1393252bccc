package stats

import "math"

// Average is the mean over tasks of the mean of each task's attempts, and of how many tasks it is: a task with
// more attempts weighs no more.
func Average(samples []Sample) (value float64, n int) {
	all := observe(samples, average)
	if len(all) == 0 {
		return 0, 0
	}
	return total(grouped(all)), len(all)
}

// average is the mean of values; there is at least one.
func average(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

func estimate(all []observation) (Estimate, bool) {
	if len(all) == 0 {
		return Estimate{}, false
	}
	groups := grouped(all)
	e := Estimate{Value: total(groups), N: len(all), Clusters: len(groups)}
	e.Low, e.High, e.SE = e.Value, e.Value, standardError(groups)
	if len(groups) > 1 {
		e.Low, e.High = bootstrap(sums(groups))
	}
	return e, true
}

func total(groups [][]observation) float64 { return ratio(sums(groups)) }

func sums(groups [][]observation) []group {
	out := make([]group, len(groups))
	for i, of := range groups {
		out[i].n = len(of)
		for _, o := range of {
			out[i].sum += o.value
		}
	}
	return out
}

// ratio is the mean over all that the groups hold.
func ratio(groups []group) float64 {
	sum, n := 0.0, 0
	for _, g := range groups {
		sum += g.sum
		n += g.n
	}
	return sum / float64(n)
}

// standardError is the error of the mean that allows for alike tasks (Miller 2024, "Adding
// Error Bars to Evals", section 2.2): the variance of independent tasks plus, over n², the
// products of the deviations of each two tasks of a group. Without groups it is the
// ordinary one, the deviation by n-1 over the root of n.
func standardError(groups [][]observation) float64 {
	centre, n := total(groups), 0.0
	var squares, crossed float64
	for _, of := range groups {
		within, own := 0.0, 0.0
		for _, o := range of {
			d := o.value - centre
			within += d
			own += d * d
		}
		n += float64(len(of))
		squares += own
		crossed += within*within - own
	}
	if n < 2 {
		return 0
	}
	return math.Sqrt(max(0, squares/(n*(n-1))+crossed/(n*n)))
}
