package prove

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/assayd/assayd/runtime/decoy/mixed"
)

// maxConcluded is how often a set is judged as a trial is judged, each time with less in it.
const maxConcluded = 4

// laid is a decoy of a set.
type laid struct{ group, decoy int }

// concluded judges the reference as a trial is judged. What does not go together is taken out: a
// decoy that passes beside others, a test that comes out differently, and a decoy with which others
// do not build. A set by which the reference never comes out clean is none.
func (p *proof) concluded(ctx context.Context, s mixed.Set) (mixed.Set, error) {
	none := ""
	for range maxConcluded {
		if len(s.Groups) == 0 {
			break
		}
		runs, err := p.runs(ctx, s)
		if err != nil {
			return s, err
		}
		v := mixed.Judge(s, p.round(), runs, mixedRuns)
		if v.Passed == 0 && v.Tampered == "" && len(v.Unstable) == 0 && v.Void == 0 {
			return s, nil
		}
		none = fmt.Sprintf("the reference does not come out clean: %d decoys of %d passed, %d tests were unstable, %d runs of %d showed nothing",
			v.Passed, v.Laid, len(v.Unstable), v.Void, mixedRuns)
		if s, err = p.parted(ctx, s, v, runs); err != nil {
			return s, err
		}
	}
	if none != "" {
		for _, test := range p.of.FailToPass {
			if s.Has(test) {
				p.lost(test, none)
			}
		}
		s.Groups, s.None = nil, none
	}
	return p.settled(s), nil
}

// round is what the reference passes.
func (p *proof) round() map[string]bool {
	round := map[string]bool{}
	for test, o := range p.real.Tests {
		round[test] = o.Passed
	}
	return round
}

// runs has the reference judged by draws of a set.
func (p *proof) runs(ctx context.Context, s mixed.Set) ([]mixed.Run, error) {
	runs := make([]mixed.Run, mixedRuns)
	var work errgroup.Group
	work.SetLimit(atOnce)
	for i, draw := range mixed.Draws(s, mixedRuns) {
		work.Go(func() error {
			o, err := p.drawn(ctx, s, draw)
			runs[i] = mixed.Run{Draw: draw, Observed: o}
			return err
		})
	}
	return runs, work.Wait()
}

// drawn has the reference judged by one draw.
func (p *proof) drawn(ctx context.Context, s mixed.Set, draw mixed.Draw) (mixed.Observed, error) {
	changed, err := s.Lay(draw)
	if err != nil {
		return mixed.Observed{}, err
	}
	return p.reference(ctx, changed)
}

// parted takes out what the runs show not to go together.
func (p *proof) parted(ctx context.Context, s mixed.Set, v mixed.Verdict, runs []mixed.Run) (mixed.Set, error) {
	out := map[laid]string{}
	round := p.round()
	for _, run := range runs {
		for g, n := range run.Draw {
			if n == mixed.Real {
				continue
			}
			if test := s.Groups[g].Decoys[n].Test; round[test] && run.Tests[test].Passed {
				out[laid{g, n}] = "a decoy passes on the reference beside other changes"
			}
		}
	}
	for g, group := range s.Groups {
		if slices.ContainsFunc(group.Tests, func(test string) bool { return slices.Contains(v.Unstable, test) }) {
			for n := range group.Decoys {
				out[laid{g, n}] = "it is not stable on the reference beside other changes"
			}
		}
	}
	s.Flaky = slices.Concat(s.Flaky, v.Unstable)
	slices.Sort(s.Flaky)
	s.Flaky = slices.Compact(s.Flaky)
	if at := slices.IndexFunc(runs, mixed.Run.Void); at >= 0 {
		culprit, found, err := p.bisect(ctx, s, runs[at].Draw)
		if err != nil {
			return s, err
		}
		if found {
			out[culprit] = "with other changes it does not build"
		}
	}
	return p.without(s, out), nil
}

// without is a set without some decoys.
func (p *proof) without(s mixed.Set, out map[laid]string) mixed.Set {
	var groups []mixed.Group
	for g, group := range s.Groups {
		left := mixed.Group{Tests: group.Tests}
		for n, d := range group.Decoys {
			if why, gone := out[laid{g, n}]; gone {
				p.lost(d.Test, why)
			} else {
				left.Decoys = append(left.Decoys, d)
			}
		}
		if len(left.Decoys) > 0 {
			groups = append(groups, left)
		}
	}
	s.Groups = groups
	return p.settled(s)
}

// bisect finds a decoy of a draw by which no test is seen, with those before it: the changed tests
// are put back one half after the other, so that a draw of a hundred takes seven runs.
func (p *proof) bisect(ctx context.Context, s mixed.Set, draw mixed.Draw) (culprit laid, found bool, err error) {
	var changed []int
	for g, n := range draw {
		if n != mixed.Real {
			changed = append(changed, g)
		}
	}
	good, bad := 0, len(changed) // so many changes: tests are seen, and not
	for bad-good > 1 && !p.over() {
		middle := (good + bad) / 2
		part := slices.Repeat(mixed.Draw{mixed.Real}, len(draw))
		for _, g := range changed[:middle] {
			part[g] = draw[g]
		}
		o, err := p.drawn(ctx, s, part)
		if err != nil {
			return culprit, false, err
		}
		if (mixed.Run{Observed: o}).Void() {
			bad = middle
		} else {
			good = middle
		}
	}
	if bad == 0 {
		return culprit, false, nil
	}
	g := changed[bad-1]
	return laid{g, draw[g]}, true, nil
}
