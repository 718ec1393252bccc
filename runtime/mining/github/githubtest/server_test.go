package githubtest_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/assayd/assayd/runtime/mining/github"
	"github.com/assayd/assayd/runtime/mining/github/githubtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func hub() githubtest.World {
	p := github.Pull{
		Ref: github.Ref{Repo: "o/r", Number: 7}, Title: "Mend it", Merged: true, MergeSHA: "c0ffee", Parents: []string{"a", "b"}, MergedAt: time.Date(2025, 1, 2, 3, 4, 5, 0, time.UTC),
		Issues: []github.Issue{{Repo: "o/r", Number: 3, Title: "Broken"}}, Repository: github.Repository{Name: "o/r", Language: "Go", License: "MIT", DefaultBranch: "main"},
	}
	q := p
	q.Number, q.MergeSHA = 8, "beef"
	return githubtest.World{Pulls: []github.Pull{p, q}, Rename: map[string]string{"old/r": "o/r"}}
}

// ask sends a request and returns the answer with its body.
func ask(t *testing.T, s *githubtest.Server, method, path, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), method, s.API+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		q.Header.Set(headers[i], headers[i+1])
	}
	client := http.Client{Transport: &http.Transport{}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	res, err := client.Do(q)
	if err != nil {
		return nil, err.Error()
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return res, err.Error()
	}
	return res, string(text)
}

func TestItAnswersAsGitHubDoes(t *testing.T) {
	for _, tt := range []struct {
		name, path string
		status     int
		header     string // "Link: next"
		body       string
	}{
		{"a repository", "/repos/o/r", 200, "X-RateLimit-Remaining: 59", `"spdx_id":"MIT"`},
		{"in another case", "/repos/O/R/pulls/7", 200, "ETag: W/", `"merge_commit_sha":"c0ffee"`},
		{"a page", "/repos/o/r/pulls?per_page=1", 200, `Link: /repositories/1/pulls?page=2&per_page=1>; rel="next"`, `"number":8`},
		{"the next page", "/repositories/1/pulls?per_page=1&page=2", 200, `Link: rel="prev"`, `"number":7`},
		{"one too far", "/repositories/1/pulls?per_page=1&page=3", 200, "", `[]`},
		{"a pull request as an issue", "/repos/o/r/issues/7", 200, "", `"pull_request":{`},
		{"an issue", "/repos/o/r/issues/3", 200, "", `"title":"Broken"`},
		{"a commit", "/repos/o/r/git/commits/c0ffee", 200, "", `"parents":[{"sha":"a"},{"sha":"b"}]`},
		{"no commit", "/repos/o/r/commits/dead", 404, "", `"message":"Not Found"`},
		{"a former name", "/repos/old/r/pulls/7?x=1", 301, "Location: /repositories/1/pulls/7?x=1", "Moved Permanently"},
		{"nothing", "/repos/o/none", 404, "X-RateLimit-Used: 1", `"documentation_url"`},
		{"no route", "/users/ann", 404, "", "Not Found"},
		{"a search", "/search/issues?q=is:pr+mend+merged:2025-01-01T00:00:00Z..2025-02-01T00:00:00Z", 200, "X-RateLimit-Resource: search", `"total_count":2`},
		{"a search too far", "/search/issues?q=is:pr&per_page=100&page=11", 422, "", "Only the first 1000"},
		{"a search that it does not know", "/search/issues?q=is:pr+stars:5", 422, "", `"code":"invalid"`},
		{"limits", "/rate_limit", 200, "", `"search":{"limit":10`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := githubtest.New(t, hub())
			res, body := ask(t, s, "GET", tt.path, "")
			name, value, _ := strings.Cut(tt.header, ": ")
			if res == nil || res.StatusCode != tt.status || !strings.Contains(res.Header.Get(name), value) || !strings.Contains(body, tt.body) {
				t.Errorf("%v %s", res, body)
			}
		})
	}
}

func TestAConditionalRequestCostsNothing(t *testing.T) {
	s := githubtest.New(t, hub())
	first, _ := ask(t, s, "GET", "/repos/o/r", "")
	again, body := ask(t, s, "GET", "/repos/o/r", "", "If-None-Match", first.Header.Get("ETag"))
	if again.StatusCode != 304 || body != "" || again.Header.Get("X-RateLimit-Remaining") != "59" || len(s.Repeated()) > 0 {
		t.Errorf("%v %s", again, body)
	}
	ask(t, s, "GET", "/repos/o/r", "")
	if all := s.Repeated(); len(all) != 1 || all[0] != "GET /repos/o/r" || s.Calls() != 3 {
		t.Errorf("repeated %q in %d calls", all, s.Calls())
	}
}

