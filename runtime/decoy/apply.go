package decoy

import (
	"fmt"
	"slices"
)

// Apply returns the content with the variants made; content stays as it is. It is an error
// if variants overlap, or if what a variant replaces is not there.
func Apply(content []byte, variants []Variant) ([]byte, error) {
	sorted := slices.Clone(variants)
	slices.SortFunc(sorted, func(a, b Variant) int { return a.From - b.From })
	var out []byte
	done := 0
	for _, v := range sorted {
		if v.From < 0 || v.From >= v.To || v.To > len(content) || string(content[v.From:v.To]) != v.Old {
			return nil, fmt.Errorf("change %q of %s at byte %d of %s: %q is not there", v.Test, v.File, v.From, v.File, v.Old)
		}
		if v.From < done {
			return nil, fmt.Errorf("change %q at byte %d of %s: another variant changes the same", v.Test, v.From, v.File)
		}
		out = append(out, content[done:v.From]...)
		out = append(out, v.New...)
		done = v.To
	}
	return append(out, content[done:]...), nil
}
