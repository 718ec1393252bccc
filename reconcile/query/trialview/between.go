package trialview

import (
	"context"
	"errors"

	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/ledger"
	"github.com/assayd/assayd/reconcile/query/archive"
	"github.com/assayd/assayd/reconcile/request"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/round"
)

// Between is what changed from one round of a trial to another.
type Between struct {
	A, B   RoundInfo
	Fixed  []string // tests that pass in B and did not in A, the first ones
	Broken []string // the other way
	// How many there are of each.
	FixedAll, BrokenAll int
	// Files that differ, by path; nil where an archive is not kept any more.
	Files   []archive.FileChange
	More    int    // files that differ and are not told
	NoFiles string // why the files are not known
}

// maxNamed bounds the tests that a comparison of rounds names.
const maxNamed = 500

// Between compares two rounds of a trial. A trial or round that is not known is an ErrUnknown.
func (r *Trials) Between(ctx context.Context, id, a, b string) (d Between, err error) {
	if err := request.NeedsContent(ctx, "differences of files"); err != nil {
		return d, err
	}
	var before, after round.Submission
	if err := r.store.View(ctx, func(tx *store.Tx) error {
		s, err := history.KnownTrial(tx, id)
		if err != nil {
			return err
		}
		read := func(name string) (info RoundInfo, sub round.Submission, err error) {
			row, known, err := history.KnownRound(tx, id, name)
			if err != nil {
				return info, sub, err
			}
			sub, err = ledger.Whole(tx, known.ID)
			return RoundInfo{row.N, roundOf(s, known), known.Kind}, sub, err
		}
		if d.A, before, err = read(a); err == nil {
			d.B, after, err = read(b)
		}
		return err
	}); err != nil {
		return d, err
	}
	d.Fixed, d.Broken = flips(before.Report, after.Report)
	d.FixedAll, d.BrokenAll = len(d.Fixed), len(d.Broken)
	d.Fixed, d.Broken = d.Fixed[:min(maxNamed, d.FixedAll)], d.Broken[:min(maxNamed, d.BrokenAll)]
	d.Files, d.More, err = r.archives.Compare(ctx, before.Archive, after.Archive)
	if err != nil && ctx.Err() == nil {
		d.NoFiles = "the archives cannot be read: " + err.Error()
		if _, open := errors.AsType[*archive.Gone](err); open {
			d.NoFiles = "an archive is not kept any more: gc has removed it"
		}
		err = nil
	}
	return d, err
}

// flips are the tests that pass in one report only.
func flips(a, b *round.Report) (fixed, broken []string) {
	if a == nil || b == nil {
		return nil, nil
	}
	before := map[string]bool{}
	for _, t := range a.Tests {
		before[t.Name] = t.Status == parser.Passed
	}
	for _, t := range b.Tests {
		was, known := before[t.Name]
		switch now := t.Status == parser.Passed; {
		case now && !was:
			fixed = append(fixed, t.Name)
		case !now && was && known:
			broken = append(broken, t.Name)
		}
	}
	return fixed, broken
}
