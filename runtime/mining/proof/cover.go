package proof

import (
	"context"
	"maps"
	"slices"

	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/mining/reason"
)

// maxGroups is how many parts of a fix are judged without at most, before and after they are
// taken apart further.
const maxGroups = 24

// fate is what became of the tests without a part of the fix.
type fate int

const (
	survived fate = iota // those that fail before passed
	fell                 // one failed
	broke                // one did not run: something does not build
)

// group is a part of the fix that is left out as one.
type group struct {
	units []unit
	fate  fate
}

// cover finds out which parts of the fix are needed: without them a test fails.
//
// A part without which something does not build shows nothing by itself: of two that need
// each other, like a declaration and its use, neither can be left out, tested or not. It
// counts where tests are known to look at the fix in another way: one of them fails without
// another part, or without its whole file, or the tests themselves need the names that it
// brings, as the statement says.
func (p *prover) cover(ctx context.Context) error {
	var behaving []unit
	for _, u := range units(p.files) {
		if behaves(p.files[u.file], u.hunk) {
			behaving = append(behaving, u)
		}
	}
	p.proof.Hunks = len(behaving)
	if len(behaving) == 0 {
		return reason.Reject(Uncovered, "nothing in the fix does anything: it changes comments, texts or space")
	}
	parts, err := p.parts(ctx, behaving)
	if err != nil {
		return err
	}
	covered, err := p.needed(ctx, behaving, parts)
	if err != nil {
		return err
	}
	for _, part := range parts {
		others := part.units
		if covered[part.units[0]] {
			p.proof.Covered++ // one of them: nobody knows which, and of how many
			if part.fate == broke {
				p.proof.Stopping++
			}
			others = others[1:]
		}
		for _, u := range others {
			p.proof.Uncovered = append(p.proof.Uncovered, place(p.files, u))
		}
	}
	if len(covered) == 0 {
		return reason.Reject(Uncovered, "the tests pass without any one of the %d hunks that do something", len(behaving))
	}
	return p.reverted(ctx, covered)
}

// parts are the units, each alone as far as their number allows, with what happens without
// each. A part of several without which a test fails is taken apart further, as long as
// that shows more and takes no more than maxGroups judgings.
func (p *prover) parts(ctx context.Context, behaving []unit) ([]group, error) {
	parts := grouped(behaving)
	if err := p.without(ctx, parts); err != nil {
		return nil, err
	}
	whole := map[unit]bool{} // first ones of parts that show nothing in halves
	for left := maxGroups; ; {
		var halves []group
		for _, g := range parts {
			if g.fate == fell && len(g.units) > 1 && !whole[g.units[0]] && len(halves)+2 <= left {
				middle := len(g.units) / 2
				halves = append(halves, group{units: g.units[:middle]}, group{units: g.units[middle:]})
			}
		}
		if len(halves) == 0 {
			return parts, nil
		}
		left -= len(halves)
		if err := p.without(ctx, halves); err != nil {
			return nil, err
		}
		for ; len(halves) > 0; halves = halves[2:] {
			first := halves[0].units[0]
			if halves[0].fate != fell && halves[1].fate != fell {
				whole[first] = true
				continue
			}
			at := slices.IndexFunc(parts, func(g group) bool { return g.units[0] == first })
			parts = slices.Replace(parts, at, at+1, halves[0], halves[1])
		}
	}
}

// needed are the units that are covered: by what happens without each part, else without all of
// a file, else without all that cannot be missed in whole files either.
func (p *prover) needed(ctx context.Context, behaving []unit, parts []group) (map[unit]bool, error) {
	if covered := p.covered(parts); len(covered) > 0 {
		return covered, nil
	}
	files := filesOf(behaving)
	if len(files) < len(parts) {
		if err := p.without(ctx, files); err != nil {
			return nil, err
		}
	} else {
		files = parts
	}
	covered := p.covered(files)
	if rest := joined(files); len(covered) == 0 && len(rest.units) > 0 {
		all := []group{rest}
		if err := p.without(ctx, all); err != nil {
			return nil, err
		}
		covered = p.covered(all)
	}
	if len(covered) > 0 { // at last something is known of what did not build alone
		maps.Copy(covered, unitsThat(parts, broke))
	}
	return covered, nil
}

