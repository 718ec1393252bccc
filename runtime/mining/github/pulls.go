package github

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/assayd/assayd/runtime/mining/reason"
)

// Outcome is what became of a question for one pull request.
type Outcome struct {
	Asked Ref
	Pull  Pull
	// Err is a *reason.Rejected with code "gone" (the repository or the pull request is not
	// there, or not for us) or "not_merged", or trouble: then asking again may help.
	Err error
}

const (
	// graphPatience is how many batches in a row GraphQL may leave unanswered before the rest
	// is asked for by REST.
	graphPatience = 4
	// restPatience is how many pull requests in a row REST may leave unanswered before GitHub
	// is asked whether it is in order. If it is, it is these pull requests: there are some that
	// it never answers about.
	restPatience = 3
)

// Pulls completes pull requests, a hundred at most: by GraphQL in one request where there is
// a token, and by REST what GraphQL does not give. There is one outcome for each ref, in
// their order. Refs of a repository that was renamed are followed. What changes more than maxFiles
// files has FilesCut, and no more of their list than came with the first answer; 0 = no bound but
// GitHub's, which is 3,000.
//
// An error is about the whole call: *Paused when every limit is used up, ErrUnauthorized, or
// GitHub is out of order. What was answered till then is in keep, and the call is repeated.
func (c *Client) Pulls(ctx context.Context, refs []Ref, maxFiles int, keep Keep) ([]Outcome, error) {
	if len(refs) > perPage {
		return nil, fmt.Errorf("ask for pull requests: %d are more than %d", len(refs), perPage)
	}
	b := &batch{c: c, maxFiles: maxFiles, store: c.store(keep), outcomes: map[Ref]Outcome{}, noGraph: !c.tokens || c.noGraph.Load()}
	if err := b.run(ctx, refs); err != nil {
		return nil, fmt.Errorf("ask for %d pull requests: %w", len(refs), err)
	}
	all := make([]Outcome, len(refs))
	for i, ref := range refs {
		all[i] = b.outcomes[ref]
	}
	return all, nil
}

// batch is one call of Pulls.
type batch struct {
	c        *Client
	maxFiles int // 0 = no bound
	store    store
	outcomes map[Ref]Outcome

	noGraph    bool
	unanswered int // in a row
}

// final is an outcome that is kept.
type final struct {
	Pull     *Pull            `json:",omitempty"`
	Rejected *reason.Rejected `json:",omitempty"`
}

func (b *batch) run(ctx context.Context, refs []Ref) error {
	var open []Ref
	drafts := map[Ref]draft{}
	seen := map[Ref]bool{}
	for _, ref := range refs {
		if seen[ref] {
			continue
		}
		seen[ref] = true
		d, state, err := b.recall(ref)
		switch {
		case err != nil:
			return err
		case state == unknown:
			open = append(open, ref)
		case state == begun:
			drafts[ref] = d
		}
	}
	if err := b.graph(ctx, open, drafts); err != nil {
		return err
	}
	b.unanswered = 0
	for _, ref := range refs {
		if _, done := b.outcomes[ref]; done {
			continue
		}
		d, drafted := drafts[ref]
		if err := b.finish(ctx, ref, d, drafted); err != nil {
			return err
		}
	}
	return nil
}

// known is how far a ref was brought by calls before this one.
type known int

const (
	unknown known = iota
	begun         // there is a draft
	settled       // there is an outcome
)

func (b *batch) recall(ref Ref) (draft, known, error) {
	if !ref.valid() {
		b.outcomes[ref] = Outcome{Asked: ref, Err: reason.Reject("gone", "%.200q cannot be a pull request", ref.String())}
		return draft{}, settled, nil
	}
	var f final
	ok, err := b.store.get(&f, "pull", ref)
	switch {
	case err != nil:
		return draft{}, unknown, err
	case ok && f.Rejected != nil:
		b.outcomes[ref] = Outcome{Asked: ref, Err: f.Rejected}
		return draft{}, settled, nil
	case ok && f.Pull != nil:
		b.outcomes[ref] = Outcome{Asked: ref, Pull: *f.Pull}
		return draft{}, settled, nil
	}
	var d draft
	if ok, err = b.store.get(&d, "draft", ref); err != nil || !ok {
		return draft{}, unknown, err
	}
	return d, begun, nil
}

// settle takes down an outcome, unless it is trouble.
func (b *batch) settle(n notes, ref Ref, p Pull, err error) error {
	if rejected := reason.Of(err); rejected != nil {
		b.outcomes[ref] = Outcome{Asked: ref, Err: rejected}
		return n.add(b.store, final{Rejected: rejected}, "pull", ref)
	}
	if err != nil {
		b.outcomes[ref] = Outcome{Asked: ref, Err: err}
		return nil
	}
	b.outcomes[ref] = Outcome{Asked: ref, Pull: p}
	return n.add(b.store, final{Pull: &p}, "pull", ref)
}

