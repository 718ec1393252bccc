package github

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/assayd/assayd/runtime/mining/reason"
)

// graphTries is how often a batch is sent whole before it is divided.
const graphTries = 2

// fragments are what is asked of each pull request. GitHub counts a batch of a hundred as
// five of the 5,000 points of an hour.
const fragments = `
fragment R on Repository {
  nameWithOwner owner { __typename } primaryLanguage { name } languages(first: 100) { edges { size node { name } } }
  stargazerCount licenseInfo { spdxId } defaultBranchRef { name } isFork isArchived isPrivate diskUsage
}
fragment P on PullRequest {
  number title body state merged mergedAt author { __typename login } mergedBy { __typename login }
  labels(first: 100) { nodes { name } }
  closingIssuesReferences(first: 10) { nodes { number title body repository { nameWithOwner isPrivate } } }
  baseRefName headRefName baseRefOid headRefOid mergeCommit { oid parents(first: 10) { totalCount nodes { oid } } }
  files(first: 100) { totalCount nodes { path changeType additions deletions } }
  changedFiles additions deletions commits { totalCount }
}`

// batchQuery asks for many pull requests at once: the first is r0.
func batchQuery(refs []Ref) (query string, variables map[string]any) {
	var declared, asked strings.Builder
	variables = map[string]any{}
	for i, ref := range refs {
		owner, name, _ := strings.Cut(ref.Repo, "/")
		fmt.Fprintf(&declared, "$o%d: String!, $n%d: String!, $p%d: Int!, ", i, i, i)
		fmt.Fprintf(&asked, "  r%d: repository(owner: $o%d, name: $n%d) { ...R pullRequest(number: $p%d) { ...P } }\n", i, i, i, i)
		variables[fmt.Sprint("o", i)], variables[fmt.Sprint("n", i)], variables[fmt.Sprint("p", i)] = owner, name, ref.Number
	}
	return fmt.Sprintf("query(%s) {\n%s}\n%s\n", strings.TrimSuffix(declared.String(), ", "), asked.String(), fragments), variables
}

// graphError is one of the errors of an answer.
type graphError struct {
	Type       string
	Message    string
	Path       []any // ["r3", "pullRequest"]
	Extensions struct{ Code string }
}

// in tells whether the error is about something at or below a path.
func (e graphError) in(path ...string) bool {
	if len(e.Path) < len(path) {
		return false
	}
	for i, name := range path {
		if e.Path[i] != name {
			return false
		}
	}
	return true
}

type graphAnswer struct {
	Data   map[string]json.RawMessage
	Errors []graphError
}

// whole says why there is no data at all.
func (a graphAnswer) whole() error {
	switch {
	case len(a.Data) > 0:
		return nil
	case len(a.Errors) == 0:
		return errors.New("neither data nor errors")
	case a.Errors[0].Extensions.Code != "": // it has other fields than ours
		return fmt.Errorf("%w: %s", errNoGraphQL, a.Errors[0].Message)
	}
	return errors.New(a.Errors[0].Message)
}

// graphLimited tells whether an answer with status 200 refuses for a limit.
func graphLimited(body []byte) bool {
	var a graphAnswer
	return json.Unmarshal(body, &a) == nil && slices.ContainsFunc(a.Errors, func(e graphError) bool {
		text := strings.ToLower(e.Message)
		return e.Type == "RATE_LIMITED" || len(e.Path) == 0 && (strings.Contains(text, "rate limit exceeded") || strings.Contains(text, "secondary rate limit"))
	})
}

var (
	// errNoGraphQL says that an installation has no GraphQL that understands us.
	errNoGraphQL = errors.New("there is no GraphQL for this")
	// errRefused says that GraphQL does not take a request of ours, this time.
	errRefused = errors.New("GraphQL refuses")
	// errIncomplete says that GraphQL does not know all of a pull request, and never will.
	errIncomplete = errors.New("GraphQL does not know all of it")
)

// graph asks for a batch by GraphQL. Those without an outcome are to be asked otherwise.
func (c *Client) graph(ctx context.Context, refs []Ref) (map[Ref]drafted, error) {
	query, variables := batchQuery(refs)
	body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	if err != nil {
		return nil, err
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, c.graphURL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("User-Agent", "assayd")
	res, err := c.api.send(q, graphTries)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	switch res.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		return nil, fmt.Errorf("%w: %s", errNoGraphQL, res.Status)
	default:
		return nil, fmt.Errorf("%w: %s", errRefused, res.Status)
	}
	var a graphAnswer
	if err = json.NewDecoder(res.Body).Decode(&a); err == nil {
		err = a.whole()
	}
	if err != nil {
		if !errors.Is(err, errNoGraphQL) {
			err = &unanswered{"POST " + q.URL.Path, err}
		}
		return nil, err
	}
	all := map[Ref]drafted{}
	for i, ref := range refs {
		alias := fmt.Sprint("r", i)
		if d, err := readNode(alias, ref, a); err == nil || reason.Of(err) != nil || errors.Is(err, errIncomplete) {
			all[ref] = drafted{d, err}
		} else {
			c.log.Debug("GraphQL does not give a pull request", "pull", ref, "error", err)
		}
	}
	return all, nil
}

// drafted is what became of a ref in a batch: a draft, a rejection, or errIncomplete.
type drafted struct {
	draft draft
	err   error
}

