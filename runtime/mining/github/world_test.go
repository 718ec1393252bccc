package github_test

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/assayd/assayd/runtime/mining/github"
	"github.com/assayd/assayd/runtime/mining/github/githubtest"
)

// memory is a Keep.
type memory struct {
	mu   sync.Mutex
	m    map[string][]byte
	fail error // of Put
	puts int
}

func (m *memory) Get(key string) ([]byte, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.m[key]
	return v, ok, nil
}

func (m *memory) Put(values map[string][]byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		return m.fail
	}
	if m.m == nil {
		m.m = map[string][]byte{}
	}
	m.puts++
	for key, value := range values {
		m.m[key] = bytes.Clone(value)
	}
	return nil
}

var _ github.Keep = (*memory)(nil)

// epoch is when synctest begins, and when all our pull requests are merged already.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// onePull is a pull request with something in each field.
func onePull(repo string, number int) github.Pull {
	sha := func(what string) string { return fmt.Sprintf("%040x", what+repo+fmt.Sprint(number))[:40] }
	p := github.Pull{
		Ref: github.Ref{Repo: repo, Number: number}, Title: fmt.Sprint("Mend ", number), Body: fmt.Sprintf("It was broken.\r\n\r\nFixes #%d", 9000+number), Author: "ann", AuthorType: "User",
		Merged: true, MergedBy: "bob", Labels: []string{"bug", "a, b"},
		Issues:  []github.Issue{{Repo: repo, Number: 9000 + number, Title: "It is broken", Body: "Really “so”"}},
		BaseRef: "main", HeadRef: "mend", BaseSHA: sha("base"), HeadSHA: sha("head"), MergeSHA: sha("merge"), Parents: []string{sha("one"), sha("two")},
		MergedAt:     epoch.Add(-time.Duration(number) * time.Hour),
		ChangedFiles: 3, Added: 12, Removed: 4, Commits: 2,
		Files: []github.File{
			{Name: "a.go", Status: "modified", Added: 10, Removed: 2}, {Name: "b ü.go", Status: "added", Added: 2}, {Name: "c.go", Status: "removed", Removed: 2},
		},
		Repository: github.Repository{
			Name: repo, OwnerType: "Organization", Language: "Go", Languages: map[string]int64{"Go": 1000, "Shell": 3}, Stars: 42, License: "MIT",
			DefaultBranch: "main", KiB: 77,
		},
	}
	return p
}

func pulls(repo string, n int) (all []github.Pull) {
	for i := 1; i <= n; i++ {
		all = append(all, onePull(repo, i))
	}
	return all
}

func refs(all []github.Pull) (of []github.Ref) {
	for _, p := range all {
		of = append(of, p.Ref)
	}
	return of
}

// client asks a server without a network.
func client(t *testing.T, s *githubtest.Server, tokens ...string) *github.Client {
	t.Helper()
	return opened(t, github.Options{BaseURL: s.API, Tokens: tokens, Client: clientOf(s)})
}

func opened(t *testing.T, o github.Options) *github.Client {
	t.Helper()
	c, err := github.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// same compares pull requests, whose empty lists may be nil.
func same(t *testing.T, want, got []github.Pull) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}

// given are the pull requests of outcomes that are all good.
func given(t *testing.T, all []github.Outcome) (of []github.Pull) {
	t.Helper()
	for _, o := range all {
		if o.Err != nil {
			t.Errorf("%s: %v", o.Asked, o.Err)
		}
		of = append(of, o.Pull)
	}
	return of
}

// clientOf reaches a server without a network.
func clientOf(s *githubtest.Server) *http.Client { return &http.Client{Transport: s.Transport()} }

func answered(s *githubtest.Server) []string { return slices.Sorted(maps.Keys(s.Answered())) }
