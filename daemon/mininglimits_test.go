//go:build linux

package daemon_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assayd/assayd/runtime/mining/github"
	"github.com/assayd/assayd/runtime/mining/github/githubtest"
)

// rumoured is a pull request of which there is nothing but what GitHub says: a robot made it.
func (q *fakeForge) rumoured(name string) *planted {
	p := bot(name)
	p.pull = github.Pull{
		Ref: p.ref(), Title: p.title, Body: p.body, Merged: true, MergedBy: "grace", MergedAt: q.hour, Commits: 1,
		BaseRef: "main", HeadRef: "topic", BaseSHA: strings.Repeat("b", 40), HeadSHA: strings.Repeat("a", 40),
		MergeSHA: fmt.Sprintf("%040x", name), Parents: []string{strings.Repeat("b", 40)},
		Files: []github.File{{Name: "go.mod", Status: "modified", Added: 1, Removed: 1}}, ChangedFiles: 1, Added: 1, Removed: 1,
		Repository: github.Repository{
			Name: p.ref().Repo, OwnerType: "Organization", Language: "Python", Languages: map[string]int64{"Python": 1}, Stars: 100, License: "MIT", DefaultBranch: "main",
		},
	}
	p.change(&p.pull)
	return p
}

// Where the archive, GitHub or the model is not there, the status says so at the first try, in text
// and as JSON.
func TestTheStatusSaysWhatMiningWaitsFor(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		url  func(q *fakeForge) string
		want string
	}{
		"archive": {func(q *fakeForge) string { return q.archive.URL }, "the archive: read "},
		"GitHub":  {func(q *fakeForge) string { return q.github.API }, "GitHub: "},
		"model":   {func(q *fakeForge) string { return q.model.URL }, "acme/letters#7: ask provider openai: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := newFakeForge(t, good("letters"))
			q.write("m.hcl", q.spec())
			for _, file := range []string{filepath.Join(filepath.Dir(q.state), "assayd.hcl"), filepath.Join(q.specs, "m.hcl")} {
				text, err := os.ReadFile(file)
				if err == nil {
					err = os.WriteFile(file, bytes.ReplaceAll(text, []byte(tc.url(q)), []byte("http://127.0.0.1:1")), 0o600) // where no server is
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			q.serve()
			q.until("the status says what it waits for", func() error {
				text, _, _ := q.assayd("status", "--json", q.address())
				var s struct {
					Minings []struct{ Progress struct{ Waits string } }
				}
				if err := json.Unmarshal([]byte(text), &s); err != nil || len(s.Minings) != 1 {
					return fmt.Errorf("%w in %s", err, text)
				}
				if waits := s.Minings[0].Progress.Waits; !strings.HasPrefix(waits, tc.want) || !strings.Contains(waits, "connection refused") {
					return fmt.Errorf("it says %q: %s", waits, text)
				}
				return nil
			})
			if text := q.ok("status", q.address()); !strings.Contains(text, q.address()+": running ("+tc.want) {
				t.Errorf("the status is\n%s", text)
			}
		})
	}
}

// With fifty requests an hour and every fourth answer none, the same tasks come of it, and
// nothing that was answered is asked again: only later.
func TestMiningGetsByWithATightAndBrokenGitHub(t *testing.T) {
	t.Parallel()
	q := newFakeForge(t, good("alpha"), good("beta"))
	for i := range 24 {
		q.pulls = append(q.pulls, q.rumoured(fmt.Sprintf("bump%02d", i)))
	}
	// What a machine asks for in an hour of this length is more than fifty requests, however
	// slow it is; when it has been seen to wait, hours are shorter.
	const requests, hour, soon = 50, 40 * time.Second, 5 * time.Second
	q.github.Change(func(w *githubtest.World) {
		w.Pulls = nil
		for _, p := range q.pulls {
			w.Pulls = append(w.Pulls, p.pull)
		}
		w.NoGraphQL = true // it takes five requests and not a part of one
		w.Limits = map[string]githubtest.Limit{"core": {Requests: requests, Window: hour}, "graphql": {Requests: requests, Window: hour}}
		w.Faults = githubtest.Faults{Seed: uint64(q.hour.UnixNano()), Share: 0.22}
	})
	q.write("m.hcl", q.spec("max_tasks = 0", "batch = 6", "validation { repeats = 1 }"))
	q.serve()
	q.untilWithin(long, "the status says what it waits for", func() error {
		if text, _, _ := q.assayd("status"); !strings.Contains(text, "limit") || !strings.Contains(text, "used up until") {
			return fmt.Errorf("it says\n%s", text)
		}
		return nil
	})
	if calls := q.github.Calls(); calls < requests {
		t.Errorf("it waits after %d requests, and may make %d", calls, requests)
	}
	q.github.Change(func(w *githubtest.World) {
		for name := range w.Limits {
			w.Limits[name] = githubtest.Limit{Requests: requests, Window: soon}
		}
	})
	m := q.mined(long)
	q.sameTasks(m)
	for what, n := range q.asked() {
		if n != 1 {
			t.Errorf("%s about %s was asked %d times", what.key, what.pull, n)
		}
	}
	if again := q.github.Repeated(); len(again) > 0 {
		t.Errorf("GitHub was asked again for %v", again)
	}
	t.Logf("%d calls for %d answers", q.github.Calls(), len(q.github.Answered()))
}
