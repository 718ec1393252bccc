package stats

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// SignTest is the two-sided p-value of so many tasks won and lost, were either as likely:
// the exact binomial test of the pairs that differ. Where each pair is of two attempts that
// pass or fail, it is McNemar's exact test (Agresti 2013, "Categorical Data Analysis",
// section 11.1). Without a difference it is 1.
func SignTest(won, lost int) float64 {
	n := won + lost
	if n == 0 {
		return 1
	}
	return rounded(2 * distuv.Binomial{N: float64(n), P: 0.5}.CDF(float64(min(won, lost))))
}

// exactly is up to how many differences the distribution of Wilcoxon's statistic is
// computed; of more the normal one is as good.
const exactly = 200

// Wilcoxon is the signed-rank test (Wilcoxon 1945; Hollander, Wolfe and Chicken 2014,
// section 3.1): the sum of the ranks of the differences above 0, and the two-sided p-value.
// Differences of 0 are left out, equal ones share the mean of their ranks. The p-value is
// exact, given the ranks with their ties, up to 200 differences; beyond that it is of the
// normal distribution, corrected for ties and for continuity. Without a difference it is 1.
func Wilcoxon(differences []float64) (above, p float64) {
	ranks, sum := signedRanks(differences)
	n := len(ranks)
	switch {
	case n == 0:
		return 0, 1
	case n <= exactly:
		return float64(sum) / 2, exactP(ranks, sum)
	}
	return float64(sum) / 2, normalP(ranks, sum)
}

// signedRanks are the ranks of the differences that are not 0, doubled so that means of
// ranks are whole numbers, and the sum of those of differences above 0.
func signedRanks(differences []float64) (ranks []int, above int) {
	var left []float64
	for _, d := range differences {
		if d != 0 {
			left = append(left, d)
		}
	}
	slices.SortFunc(left, func(a, b float64) int { return cmp.Compare(math.Abs(a), math.Abs(b)) })
	ranks = make([]int, len(left))
	for from := 0; from < len(left); {
		to := from + 1
		for to < len(left) && same(math.Abs(left[from]), math.Abs(left[to])) {
			to++
		}
		for i := from; i < to; i++ {
			ranks[i] = from + 1 + to // twice the mean of from+1 … to
			if left[i] > 0 {
				above += ranks[i]
			}
		}
		from = to
	}
	return ranks, above
}

// exactP sums over all signs that the ranks may have, each as likely.
func exactP(ranks []int, above int) float64 {
	most := 0
	for _, r := range ranks {
		most += r
	}
	chance := make([]float64, most+1) // of each sum
	chance[0] = 1
	reached := 0
	for _, r := range ranks {
		reached += r
		for s := reached; s >= 0; s-- {
			without := chance[s] / 2
			if s >= r {
				without += chance[s-r] / 2
			}
			chance[s] = without
		}
	}
	tail := 0.0
	for s := range min(above, most-above) + 1 {
		tail += chance[s]
	}
	return rounded(2 * tail)
}

func normalP(ranks []int, above int) float64 {
	var centre, variance float64 // of the sum of ranks that are not doubled
	for _, r := range ranks {
		rank := float64(r) / 2
		centre += rank / 2
		variance += rank * rank / 4
	}
	distance := math.Max(0, math.Abs(float64(above)/2-centre)-0.5)
	return rounded(2 * distuv.UnitNormal.Survival(distance/math.Sqrt(variance)))
}
