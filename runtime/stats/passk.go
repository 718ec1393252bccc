package stats

// MaxK is the greatest k of PassOfEachK: the fewest attempts
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

// passes is how many values are those of attempts that passed: 1 or more, as those of Pass.
func passes(values []float64) (c float64) {
	for _, v := range values {
		if v >= 1 {
			c++
		}
	}
	return c
}

// PassOfEachK are two chances for every k from 1 to MaxK, in order, averaged over tasks: pass@k, that
// at least one of k attempts at a task passes, and pass^k, that all of them do. Of c passes in n
// attempts the first is the unbiased 1 - C(n-c,k)/C(n,k) (Chen et al. 2021, "Evaluating Large Language
// Models Trained on Code", equation 1), the second C(c,k)/C(n,k) (Yao et al. 2024, "τ-bench", section 4).
func PassOfEachK(samples []Sample) (at, hat []Estimate) {
	one, every := ofEachK(samples)
	at, _ = estimatesOf(one)
	hat, _ = estimatesOf(every)
	return at, hat
}

// PassValuesOfEachK are the values of PassOfEachK alone.
func PassValuesOfEachK(samples []Sample) (at, hat []float64) {
	one, every := ofEachK(samples)
	for k := range one {
		at, hat = append(at, total(grouped(one[k]))), append(hat, total(grouped(every[k])))
	}
	return at, hat
}

// ofEachK are the chances at each task that one of k attempts passes, and that every one does, by k-1.
// They are products, in which nothing overflows, and each is made of the one before: all of them take
// as long as the last.
func ofEachK(samples []Sample) (one, every [][]observation) {
	most := MaxK(samples)
	one, every = make([][]observation, most), make([][]observation, most)
	for _, o := range observe(samples, passes) {
		n, c := o.attempts, int(o.value)
		none, all := 1.0, 1.0
		for i := range most {
			none *= float64(max(0, n-c-i)) / float64(n-i)
			all *= float64(max(0, c-i)) / float64(n-i)
			o.value = 1 - none
			one[i] = append(one[i], o)
			o.value = all
			every[i] = append(every[i], o)
		}
	}
	return one, every
}
