package egress

import (
	"fmt"
	"strings"
)

// maxShown is how many entries of a list a refusal repeats.
const maxShown = 20

// allowList is what one task may reach.
type allowList struct {
	entries []string
	exact   map[destination]entry
	below   map[destination]entry // the key of "*.a.example:443" is a.example:443
}

// entry is a line of the list. A wild one names hosts that its author has not seen, and is
// trusted less for it.
type entry struct {
	text string
	wild bool
}

// parseList reads entries of the form host:port, where the host may begin with "*.".
func parseList(entries []string) (allowList, error) {
	l := allowList{entries: entries, exact: map[destination]entry{}, below: map[destination]entry{}}
	for _, text := range entries {
		suffix, wild := strings.CutPrefix(text, "*.")
		d, err := parse(suffix, 0)
		if err == nil && wild && d.name == "" {
			err = refuse("nothing lies below an address")
		}
		if err != nil {
			return allowList{}, fmt.Errorf("read %q of the list of what may be reached: %w", text, err)
		}
		if wild {
			l.below[d] = entry{text, true}
		} else {
			l.exact[d] = entry{text, false}
		}
	}
	return l, nil
}

// find returns the entry that admits d. One that names it exactly comes first.
func (l allowList) find(d destination) (entry, bool) {
	if e, ok := l.exact[d]; ok {
		return e, true
	}
	for rest := d.name; ; {
		_, above, more := strings.Cut(rest, ".")
		if !more {
			return entry{}, false
		}
		if e, ok := l.below[destination{name: above, port: d.port}]; ok {
			return e, true
		}
		rest = above
	}
}

// String is the list as a refusal tells it.
func (l allowList) String() string {
	switch n := len(l.entries); {
	case n == 0:
		return "nothing"
	case n > maxShown:
		return fmt.Sprintf("%s and %d more", strings.Join(l.entries[:maxShown], ", "), n-maxShown)
	}
	return strings.Join(l.entries, ", ")
}
