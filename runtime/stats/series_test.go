package stats

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// alike reports whether two estimates are one but for rounding, by the size of their numbers.
func alike(a, b Estimate) bool {
	size := max(math.Abs(b.Low), math.Abs(b.Value), math.Abs(b.High))
	near := func(x, y float64) bool { return math.Abs(x-y) <= 1e-11*size }
	return a.N == b.N && a.Clusters == b.Clusters && a.Value == b.Value && a.SE == b.SE && near(a.Low, b.Low) && near(a.High, b.High)
}

// A series has the estimates that each of it has alone, whatever changes from one to the next:
// values from 1e-50 to 1e50, tasks that come and go, clusters.
func TestASeriesIsWhatEachOfItIs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tasks := rapid.IntRange(0, 12).Draw(t, "tasks")
		value := rapid.OneOf(rapid.Float64Range(0, 1), rapid.Float64Range(0, 1), rapid.SampledFrom([]float64{0, 1, 0.5, 1e50, 1e15, 1e-50, -3}))
		var present []Sample
		for i := range tasks {
			v, err := Of(value.Draw(t, "value"))
			if err != nil {
				t.Fatal(err)
			}
			present = append(present, Sample{Task: fmt.Sprint(i), Cluster: rapid.SampledFrom([]string{"", "", "x", "y"}).Draw(t, "cluster"), Attempts: []Outcome{v}})
		}
		var series [][]Sample
		for range rapid.IntRange(0, 8).Draw(t, "points") {
			now := make([]Sample, len(present))
			for i, s := range present {
				if rapid.IntRange(0, 3).Draw(t, "changes") == 0 {
					v, _ := Of(value.Draw(t, "value"))
					s.Attempts = []Outcome{v}
				}
				if rapid.IntRange(0, 9).Draw(t, "nothing") == 0 {
					s.Attempts = []Outcome{{}}
				}
				now[i] = s
			}
			series, present = append(series, now), now
		}
		got, known := Means(series)
		for i, samples := range series {
			want, ok := Mean(samples)
			e := got[i]
			if ok != known[i] || !alike(e, want) {
				t.Fatalf("point %d is %+v %v in the series, and alone %+v %v", i, e, known[i], want, ok)
			}
		}
	})
}

// Every k has the values of a task with as many attempts as a run may have, and what that takes grows
// with the attempts: with their square, ten thousand took minutes.
func TestPassesOfVeryManyAttempts(t *testing.T) {
	const n = 10_000
	at, hat := PassValuesOfEachK([]Sample{attempts("a", n, 1), attempts("b", n, n-1)})
	if len(at) != n || len(hat) != n {
		t.Fatalf("%d and %d values of %d attempts", len(at), len(hat), n)
	}
	for _, k := range []int{1, 2, n / 2, n} {
		p := float64(k) / n // that the one of a kind is among them
		rest := 1.0         // that another one is
		if k == 1 {
			rest = 1 - p
		}
		near(t, fmt.Sprintf("pass@%d", k), at[k-1], (p+rest)/2, 1e-9)
		some := 0.0
		if k == 1 {
			some = p
		}
		near(t, fmt.Sprintf("pass^%d", k), hat[k-1], (some+1-p)/2, 1e-9)
	}
	estimates, others := PassOfEachK([]Sample{attempts("a", 7, 2), attempts("b", 9, 4)})
	values, hats := PassValuesOfEachK([]Sample{attempts("a", 7, 2), attempts("b", 9, 4)})
	for i := range estimates {
		if estimates[i].Value != values[i] || others[i].Value != hats[i] || estimates[i].Low > estimates[i].High {
			t.Errorf("k = %d: %+v and %v, %+v and %v", i+1, estimates[i], values[i], others[i], hats[i])
		}
	}
}

// Mean is what Means has to give of each of its series, without what they have in common.
func Mean(samples []Sample) (Estimate, bool) {
	return estimate(observe(samples, average))
}
