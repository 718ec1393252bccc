package github

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"time"
)

// Ref names a pull request.
type Ref struct {
	Repo   string `json:"repo"` // owner/name
	Number int    `json:"number"`
}

// String is "owner/name#12".
func (r Ref) String() string { return fmt.Sprintf("%s#%d", r.Repo, r.Number) }

var repoName = regexp.MustCompile(`^[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+$`)

// validRepo tells whether a repository can be called so. It keeps hostile names out of paths.
func validRepo(name string) bool {
	_, repo, _ := strings.Cut(name, "/")
	return repoName.MatchString(name) && !strings.HasPrefix(name, ".") && repo != "." && repo != ".."
}

// valid tells whether a pull request can be called so. GraphQL takes numbers of 32 bits.
func (r Ref) valid() bool { return r.Number > 0 && r.Number <= math.MaxInt32 && validRepo(r.Repo) }

// Pull is a merged pull request with all that mining wants to know of it before anything is
// cloned. Its JSON form is kept in the state database.
type Pull struct {
	Ref               // as it is called now: a repository may have been renamed
	Title      string `json:"title"`
	Body       string `json:"body"`
	Author     string `json:"author"`      // "" = the account is gone
	AuthorType string `json:"author_type"` // User, Bot, Organization, Mannequin
	Merged     bool   `json:"merged"`
	MergedBy   string `json:"merged_by"`
	Labels     []string
	Issues     []Issue // that it closes, of its own repository and of public ones; at most ten

	BaseRef  string // branch that it was merged into
	HeadRef  string
	BaseSHA  string // as the pull request has it; not what it was merged onto
	HeadSHA  string
	MergeSHA string    // commit that brought it in: a merge, a squash, or the last of a rebase
	Parents  []string  // of MergeSHA
	MergedAt time.Time // UTC

	Files        []File // those changed, all of them unless FilesCut
	FilesCut     bool   // the API does not list them all
	ChangedFiles int
	Added        int // lines
	Removed      int
	Commits      int

	Repository Repository
}

// Issue is one that a pull request closes.
type Issue struct {
	Repo   string
	Number int
	Title  string
	Body   string
}

// File is one that a pull request changes.
type File struct {
	Name     string
	Previous string // before it was renamed, else ""
	Status   string // added, modified, removed, renamed, copied, changed
	Added    int    // lines; both are 0 for a binary file
	Removed  int
}

// Repository is where a pull request was merged.
type Repository struct {
	Name          string           // owner/name as it is called now
	OwnerType     string           // User or Organization
	Language      string           // the main one as GitHub calls it, "Go"; "" = none
	Languages     map[string]int64 // bytes of each
	Stars         int
	License       string // SPDX id; "" = none, "NOASSERTION" = one that GitHub does not know
	DefaultBranch string
	Fork          bool
	Archived      bool
	Private       bool
	KiB           int64 // size of the repository as GitHub has it
}