func TestLimitsAreThoseOfATokenAndAResource(t *testing.T) {
	w := hub()
	w.Tokens = []string{"a", "b"}
	w.Limits = map[string]githubtest.Limit{"core": {Requests: 1, Window: time.Hour}, "graphql": {Requests: 0, Window: time.Hour}}
	s := githubtest.New(t, w)
	for _, tt := range []struct {
		token, path string
		status      int
		body        string
	}{
		{"a", "/repos/o/r", 200, "o/r"},
		{"a", "/repos/o/r", 403, "rate limit exceeded"},
		{"b", "/repos/o/r", 200, "o/r"},
		{"c", "/repos/o/r", 401, "Bad credentials"},
		{"a", "/search/issues?q=is:pr", 200, "total_count"},
		{"a", "/rate_limit", 200, `"core":{"limit":1,"remaining":0`},
		{"a", "/graphql", 200, "RATE_LIMITED"},
	} {
		res, body := ask(t, s, "GET", tt.path, "", "Authorization", "Bearer "+tt.token)
		if res.StatusCode != tt.status || !strings.Contains(body, tt.body) {
			t.Errorf("%s with %s: %d %s", tt.path, tt.token, res.StatusCode, body)
		}
	}
}

func TestEachFault(t *testing.T) {
	for kind, want := range map[githubtest.Fault]string{
		githubtest.Secondary: "secondary rate limit", githubtest.TooMany: "secondary rate limit", githubtest.BadGateway: "Server Error",
		githubtest.Page: "Unicorn", githubtest.Dropped: "EOF", githubtest.Half: "EOF",
	} {
		w := hub()
		w.Faults = githubtest.Faults{Share: 1, Kinds: []githubtest.Fault{kind}}
		s := githubtest.New(t, w)
		if res, body := ask(t, s, "GET", "/repos/o/r", ""); !strings.Contains(body, want) || len(s.Answered()) > 0 {
			t.Errorf("%s: %v %s, answered %v", kind, res, body, s.Answered())
		}
	}
}

func TestGraphQLRefusesWhatItDoesNotKnow(t *testing.T) {
	for _, tt := range []struct{ name, query, want string }{
		{"an alias", `query { x: repository(owner: "o", name: "r") { nameWithOwner } }`, `{"data":{"x":{"nameWithOwner":"o/r"}}}`},
		{"a former name", `query { repository(owner: "old", name: "r") { nameWithOwner } }`, `{"data":{"repository":{"nameWithOwner":"o/r"}}}`},
		{"variables and a fragment", `query($n: Int!) { repository(owner: "o", name: "r") { pullRequest(number: $n) { ...P } } } fragment P on PullRequest { mergeCommit { parents(first: 1) { totalCount nodes { oid } } } }`, `{"totalCount":2,"nodes":[{"oid":"a"}]}`},
		{"no repository", `query { repository(owner: "o", name: "none") { nameWithOwner } }`, `"type":"NOT_FOUND"`},
		{"no pull request", `query($m: Int!) { repository(owner: "o", name: "r") { pullRequest(number: $m) { title } } }`, "Could not resolve to a PullRequest with the number of 9."},
		{"an unknown field", `query { repository(owner: "o", name: "r") { stars } }`, "Field 'stars' doesn't exist on type 'Repository'"},
		{"an unknown field of a pull request", `query($n: Int!) { repository(owner: "o", name: "r") { pullRequest(number: $n) { previousName } } }`, "doesn't exist on type 'PullRequest'"},
		{"a list without a bound", `query($n: Int!) { repository(owner: "o", name: "r") { pullRequest(number: $n) { labels { nodes { name } } } } }`, "MISSING_PAGINATION_BOUNDARIES"},
		{"too long a list", `query($n: Int!) { repository(owner: "o", name: "r") { pullRequest(number: $n) { labels(first: 101) { nodes { name } } } } }`, "EXCESSIVE_PAGINATION"},
		{"a fragment of another type", `query { repository(owner: "o", name: "r") { ...P } } fragment P on PullRequest { title }`, "can't be spread"},
		{"another root", `query { viewer { login } }`, "doesn't exist on type 'Query'"},
		{"no query", `{{`, "Parse error"},
		{"half a query", `query { repository(`, "Parse error"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := githubtest.New(t, hub())
			body, err := json.Marshal(map[string]any{"query": tt.query, "variables": map[string]any{"n": 7, "m": 9}})
			if err != nil {
				t.Fatal(err)
			}
			res, got := ask(t, s, "POST", "/graphql", string(body), "Authorization", "Bearer t")
			var small bytes.Buffer
			if err := json.Compact(&small, []byte(got)); err != nil || res.StatusCode != 200 {
				t.Fatalf("%v %s", res, got)
			}
			if !strings.Contains(order(t, small.String()), order(t, tt.want)) {
				t.Errorf("%s, want %s", small.String(), tt.want)
			}
		})
	}
	s := githubtest.New(t, hub())
	if res, _ := ask(t, s, "POST", "/graphql", "{}"); res.StatusCode != 401 {
		t.Errorf("without a token: %d", res.StatusCode)
	}
}

// order writes JSON with its keys in order; other text as it is.
func order(t *testing.T, text string) string {
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return text
	}
	sorted, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(sorted), `\u003e`, ">")
}

func TestTheWorldChanges(t *testing.T) {
	s := githubtest.New(t, hub())
	s.Change(func(w *githubtest.World) { w.Gone = map[string]int{"o/r#7": 410, "o/r": 0} })
	if res, _ := ask(t, s, "GET", "/repos/o/r/pulls/7", ""); res.StatusCode != 410 {
		t.Errorf("%d", res.StatusCode)
	}
}
