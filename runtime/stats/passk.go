package stats

// MaxK is the greatest k for which PassAtK and PassHatK are defined: the fewest attempts
// that count at any task that has some; 0 = there are none.
func MaxK(samples []Sample) int {
	fewest := 0
	for _, s := range samples {
		if n := len(s.values()); n > 0 && (fewest == 0 || n < fewest) {
			fewest = n
		}
	}
	return fewest
}

// PassAtK is the chance that at least one of k attempts at a task passes, averaged over
// tasks: of c passes in n attempts the unbiased 1 - C(n-c,k)/C(n,k) (Chen et al. 2021,
// "Evaluating Large Language Models Trained on Code", equation 1). It reports false for k
// outside 1..MaxK. Attempts pass whose value is 1 or more, as those of Pass.
func PassAtK(samples []Sample, k int) (Estimate, bool) {
	return ofK(samples, k, func(n, c int) float64 { return 1 - chosen(n-c, n, k) })
}

// PassHatK is the chance that all of k attempts at a task pass, averaged over tasks: of c
// passes in n attempts the unbiased C(c,k)/C(n,k) (Yao et al. 2024, "τ-bench", section 4).
// It is else as PassAtK.
func PassHatK(samples []Sample, k int) (Estimate, bool) {
	return ofK(samples, k, func(n, c int) float64 { return chosen(c, n, k) })
}

func ofK(samples []Sample, k int, chance func(n, c int) float64) (Estimate, bool) {
	if k < 1 || k > MaxK(samples) {
		return Estimate{}, false
	}
	return estimate(observe(samples, func(values []float64) float64 {
		c := 0
		for _, v := range values {
			if v >= 1 {
				c++
			}
		}
		return chance(len(values), c)
	}))
}

// chosen is C(m,k)/C(n,k), as a product, in which nothing overflows.
func chosen(m, n, k int) float64 {
	chance := 1.0
	for i := range k {
		chance *= float64(max(0, m-i)) / float64(n-i)
	}
	return chance
}
