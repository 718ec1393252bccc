package stats

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"testing"
)

// golden is testdata/golden.json, which reference.py beside it has computed by SciPy and
// statsmodels.
type golden struct {
	Wilson []struct {
		Passed, N int
		Low, High float64
	}
	Means []struct {
		Name                string
		Values              []float64
		Clusters            []string
		Mean, SE, Low, High float64
		Error               [2]float64 // of the ends, with as many resamples as ours
	}
	Passes []struct {
		N, C, K int
		At, Hat float64
	}
	Signs []struct {
		Won, Lost int
		P         float64
	}
	Ranks []struct {
		Name        string
		Differences []float64
		Above, P    float64
	}
}

func readGolden(t *testing.T) (g golden) {
	t.Helper()
	text, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &g); err != nil {
		t.Fatal(err)
	}
	if len(g.Wilson) == 0 || len(g.Means) == 0 || len(g.Passes) == 0 || len(g.Signs) == 0 || len(g.Ranks) == 0 {
		t.Fatal("golden.json lacks a part")
	}
	return g
}

// near reports a number that is further off than by the tolerance.
func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s: %v, want %v ± %v", what, got, want, tolerance)
	}
}

// what rounding may make of a number.
const rounding = 1e-10

func TestWilsonIsThatOfStatsmodels(t *testing.T) {
	for _, tc := range readGolden(t).Wilson {
		e, err := Wilson(tc.Passed, tc.N)
		if err != nil {
			t.Fatal(err)
		}
		what := fmt.Sprintf("%d of %d", tc.Passed, tc.N)
		near(t, what, e.Low, tc.Low, rounding)
		near(t, what, e.High, tc.High, rounding)
	}
}

func TestMeansAreThoseOfSciPy(t *testing.T) {
	for _, tc := range readGolden(t).Means {
		var samples []Sample
		for i, v := range tc.Values {
			samples = append(samples, sample(t, fmt.Sprint(i), tc.Clusters[i], v))
		}
		e, _ := Mean(samples)
		near(t, tc.Name+", mean", e.Value, tc.Mean, rounding)
		near(t, tc.Name+", error", e.SE, tc.SE, rounding)
		// Four deviations of what two thousand resamples leave to chance, which the seed decides.
		near(t, tc.Name+", low", e.Low, tc.Low, 4*tc.Error[0])
		near(t, tc.Name+", high", e.High, tc.High, 4*tc.Error[1])
	}
}

func TestPassesAreThoseOfExactFractions(t *testing.T) {
	for _, tc := range readGolden(t).Passes {
		of := []Sample{attempts("t", tc.N, tc.C)}
		what := fmt.Sprintf("%d of %d, k = %d", tc.C, tc.N, tc.K)
		at, hat := PassOfEachK(of)
		near(t, what, at[tc.K-1].Value, tc.At, rounding)
		near(t, what, hat[tc.K-1].Value, tc.Hat, rounding)
	}
}

func TestTheSignTestIsThatOfStatsmodels(t *testing.T) {
	for _, tc := range readGolden(t).Signs {
		near(t, fmt.Sprintf("%d against %d", tc.Won, tc.Lost), SignTest(tc.Won, tc.Lost), tc.P, rounding)
	}
}

func TestWilcoxonIsThatOfSciPy(t *testing.T) {
	for _, tc := range readGolden(t).Ranks {
		above, p := Wilcoxon(tc.Differences)
		near(t, tc.Name, above, tc.Above, rounding)
		near(t, tc.Name+", p", p, tc.P, rounding)
	}
}
