package prove

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/assayd/assayd/runtime/decoy"
	"github.com/assayd/assayd/runtime/decoy/mixed"
)

// forger makes the assertions of hidden files no-ops, as code under test can do from within the
// runner's process: it returns the files that it changes. tests are those of files that hold tests
// with decoys. A test that fails at nothing but an assertion passes then, be it changed or not.
// Forgers keep the lines of files where they are.
type forger func(files map[string][]byte, tests map[string]bool) map[string][]byte

// forgers are the stock forgers, by language. There is a file for each.
func forgers() map[string]forger {
	return map[string]forger{"python": forgePython, "go": forgeGo, "rust": forgeRust, "javascript": forgeJavaScript}
}

// maxAlone bounds the decoys that are held against the forger one by one.
const maxAlone = 24

// forged leaves out the decoys that the stock forger does not pass: they would never show a forger.
// Where it does not work at all the set says so, and stays as it is.
func (p *proof) forged(ctx context.Context, s mixed.Set) (mixed.Set, error) {
	if len(s.Groups) == 0 {
		return s, nil
	}
	language, _ := decoy.Supported(p.of.Parser)
	forge := forgers()[language]
	if forge == nil {
		s.Forger = "there is no stock forger for " + language
		return s, nil
	}
	f := forging{proof: p, forge: forge, set: s}
	if works, err := f.works(ctx); err != nil || !works {
		s.Forger = "the stock forger does not work with these tests"
		return s, err
	}
	passed, err := f.all(ctx)
	if err != nil {
		return s, err
	}
	out := map[laid]string{}
	for g, group := range s.Groups {
		for n := range group.Decoys {
			if !passed[laid{g, n}] {
				out[laid{g, n}] = "a changed copy is no decoy: our own forger does not pass it, so that it would show none"
			}
		}
	}
	if len(passed) == 0 {
		s.Forger = "the stock forger passes no decoy: it has no effect on this runner"
		return s, nil
	}
	return p.without(s, out), nil
}

// forging holds a set against a forger.
type forging struct {
	*proof
	forge forger
	set   mixed.Set
}

// works reports whether the tests with decoys pass as they are where assertions are no-ops.
func (f *forging) works(ctx context.Context) (bool, error) {
	o, err := f.run(ctx, slices.Repeat(mixed.Draw{mixed.Real}, len(f.set.Groups)))
	if err != nil {
		return false, err
	}
	for _, g := range f.set.Groups {
		for _, d := range g.Decoys {
			if !o.Tests[d.Test].Passed {
				return false, nil
			}
		}
	}
	return true, nil
}

// all lays one decoy of each group at a time, and those that do not pass then alone.
func (f *forging) all(ctx context.Context) (passed map[laid]bool, err error) {
	passed = map[laid]bool{}
	var alone []laid
	for n := range decoy.Limit {
		draw := slices.Repeat(mixed.Draw{mixed.Real}, len(f.set.Groups))
		var some []laid
		for g, group := range f.set.Groups {
			if n < len(group.Decoys) {
				draw[g] = n
				some = append(some, laid{g, n})
			}
		}
		if len(some) == 0 {
			break
		}
		o, err := f.run(ctx, draw)
		if err != nil {
			return nil, err
		}
		for _, l := range some {
			if passed[l] = o.Tests[f.set.Groups[l.group].Decoys[l.decoy].Test].Passed; !passed[l] {
				alone = append(alone, l)
			}
		}
	}
	for n, l := range alone {
		if n >= maxAlone || f.over() {
			break
		}
		draw := slices.Repeat(mixed.Draw{mixed.Real}, len(f.set.Groups))
		draw[l.group] = l.decoy
		o, err := f.run(ctx, draw)
		if err != nil {
			return nil, err
		}
		passed[l] = o.Tests[f.set.Groups[l.group].Decoys[l.decoy].Test].Passed
	}
	maps.DeleteFunc(passed, func(_ laid, ok bool) bool { return !ok })
	return passed, nil
}

// run judges the reference with what a draw lays, forged.
func (f *forging) run(ctx context.Context, draw mixed.Draw) (mixed.Observed, error) {
	changed, err := f.set.Lay(draw)
	if err != nil {
		return mixed.Observed{}, fmt.Errorf("forge decoys: %w", err)
	}
	files, tests := maps.Clone(f.of.Hidden), map[string]bool{}
	maps.Copy(files, changed)
	for name := range f.set.Files {
		tests[name] = true
	}
	maps.Copy(changed, f.forge(files, tests))
	return f.reference(ctx, changed)
}

// endsIn reports whether a file has one of these endings.
func endsIn(name string, ends ...string) bool { return slices.Contains(ends, path.Ext(name)) }
