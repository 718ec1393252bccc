package prove

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/assayd/assayd/runtime/decoy"
	"github.com/assayd/assayd/runtime/decoy/mixed"
)

// Bounds of a proof.
const (
	repeats     = 3  // runs of the reference that have to agree
	maxTries    = 12 // variants that are tried of one group
	maxKept     = 16 // tests of pass_to_pass
	wantedKept  = 1  // decoys of a group that has none of fail_to_pass
	atOnce      = 2  // judgings
	mixedRuns   = 4  // of the reference, in the end
	maxJudgings = 400
)

// Lab judges. Its functions may be called at once. changed holds hidden files that are laid
// in place of the real ones; nil = all are real. An error is one of the machinery.
type Lab struct {
	Reference func(ctx context.Context, changed map[string][]byte) (mixed.Observed, error)
	Untouched func(ctx context.Context, changed map[string][]byte) (mixed.Observed, error)
}

// Subject is what decoys are made for.
type Subject struct {
	Parser     string
	Hidden     map[string][]byte // hidden files of code, by path below workdir
	FailToPass []string
	PassToPass []string
	Sees       func(decoy.Variant) bool // the agent can read the text that is changed
	Time       time.Duration            // after which nothing more is tried
}

// proof is one under way.
type proof struct {
	of    Subject
	lab   Lab
	until time.Time

	mu       sync.Mutex // guards what follows
	judgings int
	cut      string
	why      map[string]string // why a test has no decoy: the last reason

	real  mixed.Observed // the reference
	empty mixed.Observed // the untouched tree
	flaky []string
	kept  []string // tests of pass_to_pass that decoys are looked for of
}

// group is one whose variants are tried.
type group struct {
	mixed.Group             // with the candidates
	wanted      int         // decoys
	next        int         // candidate to try
	proved      mixed.Group // with the decoys
}

// Decoys returns the decoys of a subject. Where there are none the set says why. An error is
// one of the machinery: nothing is known then.
func Decoys(ctx context.Context, of Subject, lab Lab) (mixed.Set, error) {
	p := &proof{of: of, lab: lab, until: time.Now().Add(of.Time), why: map[string]string{}}
	if none := cmp.Or(Unfit(of.Parser, of.FailToPass), p.unfit()); none != "" {
		return mixed.Set{None: none}, nil
	}
	steady, none, err := p.observe(ctx)
	if err != nil || none != "" {
		return mixed.Set{None: none}, err
	}
	groups, err := p.candidates(steady)
	if err != nil {
		return mixed.Set{}, err
	}
	for want := 1; want <= decoy.Wanted; want++ { // each has its first before any has its second
		var work errgroup.Group
		work.SetLimit(atOnce)
		for _, g := range groups {
			work.Go(func() error { return p.extend(ctx, g, min(want, g.wanted)) })
		}
		if err := work.Wait(); err != nil {
			return mixed.Set{}, err
		}
	}
	set, err := p.forged(ctx, p.set(groups))
	if err != nil {
		return mixed.Set{}, err
	}
	return p.concluded(ctx, set)
}

// Unfit says why there can be no decoys, whatever the hidden files are; "" = there may be some.
func Unfit(parser string, failToPass []string) string {
	switch _, reason := decoy.Supported(parser); {
	case reason != "":
		return reason
	case len(failToPass) == 0:
		return "the task names no test that is to be made to pass (fail_to_pass)"
	}
	return ""
}

func (p *proof) unfit() string {
	if len(p.of.Hidden) == 0 {
		return "the judge image has no hidden file of code below workdir"
	}
	return ""
}

// observe judges the reference and the untouched tree with the real tests, and returns the
// tests of fail_to_pass that always pass on the one and never on the other.
func (p *proof) observe(ctx context.Context) (steady []string, none string, err error) {
	references := make([]mixed.Observed, repeats)
	var work errgroup.Group
	work.SetLimit(atOnce)
	for i := range references {
		work.Go(func() (err error) { references[i], err = p.reference(ctx, nil); return err })
	}
	work.Go(func() (err error) { p.empty, err = p.untouched(ctx, nil); return err })
	if err := work.Wait(); err != nil {
		return nil, "", err
	}
	p.real = references[0]
	for _, o := range references[1:] {
		p.real.TookMS = max(p.real.TookMS, o.TookMS)
		for _, test := range slices.Concat(p.of.FailToPass, p.of.PassToPass) {
			if o.Tests[test].Passed != p.real.Tests[test].Passed && !slices.Contains(p.flaky, test) {
				p.flaky = append(p.flaky, test)
			}
		}
	}
	slices.Sort(p.flaky)
	for _, test := range p.flaky { // what it does says nothing
		delete(p.real.Tests, test)
	}
	for _, test := range p.of.FailToPass {
		switch {
		case slices.Contains(p.flaky, test):
			p.why[test] = "it is flaky on the reference"
		case !p.real.Tests[test].Passed: // in all runs alike
			p.why[test] = "it does not pass on the reference"
		case p.empty.Tests[test].Passed:
			p.why[test] = "it passes on the untouched tree"
		default:
			steady = append(steady, test)
		}
	}
	if len(steady) == 0 {
		return nil, "no test of fail_to_pass passes on the reference and fails on the untouched tree", nil
	}
	return steady, "", nil
}

// over reports whether nothing more may be tried, and notes it.
func (p *proof) over() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case !time.Now().Before(p.until):
		p.cut = fmt.Sprintf("not all variants were tried within %s", p.of.Time)
	case p.judgings >= maxJudgings:
		p.cut = fmt.Sprintf("not all variants were tried by %d judgings", maxJudgings)
	default:
		return false
	}
	return true
}

func (p *proof) reference(ctx context.Context, changed map[string][]byte) (mixed.Observed, error) {
	p.count()
	return p.lab.Reference(ctx, changed)
}

func (p *proof) untouched(ctx context.Context, changed map[string][]byte) (mixed.Observed, error) {
	p.count()
	return p.lab.Untouched(ctx, changed)
}

func (p *proof) count() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.judgings++
}

// set holds what was proved.
func (p *proof) set(groups []*group) mixed.Set {
	s := mixed.Set{Unchecked: map[string]string{}, Flaky: p.flaky, Kept: p.kept, Cut: p.cut}
	for _, g := range groups {
		if len(g.proved.Decoys) > 0 {
			s.Groups = append(s.Groups, g.proved)
		}
	}
	return p.settled(s)
}

// settled is a set with all that follows from its groups.
func (p *proof) settled(s mixed.Set) mixed.Set {
	s.Files, s.Unchecked = map[string][]byte{}, map[string]string{}
	for _, g := range s.Groups {
		for _, d := range g.Decoys {
			s.Files[d.File] = p.of.Hidden[d.File]
		}
	}
	for _, test := range p.of.FailToPass {
		if !s.Has(test) {
			s.Unchecked[test] = p.why[test]
		}
	}
	if len(s.Groups) == 0 {
		s.None = cmp.Or(s.None, "no test of fail_to_pass has a decoy"+mostly(s.Unchecked))
	}
	return s
}

// mostly says why tests have no decoy, by the reason that most of them have.
func mostly(unchecked map[string]string) string {
	times, most := map[string]int{}, ""
	for _, test := range slices.Sorted(maps.Keys(unchecked)) {
		why := unchecked[test]
		if times[why]++; times[why] > times[most] {
			most = why
		}
	}
	if most == "" {
		return ""
	}
	return fmt.Sprintf(" (%d of %d: %s)", times[most], len(unchecked), most)
}
