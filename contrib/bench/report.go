package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// report is bench.json.
type report struct {
	Time    time.Time `json:"time"`
	Seconds float64   `json:"seconds"` // that the run took
	Machine machine   `json:"machine"`
	Results []result  `json:"results,omitempty"`
	// Compared are two programs instead, measured in turns.
	Compared []compared `json:"compared,omitempty"`
}

// result is one thing of ours against its reference, both from the same run.
type result struct {
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

// compare makes a result of samples; its name and words are the caller's to add.
func compare(unit string, ours, reference []float64) result {
	r := result{Unit: unit, Ours: median(ours), Reference: median(reference), P90: quantile(ours, 0.9), Samples: len(ours)}
	r.Ratio = ratio(r.Ours, r.Reference)
	return r
}

// measures are samples by name.
type measures map[string][]float64

// add takes one sample of each name.
func (m measures) add(samples map[string]float64) {
	for name, value := range samples {
		m[name] = append(m[name], value)
	}
}

func (m measures) medians(names ...string) map[string]float64 {
	all := map[string]float64{}
	for _, name := range names {
		all[name] = median(m[name])
	}
	return all
}

// called adds the words to a result.
func (r result) called(name, what, against string) result {
	r.Name, r.What, r.Against = name, what, against
	return r
}

func median(samples []float64) float64 { return quantile(samples, 0.5) }

// quantile interpolates between the two nearest samples; without any it is 0.
func quantile(samples []float64, q float64) float64 {
	if len(samples) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(samples))
	at := q * float64(len(sorted)-1)
	low := int(at)
	high := min(low+1, len(sorted)-1)
	return sorted[low] + (at-float64(low))*(sorted[high]-sorted[low])
}

// ratio is 0 where there is nothing to compare with: JSON has no infinity.
func ratio(ours, reference float64) float64 {
	if reference <= 0 {
		return 0
	}
	return ours / reference
}

// milliseconds is a duration as the results count it.
func milliseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }

// table shows the report as a Markdown table that a terminal shows well, too, and that the
// README can take as it is.
func (r report) table() string {
	if r.Compared != nil {
		return comparison(r.Compared) + "\n" + r.Machine.String() + "\n"
	}
	rows := [][]string{{"what", "ours", "against", "reference", "ratio"}}
	for _, x := range r.Results {
		rows = append(rows, []string{x.What, figure(x.Ours, x.Unit), x.Against, figure(x.Reference, x.Unit), figure(x.Ratio, "")})
	}
	return markdown(rows, "-:-::") + "\n" + r.Machine.String() + "\n"
}

// markdown is a table whose first row is its head; align has for each column whether words
// stand in it, to the left (-), or figures, to the right (:).
func markdown(rows [][]string, align string) string {
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

// figure writes a number with three digits that count.
func figure(x float64, unit string) string {
	decimals := 0
	if size := math.Abs(x); size > 0 && size < 100 {
		decimals = min(2-int(math.Floor(math.Log10(size))), 5)
	}
	return strings.TrimSuffix(fmt.Sprintf("%.*f %s", decimals, x, unit), " ")
}

// exceeded is an error that names what is beyond its bound.
func (r report) exceeded() error {
	var errs []error
	for _, x := range r.Results {
		if x.Bound > 0 && x.Ratio > x.Bound {
			errs = append(errs, fmt.Errorf("%s: %s is %s of %s, more than %s",
				x.Name, x.What, figure(x.Ratio, "times"), x.Against, figure(x.Bound, "")))
		}
	}
	return errors.Join(errs...)
}

func (r report) write(path string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}
