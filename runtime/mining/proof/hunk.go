package proof

import (
	"bytes"
	"fmt"

	"github.com/assayd/assayd/runtime/mining/diff"
)

// unit is what is taken or left as one: a hunk, or the whole of a file.
type unit struct{ file, hunk int }

// units are all those of a diff.
func units(files []diff.File) (all []unit) {
	for i, s := range files {
		if s.Whole {
			all = append(all, unit{i, 0})
			continue
		}
		for k := range s.Hunks {
			all = append(all, unit{i, k})
		}
	}
	return all
}

// join writes the diff without some units. The hunks that stay are told to be where they come
// to be without the others: Git looks there first, and there may be a second such place.
func join(files []diff.File, without map[unit]bool) []byte {
	var b bytes.Buffer
	for i, s := range files {
		if s.Whole {
			if !without[unit{i, 0}] {
				b.Write(s.Bytes())
			}
			continue
		}
		kept := s
		kept.Hunks = nil
		for k, h := range s.Hunks {
			if !without[unit{i, k}] {
				kept.Hunks = append(kept.Hunks, h)
			}
		}
		if len(kept.Hunks) > 0 {
			b.Write(settled(kept).Bytes())
		}
	}
	return b.Bytes()
}

// settled has each hunk where those before it put it.
func settled(s diff.File) diff.File {
	hunks, moved := make([]diff.Hunk, len(s.Hunks)), 0
	for i, h := range s.Hunks {
		h.New.First = h.Old.Start() + moved
		if h.New.Lines == 0 {
			h.New.First--
		}
		moved += h.New.Lines - h.Old.Lines
		hunks[i] = h
	}
	s.Hunks = hunks
	return s
}

// place is where a unit is, as path:line after the fix.
func place(files []diff.File, u unit) string {
	s := files[u.file]
	if len(s.Hunks) == 0 {
		return s.Name
	}
	h := s.Hunks[u.hunk]
	line := h.New.Start()
	for _, text := range h.Body {
		if text[0] == '+' || text[0] == '-' {
			break
		}
		line++
	}
	return fmt.Sprintf("%s:%d", s.Name, max(line, 1))
}
