package stats

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat"
)

// sample is a task with these values.
func sample(t *testing.T, task, cluster string, values ...float64) Sample {
	t.Helper()
	s := Sample{Task: task, Cluster: cluster}
	for _, v := range values {
		o, err := Of(v)
		if err != nil {
			t.Fatal(err)
		}
		s.Attempts = append(s.Attempts, o)
	}
	return s
}

// tasks has one of them for each value, like no other.
func tasks(t *testing.T, values ...float64) (all []Sample) {
	t.Helper()
	for i, v := range values {
		all = append(all, sample(t, fmt.Sprint(i), "", v))
	}
	return all
}

// attempts is a task with so many of them, of which c passed.
func attempts(task string, n, c int) Sample {
	s := Sample{Task: task}
	for i := range n {
		s.Attempts = append(s.Attempts, Pass(i < c))
	}
	return s
}

// Newcombe 1998, "Two-sided confidence intervals for the single proportion: comparison of
// seven methods", table I, method 3.
func TestWilsonAsNewcombePrintsIt(t *testing.T) {
	for _, tc := range []struct {
		passed, n int
		low, high float64
	}{{81, 263, 0.2553, 0.3662}, {15, 148, 0.0624, 0.1605}, {0, 20, 0, 0.1611}, {1, 29, 0.0061, 0.1718}} {
		e, err := Wilson(tc.passed, tc.n)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "low", e.Low, tc.low, 5e-5)
		near(t, "high", e.High, tc.high, 5e-5)
	}
}

// Efron and Tibshirani 1993, "An Introduction to the Bootstrap", table 2.1: survival of
// mice in days.
func TestMeansOfTheMouseData(t *testing.T) {
	for _, tc := range []struct {
		group    []float64
		mean, se float64
	}{
		{[]float64{94, 197, 16, 38, 99, 141, 23}, 86.86, 25.24},
		{[]float64{52, 104, 146, 10, 51, 30, 40, 27, 46}, 56.22, 14.14},
	} {
		e, _ := Mean(tasks(t, tc.group...))
		near(t, "mean", e.Value, tc.mean, 5e-3)
		near(t, "error", e.SE, tc.se, 2e-2) // the book rounds 14.159 to 14.14
	}
}

// Efron and Tibshirani 1993, section 14.2 and table 14.1: the variance in the spatial test
// data A of 26 children, with intervals of 90 % from 2000 resamples of theirs.
func TestTheIntervalOfTheSpatialData(t *testing.T) {
	children := []float64{
		48, 36, 20, 29, 42, 42, 20, 42, 22, 41, 45, 14, 6, 0, 33, 28, 34, 4, 32, 24, 47, 41, 24, 26, 30, 41,
	}
	value := stat.PopVariance(children, nil)
	near(t, "variance", value, 171.5, 0.05)
	var jackknife []float64
	for i := range children {
		var rest []float64
		rest = append(append(rest, children[:i]...), children[i+1:]...)
		jackknife = append(jackknife, stat.PopVariance(rest, nil))
	}
	near(t, "acceleration", acceleration(jackknife), 0.061, 5e-4)

	rng := rand.New(rand.NewPCG(1, 1))
	drawn, replicates := make([]float64, len(children)), make([]float64, 50_000)
	for i := range replicates {
		for j := range drawn {
			drawn[j] = children[rng.IntN(len(children))]
		}
		replicates[i] = stat.PopVariance(drawn, nil)
	}
	low, high := bca(1.6448536269514722, value, replicates, jackknife)
	near(t, "bias", bias(value, replicates), 0.146, 0.056) // two deviations of their 2000 resamples
	near(t, "low", low, 115.8, 5)
	near(t, "high", high, 259.6, 10)
	near(t, "percentile", stat.Quantile(0.05, stat.Empirical, replicates, nil), 100.8, 3)
	near(t, "percentile", stat.Quantile(0.95, stat.Empirical, replicates, nil), 233.9, 3)
}

// Two tables of paired answers. Fay 2010, "Two-sided Exact Tests and Matching Confidence
// Intervals for Discrete Data", has 9 and 2 that changed their minds; of the approval
// ratings in Agresti 2013, "Categorical Data Analysis", table 11.1, 150 and 86 did.
func TestMcNemarAsPrinted(t *testing.T) {
	near(t, "9 and 2", SignTest(9, 2), 0.06543, 5e-6)
	near(t, "150 and 86", SignTest(150, 86), 3.716e-05, 5e-9)
}

func TestWilcoxonAsPrinted(t *testing.T) {
	for _, tc := range []struct {
		source   string
		a, b     []float64
		above, p float64
	}{
		{
			"Hollander and Wolfe, table 3.1: depression under a tranquiliser, V = 40, one-sided p = 0.01953",
			[]float64{0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29},
			[]float64{1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30},
			40, 0.03906,
		},
		{
			"Darwin's maize, crossed and self-fertilised, in eighths of an inch, as in SciPy's manual",
			make([]float64, 15),
			[]float64{6, 8, 14, 16, 23, 24, 28, 29, 41, -48, 49, 56, 60, -67, 75},
			96, 0.041259765625,
		},
	} {
		differences := make([]float64, len(tc.a))
		for i := range tc.a {
			differences[i] = tc.b[i] - tc.a[i]
		}
		above, p := Wilcoxon(differences)
		near(t, tc.source, above, tc.above, 0)
		near(t, tc.source, p, tc.p, 5e-6)
	}
}

// The estimators of Chen et al. 2021 and of Yao et al. 2024 by hand: of two passes in five
// attempts, 1 - C(3,k)/C(5,k) and C(2,k)/C(5,k).
func TestPassesByHand(t *testing.T) {
	of := []Sample{attempts("t", 5, 2)}
	at, hat := PassOfEachK(of)
	for i, want := range [][2]float64{{0.4, 0.4}, {0.7, 0.1}, {0.9, 0}, {1, 0}, {1, 0}} {
		near(t, fmt.Sprintf("pass@%d", i+1), at[i].Value, want[0], rounding)
		near(t, fmt.Sprintf("pass^%d", i+1), hat[i].Value, want[1], rounding)
	}
}