// covered are the units of the groups that are, by the rule of cover.
func (p *prover) covered(groups []group) map[unit]bool {
	covered := unitsThat(groups, fell)
	if len(covered) > 0 || p.named && len(p.unbuilt) > 0 {
		maps.Copy(covered, unitsThat(groups, broke))
	}
	return covered
}

func unitsThat(groups []group, f fate) map[unit]bool {
	all := map[unit]bool{}
	for _, g := range groups {
		if g.fate == f {
			for _, u := range g.units {
				all[u] = true
			}
		}
	}
	return all
}

// joined is all that broke something, as one.
func joined(groups []group) (one group) {
	for _, g := range groups {
		if g.fate == broke {
			one.units = append(one.units, g.units...)
		}
	}
	return one
}

// grouped has each unit for itself; where there are too many, neighbours in a file are one
// group, the more of them the more the file has, and at last neighbouring files.
func grouped(all []unit) []group {
	files := filesOf(all)
	if len(files) > maxGroups {
		groups := make([]group, maxGroups)
		for i, f := range files {
			g := &groups[i*maxGroups/len(files)]
			g.units = append(g.units, f.units...)
		}
		return groups
	}
	sizes := make([]int, len(files)) // into how many groups a file is divided
	for i := range sizes {
		sizes[i] = 1
	}
	for range min(len(all), maxGroups) - len(files) {
		largest := 0
		for i, f := range files {
			if len(f.units)*sizes[largest] > len(files[largest].units)*sizes[i] {
				largest = i
			}
		}
		sizes[largest]++
	}
	var groups []group
	for i, f := range files {
		for k := range sizes[i] {
			groups = append(groups, group{units: f.units[k*len(f.units)/sizes[i] : (k+1)*len(f.units)/sizes[i]]})
		}
	}
	return groups
}

// filesOf has a group for each file.
func filesOf(all []unit) (groups []group) {
	for i, u := range all {
		if i == 0 || u.file != all[i-1].file {
			groups = append(groups, group{})
		}
		g := &groups[len(groups)-1]
		g.units = append(g.units, u)
	}
	return groups
}

// without judges the fix without each group. Without anything it is the untouched tree, which
// has been judged.
func (p *prover) without(ctx context.Context, groups []group) error {
	var jobs []job
	var of []int
	for i, g := range groups {
		fix := p.fixWithout(g.units)
		if len(fix) == 0 {
			groups[i].fate = p.fateOf(p.before[0])
			continue
		}
		jobs, of = append(jobs, job{p.c.Task, fix}), append(of, i)
	}
	all, err := p.judge(ctx, jobs)
	if err != nil {
		return err
	}
	for k, i := range of {
		groups[i].fate = p.fateOf(all[k])
	}
	return nil
}

func (p *prover) fixWithout(units []unit) []byte {
	left := map[unit]bool{}
	for _, u := range units {
		left[u] = true
	}
	return join(p.files, left)
}

// fateOf says what became of the tests that have to pass.
func (p *prover) fateOf(s seen) fate {
	if s.report.Status == round.StatusTimeout {
		return fell // it hangs: what ran without end passes with the fix
	}
	if s.fault("") != nil {
		return broke
	}
	f, lacks := survived, p.lacks(s)
	for _, name := range p.proof.FailToPass {
		switch {
		case s.way(name) == passed:
		case lacks(name):
			f = max(f, broke)
		default:
			return fell
		}
	}
	return f
}

// reverted judges the fix without all that is covered.
func (p *prover) reverted(ctx context.Context, covered map[unit]bool) error {
	if len(covered) == 1 {
		return nil // it has been
	}
	all := []group{{units: slices.Collect(maps.Keys(covered))}}
	if err := p.without(ctx, all); err != nil {
		return err
	}
	if all[0].fate == survived {
		return reason.Reject(FixNotNeeded, "the tests pass without all %d hunks of the fix that are covered", len(covered))
	}
	return nil
}
