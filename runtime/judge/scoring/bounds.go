package scoring

import (
	"maps"
	"math"
	"slices"

	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/truncate"
)

// Bounds on what a report keeps.
const (
	maxTests       = 20_000
	maxTestName    = 1024
	maxMessage     = 4096
	maxTestOutput  = 2000
	maxTestDetail  = 500
	maxMessagesAll = 2 << 20
	maxMetrics     = 1000
)

// bounded keeps a report storable, whatever names and messages were made up.
func bounded(tests []parser.Test) []parser.Test {
	room := maxMessagesAll
	out := make([]parser.Test, 0, min(len(tests), maxTests))
	for _, t := range tests[:min(len(tests), maxTests)] {
		t.Name, t.Message = truncate.Valid(t.Name, maxTestName), truncate.Valid(t.Message, min(maxMessage, room))
		t.Score, t.Weight = finite(t.Score), finite(t.Weight)
		room -= len(t.Message)
		t.Output = truncate.Valid(t.Output, min(maxTestOutput, room))
		room -= len(t.Output)
		t.Detail = truncate.Valid(t.Detail, min(maxTestDetail, room))
		room -= len(t.Detail)
		out = append(out, t)
	}
	return out
}

// finite returns nil for what is no number that JSON could hold.
func finite(f *float64) *float64 {
	if f == nil || math.IsInf(*f, 0) || math.IsNaN(*f) {
		return nil
	}
	return f
}

func finiteMetrics(m map[string]float64) map[string]float64 {
	out := map[string]float64{}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if value := m[name]; finite(&value) != nil && len(out) < maxMetrics {
			out[truncate.Valid(name, maxTestName)] = value
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}