// graph brings as many refs as it can to an outcome, or to a draft.
func (b *batch) graph(ctx context.Context, refs []Ref, drafts map[Ref]draft) error {
	if len(refs) == 0 || b.noGraph {
		return nil
	}
	answers, err := b.c.graph(ctx, refs)
	switch _, none := errors.AsType[*unanswered](err); {
	case errors.Is(err, errNoGraphQL), errors.Is(err, errRefused):
		b.c.log.Info("pull requests are asked for by REST", "error", err)
		b.noGraph = true
		if errors.Is(err, errNoGraphQL) {
			b.c.noGraph.Store(true)
		}
		return nil
	case none:
		b.unanswered++
		b.noGraph = b.unanswered >= graphPatience
	case err != nil:
		return err
	default:
		b.unanswered = 0
	}
	var left []Ref
	n := notes{} // one answer told all of it: whoever crashes asks for none of it again
	for _, ref := range refs {
		a, ok := answers[ref]
		if !ok {
			left = append(left, ref)
			continue
		}
		if err := b.took(n, ref, a, drafts); err != nil {
			return err
		}
	}
	if err := b.store.putAll(n); err != nil {
		return err
	}
	if len(left) < len(refs) {
		return b.graph(ctx, left, drafts)
	}
	if len(left) == 1 {
		return nil // by REST
	}
	half := len(left) / 2 // a smaller batch may be answered
	if err := b.graph(ctx, left[:half], drafts); err != nil {
		return err
	}
	return b.graph(ctx, left[half:], drafts)
}

// took takes down what a batch said of one ref.
func (b *batch) took(n notes, ref Ref, a drafted, drafts map[Ref]draft) error {
	switch {
	case errors.Is(a.err, errIncomplete): // by REST
		return nil
	case a.err != nil:
		return b.settle(n, ref, Pull{}, a.err)
	case !b.wants(a.draft):
		a.draft.cut()
		return b.settle(n, ref, a.draft.Pull, nil)
	}
	drafts[ref] = a.draft
	return n.add(b.store, a.draft, "draft", ref)
}

// wants tells whether a draft lacks something that is asked for.
func (b *batch) wants(d draft) bool { return d.Rest || d.Files && !b.tooMany(d.Pull) }

// tooMany tells whether the files of a pull request are not worth asking for.
func (b *batch) tooMany(p Pull) bool { return b.maxFiles > 0 && p.ChangedFiles > b.maxFiles }

// cut says whether something of the files is missing, and stays so.
func (d *draft) cut() { d.Pull.FilesCut = d.Files || len(d.Pull.Files) < d.Pull.ChangedFiles }

// finish brings one ref to its outcome by REST.
func (b *batch) finish(ctx context.Context, ref Ref, d draft, drafted bool) error {
	var err error
	if !drafted {
		d, err = b.c.restPull(ctx, ref)
		if err == nil {
			err = b.store.put(d, "draft", ref)
		}
	}
	var p Pull
	if err == nil {
		p, err = b.complete(ctx, ref, d)
	}
	if fatal(ctx, err) {
		return err
	}
	if _, none := errors.AsType[*unanswered](err); !none {
		b.unanswered = 0
	} else if b.unanswered++; b.unanswered >= restPatience {
		if err := b.c.inOrder(ctx); err != nil {
			return err
		}
		b.unanswered = 0
	}
	n := notes{}
	if err := b.settle(n, ref, p, err); err != nil {
		return err
	}
	return b.store.putAll(n)
}

// inOrder asks what costs nothing of any limit. Whatever GitHub answers, it answers.
func (c *Client) inOrder(ctx context.Context) error {
	_, _, err := get[json.RawMessage](ctx, c, "rate_limit", "")
	if _, none := errors.AsType[*unanswered](err); none || fatal(ctx, err) {
		return err
	}
	return nil
}

// complete asks for what a draft lacks.
func (b *batch) complete(ctx context.Context, asked Ref, d draft) (p Pull, err error) {
	if d.Files && !b.tooMany(d.Pull) {
		if d.Pull.Files, err = b.c.files(ctx, b.store, d.Pull, asked); err != nil {
			return p, err
		}
		d.Files = false
	}
	d.cut()
	p = d.Pull
	if !d.Rest {
		return p, nil
	}
	if p.Parents, err = b.c.parents(ctx, b.store, p, asked); err != nil {
		return p, err
	}
	if p.Repository.Languages, err = b.c.languages(ctx, b.store, p.Repo); err != nil {
		return p, err
	}
	p.Issues, err = b.c.issues(ctx, b.store, p, asked)
	return p, err
}

// fatal tells whether an error is about more than one pull request.
func fatal(ctx context.Context, err error) bool {
	_, paused := errors.AsType[*Paused](err)
	_, keeping := errors.AsType[*keepError](err)
	return paused || keeping || errors.Is(err, ErrUnauthorized) || err != nil && ctx.Err() != nil
}
