package stats

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestWhatIsNoNumberIsRefused(t *testing.T) {
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e101, -1e308} {
		if o, err := Of(v); !errors.Is(err, ErrValue) || o.counts {
			t.Errorf("%v: %v, %v", v, o, err)
		}
	}
	for _, tc := range [][2]int{{0, 0}, {-1, 3}, {4, 3}, {0, -1}} {
		if _, err := Wilson(tc[0], tc[1]); !errors.Is(err, ErrValue) {
			t.Errorf("%d of %d: %v", tc[0], tc[1], err)
		}
	}
}

func TestTheGreatestValuesHaveAMean(t *testing.T) {
	e, ok := Mean(tasks(t, 1e100, -1e100, 1e100))
	if !ok || math.IsNaN(e.Low+e.High+e.SE) || math.IsInf(e.Low+e.High+e.SE, 0) {
		t.Errorf("%+v", e)
	}
}

// Scores are what judges print: the smallest and the largest of them have an interval, too.
func TestNumbersOfEverySizeHaveAnInterval(t *testing.T) {
	for _, size := range []float64{1e-300, 1e-108, 1e-50, 1, 1e50, 1e100} {
		e, ok := Mean([]Sample{sample(t, "a", "", 0), sample(t, "b", "", 0.2*size), sample(t, "c", "", size), sample(t, "d", "", 0)})
		one, _ := Mean([]Sample{sample(t, "a", "", 0), sample(t, "b", "", 0.2), sample(t, "c", "", 1), sample(t, "d", "", 0)})
		if !ok || math.Abs(e.Low/size-one.Low) > 1e-9 || math.Abs(e.High/size-one.High) > 1e-9 {
			t.Errorf("in %g the interval is %g to %g, in 1 it is %g to %g", size, e.Low, e.High, one.Low, one.High)
		}
	}
}

func TestOfNothingNothingIsKnown(t *testing.T) {
	for name, samples := range map[string][]Sample{
		"no task": nil, "no attempt": {{Task: "a"}}, "none that counts": {{Task: "a", Attempts: make([]Outcome, 3)}},
	} {
		if e, ok := Mean(samples); ok {
			t.Errorf("%s: a mean of %+v", name, e)
		}
		if _, n := Average(samples); n != 0 {
			t.Errorf("%s: an average of %d", name, n)
		}
		if MaxK(samples) != 0 {
			t.Errorf("%s: k up to %d", name, MaxK(samples))
		}
		if at, hat := PassOfEachK(samples); len(at)+len(hat) > 0 {
			t.Errorf("%s: pass@1", name)
		}
		pairs, _, _ := Match(samples, samples)
		if c, ok := Compare(pairs); ok {
			t.Errorf("%s: compares to %+v", name, c)
		}
	}
	if p := SignTest(0, 0); p != 1 {
		t.Errorf("p of no difference is %v", p)
	}
	if above, p := Wilcoxon([]float64{0, 0}); above != 0 || p != 1 {
		t.Errorf("of no difference: %v, %v", above, p)
	}
}

func TestOfOneTaskAndOfEqualOnesThereIsNoSpread(t *testing.T) {
	for _, tc := range []struct {
		samples []Sample
		want    Estimate
	}{
		{[]Sample{sample(t, "a", "", 0, 1)}, Estimate{0.5, 0.5, 0.5, 0, 1, 1}},
		{tasks(t, 0.3, 0.3, 0.3), Estimate{0.3, 0.3, 0.3, 0, 3, 3}},
		{[]Sample{sample(t, "a", "r", 1), sample(t, "b", "s", 1)}, Estimate{1, 1, 1, 0, 2, 2}},
	} {
		got, _ := Mean(tc.samples)
		near(t, "error", got.SE, 0, 1e-15)
		got.SE = 0
		if diff := cmp.Diff(tc.want, got, cmpNear); diff != "" {
			t.Error(diff)
		}
	}
}

var cmpNear = cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < rounding })

