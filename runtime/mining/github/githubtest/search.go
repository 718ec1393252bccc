package githubtest

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/assayd/assayd/runtime/mining/github"
)

// maxFound is how many results of a query are shown.
const maxFound = 1000

// search answers a query for pull requests. It knows is:pr, is:issue, which finds issues alone, is:merged, merged:, repo:, org:,
// user:, language:, label:, and words of titles.
func (s *Server) search(v url.Values) answer {
	var tests []func(github.Pull) bool
	for _, word := range strings.Fields(v.Get("q")) {
		test := s.qualifier(word)
		if test == nil {
			a := problem(http.StatusUnprocessableEntity, "Validation Failed")
			a.body.(object)["errors"] = []object{{"resource": "Search", "field": "q", "code": "invalid", "message": word}}
			return a
		}
		tests = append(tests, test)
	}
	if slices.Contains(strings.Fields(v.Get("q")), "is:issue") {
		return s.issues()
	}
	per, page := min(max(number(v.Get("per_page"), 30), 1), 100), max(number(v.Get("page"), 1), 1)
	if (page-1)*per >= maxFound {
		return problem(http.StatusUnprocessableEntity, "Only the first 1000 search results are available")
	}
	var all []github.Pull
	for _, p := range s.w.Pulls {
		fails := func(test func(github.Pull) bool) bool { return !test(p) }
		if !s.w.without(p) && !slices.ContainsFunc(tests, fails) {
			all = append(all, p)
		}
	}
	slices.SortStableFunc(all, func(a, b github.Pull) int {
		return cmp.Or(created(a).Compare(created(b)), cmp.Compare(a.Repo, b.Repo), cmp.Compare(a.Number, b.Number))
	})
	items := []object{}
	end := min(len(all), maxFound)
	for _, p := range all[min((page-1)*per, end):min(page*per, end)] {
		items = append(items, s.found(p))
	}
	cut := s.cut(v.Get("q"), page)
	switch cut {
	case Empty:
		items = []object{}
	case Incomplete:
		items = slices.DeleteFunc(items, func(o object) bool { return o["number"].(int)%2 == 0 })
	}
	return ok(object{"total_count": len(all), "incomplete_results": cut == Incomplete, "items": items})
}

// issues are those that a search shows that asks for issues.
func (s *Server) issues() answer {
	items := []object{}
	for _, i := range s.w.Issues {
		items = append(items, object{"number": i.Number, "title": i.Title, "state": "closed", "repository_url": s.API + "/repos/" + i.Repo})
	}
	return ok(object{"total_count": len(items), "incomplete_results": false, "items": items})
}

// cut says what is missing from a page of a query.
func (s *Server) cut(query string, page int) Cut {
	if s.w.Cut == nil {
		return ""
	}
	for _, word := range strings.Fields(query) {
		if value, ok := strings.CutPrefix(word, "merged:"); ok {
			if begin, end, ok := span(value); ok {
				return s.w.Cut(page, end.Sub(begin)+time.Second)
			}
		}
	}
	return ""
}

// span reads a range of times, both of which are in it.
func span(value string) (begin, end time.Time, ok bool) {
	from, to, ranged := strings.Cut(value, "..")
	begin, err1 := time.Parse(time.RFC3339, from)
	end, err2 := time.Parse(time.RFC3339, to)
	return begin, end, ranged && err1 == nil && err2 == nil
}

// qualifier is the test that a word of a query asks for; nil = it is not known.
func (s *Server) qualifier(word string) func(github.Pull) bool {
	name, value, qualified := strings.Cut(word, ":")
	value = strings.Trim(value, `"`)
	if !qualified {
		return func(p github.Pull) bool { return strings.Contains(strings.ToLower(p.Title), strings.ToLower(word)) }
	}
	switch name {
	case "is":
		switch value {
		case "pr", "issue", "public":
			return func(github.Pull) bool { return true }
		case "merged":
			return func(p github.Pull) bool { return p.Merged }
		}
	case "merged":
		if begin, end, ok := span(value); ok {
			return func(p github.Pull) bool {
				return !p.MergedAt.Before(begin) && !p.MergedAt.Truncate(time.Second).After(end)
			}
		}
	case "repo":
		return func(p github.Pull) bool { return strings.EqualFold(p.Repo, value) }
	case "org", "user":
		return func(p github.Pull) bool {
			return strings.HasPrefix(strings.ToLower(p.Repo), strings.ToLower(value)+"/")
		}
	case "language":
		return func(p github.Pull) bool {
			r, _ := s.w.repository(p.Repo)
			return strings.EqualFold(r.Language, value)
		}
	case "label":
		return func(p github.Pull) bool { return slices.Contains(p.Labels, value) }
	}
	return nil
}
