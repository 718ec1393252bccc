package stats

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Outcome is what one attempt at a task came to: a value, or nothing. The zero Outcome is
// nothing and is in no denominator.
type Outcome struct {
	value  float64
	counts bool
}

// ErrValue says that a number cannot be a value.
var ErrValue = errors.New("no value to compute with")

// largest is the greatest magnitude of a value: sums of squares of such are still numbers.
const largest = 1e100

// Of is the outcome with that value. NaN, infinities and what is beyond 1e100 are refused
// with ErrValue: a mean with one of them would be none.
func Of(value float64) (Outcome, error) {
	if math.IsNaN(value) || math.Abs(value) > largest {
		return Outcome{}, fmt.Errorf("%w: %v", ErrValue, value)
	}
	return Outcome{value, true}, nil
}

// Pass is the outcome 1 of an attempt that passed, and 0 of one that did not.
func Pass(passed bool) Outcome {
	if passed {
		return Outcome{1, true}
	}
	return Outcome{0, true}
}

// Sample holds the attempts at one task. Tasks of one Cluster are alike, as those of one
// repository are; "" = the task is like no other.
type Sample struct {
	Task     string
	Cluster  string
	Attempts []Outcome
}

// values are those of the attempts that count, in ascending order, so that sums do not
// depend on the order of attempts.
func (s Sample) values() []float64 {
	var values []float64
	for _, o := range s.Attempts {
		if o.counts {
			values = append(values, o.value)
		}
	}
	slices.Sort(values)
	return values
}

// Estimate is a value with its 95 % interval. With fewer than two tasks nothing is known of
// how far off it may be: then Low and High are the value, and SE is 0.
type Estimate struct {
	Value     float64
	Low, High float64
	SE        float64 // standard error
	N         int     // tasks with an attempt that counts
	Clusters  int     // groups of them that were resampled: N where each is like no other
}

// observation is one number of a task.
type observation struct {
	task, cluster string
	value         float64
	attempts      int // that it is of
}

// observe makes one number of each task that has attempts that count.
func observe(samples []Sample, number func(values []float64) float64) []observation {
	var all []observation
	for _, s := range samples {
		if values := s.values(); len(values) > 0 {
			all = append(all, observation{s.Task, s.Cluster, number(values), len(values)})
		}
	}
	return all
}

// group is what is resampled as a whole: the sum and the count of its values.
type group struct {
	sum float64
	n   int
}

// grouped are the observations by cluster; by task where all are of one cluster, for then
// that cluster is all there is to tell of.
func grouped(all []observation) [][]observation {
	byCluster := func(o observation) [2]string {
		if o.cluster == "" {
			return [2]string{"", o.task}
		}
		return [2]string{o.cluster}
	}
	groups := groupBy(all, byCluster)
	if len(groups) == 1 {
		groups = groupBy(all, func(o observation) [2]string { return [2]string{"", o.task} })
	}
	return groups
}

func groupBy(all []observation, key func(observation) [2]string) [][]observation {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b observation) int {
		ka, kb := key(a), key(b)
		return cmp.Or(cmp.Compare(ka[0], kb[0]), cmp.Compare(ka[1], kb[1]), cmp.Compare(a.task, b.task), cmp.Compare(a.value, b.value))
	})
	var groups [][]observation
	for i, o := range all {
		if i == 0 || key(o) != key(all[i-1]) {
			groups = append(groups, nil)
		}
		last := len(groups) - 1
		groups[last] = append(groups[last], o)
	}
	return groups
}
