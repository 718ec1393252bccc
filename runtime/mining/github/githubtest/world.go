package githubtest

import (
	"slices"
	"strings"
	"time"

	"github.com/assayd/assayd/runtime/mining/github"
)

// World is what a server holds, and how it behaves. The zero value holds nothing and has
// GitHub's own limits.
type World struct {
	// Pulls are the pull requests. Their Repository says what repositories there are: of
	// those with one name, the first counts; an empty Name is that of Repo. Those that are not Merged are closed. Their Issues
	// can be asked for, too.
	Pulls  []github.Pull
	Issues []github.Issue           // those that no pull request closes
	Update map[github.Ref]time.Time // when a pull request changed last, if not when it was merged
	Rename map[string]string        // from a repository's former name to that it has now
	Gone   map[string]int           // status, 404, 410 or 451, of "owner/name" or "owner/name#12"

	// Refuse is the status, 403 or 502 for instance, of whatever lies at or below a path: "/repos/o/r".
	Refuse map[string]int

	// Cut says what is missing from a page of a search over so long a time; nil = nothing.
	Cut func(page int, length time.Duration) Cut

	Enterprise bool     // the API is below /api
	Tokens     []string // that are known; none = every one, and anybody without
	NoGraphQL  bool     // as some Enterprise servers
	MaxBatch   int      // a GraphQL request for more pull requests is answered with 502; 0 = no bound

	// Limits are those of each token, by resource: core, search, graphql.
	Limits map[string]Limit
	Faults Faults
}

// Cut is a way in which a page of a search does not show what was found. The total counts all.
type Cut string

// All cuts.
const (
	Incomplete Cut = "incomplete" // every second result is missing, and that is said
	Empty      Cut = "empty"      // there is no result
)

// Limit is so many requests in a window of time, which begins with the first of them and
// ends with a whole second.
type Limit struct {
	Requests int
	Window   time.Duration
}

// Faults are answers that are none, at random.
type Faults struct {
	Seed  uint64
	Share float64 // of all requests, 0 to 1
	Kinds []Fault // none = all
}

// Fault is a way of not answering.
type Fault string

// All kinds of faults.
const (
	Secondary  Fault = "secondary"   // 403 with Retry-After: 1
	TooMany    Fault = "too many"    // 429 with Retry-After: 1
	BadGateway Fault = "bad gateway" // 502 and JSON
	Page       Fault = "page"        // 200 and HTML
	Dropped    Fault = "dropped"     // no answer
	Half       Fault = "half"        // an answer that breaks off
)

func (f Faults) kinds() []Fault {
	if len(f.Kinds) > 0 {
		return f.Kinds
	}
	return []Fault{Secondary, TooMany, BadGateway, Page, Dropped, Half}
}

// limit is that of a resource.
func (w *World) limit(resource, token string) Limit {
	if l, ok := w.Limits[resource]; ok {
		return l
	}
	switch {
	case resource == "search" && token == "":
		return Limit{10, time.Minute}
	case resource == "search":
		return Limit{30, time.Minute}
	case token == "":
		return Limit{60, time.Hour}
	}
	return Limit{5000, time.Hour}
}

// repository finds one by its name, in whatever case, and its number, from 1.
func (w *World) repository(name string) (r github.Repository, id int) {
	for i, p := range w.Pulls {
		if strings.EqualFold(p.Repo, name) {
			r = p.Repository
			if r.Name == "" {
				r.Name = p.Repo
			}
			return r, i + 1
		}
	}
	return r, 0
}

// present is the name of a repository now.
func (w *World) present(name string) string {
	for from, to := range w.Rename {
		if strings.EqualFold(from, name) {
			return to
		}
	}
	return name
}

func (w *World) pull(repo string, number int) (github.Pull, bool) {
	i := slices.IndexFunc(w.Pulls, func(p github.Pull) bool { return strings.EqualFold(p.Repo, repo) && p.Number == number })
	if i < 0 {
		return github.Pull{}, false
	}
	return w.Pulls[i], true
}

func (w *World) issue(repo string, number int) (github.Issue, bool) {
	is := func(i github.Issue) bool { return strings.EqualFold(i.Repo, repo) && i.Number == number }
	for _, p := range w.Pulls {
		if i := slices.IndexFunc(p.Issues, is); i >= 0 {
			return p.Issues[i], true
		}
	}
	i := slices.IndexFunc(w.Issues, is)
	if i < 0 {
		return github.Issue{}, false
	}
	return w.Issues[i], true
}

// updated is when a pull request changed last.
func (w *World) updated(p github.Pull) time.Time {
	if at, ok := w.Update[p.Ref]; ok {
		return at
	}
	return p.MergedAt
}

// gone is the status of a repository or pull request that is gone, else 0.
func (w *World) gone(name string) int {
	for key, status := range w.Gone {
		if strings.EqualFold(key, name) {
			return status
		}
	}
	return 0
}

// refused is the status that a path is answered with whatever there is, else 0.
func (w *World) refused(path string) int {
	for below, status := range w.Refuse {
		if path == below || strings.HasPrefix(path, below+"/") {
			return status
		}
	}
	return 0
}

// without tells whether a pull request is gone, itself or with its repository.
func (w *World) without(p github.Pull) bool {
	return len(w.Gone) > 0 && (w.gone(p.Repo) != 0 || w.gone(p.Ref.String()) != 0)
}