// readNode reads what an answer says of one pull request. An error that is neither a rejection
// nor errIncomplete says that asking again may help.
func readNode(alias string, ref Ref, a graphAnswer) (draft, error) {
	for _, e := range a.Errors {
		notThere := e.Type == "NOT_FOUND" && (e.in(alias) && len(e.Path) == 1 || e.in(alias, "pullRequest") && len(e.Path) == 2)
		switch {
		case !e.in(alias):
		case notThere:
			return draft{}, reason.Reject("gone", "%s: %s", ref, e.Message)
		case e.in(alias, "pullRequest", "closingIssuesReferences", "nodes") && (e.Type == "FORBIDDEN" || e.Type == "NOT_FOUND"):
			// An issue that we may not see says nothing.
		default:
			return draft{}, errors.New(e.Message)
		}
	}
	var node *graphRepo
	if err := json.Unmarshal(a.Data[alias], &node); err != nil {
		return draft{}, fmt.Errorf("read the discussion of %s: %w", ref, err)
	}
	if node == nil || node.PullRequest == nil || node.DefaultBranchRef == nil || node.NameWithOwner == "" {
		return draft{}, errIncomplete
	}
	return node.draft()
}

type (
	graphActor struct {
		Type  string `json:"__typename"`
		Login string
	}
	graphName struct{ Name string }
	graphPull struct {
		Number            int
		Title, Body       string
		State             string
		Merged            bool
		MergedAt          time.Time
		Author, MergedBy  graphActor
		Labels            struct{ Nodes []graphName }
		ClosingReferences struct {
			Nodes []*struct {
				Number      int
				Title, Body string
				Repository  struct {
					NameWithOwner string
					IsPrivate     bool
				}
			}
		} `json:"closingIssuesReferences"`
		BaseRefName, HeadRefName, BaseRefOid, HeadRefOid string
		MergeCommit                                      *struct {
			Oid     string
			Parents struct {
				TotalCount int
				Nodes      []struct{ Oid string }
			}
		}
		Files *struct {
			TotalCount int
			Nodes      []struct {
				Path, ChangeType     string
				Additions, Deletions int
			}
		}
		ChangedFiles, Additions, Deletions int
		Commits                            struct{ TotalCount int }
	}
	graphRepo struct {
		NameWithOwner   string
		Owner           graphActor
		PrimaryLanguage graphName
		Languages       struct {
			Edges []struct {
				Size int64
				Node graphName
			}
		}
		StargazerCount                int
		LicenseInfo                   struct{ SpdxID string }
		DefaultBranchRef              *graphName
		IsFork, IsArchived, IsPrivate bool
		DiskUsage                     int64
		PullRequest                   *graphPull
	}
)

// statuses are those of files, as REST calls them.
func statusOf(changeType string) string {
	if changeType == "DELETED" {
		return "removed"
	}
	return strings.ToLower(changeType)
}

func (r *graphRepo) draft() (draft, error) {
	p := r.PullRequest
	if !p.Merged {
		return draft{}, reason.Reject("not_merged", "it is %s", strings.ToLower(p.State))
	}
	if p.MergeCommit == nil || p.MergeCommit.Parents.TotalCount != len(p.MergeCommit.Parents.Nodes) {
		return draft{}, errIncomplete
	}
	d := draft{Pull: Pull{
		Ref:   Ref{r.NameWithOwner, p.Number},
		Title: p.Title, Body: p.Body, Merged: true,
		BaseRef: p.BaseRefName, HeadRef: p.HeadRefName, BaseSHA: p.BaseRefOid, HeadSHA: p.HeadRefOid,
		MergeSHA: p.MergeCommit.Oid, MergedAt: p.MergedAt.UTC(),
		ChangedFiles: p.ChangedFiles, Added: p.Additions, Removed: p.Deletions, Commits: p.Commits.TotalCount,
		Repository: Repository{
			Name: r.NameWithOwner, OwnerType: r.Owner.Type, Language: r.PrimaryLanguage.Name, Stars: r.StargazerCount,
			License: r.LicenseInfo.SpdxID, DefaultBranch: r.DefaultBranchRef.Name, Fork: r.IsFork, Archived: r.IsArchived,
			Private: r.IsPrivate, KiB: r.DiskUsage, Languages: map[string]int64{},
		},
	}}
	d.Pull.Author, d.Pull.AuthorType = account(p.Author.Login, p.Author.Type)
	d.Pull.MergedBy, _ = account(p.MergedBy.Login, p.MergedBy.Type)
	for _, l := range p.Labels.Nodes {
		d.Pull.Labels = append(d.Pull.Labels, l.Name)
	}
	for _, i := range p.ClosingReferences.Nodes {
		// A token may read more than whoever reads the task.
		if i != nil && (!i.Repository.IsPrivate || i.Repository.NameWithOwner == r.NameWithOwner) {
			d.Pull.Issues = append(d.Pull.Issues, Issue{i.Repository.NameWithOwner, i.Number, i.Title, i.Body})
		}
	}
	for _, parent := range p.MergeCommit.Parents.Nodes {
		d.Pull.Parents = append(d.Pull.Parents, parent.Oid)
	}
	for _, l := range r.Languages.Edges {
		d.Pull.Repository.Languages[l.Node.Name] = l.Size
	}
	d.Files = !d.readFiles(p)
	return d, nil
}

// readFiles tells whether GraphQL says all of the files: it never tells how one was called
// before.
func (d *draft) readFiles(p *graphPull) bool {
	if p.Files == nil {
		return false
	}
	whole := len(p.Files.Nodes) >= p.ChangedFiles
	for _, f := range p.Files.Nodes {
		status := statusOf(f.ChangeType)
		whole = whole && status != "renamed" && status != "copied"
		d.Pull.Files = append(d.Pull.Files, File{Name: f.Path, Status: status, Added: f.Additions, Removed: f.Deletions})
	}
	return whole
}
