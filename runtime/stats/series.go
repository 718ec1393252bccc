package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Means has, for each of a series as of the points of a curve, the mean over tasks of the mean of each
// task's attempts: a task with more attempts weighs no more. The interval is by resampling clusters of tasks,
// and the error allows for them. It is false where no attempt counts. The same groups are drawn for the whole
// series, and of each what is not as in the one before is added up alone, which takes far less time.
func Means(series [][]Sample) (estimates []Estimate, known []bool) {
	all := make([][]observation, len(series))
	for i, samples := range series {
		all[i] = observe(samples, average)
	}
	return estimatesOf(all)
}

// atOnce is of how many points resamples are held at a time: each takes 16 kB.
const atOnce = 128

// estimatesOf is Means of what was observed.
func estimatesOf(series [][]observation) (estimates []Estimate, known []bool) {
	estimates, known = make([]Estimate, len(series)), make([]bool, len(series))
	points := map[int][]point{} // by the number of groups, in order
	var order grouping
	for i, all := range series {
		if len(all) == 0 {
			continue
		}
		groups := order.of(all)
		e := Estimate{Value: total(groups), N: len(all), Clusters: len(groups), SE: standardError(groups)}
		e.Low, e.High = e.Value, e.Value
		estimates[i], known[i] = e, true
		if len(groups) > 1 {
			points[len(groups)] = append(points[len(groups)], point{i, sums(groups)})
		}
	}
	for n, all := range points {
		for of := range slices.Chunk(all, atOnce) {
			for i, replicates := range replicatesOf(n, of) {
				e := &estimates[of[i].at]
				e.Low, e.High = interval(of[i].groups, replicates)
			}
		}
	}
	return estimates, known
}

// grouping remembers how observations were grouped: the next ones of a series are mostly of the same
// tasks, in the same order.
type grouping struct {
	last   []observation
	places [][]int // of the observations, by group; nil = it cannot be used again
}

func (g *grouping) of(all []observation) [][]observation {
	alike := func(a, b observation) bool { return a.task == b.task && a.cluster == b.cluster }
	if g.places == nil || !slices.EqualFunc(all, g.last, alike) {
		g.learn(all)
	}
	if g.places == nil {
		return grouped(all)
	}
	groups, flat := make([][]observation, len(g.places)), make([]observation, 0, len(all))
	for i, places := range g.places {
		from := len(flat)
		for _, at := range places {
			flat = append(flat, all[at])
		}
		groups[i] = flat[from:len(flat):len(flat)]
	}
	return groups
}

// learn remembers the groups of observations, unless two are of one task: then their order is that of
// their values.
func (g *grouping) learn(all []observation) {
	g.last, g.places = all, nil
	at := make(map[[2]string]int, len(all))
	for i, o := range all {
		at[[2]string{o.cluster, o.task}] = i
	}
	if len(at) < len(all) {
		return
	}
	for _, group := range grouped(all) {
		places := make([]int, len(group))
		for i, o := range group {
			places[i] = at[[2]string{o.cluster, o.task}]
		}
		g.places = append(g.places, places)
	}
}

// point is one of a series.
type point struct {
	at     int
	groups []group
}

// step leads from a point to the next: what the groups have more, or all that they have.
type step struct {
	anew    bool
	changes []change
}

type change struct {
	group int
	more  group
}

// cancelling is by how much the values that were added up may exceed their sum. Where they do by
// more, the sum is made anew: what is taken away from it has taken digits along.
const cancelling = 16

// stepsOf are the steps between points of as many groups.
func stepsOf(points []point) []step {
	steps := make([]step, len(points))
	var before []group
	largest := 0.0
	for i, p := range points {
		size, sum := 0.0, 0.0
		var changed []change
		for j, g := range p.groups {
			size += math.Abs(g.sum)
			sum += g.sum
			if before != nil && g != before[j] {
				changed = append(changed, change{j, group{g.sum - before[j].sum, g.n - before[j].n}})
			}
		}
		if before == nil || max(largest, size) > cancelling*math.Abs(sum) || len(changed) > len(p.groups)/2 {
			largest = 0
			changed = nil
			for j, g := range p.groups {
				changed = append(changed, change{j, g})
			}
			steps[i].anew = true
		}
		steps[i].changes, before, largest = changed, p.groups, max(largest, size)
	}
	return steps
}

// replicatesOf are the means of the resamples of bootstrap for points of n groups each.
func replicatesOf(n int, points []point) [][]float64 {
	steps := stepsOf(points)
	replicates := make([][]float64, len(points))
	for i := range replicates {
		replicates[i] = make([]float64, resamples)
	}
	rng := rand.New(rand.NewPCG(seed, uint64(n)))
	drawn := make([]int, n) // how often each group is
	for k := range resamples {
		clear(drawn)
		for range n {
			drawn[rng.IntN(n)]++
		}
		var all group
		for i, s := range steps {
			if s.anew {
				all = group{}
			}
			for _, c := range s.changes {
				times := drawn[c.group]
				all.sum += float64(times) * c.more.sum
				all.n += times * c.more.n
			}
			replicates[i][k] = all.sum / float64(all.n)
		}
	}
	return replicates
}