func TestATaskWithMoreAttemptsWeighsNoMore(t *testing.T) {
	e, _ := Mean([]Sample{sample(t, "a", "", 0), sample(t, "b", "", 1, 1, 1)})
	if e.Value != 0.5 || e.Low != 0 || e.High != 1 || e.N != 2 { // a resample is 0, ½ or 1 with weights ¼, ½, ¼
		t.Errorf("%+v", e)
	}
}

func TestWhatDidNotCountIsInNoDenominator(t *testing.T) {
	with := []Sample{attempts("a", 2, 1), {Task: "b"}, attempts("c", 3, 3)}
	with[0].Attempts = append(with[0].Attempts, Outcome{}, Outcome{})
	without := []Sample{attempts("a", 2, 1), attempts("c", 3, 3)}
	a, _ := Mean(with)
	b, _ := Mean(without)
	if diff := cmp.Diff(b, a); diff != "" {
		t.Error(diff)
	}
	if value, n := Average(with); value != a.Value || n != 2 {
		t.Errorf("an average of %v of %d", value, n)
	}
	if MaxK(with) != 2 {
		t.Errorf("k up to %d", MaxK(with))
	}
	if at, hat := PassOfEachK(with); len(at) != 2 || len(hat) != 2 {
		t.Errorf("pass@k of two attempts has %d and %d values", len(at), len(hat))
	}
	pairs, onlyA, onlyB := Match(with, []Sample{{Task: "a", Attempts: make([]Outcome, 1)}, attempts("c", 1, 0), attempts("d", 1, 1)})
	if diff := cmp.Diff([]Pair{{"c", "", 1, 0}}, pairs); diff != "" || !slices.Equal(onlyA, []string{"a"}) || !slices.Equal(onlyB, []string{"d"}) {
		t.Errorf("%s, %q, %q", diff, onlyA, onlyB)
	}
}

// Ten tasks of each of twelve repositories that are all alike tell no more than twelve.
func TestAlikeTasksCountOnce(t *testing.T) {
	var clustered, apart, twelve []Sample
	for i := range 12 {
		value := float64(i % 3 / 2)
		twelve = append(twelve, sample(t, fmt.Sprint(i), "", value))
		for j := range 10 {
			task := fmt.Sprint(i, "/", j)
			clustered = append(clustered, sample(t, task, fmt.Sprint(i), value))
			apart = append(apart, sample(t, task, "", value))
		}
	}
	c, _ := Mean(clustered)
	a, _ := Mean(apart)
	d, _ := Mean(twelve)
	if c.N != 120 || c.Clusters != 12 || a.Clusters != 120 {
		t.Errorf("%+v, %+v", c, a)
	}
	near(t, "width", c.High-c.Low, d.High-d.Low, rounding)
	if width := a.High - a.Low; c.High-c.Low < 2*width {
		t.Errorf("alike tasks are as good as others: %v, %v", c.High-c.Low, width)
	}
	near(t, "error", c.SE, d.SE, 0.01) // but for n-1
}

// With one repository alone its tasks are all there is to resample.
func TestOneClusterIsNone(t *testing.T) {
	one, _ := Mean([]Sample{sample(t, "0", "r", 0), sample(t, "1", "r", 1), sample(t, "2", "r", 0.5)})
	none, _ := Mean(tasks(t, 0, 1, 0.5))
	if diff := cmp.Diff(none, one); diff != "" {
		t.Error(diff)
	}
}

func TestAComparisonIsByTask(t *testing.T) {
	// B is better by 0.1 at each task, which are as different as can be.
	var a, b []Sample
	for i := range 9 {
		a = append(a, sample(t, fmt.Sprint(i), "", float64(i)/10))
		b = append(b, sample(t, fmt.Sprint(i), "", float64(i+1)/10))
	}
	pairs, _, _ := Match(a, b)
	c, _ := Compare(pairs)
	near(t, "difference", c.Difference.Value, 0.1, rounding)
	near(t, "width", c.Difference.High-c.Difference.Low, 0, rounding)
	near(t, "A", c.A, 0.4, rounding)
	near(t, "B", c.B, 0.5, rounding)
	near(t, "sign", c.SignP, 2./512, rounding)
	near(t, "Wilcoxon", c.WilcoxonP, 2./512, rounding)
	if c.Won != 9 || c.Lost != 0 || c.Tied != 0 {
		t.Errorf("%+v", c)
	}
	back, _ := Compare(swapped(pairs))
	if back.Won != 0 || back.Lost != 9 || back.Difference.Value != -c.Difference.Value {
		t.Errorf("the other way: %+v", back)
	}
}

