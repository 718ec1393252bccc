package screen

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/assayd/assayd/runtime/mining/github"
	"github.com/assayd/assayd/runtime/mining/reason"
	"github.com/bmatcuk/doublestar/v4"
)

// Rules are what a pull request has to be. An empty list asks for nothing; the zero value of
// a Range lets only 0 through.
type Rules struct {
	Languages        []string // as GitHub calls them, in any case, or by their usual short names
	MinStars         int
	OrgReposOnly     bool
	ExcludeBots      bool
	Files            Range // those changed
	AddedLines       Range // of source
	ExcludeDocsOnly  bool  // documents, settings and pictures
	ExcludeTestsOnly bool
	// ExcludeGenerated has generated and vendored files and those of locked versions count for
	// nothing, and refuses what is little else. Without it they count as sources do.
	ExcludeGenerated bool
	ExcludeReverts   bool
	ExcludeBackports bool
	ExcludeForks     bool
	ExcludeArchived  bool
	MinDescription   int      // bytes of title and body, with the issues that are closed
	Licenses         []string // SPDX ids, or "any"
	ExcludeRepos     []string // owner/name, may be globs
	Decontaminate    []string // owner/name, owner/name#number or owner__name-number
}

// Range is one of numbers, both ends included.
type Range struct{ Min, Max int }

// Candidate is what an archive tells of a pull request. What is "" or nil is not known, and
// no reason yet. Who merged it is none: queues are bots that merge people's work.
type Candidate struct {
	Repo       string // owner/name
	Number     int
	Author     string
	AuthorType string // User, Bot
	Org        *bool  // whether the repository is an organisation's
	HeadRef    string // branch that it comes from
	Title      string
}

// Early looks at a pull request before anything is asked about it. It returns nil, a
// *reason.Rejected, or what is wrong with the rules.
func Early(c Candidate, r Rules) error {
	if err := r.repository(c.Repo, c.Number); err != nil {
		return err
	}
	if r.ExcludeBots {
		if why := bot(c.Author, c.AuthorType, c.HeadRef); why != "" {
			return reason.Reject("bot", "%s", why)
		}
	}
	if r.OrgReposOnly && c.Org != nil && !*c.Org {
		return notOrg(c.Repo)
	}
	return r.again(c.Title, c.HeadRef, "")
}

// Pull looks at all that is known of a pull request before it is cloned, and returns the
// first reason against it: nil, a *reason.Rejected, or what is wrong with the rules.
func Pull(p github.Pull, r Rules) error {
	for _, check := range []func(github.Pull) error{r.origin, r.project, r.text, r.changes, r.description} {
		if err := check(p); err != nil {
			return err
		}
	}
	return nil
}

// origin asks whose it is.
func (r Rules) origin(p github.Pull) error {
	if p.Repository.Private {
		return reason.Reject("private", "%s is not public", p.Repo)
	}
	if err := r.repository(p.Repo, p.Number); err != nil {
		return err
	}
	if r.ExcludeBots {
		if why := bot(p.Author, p.AuthorType, p.HeadRef); why != "" {
			return reason.Reject("bot", "%s", why)
		}
	}
	if r.OrgReposOnly && p.Repository.OwnerType != "Organization" {
		return notOrg(p.Repo)
	}
	return nil
}

func notOrg(repo string) error {
	return reason.Reject("not_org", "%s belongs to no organisation", repo)
}

// repository looks a pull request up in the lists of those that are not wanted.
func (r Rules) repository(repo string, number int) error {
	lower := strings.ToLower(repo)
	for _, pattern := range r.ExcludeRepos {
		match, err := doublestar.Match(strings.ToLower(strings.TrimSpace(pattern)), lower)
		if err != nil {
			return fmt.Errorf("exclude_repos: %q: %w", pattern, err)
		}
		if match {
			return reason.Reject("excluded_repo", "%s is on the list of repositories to leave out (%s)", repo, pattern)
		}
	}
	one := fmt.Sprintf("%s#%d", repo, number)
	instance := fmt.Sprintf("%s-%d", strings.Replace(repo, "/", "__", 1), number)
	for _, entry := range r.Decontaminate {
		entry = strings.TrimSpace(entry)
		for _, name := range []string{repo, one, instance} {
			if len(entry) == len(name) && strings.EqualFold(entry, name) {
				return reason.Reject("decontaminated", "%s is in another benchmark (%s)", one, entry)
			}
		}
	}
	return nil
}

