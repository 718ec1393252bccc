package decoy

import "github.com/assayd/assayd/runtime/decoy/source"

// owners says which outermost test each token belongs to, by its place among the tests; -1 =
// none. A table outside of tests belongs to the only one that uses it.
func owners(f *file, units []unit) []int {
	owner := make([]int, len(f.Tok)+1)
	for i := range owner {
		owner[i] = -1
	}
	end := 0
	for n, u := range units {
		for i := max(end, u.all.From); i < u.all.To; i++ {
			owner[i] = n
		}
		end = max(end, u.all.To)
	}
	if f.lang.table != nil {
		ownTables(f, units, owner)
	}
	return owner
}

func ownTables(f *file, units []unit, owner []int) {
	tables := map[string]source.Span{}
	for i := range f.Tok {
		if name, value := f.lang.table(f, i); !value.Empty() {
			tables[name] = value
		}
	}
	const none, several = -1, -2
	users := map[string]int{}
	for i := range f.Tok {
		name := f.At(i)
		value, ok := tables[name]
		if !ok || f.At(i-1) == "." || i+2 == value.From { // where it is declared
			continue
		}
		if user, used := users[name]; used && user != owner[i] || owner[i] == none {
			users[name] = several
		} else {
			users[name] = owner[i]
		}
	}
	for name, user := range users {
		if user < 0 {
			continue
		}
		units[user].tables = append(units[user].tables, tables[name])
		for i := tables[name].From; i < tables[name].To; i++ {
			owner[i] = user
		}
	}
}
