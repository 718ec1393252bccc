package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/google/go-github/v92/github"

	"github.com/assayd/assayd/runtime/mining/reason"
)

const (
	perPage = 100
	// maxListed is how many files GitHub lists of a pull request.
	maxListed = 3000
	// fresh is how long languages of a repository are taken for true without asking.
	fresh = 24 * time.Hour
)

// get asks for a path below the API, or for an address that GitHub has given, and decodes the
// answer. With an etag, the status may be 304, and v nothing.
func get[T any](ctx context.Context, c *Client, path, etag string) (v T, res *github.Response, err error) {
	q, err := c.rest.NewRequest(ctx, http.MethodGet, path, nil)
	if err != nil {
		return v, nil, err
	}
	if etag != "" {
		q.Header.Set("If-None-Match", etag)
	}
	res, err = c.rest.Do(q, &v)
	if res != nil && res.StatusCode == http.StatusNotModified {
		err = nil
	}
	return v, res, err
}

// next is the address of the next page of a list, "" = there is none. It is followed as
// GitHub gives it: its form differs between lists.
func next(res *github.Response) string {
	m := nextLink.FindStringSubmatch(res.Header.Get("Link"))
	if m == nil {
		return ""
	}
	return m[1]
}

var nextLink = regexp.MustCompile(`<([^<>]+)>\s*;[^<>,]*\brel="?next\b`)

// status is that of an error which GitHub answered, else 0.
func status(err error) int {
	if e, ok := errors.AsType[*github.ErrorResponse](err); ok && e.Response != nil {
		return e.Response.StatusCode
	}
	return 0
}

// gone turns an answer that something is not there, or is kept from us, into a rejection. Other
// errors stay as they are. What is forbidden for a limit does not come here.
func gone(err error, what string) error {
	switch status(err) {
	case http.StatusNotFound, http.StatusGone, http.StatusUnavailableForLegalReasons, http.StatusForbidden:
		e, _ := errors.AsType[*github.ErrorResponse](err)
		return reason.Reject("gone", "%s: %d %s", what, status(err), e.Message)
	}
	return err
}

// Refused says that GitHub does not take a question, however often it is asked.
type Refused struct{ why error }

// Error says what is wrong with the question.
func (r *Refused) Error() string { return r.why.Error() }

// Unwrap is what GitHub answered, if it was asked.
func (r *Refused) Unwrap() error { return r.why }

// refused turns an answer that a question cannot be asked into *Refused. Other errors stay as
// they are.
func refused(err error) error {
	if s := status(err); s >= 400 && s < 500 && s != http.StatusRequestTimeout {
		return &Refused{err}
	}
	return err
}

// draft is a pull request of which something is to be asked yet.
type draft struct {
	Pull  Pull
	Files bool // are missing
	Rest  bool // is missing: what only GraphQL gives at once
}

// restPull asks for a pull request without GraphQL.
func (c *Client) restPull(ctx context.Context, ref Ref) (draft, error) {
	p, _, err := get[github.PullRequest](ctx, c, fmt.Sprintf("repos/%s/pulls/%d", ref.Repo, ref.Number), "")
	if err != nil {
		return draft{}, gone(err, ref.String())
	}
	base := p.GetBase().GetRepo()
	if base == nil || p.Merged == nil || p.ChangedFiles == nil {
		return draft{}, fmt.Errorf("%s is answered without its parts", ref)
	}
	if !p.GetMerged() {
		return draft{}, reason.Reject("not_merged", "it is %s", p.GetState())
	}
	d := draft{Files: true, Rest: true}
	d.Pull = Pull{
		Ref:   Ref{Repo: base.GetFullName(), Number: p.GetNumber()},
		Title: p.GetTitle(), Body: p.GetBody(), Merged: true,
		BaseRef: p.GetBase().GetRef(), HeadRef: p.GetHead().GetRef(), BaseSHA: p.GetBase().GetSHA(), HeadSHA: p.GetHead().GetSHA(),
		MergeSHA: p.GetMergeCommitSHA(), MergedAt: p.GetMergedAt().UTC(),
		ChangedFiles: p.GetChangedFiles(), Added: p.GetAdditions(), Removed: p.GetDeletions(), Commits: p.GetCommits(),
		Repository: Repository{
			Name: base.GetFullName(), OwnerType: base.GetOwner().GetType(), Language: base.GetLanguage(), Stars: base.GetStargazersCount(),
			License: base.GetLicense().GetSPDXID(), DefaultBranch: base.GetDefaultBranch(), Fork: base.GetFork(), Archived: base.GetArchived(),
			Private: base.GetPrivate(), KiB: int64(base.GetSize()),
		},
	}
	d.Pull.Author, d.Pull.AuthorType = account(p.GetUser().GetLogin(), p.GetUser().GetType())
	d.Pull.MergedBy, _ = account(p.GetMergedBy().GetLogin(), p.GetMergedBy().GetType())
	for _, l := range p.Labels {
		d.Pull.Labels = append(d.Pull.Labels, l.GetName())
	}
	if d.Pull.MergeSHA == "" {
		return draft{}, reason.Reject("gone", "%s: GitHub knows no commit that merged it", ref)
	}
	return d, nil
}

// account names one as REST does, whichever API told of it: bots with their suffix, and
// accounts that are gone not at all.
func account(login, kind string) (name, typ string) {
	if login == "" || login == "ghost" {
		return "", ""
	}
	if kind == "Bot" && !strings.HasSuffix(login, "[bot]") {
		login += "[bot]"
	}
	return login, kind
}

// listed is one page of files.
type listed struct {
	Files []File
	Next  string
}

