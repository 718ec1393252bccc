package result

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Result is one thing of ours against its reference, both from the same run.
type Result struct {
	Name      string  `json:"name"`
	What      string  `json:"what"`    // what ours is
	Against   string  `json:"against"` // what the reference is
	Unit      string  `json:"unit"`    // of all numbers but the ratio
	Ours      float64 `json:"ours"`    // median
	Reference float64 `json:"reference"`
	Ratio     float64 `json:"ratio"`
	P90       float64 `json:"ours_p90"`
	Samples   int     `json:"samples"`
	Bound     float64 `json:"bound,omitempty"` // of the ratio; beyond it the bench fails
	// Parts say where the time goes, as medians.
	Parts map[string]float64 `json:"parts,omitempty"`
}

// Compare makes a result of samples; its name and words are the caller's to add.
func Compare(unit string, ours, reference []float64) Result {
	r := Result{Unit: unit, Ours: Median(ours), Reference: Median(reference), P90: Quantile(ours, 0.9), Samples: len(ours)}
	r.Ratio = Ratio(r.Ours, r.Reference)
	return r
}

// Samples are samples by name.
type Samples map[string][]float64

// Add takes one sample of each name.
func (m Samples) Add(samples map[string]float64) {
	for name, value := range samples {
		m[name] = append(m[name], value)
	}
}

// Medians are those of the samples of these names.
func (m Samples) Medians(names ...string) map[string]float64 {
	all := map[string]float64{}
	for _, name := range names {
		all[name] = Median(m[name])
	}
	return all
}

// Called adds the words to a result.
func (r Result) Called(name, what, against string) Result {
	r.Name, r.What, r.Against = name, what, against
	return r
}

// Median is the middle of the samples, 0 without any.
func Median(samples []float64) float64 { return Quantile(samples, 0.5) }

// Quantile interpolates between the two nearest samples; without any it is 0.
func Quantile(samples []float64, q float64) float64 {
	if len(samples) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(samples))
	at := q * float64(len(sorted)-1)
	low := int(at)
	high := min(low+1, len(sorted)-1)
	return sorted[low] + (at-float64(low))*(sorted[high]-sorted[low])
}

// Ratio is 0 where there is nothing to compare with: JSON has no infinity.
func Ratio(ours, reference float64) float64 {
	if reference <= 0 {
		return 0
	}
	return ours / reference
}

// Milliseconds is a duration as the results count it.
func Milliseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }

// Markdown is a table whose first row is its head; align has for each column whether words
// stand in it, to the left (-), or figures, to the right (:).
func Markdown(rows [][]string, align string) string {
	widths := make([]int, len(align))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for i, row := range rows {
		for j, cell := range row {
			pad := strings.Repeat(" ", widths[j]-utf8.RuneCountInString(cell))
			if align[j] == '-' {
				cell += pad
			} else {
				cell = pad + cell
			}
			fmt.Fprintf(&b, "| %s ", cell)
		}
		b.WriteString("|\n")
		if i == 0 {
			for j, w := range widths {
				fmt.Fprintf(&b, "|%s%c", strings.Repeat("-", w+1), align[j])
			}
			b.WriteString("|\n")
		}
	}
	return b.String()
}

// Figure writes a number with three digits that count.
func Figure(x float64, unit string) string {
	decimals := 0
	if size := math.Abs(x); size > 0 && size < 100 {
		decimals = min(2-int(math.Floor(math.Log10(size))), 5)
	}
	return strings.TrimSuffix(fmt.Sprintf("%.*f %s", decimals, x, unit), " ")
}
