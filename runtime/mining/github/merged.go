package github

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/google/go-github/v92/github"

	"github.com/assayd/assayd/runtime/mining/reason"
)

// history is what is known of the pull requests of a repository.
type history struct {
	Known  bool
	Since  time.Time // what was merged before is not in it
	Top    time.Time // all that was changed last at this time or before is in it
	ETag   string    // of the first page then
	Chunks int       // of found, each under a key of its own
	Pass   *pass     // that is not at its end
}

// pass goes through the list of pull requests, from the one that changed last down to where
// all is known.
type pass struct {
	Low  time.Time
	Top  time.Time
	ETag string
	Page int // that is next
	Next string
}

// Merged tells each pull request of a repository that was merged at a time or later, once a
// call, in no order. What was found is kept: a call that ends with an error is repeated, tells all
// from the beginning, and asks only for what it does not know. So does a later call:
// where nothing has changed, that costs nothing of any limit. A repository that is not there, or not
// for us, is a *reason.Rejected with code "gone"; what GitHub does not take otherwise is *Refused. An
// error of each ends it.
func (c *Client) Merged(ctx context.Context, repo string, since time.Time, keep Keep, each func(Ref) error) error {
	if !validRepo(repo) {
		return reason.Reject("gone", "%.200q cannot be a repository", repo)
	}
	l := &listing{c: c, store: c.store(keep), repo: repo, since: since.UTC(), each: each, told: map[Ref]bool{}}
	if err := l.run(ctx); err != nil {
		return fmt.Errorf("list the pull requests of %s: %w", repo, refused(gone(err, repo)))
	}
	return nil
}

// listing is one call of Merged.
type listing struct {
	c     *Client
	store store
	repo  string
	since time.Time
	each  func(Ref) error
	told  map[Ref]bool // or not wanted
	h     history
}

func (l *listing) run(ctx context.Context) error {
	if _, err := l.store.get(&l.h, "merged", l.repo); err != nil {
		return err
	}
	for i := range l.h.Chunks {
		var chunk []found
		if _, err := l.store.get(&chunk, "merged", l.repo, i); err != nil {
			return err
		}
		if err := l.tell(chunk); err != nil {
			return err
		}
	}
	if !l.h.Known || l.since.Before(l.h.Since) {
		l.h = history{Known: true, Since: l.since, Chunks: l.h.Chunks}
	}
	for {
		pages, err := l.pass(ctx)
		if err != nil || pages <= 1 {
			return err
		}
		// What changed meanwhile has gone to the top of the list, perhaps before it was
		// seen: it is looked at again, down to where the pass began.
	}
}

// pass makes one, or ends one that was begun before, and returns how many pages it had.
func (l *listing) pass(ctx context.Context) (pages int, err error) {
	p := l.h.Pass
	if p == nil {
		p = &pass{Low: l.h.Since, Page: 1}
		if !l.h.Top.IsZero() {
			p.Low = l.h.Top
		}
		p.Next = fmt.Sprintf("repos/%s/pulls?state=all&sort=updated&direction=desc&per_page=%d", l.repo, perPage)
	}
	for p.Next != "" {
		etag := ""
		if p.Page == 1 {
			etag = l.h.ETag
		}
		list, res, err := get[[]*github.PullRequest](ctx, l.c, p.Next, etag)
		if err != nil {
			return 0, err
		}
		if res.StatusCode == http.StatusNotModified {
			return 1, nil
		}
		if p.Page == 1 {
			p.ETag = res.Header.Get("ETag")
			if len(list) > 0 {
				p.Top = list[0].GetUpdatedAt().UTC()
			}
		}
		p.Page, p.Next = p.Page+1, next(res)
		if n := len(list); n == 0 || list[n-1].GetUpdatedAt().Before(p.Low) {
			p.Next = ""
		}
		if err := l.took(list, p); err != nil {
			return 0, err
		}
	}
	return p.Page - 1, nil
}

// took keeps and tells what is new on a page, and where the pass is.
func (l *listing) took(list []*github.PullRequest, p *pass) error {
	var chunk []found
	for _, one := range list {
		at := one.GetMergedAt().UTC()
		ref := Ref{one.GetBase().GetRepo().GetFullName(), one.GetNumber()}
		if !one.GetMergedAt().IsZero() && !at.Before(l.h.Since) && ref.valid() && !l.told[ref] {
			chunk = append(chunk, found{ref, at})
		}
	}
	n := notes{}
	if len(chunk) > 0 {
		if err := n.add(l.store, chunk, "merged", l.repo, l.h.Chunks); err != nil {
			return err
		}
		l.h.Chunks++
	}
	if l.h.Pass = p; p.Next == "" {
		l.h.Pass = nil
		if p.Top.After(l.h.Top) {
			l.h.Top = p.Top
		}
		l.h.ETag = p.ETag
	}
	if err := n.add(l.store, l.h, "merged", l.repo); err != nil {
		return err
	}
	if err := l.store.putAll(n); err != nil {
		return err
	}
	return l.tell(chunk)
}

func (l *listing) tell(chunk []found) error {
	for _, f := range chunk {
		if l.told[f.Ref] {
			continue
		}
		l.told[f.Ref] = true
		if f.At.Before(l.since) {
			continue
		}
		if err := l.each(f.Ref); err != nil {
			return err
		}
	}
	return nil
}