// files lists what a pull request changes, as far as GitHub does. Here and below, what is kept
// about one pull request has a key that ends with the name it was asked for by: with that it is
// forgotten.
func (c *Client) files(ctx context.Context, s store, p Pull, asked Ref) (all []File, err error) {
	path := fmt.Sprintf("repos/%s/pulls/%d/files?per_page=%d", p.Repo, p.Number, perPage)
	for page := 1; path != "" && page <= maxListed/perPage; page++ {
		l, err := once(s, func() (l listed, err error) {
			files, res, err := get[[]*github.CommitFile](ctx, c, path, "")
			if status(err) == http.StatusUnprocessableEntity { // the difference is too large for it
				return l, nil
			}
			if err != nil {
				return l, gone(err, p.Ref.String())
			}
			for _, f := range files {
				l.Files = append(l.Files, File{f.GetFilename(), f.GetPreviousFilename(), f.GetStatus(), f.GetAdditions(), f.GetDeletions()})
			}
			l.Next = next(res)
			return l, nil
		}, "files", page, asked)
		if err != nil {
			return nil, err
		}
		all, path = append(all, l.Files...), l.Next
	}
	return all, nil
}

// parents are those of the commit that merged a pull request.
func (c *Client) parents(ctx context.Context, s store, p Pull, asked Ref) ([]string, error) {
	return once(s, func() (shas []string, err error) {
		commit, _, err := get[github.Commit](ctx, c, fmt.Sprintf("repos/%s/git/commits/%s", p.Repo, p.MergeSHA), "")
		if err != nil {
			return nil, gone(err, "commit "+p.MergeSHA)
		}
		if commit.GetSHA() != p.MergeSHA {
			return nil, fmt.Errorf("commit %s is answered with another, %q", p.MergeSHA, commit.GetSHA())
		}
		for _, parent := range commit.Parents {
			shas = append(shas, parent.GetSHA())
		}
		return shas, nil
	}, "parents", asked)
}

// dated is an answer that changes.
type dated[T any] struct {
	Asked time.Time
	ETag  string
	Value T
}

// languages are those of a repository, asked for once a day, and then only if they changed.
// Who asks for the same meanwhile waits for the same answer, and each keeps it.
func (c *Client) languages(ctx context.Context, s store, repo string) (map[string]int64, error) {
	var kept dated[map[string]int64]
	ok, err := s.get(&kept, "languages", repo)
	if err != nil || ok && time.Since(kept.Asked) < fresh {
		return kept.Value, err
	}
	answer := c.asking.DoChan("languages "+repo+" "+kept.ETag, func() (any, error) {
		// Whoever asked first may be broken off, and the others are not.
		bytes, res, err := get[map[string]int64](context.WithoutCancel(ctx), c, "repos/"+repo+"/languages", kept.ETag)
		if err != nil {
			return nil, gone(err, repo)
		}
		return dated[map[string]int64]{ETag: res.Header.Get("ETag"), Value: bytes, Asked: time.Now()}, nil
	})
	select {
	case a := <-answer:
		if a.Err != nil {
			return nil, a.Err
		}
		now := a.Val.(dated[map[string]int64])
		if now.Value == nil { // it has not changed
			now.ETag, now.Value = kept.ETag, kept.Value
		}
		return now.Value, s.put(now, "languages", repo)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// issues are those that the text of a pull request says it closes. Anybody can write it: what
// it names of another repository is read where that is public, whatever the token may see.
func (c *Client) issues(ctx context.Context, s store, p Pull, asked Ref) (all []Issue, err error) {
	for _, ref := range closes(p.Body, p.Repo, c.site) {
		issue, err := once(s, func() (*Issue, error) { return c.issue(ctx, s, ref, p.Repo, asked) }, "issue", ref, asked)
		if err != nil {
			return nil, err
		}
		if issue != nil {
			all = append(all, *issue)
		}
	}
	return all, nil
}

// issue asks for one that a pull request of a repository closes. Nil: it says nothing.
func (c *Client) issue(ctx context.Context, s store, ref Ref, own string, asked Ref) (*Issue, error) {
	if open, err := c.open(ctx, s, ref.Repo, own, asked); !open || err != nil {
		return nil, err
	}
	i, _, err := get[github.Issue](ctx, c, fmt.Sprintf("repos/%s/issues/%d", ref.Repo, ref.Number), "")
	if err = gone(err, ref.String()); reason.Of(err) != nil || err == nil && i.IsPullRequest() {
		return nil, nil // what cannot be read says nothing
	}
	if err != nil {
		return nil, err
	}
	repo := ref.Repo
	if _, name, ok := strings.Cut(i.GetRepositoryURL(), "/repos/"); ok && name != repo {
		repo = name // it was moved, perhaps out of sight
		if open, err := c.open(ctx, s, repo, own, asked); !open || err != nil {
			return nil, err
		}
	}
	return &Issue{Repo: repo, Number: i.GetNumber(), Title: i.GetTitle(), Body: i.GetBody()}, nil
}

// open tells whether what is in a repository may be shown with a pull request of another, or of
// the same one.
func (c *Client) open(ctx context.Context, s store, repo, own string, asked Ref) (bool, error) {
	if strings.EqualFold(repo, own) {
		return true, nil
	}
	return once(s, func() (bool, error) {
		if !validRepo(repo) {
			return false, nil
		}
		r, _, err := get[github.Repository](ctx, c, "repos/"+repo, "")
		if err = gone(err, repo); reason.Of(err) != nil {
			return false, nil
		}
		return err == nil && r.Private != nil && !r.GetPrivate(), err
	}, "open", repo, asked)
}
