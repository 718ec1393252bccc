package github

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-github/v92/github"

	"github.com/assayd/assayd/runtime/mining/reason"
)

func TestCloses(t *testing.T) {
	for body, want := range map[string][]string{
		"Fixes #12":                                                {"o/r#12"},
		"fix #1, Fixes: #2 FIXED #3":                               {"o/r#1", "o/r#2", "o/r#3"},
		"close #1 closes #2 closed\n#3":                            {"o/r#1", "o/r#2", "o/r#3"},
		"resolve #1\r\nresolves #2\r\nResolved: #3.":               {"o/r#1", "o/r#2", "o/r#3"},
		"closes a/b.c#3 and fixes #3":                              {"a/b.c#3", "o/r#3"},
		"fixes #4, #5":                                             {"o/r#4"},
		"fixes #4 fixes O/R#4":                                     {"o/r#4"},
		"Fixes https://github.com/a/b/issues/7":                    {"a/b#7"},
		"Fixes https://www.github.com/a/b/issues/7#issuecomment-1": {"a/b#7"},
		"Fixes https://example.com/a/b/issues/7":                   nil,
		"Fixes https://github.com/a/b/pull/7":                      nil,
		"fixes GH-9":                                               {"o/r#9"},
		"<!-- Fixes #1 -->\nCloses #2":                             {"o/r#2"},
		"<!-- Fixes #1":                                            nil,
		"prefixes #1, see #2, fixing #3":                           nil,
		"fixes #0 fixes #99999999999999":                           nil,
		"fixes ../..#1 fixes #12abc":                               nil,
		"fixes#1":                                                  nil,
		"":                                                         nil,
		strings.Repeat("fixes #1 ", 50):                            {"o/r#1"},
		"fixes #1 fixes #2 fixes #3 fixes #4 fixes #5 fixes #6 fixes #7 fixes #8 fixes #9 fixes #10 fixes #11": {
			"o/r#1", "o/r#2", "o/r#3", "o/r#4", "o/r#5", "o/r#6", "o/r#7", "o/r#8", "o/r#9", "o/r#10",
		},
	} {
		var got []string
		for _, ref := range closes(body, "o/r", "github.com") {
			got = append(got, ref.String())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", body, diff)
		}
	}
}

func TestNextPage(t *testing.T) {
	for link, want := range map[string]string{
		"": "",
		`<https://x/repositories/1/issues?page=2>; rel="next", <https://x/repositories/1/issues?page=5>; rel="last"`: "https://x/repositories/1/issues?page=2",
		`<https://x/1>; rel="prev", <https://x/3>; rel="next", <https://x/1>; rel="first"`:                           "https://x/3",
		`<https://x/1>; rel="prev", <https://x/1>; rel="first"`:                                                      "",
		`<https://x/3?after=a,b>; foo="1"; rel=next`:                                                                 "https://x/3?after=a,b",
	} {
		res := &github.Response{Response: &http.Response{Header: http.Header{"Link": {link}}}}
		if got := next(res); got != want {
			t.Errorf("%q leads to %q, want %q", link, got, want)
		}
	}
}

func TestWhatGraphQLSaysOfOne(t *testing.T) {
	const good = `{"nameWithOwner":"o/r","owner":{"__typename":"User"},"defaultBranchRef":{"name":"main"},"pullRequest":{"number":1,"merged":true,
		"mergeCommit":{"oid":"c0ffee","parents":{"totalCount":1,"nodes":[{"oid":"dad"}]}},"changedFiles":0,"files":{"nodes":[]},
		"closingIssuesReferences":{"nodes":[null,{"number":3,"repository":{"nameWithOwner":"o/r"}}]}}}`
	for _, tt := range []struct{ name, data, errors, want string }{
		{"all", good, "", "o/r#1"},
		{"a private issue", good, `{"type":"FORBIDDEN","path":["r1","pullRequest","closingIssuesReferences","nodes",0],"message":"no"}`, "o/r#1"},
		{"an error of another", good, `{"type":"NOT_FOUND","path":["r2"],"message":"no"},{"type":"NOT_FOUND","path":["r10"],"message":"no"}`, "o/r#1"},
		{"no repository", `null`, `{"type":"NOT_FOUND","path":["r1"],"message":"Could not resolve"}`, "gone: o/r#1: Could not resolve"},
		{"no pull request", `{"nameWithOwner":"o/r","pullRequest":null}`, `{"type":"NOT_FOUND","path":["r1","pullRequest"],"message":"Could not resolve"}`, "gone: o/r#1: Could not resolve"},
		{"not merged", `{"nameWithOwner":"o/r","defaultBranchRef":{"name":"main"},"pullRequest":{"state":"OPEN"}}`, "", "not_merged: it is open"},
		{"a rule of an organisation", `null`, `{"type":"FORBIDDEN","path":["r1"],"message":"SAML"}`, "SAML"},
		{"too much for one answer", good, `{"type":"RESOURCE_LIMITS_EXCEEDED","path":["r1","pullRequest","files"],"message":"Too much"}`, "Too much"},
		{"nothing, and no word why", `null`, "", errIncomplete.Error()},
		{"no merge commit", strings.Replace(good, `"mergeCommit":{`, `"mergeCommit":null,"x":{`, 1), "", errIncomplete.Error()},
		{"many parents", strings.Replace(good, `"totalCount":1`, `"totalCount":11`, 1), "", errIncomplete.Error()},
		{"another shape", `[]`, "", "cannot unmarshal"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var a graphAnswer
			if err := json.Unmarshal([]byte(`{"data":{"r1":`+tt.data+`},"errors":[`+tt.errors+`]}`), &a); err != nil {
				t.Fatal(err)
			}
			d, err := readNode("r1", Ref{"o/r", 1}, a)
			got := d.Pull.Ref.String()
			if err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, tt.want) {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func FuzzCloses(f *testing.F) {
	f.Add("Fixes #12, closes: a/b#3 <!-- x --> resolved https://github.com/o/r/issues/3")
	f.Fuzz(func(t *testing.T, body string) {
		refs := closes(body, "o/r", "github.com")
		if len(refs) > maxIssues {
			t.Errorf("%d issues", len(refs))
		}
		for _, ref := range refs {
			if !ref.valid() {
				t.Errorf("%q", ref)
			}
		}
	})
}

func FuzzGraphAnswer(f *testing.F) {
	f.Add([]byte(`{"data":{"r0":{"nameWithOwner":"o/r","pullRequest":{"merged":true}}},"errors":[{"type":"RATE_LIMITED","path":["r0",1]}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		graphLimited(body)
		var a graphAnswer
		if json.Unmarshal(body, &a) != nil || a.whole() != nil {
			return
		}
		d, err := readNode("r0", Ref{"o/r", 1}, a)
		if err == nil && (d.Pull.MergeSHA == "" && d.Pull.Repo == "") || reason.Of(err) != nil && reason.Of(err).Code == "" {
			t.Errorf("%+v, %v", d, err)
		}
	})
}
