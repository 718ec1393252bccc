package stats

import (
	"fmt"
	"math"
)

// Wilson is the share of n independent attempts that passed, with the score interval
// (Wilson 1927; Newcombe 1998, method 3), which stays inside 0..1 and is right for small n
// and for none or all of them (Brown, Cai and DasGupta 2001). Where attempts are not
// independent, because several are at one task or tasks are alike, it is too narrow, and
// that of Means of the same attempts is not.
func Wilson(passed, n int) (Estimate, error) {
	if n < 1 || passed < 0 || passed > n {
		return Estimate{}, fmt.Errorf("%w: %d of %d", ErrValue, passed, n)
	}
	m := float64(n)
	p := float64(passed) / m
	centre := (p + z*z/(2*m)) / (1 + z*z/m)
	half := z / (1 + z*z/m) * math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	e := Estimate{Value: p, Low: max(0, centre-half), High: min(1, centre+half), SE: math.Sqrt(p * (1 - p) / m), N: n, Clusters: n}
	switch passed { // exactly, not but for rounding
	case 0:
		e.Low = 0
	case n:
		e.High = 1
	}
	return e, nil
}
