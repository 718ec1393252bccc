package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/go-github/v92/github"
)

const (
	// maxFound is how many results GitHub shows of a query.
	maxFound = 1000
	// settling is how long GitHub may take to find what was merged. Windows that end later
	// are looked at again by the next call.
	settling = 10 * time.Minute
	// second is how short a window can be.
	second = time.Second
)

// found is a pull request that was found.
type found struct {
	Ref
	At time.Time // merged
}

// window is a time whose results are known, or partly: till Page they are, 0 = all.
type window struct {
	From, To time.Time // what was merged at To is not in it
	Found    []found
	Page     int
	Total    int
}

// Search tells each pull request that a query of GitHub finds, and that was merged from a
// time to another, once a call; to is not included. The query has no "merged:" of its own; is:pr and
// is:merged are added. Windows of time are made so short that none has more than the 1,000
// results that GitHub shows.
//
// What was found is kept: a call that ends with an error (*Paused is the usual one: there are 30
// requests a minute) is repeated, tells all from the beginning, and asks only for the
// rest. So does a call with a later end. An error of each ends the search. A query that GitHub does
// not take, or that finds other things, ends with *Refused.
func (c *Client) Search(ctx context.Context, query string, from, to time.Time, keep Keep, each func(Ref) error) error {
	if err := c.search(ctx, query, from.UTC(), to.UTC(), keep, each); err != nil {
		return fmt.Errorf("search for %q: %w", query, err)
	}
	return nil
}

func (c *Client) search(ctx context.Context, query string, from, to time.Time, keep Keep, each func(Ref) error) error {
	if slices.ContainsFunc(strings.Fields(query), func(word string) bool { return strings.HasPrefix(strings.TrimPrefix(word, "-"), "merged:") }) {
		return &Refused{errors.New("merged: is not for the query")}
	}
	now := time.Now().UTC()
	if to.After(now) {
		to = now
	}
	// Whole seconds, so that windows meet.
	from, to = from.Truncate(second), to.Add(second-1).Truncate(second)
	s := &searching{c: c, store: c.store(keep), query: strings.Join(strings.Fields(query), " "), told: map[Ref]bool{}}
	if _, err := s.store.get(&s.starts, "search", s.query); err != nil {
		return err
	}
	settled := now.Add(-settling).Truncate(second)
	for at := from; at.Before(to); {
		end := to
		if at.Before(settled) && settled.Before(end) {
			end = settled
		}
		w, err := s.window(ctx, at, end, !end.After(settled))
		if err != nil {
			return err
		}
		for _, f := range w.Found {
			if f.At.Before(from) || !f.At.Before(to) || s.told[f.Ref] {
				continue
			}
			s.told[f.Ref] = true
			if err := each(f.Ref); err != nil {
				return err
			}
		}
		at = w.To
	}
	return nil
}

// searching is one call of Search.
type searching struct {
	c      *Client
	store  store
	query  string
	starts []int64 // of the windows that are kept, in order; Unix seconds
	told   map[Ref]bool
	length time.Duration // of the next window, 0 = as long as it may be
}

// window returns the results of a window that holds a time: of one that is kept, or of a new
// one that ends at to or before.
func (s *searching) window(ctx context.Context, at, to time.Time, lasting bool) (w window, err error) {
	i, exact := slices.BinarySearch(s.starts, at.Unix())
	if !exact {
		i--
	}
	if i >= 0 {
		if _, err := s.store.get(&w, "search", s.query, s.starts[i]); err != nil {
			return w, err
		}
		if w.Page > 0 && w.From.Equal(at) || w.Page == 0 && w.To.After(at) {
			return w, s.fill(ctx, &w, true)
		}
	}
	if i+1 < len(s.starts) && time.Unix(s.starts[i+1], 0).Before(to) {
		to = time.Unix(s.starts[i+1], 0).UTC() // from there on it is known
	}
	if s.length > 0 && at.Add(s.length).Before(to) {
		to = at.Add(s.length)
	}
	w = window{From: at, To: to, Page: 1}
	return w, s.fill(ctx, &w, lasting)
}