// project asks what it is for.
func (r Rules) project(p github.Pull) error {
	repo := p.Repository
	switch {
	case r.ExcludeArchived && repo.Archived:
		return reason.Reject("archived", "%s is archived", p.Repo)
	case r.ExcludeForks && repo.Fork:
		return reason.Reject("fork", "%s is a fork", p.Repo)
	}
	if err := r.language(p); err != nil {
		return err
	}
	switch {
	case repo.Stars < r.MinStars:
		return reason.Reject("stars", "%s has %d stars; %d are asked for", p.Repo, repo.Stars, r.MinStars)
	case !r.licensed(repo.License):
		return reason.Reject("license", "%s has the licence %s", p.Repo, orNone(repo.License))
	}
	return nil
}

// language asks for the main language of the repository, and for that of the change where it
// can be told.
func (r Rules) language(p github.Pull) error {
	if len(r.Languages) == 0 {
		return nil
	}
	wanted := func(name string) bool {
		return slices.ContainsFunc(r.Languages, func(l string) bool { return lingo(l) == lingo(name) })
	}
	if main := p.Repository.Language; !wanted(main) {
		return reason.Reject("language", "%s is mostly %s", p.Repo, orNone(main))
	}
	if own := Language(p.Files); own != "" && !wanted(own) {
		return reason.Reject("language", "the change is mostly %s", own)
	}
	return nil
}

// Language is that of most changed lines of source, in lower case; "" = it cannot be told.
func Language(files []github.File) string {
	lines := map[string]int{}
	most := ""
	for _, f := range files {
		name := languages[strings.TrimPrefix(strings.ToLower(path.Ext(f.Name)), ".")]
		if name == "" || KindOf(f.Name) != Source {
			continue
		}
		lines[name] += f.Added + f.Removed + 1
		if n, m := lines[name], lines[most]; most == "" || n > m || n == m && name < most {
			most = name
		}
	}
	return most
}

func orNone(name string) string {
	if name == "" {
		return "none"
	}
	return name
}

// licensed reports whether a licence is allowed. Of several that one may choose from, one
// has to be, of several that all hold, all have to.
func (r Rules) licensed(spdx string) bool {
	allowed := func(id string) bool {
		return slices.ContainsFunc(r.Licenses, func(l string) bool { return strings.EqualFold(l, strings.Trim(id, " ()")) })
	}
	if len(r.Licenses) == 0 || allowed("any") {
		return true
	}
	for choice := range strings.SplitSeq(spdx, " OR ") {
		if !slices.ContainsFunc(strings.Split(choice, " AND "), func(id string) bool { return !allowed(id) }) {
			return true
		}
	}
	return false
}

// text asks whether the work was done elsewhere before.
func (r Rules) text(p github.Pull) error { return r.again(p.Title, p.HeadRef, p.Body) }

func (r Rules) again(title, branch, body string) error {
	switch {
	case r.ExcludeReverts && isRevert(title, branch, body):
		return reason.Reject("revert", "%q takes something back", title)
	case r.ExcludeBackports && isBackport(title, branch, body):
		return reason.Reject("backport", "%q brings work of another branch", title)
	}
	return nil
}

// description asks for enough words to tell what is wanted.
func (r Rules) description(p github.Pull) error {
	n := len(strings.TrimSpace(p.Title)) + len(written(p.Body))
	for _, issue := range p.Issues {
		n += len(strings.TrimSpace(issue.Title)) + len(written(issue.Body))
	}
	if n < r.MinDescription {
		return reason.Reject("description", "title, body and issues have %d bytes; %d are asked for", n, r.MinDescription)
	}
	return nil
}

// written is a text without what a template has put into it as a comment.
func written(text string) string { return strings.TrimSpace(github.Uncommented(text)) }
