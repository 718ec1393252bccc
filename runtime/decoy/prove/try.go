package prove

import (
	"bytes"
	"context"
	"crypto/sha256"
	"slices"

	"github.com/assayd/assayd/runtime/decoy"
	"github.com/assayd/assayd/runtime/decoy/mixed"
)

// candidates proposes variants of the tests, without those whose text the agent sees.
func (p *proof) candidates(steady []string) (groups []*group, err error) {
	all := slices.Concat(p.of.FailToPass, p.of.PassToPass)
	slices.Sort(all)
	proposal, err := decoy.Propose(p.of.Parser, p.of.Hidden, slices.Compact(all))
	if err != nil {
		return nil, err
	}
	variants := map[string][]decoy.Variant{}
	for _, test := range steady {
		if p.why[test] = proposal.None[test]; p.why[test] == "" {
			p.why[test] = "no token of it can be changed"
		}
		for _, v := range proposal.Variants[test] {
			if p.of.Sees(v) {
				p.why[test] = "agents see its text in their work tree"
				continue
			}
			variants[test] = append(variants[test], v)
		}
	}
	p.keep(proposal, variants)
	for _, g := range mixed.Candidates(p.of.Parser, variants) {
		own := &group{Group: g, wanted: decoy.Wanted, proved: mixed.Group{Tests: g.Tests}}
		if !slices.ContainsFunc(g.Tests, func(test string) bool { return !p.isKept(test) }) {
			own.wanted = wantedKept
		}
		slices.SortStableFunc(own.Decoys, func(a, b mixed.Decoy) int { return order(p.isKept(a.Test)) - order(p.isKept(b.Test)) })
		groups = append(groups, own)
	}
	return groups, nil
}

func order(last bool) int {
	if last {
		return 1
	}
	return 0
}

func (p *proof) isKept(test string) bool { return slices.Contains(p.kept, test) }

// keep adds variants of the tests of pass_to_pass that pass on both trees and of whose text the
// agent sees nothing: a few, always the same, by the hash of their names.
func (p *proof) keep(proposal decoy.Proposal, variants map[string][]decoy.Variant) {
	var hidden []string
	for _, test := range p.of.PassToPass {
		own := proposal.Variants[test]
		_, wanted := variants[test]
		steady := p.real.Tests[test].Passed && p.empty.Tests[test].Passed && !slices.Contains(p.flaky, test)
		if steady && !wanted && len(own) > 0 && !slices.ContainsFunc(own, p.of.Sees) {
			hidden = append(hidden, test)
		}
	}
	slices.SortFunc(hidden, func(a, b string) int {
		x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
		return bytes.Compare(x[:], y[:])
	})
	hidden = slices.Compact(hidden)
	for _, test := range hidden[:min(len(hidden), maxKept)] {
		p.kept = append(p.kept, test)
		variants[test] = proposal.Variants[test]
	}
	slices.Sort(p.kept)
}

// extend tries variants of a group until it has so many decoys, at different tokens.
func (p *proof) extend(ctx context.Context, g *group, want int) error {
	for len(g.proved.Decoys) < want && g.next < min(len(g.Decoys), maxTries) {
		v := g.Decoys[g.next].Variant
		g.next++
		if slices.ContainsFunc(g.proved.Decoys, func(d mixed.Decoy) bool { return d.Overlaps(v) }) {
			continue
		}
		if p.over() {
			return nil
		}
		why, err := p.try(ctx, g.Group, v)
		switch {
		case err != nil:
			return err
		case why == "":
			g.proved.Decoys = append(g.proved.Decoys, mixed.Decoy{Variant: v, Weak: mixed.Weak(v, p.of.Hidden[v.File])})
		default:
			p.lost(v.Test, "a changed copy is no decoy: "+why)
		}
	}
	return nil
}

// lost notes why a test has no decoy.
func (p *proof) lost(test, why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.why[test] = why
}

// try has one variant judged alone, and says why it is no decoy.
func (p *proof) try(ctx context.Context, g mixed.Group, v decoy.Variant) (why string, err error) {
	content, err := decoy.Apply(p.of.Hidden[v.File], []decoy.Variant{v})
	if err != nil {
		return "", err
	}
	changed := map[string][]byte{v.File: content}
	for range repeats {
		got, err := p.reference(ctx, changed)
		if err != nil {
			return "", err
		}
		if why := mixed.Valid(p.of.Parser, g, v, p.real, got); why != "" {
			return why, nil
		}
	}
	got, err := p.untouched(ctx, changed)
	if err != nil {
		return "", err
	}
	return mixed.SamePlace(p.of.Parser, v, p.empty, got), nil
}