// fill asks for what a window lacks, and makes it shorter while it has too many results or does
// not show them all. One that cannot be shorter is taken as it is, and looked at again by the next call.
func (s *searching) fill(ctx context.Context, w *window, lasting bool) error {
	for w.Page > 0 {
		result, err := s.page(ctx, *w)
		if err != nil {
			return err
		}
		length := w.To.Sub(w.From)
		if w.Page == 1 {
			w.Total = result.GetTotal()
		}
		most := min(w.Total, maxFound)
		lacking := result.GetIncompleteResults() || len(result.Issues) == 0 && (w.Page-1)*perPage < most
		if length > second && (lacking || w.Page == 1 && w.Total > maxFound) {
			w.Found, w.Page = nil, 1
			shorten(w, length)
			if lasting {
				if err := s.remember(*w); err != nil {
					return err
				}
			}
			continue
		}
		if lacking || w.Total > maxFound {
			s.c.log.Warn("a search does not show all that it finds", "query", s.query, "from", w.From, "to", w.To, "found", w.Total)
		}
		lasting = lasting && !lacking
		if err := w.add(result); err != nil {
			return err
		}
		if w.Page++; len(result.Issues) == 0 || (w.Page-1)*perPage >= most {
			w.Page = 0
			s.length = likely(length, w.Total)
		}
		if lasting {
			if err := s.remember(*w); err != nil {
				return err
			}
		}
	}
	return nil
}

// shorten makes a window as long as is likely to have few enough results, and half as long at
// most.
func shorten(w *window, length time.Duration) {
	shorter := length / 2
	if w.Total > maxFound {
		shorter = min(shorter, likely(length, w.Total))
	}
	w.To = w.From.Add(max(second, shorter.Truncate(second)))
}

// likely is how long a window is that has nearly as many results as are shown, if one of a
// length has so many. 0 = any length.
func likely(length time.Duration, total int) time.Duration {
	if total == 0 {
		return 0
	}
	const shown = 0.8 * maxFound
	long := min(length.Seconds()*shown/float64(total), (100 * 365 * 24 * time.Hour).Seconds())
	return max(second, time.Duration(long)*time.Second)
}

// page asks for one page of a window.
func (s *searching) page(ctx context.Context, w window) (github.IssuesSearchResult, error) {
	words := s.query
	for _, word := range []string{"is:pr", "is:merged"} {
		if !slices.Contains(strings.Fields(words), word) {
			words += " " + word
		}
	}
	words += " merged:" + w.From.Format(time.RFC3339) + ".." + w.To.Add(-second).Format(time.RFC3339)
	v := url.Values{"q": {strings.TrimSpace(words)}, "sort": {"created"}, "order": {"asc"}, "per_page": {fmt.Sprint(perPage)}, "page": {fmt.Sprint(w.Page)}}
	result, _, err := get[github.IssuesSearchResult](ctx, s.c, "search/issues?"+v.Encode(), "")
	if err == nil && result.Total == nil {
		err = fmt.Errorf("GET search/issues: %d without a total", http.StatusOK)
	}
	return result, refused(err)
}

// add takes what a page says.
func (w *window) add(result github.IssuesSearchResult) error {
	for _, i := range result.Issues {
		_, repo, ok := strings.Cut(i.GetRepositoryURL(), "/repos/")
		ref := Ref{repo, i.GetNumber()}
		if !ok || !ref.valid() || i.PullRequestLinks == nil {
			return &Refused{fmt.Errorf("it finds an item that is no pull request: %q, number %d", i.GetRepositoryURL(), i.GetNumber())}
		}
		at := i.PullRequestLinks.GetMergedAt()
		if at.IsZero() {
			at = i.GetClosedAt()
		}
		w.Found = append(w.Found, found{ref, at.UTC()})
	}
	return nil
}

// remember keeps a window. One that is whole joins the one that ends where it begins, as long
// as both together are no more than one answer: continuous mining makes many.
func (s *searching) remember(w window) error {
	start := w.From.Unix()
	i, exact := slices.BinarySearch(s.starts, start)
	if w.Page == 0 && i > 0 {
		var before window
		if _, err := s.store.get(&before, "search", s.query, s.starts[i-1]); err != nil {
			return err
		}
		if before.Page == 0 && before.To.Equal(w.From) && len(before.Found)+len(w.Found) <= maxFound {
			before.To, before.Found = w.To, append(before.Found, w.Found...)
			if exact {
				s.starts = slices.Delete(s.starts, i, i+1)
			}
			return s.note(before, before.From.Unix())
		}
	}
	if !exact {
		s.starts = slices.Insert(s.starts, i, start)
	}
	return s.note(w, start)
}

// note keeps a window, and which there are.
func (s *searching) note(w window, start int64) error {
	n := notes{}
	if err := n.add(s.store, w, "search", s.query, start); err != nil {
		return err
	}
	if err := n.add(s.store, s.starts, "search", s.query); err != nil {
		return err
	}
	return s.store.putAll(n)
}