// Thirds that were summed in another order are equal all the same.
func TestRoundingWinsNoTask(t *testing.T) {
	c, _ := Compare([]Pair{{"a", "", 0.1 + 0.2, 0.3}, {"b", "", 1, 1}})
	if c.Tied != 2 || c.Difference.Value != 0 {
		t.Errorf("%+v", c)
	}
}

func swapped(pairs []Pair) (out []Pair) {
	for _, p := range pairs {
		out = append(out, Pair{p.Task, p.Cluster, p.B, p.A})
	}
	return out
}

// TestEstimatesHold: a value lies in its interval and the interval between the values, and
// the order of samples and of attempts is of no importance.
func TestEstimatesHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var samples []Sample
		low, high := math.Inf(1), math.Inf(-1)
		for i := range rapid.IntRange(1, 30).Draw(t, "tasks") {
			s := Sample{Task: fmt.Sprint(i), Cluster: rapid.SampledFrom([]string{"", "", "r", "s", "t"}).Draw(t, "cluster")}
			for range rapid.IntRange(1, 3).Draw(t, "attempts") {
				v := rapid.SampledFrom([]float64{0, 0, 0.1, 0.3, 1, 1, 17}).Draw(t, "value")
				o, _ := Of(v)
				s.Attempts = append(s.Attempts, o)
				low, high = min(low, v), max(high, v)
			}
			samples = append(samples, s)
		}
		e, _ := Mean(samples)
		const slack = 1e-9
		if !(low-slack <= e.Low && e.Low <= e.Value+slack && e.Value <= e.High+slack && e.High <= high+slack && e.SE >= 0) {
			t.Fatalf("%+v of values from %v to %v", e, low, high)
		}
		if e.Clusters < 1 || e.Clusters > e.N || e.N != len(samples) {
			t.Fatalf("%+v of %d", e, len(samples))
		}
		slices.Reverse(samples)
		for _, s := range samples {
			slices.Reverse(s.Attempts)
		}
		if again, _ := Mean(samples); again != e {
			t.Fatalf("%+v, and the other way round %+v", e, again)
		}
	})
}

// TestTestsHold: probabilities are some, and tests do not mind which side is named first.
func TestTestsHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.SliceOfN(rapid.SampledFrom([]float64{-2, -1, -0.5, 0, 0.5, 1, 2, 1. / 3}), 0, 260).Draw(t, "differences")
		_, p := Wilcoxon(d)
		negated := make([]float64, len(d))
		won, lost := 0, 0
		for i := range d {
			negated[i] = -d[i]
			if d[i] > 0 {
				won++
			} else if d[i] < 0 {
				lost++
			}
		}
		_, q := Wilcoxon(negated)
		if !(0 <= p && p <= 1) || math.Abs(p-q) > 1e-9 {
			t.Fatalf("Wilcoxon's p is %v and %v", p, q)
		}
		s, r := SignTest(won, lost), SignTest(lost, won)
		if !(0 <= s && s <= 1) || s != r {
			t.Fatalf("the sign test's p is %v and %v", s, r)
		}
	})
}

// At the edge between the exact distribution and the normal one both say the same.
func TestManyDifferencesAreAsFew(t *testing.T) {
	var d []float64
	for i := range exactly {
		d = append(d, math.Sin(float64(i))+0.1)
	}
	ranks, above := signedRanks(d)
	near(t, "p", normalP(ranks, above), exactP(ranks, above), 1e-3)
}
