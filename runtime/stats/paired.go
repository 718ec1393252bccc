package stats

import (
	"math"
	"slices"
	"strings"
)

// Pair is one task that both sides have attempts at that count, with the mean of each.
type Pair struct {
	Task, Cluster string
	A, B          float64
}

// Match pairs the samples of two sides by task, and names the tasks that only one of them
// has attempts at that count, all in order of their names. A task has one sample a side.
func Match(a, b []Sample) (pairs []Pair, onlyA, onlyB []string) {
	second := map[string]float64{}
	for _, s := range b {
		if values := s.values(); len(values) > 0 {
			second[s.Task] = average(values)
		}
	}
	for _, s := range a {
		values := s.values()
		if len(values) == 0 {
			continue
		}
		if other, both := second[s.Task]; both {
			pairs = append(pairs, Pair{s.Task, s.Cluster, average(values), other})
			delete(second, s.Task)
		} else {
			onlyA = append(onlyA, s.Task)
		}
	}
	for task := range second {
		onlyB = append(onlyB, task)
	}
	slices.SortFunc(pairs, func(x, y Pair) int { return strings.Compare(x.Task, y.Task) })
	slices.Sort(onlyA)
	slices.Sort(onlyB)
	return pairs, onlyA, onlyB
}

// Comparison is how B does beside A on the same tasks.
type Comparison struct {
	A, B            float64  // means over the tasks
	Difference      Estimate // of the means, B - A, paired by task
	Won, Lost, Tied int      // tasks where B is above, below or equal to A
	SignP           float64  // SignTest of Won and Lost; of one attempt that passes or does not, McNemar's exact test
	WilcoxonP       float64  // Wilcoxon of the differences
}

// Compare compares by task: what tasks have in common, some being hard and some easy, is
// in both means and drops out of the difference (Miller 2024, section 4.2). The interval
// of the difference resamples clusters of tasks as Means does; both tests take tasks as
// independent. It reports false where there is no pair.
func Compare(pairs []Pair) (Comparison, bool) {
	var c Comparison
	differences := make([]float64, len(pairs))
	all := make([]observation, len(pairs))
	as, bs := make([]float64, len(pairs)), make([]float64, len(pairs))
	for i, p := range pairs {
		as[i], bs[i] = p.A, p.B
		if !same(p.A, p.B) {
			differences[i] = p.B - p.A
		}
		switch {
		case differences[i] > 0:
			c.Won++
		case differences[i] < 0:
			c.Lost++
		default:
			c.Tied++
		}
		all[i] = observation{task: p.Task, cluster: p.Cluster, value: differences[i]}
	}
	var ok bool
	if c.Difference, ok = estimate(all); !ok {
		return c, false
	}
	c.A, c.B = average(as), average(bs)
	c.SignP = SignTest(c.Won, c.Lost)
	_, c.WilcoxonP = Wilcoxon(differences)
	return c, true
}

// rounded is what of a probability is left after rounding.
func rounded(p float64) float64 { return math.Min(1, math.Max(0, p)) }
