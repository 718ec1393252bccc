package githubtest

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/assayd/assayd/runtime/mining/github"
)

// object is one of JSON.
type object = map[string]any

// route finds the answer to a request that is within its limits.
func (s *Server) route(q *http.Request, path string, body []byte) answer {
	if path == "/graphql" {
		if s.w.NoGraphQL || q.Method != http.MethodPost {
			return problem(http.StatusNotFound, "Not Found")
		}
		return s.graph(body)
	}
	a := s.rest(q, path)
	if a.header == nil {
		a.header = http.Header{}
	}
	if a.status != http.StatusMovedPermanently {
		a.counts = []string{"GET " + strings.TrimSuffix(path+"?"+q.URL.Query().Encode(), "?")}
	}
	return a
}

func (s *Server) rest(q *http.Request, path string) answer {
	if status := s.w.refused(path); status != 0 {
		return problem(status, "Sorry, not this.")
	}
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	switch {
	case q.Method != http.MethodGet:
	case path == "/search/issues":
		return s.search(q.URL.Query())
	case parts[0] == "repositories" && len(parts) > 1:
		if id, err := strconv.Atoi(parts[1]); err == nil && id > 0 && id <= len(s.w.Pulls) {
			return s.below(q, s.w.Pulls[id-1].Repo, parts[2:])
		}
	case parts[0] == "repos" && len(parts) > 2:
		name := parts[1] + "/" + parts[2]
		if now := s.w.present(name); now != name {
			return s.moved(q.URL, now, parts[3:])
		}
		return s.below(q, name, parts[3:])
	}
	return problem(http.StatusNotFound, "Not Found")
}

// moved leads to where a repository is now.
func (s *Server) moved(u *url.URL, now string, rest []string) answer {
	_, id := s.w.repository(now)
	to := strings.Join(append([]string{s.API, "repositories", fmt.Sprint(id)}, rest...), "/")
	if u.RawQuery != "" {
		to += "?" + u.RawQuery
	}
	a := problem(http.StatusMovedPermanently, "Moved Permanently")
	a.header.Set("Location", to)
	return a
}

// gone is an answer that something is not there any more, or never was.
func gone(status int) answer {
	switch status {
	case http.StatusGone:
		return problem(status, "This issue was deleted")
	case http.StatusUnavailableForLegalReasons:
		a := problem(status, "Repository access blocked")
		a.body.(object)["block"] = object{"reason": "dmca", "created_at": "2024-01-01T00:00:00Z"}
		return a
	}
	return problem(http.StatusNotFound, "Not Found")
}

// below answers for what is below a repository.
func (s *Server) below(q *http.Request, name string, parts []string) answer {
	r, id := s.w.repository(name)
	if status := s.w.gone(name); status != 0 || id == 0 {
		return gone(status)
	}
	number := 0
	if len(parts) > 1 {
		number, _ = strconv.Atoi(parts[1])
	}
	if status := s.w.gone(fmt.Sprintf("%s#%d", name, number)); status != 0 {
		return gone(status)
	}
	switch kind := strings.Join(parts, "/"); {
	case kind == "":
		return ok(s.repository(r, id))
	case kind == "languages":
		return ok(r.Languages)
	case kind == "pulls":
		all := s.pulls(name, q.URL.Query())
		return s.page(q, fmt.Sprintf("repositories/%d/pulls", id), len(all), func(i int) object { return s.pullObject(all[i], false) })
	case parts[0] == "pulls" && len(parts) == 2:
		if p, found := s.w.pull(name, number); found {
			return ok(s.pullObject(p, true))
		}
	case parts[0] == "pulls" && len(parts) == 3 && parts[2] == "files":
		if p, found := s.w.pull(name, number); found {
			return s.page(q, fmt.Sprintf("repositories/%d/pulls/%d/files", id, number), min(len(p.Files), maxListed), func(i int) object { return file(p.Files[i]) })
		}
	case parts[0] == "issues" && len(parts) == 2:
		return s.issue(name, number)
	case parts[0] == "commits" && len(parts) == 2, parts[0] == "git" && len(parts) == 3 && parts[1] == "commits":
		return s.commit(name, parts[len(parts)-1])
	}
	return gone(0)
}

func ok(body any) answer { return answer{status: http.StatusOK, header: http.Header{}, body: body} }

// page cuts a page out of a list, and links to the others by the number of the repository.
func (s *Server) page(q *http.Request, path string, n int, at func(int) object) answer {
	v := q.URL.Query()
	per := min(max(number(v.Get("per_page"), 30), 1), 100)
	page := max(number(v.Get("page"), 1), 1)
	last := max((n+per-1)/per, 1)
	link := func(to int, rel string) string {
		v.Set("page", fmt.Sprint(to))
		return fmt.Sprintf(`<%s/%s?%s>; rel="%s"`, s.API, path, v.Encode(), rel)
	}
	var links []string
	if page > 1 {
		links = append(links, link(page-1, "prev"))
	}
	if page < last {
		links = append(links, link(page+1, "next"), link(last, "last"))
	}
	if page > 1 {
		links = append(links, link(1, "first"))
	}
	all := []object{}
	for i := (page - 1) * per; i < min(page*per, n); i++ {
		all = append(all, at(i))
	}
	a := ok(all)
	if len(links) > 0 {
		a.header.Set("Link", strings.Join(links, ", "))
	}
	return a
}

func number(text string, otherwise int) int {
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	return otherwise
}

// pulls are those of a repository in the order that is asked for.
func (s *Server) pulls(repo string, v url.Values) (of []github.Pull) {
	for _, p := range s.w.Pulls {
		if strings.EqualFold(p.Repo, repo) && !s.w.without(p) && v.Get("state") != "open" {
			of = append(of, p)
		}
	}
	key := created
	if v.Get("sort") == "updated" {
		key = s.w.updated
	}
	slices.SortStableFunc(of, func(a, b github.Pull) int {
		return cmp.Or(key(a).Compare(key(b)), cmp.Compare(a.Number, b.Number))
	})
	if v.Get("direction") != "asc" {
		slices.Reverse(of)
	}
	return of
}

// created is when a pull request was made, which a Pull does not say.
func created(p github.Pull) time.Time { return p.MergedAt.Add(-time.Hour) }

func (s *Server) issue(repo string, number int) answer {
	if p, found := s.w.pull(repo, number); found {
		return ok(s.found(p))
	}
	i, found := s.w.issue(repo, number)
	if !found {
		return gone(0)
	}
	return ok(object{"number": i.Number, "title": i.Title, "body": i.Body, "state": "closed", "repository_url": s.API + "/repos/" + i.Repo})
}

func (s *Server) commit(repo, sha string) answer {
	i := slices.IndexFunc(s.w.Pulls, func(p github.Pull) bool { return strings.EqualFold(p.Repo, repo) && p.MergeSHA == sha && sha != "" })
	if i < 0 {
		return gone(0)
	}
	parents := []object{}
	for _, parent := range s.w.Pulls[i].Parents {
		parents = append(parents, object{"sha": parent})
	}
	return ok(object{"sha": sha, "message": s.w.Pulls[i].Title, "parents": parents})
}
