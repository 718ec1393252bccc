//go:build real

package daemon_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
	"github.com/assayd/assayd/runtime/mining/github"
)

// known is a real pull request with what is known of it, good or not.
type known struct {
	pull
	Number  int    `json:"pull_number"`
	Title   string `json:"title"`
	Licence string `json:"licence"`
}

// knownPulls are all of them.
func knownPulls(t *testing.T) (all []known) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(os.Getenv("ASSAYD_DATA"), "instances.json"))
	if err != nil {
		t.Fatalf("ASSAYD_DATA must name the folder with instances.json: %v", err)
	}
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	for i := range all {
		all[i].clone = filepath.Join(os.Getenv("ASSAYD_REPOS"), strings.Replace(all[i].Repo, "/", "+", 1), "repo")
		if _, err := os.Stat(all[i].clone); err != nil {
			t.Fatalf("ASSAYD_REPOS must name the folder with the clones (owner+name/repo): %v", err)
		}
	}
	return all
}

// told is a text as a statement may have it: without lines that lead to the pull request.
func told(text string) string {
	leads := regexp.MustCompile(`#[0-9]+|https?://|(?i:\bPR\b|pull request|signed-off|co-authored)`)
	var lines []string
	for line := range strings.Lines(text) {
		if !leads.MatchString(line) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// real is the pull request as GitHub would have it, with what the model says of it.
func (p known) real(q *fakeForge) *planted {
	message := p.git(q.T, "show", "--no-patch", "--format=%B", p.Merge)
	out := &planted{
		title: strings.Join(strings.Fields(p.Title), " "), body: told(message) + "\n" + strings.Repeat("As the project's issue describes in detail. ", 3),
		at: github.Ref{Repo: p.Repo, Number: p.Number}, test: p.testCommand(toolchains()[p.Language]),
		statement: "What is wanted, in the words of those who did it: " + told(p.Title+"\n"+message),
	}
	if p.Language == "go" {
		out.test = strings.Replace(out.test, "go test", "GOFLAGS=-mod=mod GOPROXY=off go test", 1)
	}
	merged, err := time.Parse(time.RFC3339, strings.TrimSpace(p.git(q.T, "show", "--no-patch", "--format=%cI", p.Merge)))
	if err != nil {
		q.Fatal(err)
	}
	out.pull = github.Pull{
		Ref: out.at, Title: out.title, Body: out.body, Author: "ada", AuthorType: "User", Merged: true, MergedBy: "grace", MergedAt: merged.UTC(),
		BaseRef: "main", HeadRef: "topic", BaseSHA: p.Base, HeadSHA: p.Merge, MergeSHA: p.Merge, Commits: 1,
		Parents: strings.Fields(p.git(q.T, "show", "--no-patch", "--format=%P", p.Merge)),
		Repository: github.Repository{
			Name: p.Repo, OwnerType: "Organization", Language: map[string]string{"python": "Python", "go": "Go", "javascript": "JavaScript", "rust": "Rust"}[p.Language],
			Stars: 1000, License: p.Licence, DefaultBranch: "main", KiB: 100,
		},
	}
	status := map[byte]string{'A': "added", 'M': "modified", 'D': "removed", 'R': "renamed"}
	kinds := map[string]github.File{}
	for line := range strings.Lines(p.git(q.T, "diff", "--name-status", p.Base, p.Merge)) {
		parts := strings.Split(strings.TrimSpace(line), "\t")
		f := github.File{Name: parts[len(parts)-1], Status: status[parts[0][0]]}
		if len(parts) == 3 {
			f.Previous = parts[1]
		}
		kinds[f.Name] = f
	}
	for line := range strings.Lines(strings.ReplaceAll(p.git(q.T, "diff", "--numstat", "-z", p.Base, p.Merge), "\x00", "\n")) {
		parts := strings.SplitN(strings.TrimSpace(line), "\t", 3)
		if len(parts) < 3 || parts[2] == "" {
			continue
		}
		f := kinds[parts[2]]
		_, _ = fmt.Sscan(parts[0], &f.Added)
		_, _ = fmt.Sscan(parts[1], &f.Removed)
		out.pull.Files = append(out.pull.Files, f)
		out.pull.Added, out.pull.Removed = out.pull.Added+f.Added, out.pull.Removed+f.Removed
	}
	out.pull.ChangedFiles = len(out.pull.Files)
	return out
}

// stock makes the image that is the usual one for a language, out of our base image and what
// the repositories need from a package registry, unless there is one of that name.
func (q *fakeForge) stock(name, language string, pulls []known) {
	q.Helper()
	if _, err := q.engine.Image(q.Context(), name); err == nil {
		q.Fatalf("there is an image %s already: these tests make one of that name", name)
	}
	c, dir := toolchains()[language], q.TempDir()
	for _, p := range pulls {
		if p.Language == language && c.cache != nil {
			c.cache(q.T, p.pull, dir)
			if language == "javascript" {
				break // they are of one repository, whose packages are in one folder
			}
		}
	}
	box, err := q.engine.Start(q.Context(), container.Workload{
		Name: "assayd-real-" + containertest.Unique(), Image: c.Image, Argv: []string{"sleep", "10m"}, Network: container.NetworkNone,
		Labels: map[string]string{container.LabelOwner: q.owner},
	})
	if err != nil {
		q.Fatal(err)
	}
	if err := q.engine.CopyTo(q.Context(), box.ID, "/", folderTar(q.T, dir)); err != nil {
		q.Fatal(err)
	}
	if _, err := q.engine.Commit(q.Context(), box.ID, name, container.ImageConfig{}); err != nil {
		q.Fatal(err)
	}
	if err := q.engine.Remove(q.Context(), box.ID); err != nil {
		q.Fatal(err)
	}
}

// From real hours of the archive, and one with the merges of all known pull requests, a spec
// makes tasks of the good ones in their languages, by the tests that are known, and rejects the
// others because nothing fails before. All of them are solved by their solution and by nothing else.
func TestRealPullRequestsAreMined(t *testing.T) {
	pulls := knownPulls(t)
	q := &fakeForge{fixture: newFixture(t), hour: time.Now().UTC().Add(-3 * time.Hour).Truncate(time.Hour)}
	q.forge = strings.TrimPrefix(q.mirror(), "file://")
	for _, p := range pulls {
		q.pulls = append(q.pulls, p.real(q))
	}
	for language, name := range minedIn() {
		q.stock(name, language, pulls)
		t.Cleanup(func() { _ = q.engine.RemoveImage(context.WithoutCancel(t.Context()), name) })
	}
	hours, merged := realHours(t)
	q.hours = hours
	q.begin()
	languages := `languages = ["` + strings.Join(slices.Sorted(maps.Keys(minedIn())), `", "`) + `"]`
	spec := q.spec(`max_tasks = 0`, "filter {", languages, `licenses = "any"`, "added_lines { min = 1 }", "}")
	spec = strings.Replace(spec, fmt.Sprintf("test_generation { image = %q }", q.image), "", 1)
	spec = strings.Replace(spec, `lookback = "6h"`, `lookback = "8h"`, 1) // all hours, also when one more begins meanwhile
	q.write("m.hcl", spec+fmt.Sprintf(`
run "over" {
  tasks    = [mining.%s]
  mode     = "single"
  timeout  = "5m"
  parallel = 2
  agent "oracle" {}
  agent "nop" {}
}
`, q.bench))
	q.serve()
	m := q.mined(25 * time.Minute)
	run := q.settled("run.over", 20*time.Minute)
	q.realRecords(pulls, merged, m.Results)
	for _, x := range run.Trials {
		want := map[string]string{"oracle": "resolved", "nop": "unresolved"}[x.Agent]
		if string(x.Status) != want {
			t.Errorf("%s of %s is %s (%s %s), not %s", x.Agent, x.Task, x.Status, x.Reason, x.Detail, want)
		}
		if slices.ContainsFunc(x.Flags, func(flag string) bool { return strings.HasPrefix(flag, "cheat:") }) {
			t.Errorf("%s of %s has the flags %v", x.Agent, x.Task, x.Flags)
		}
	}
	good := 0
	for _, p := range pulls {
		if minedIn()[p.Language] != "" && p.Category == "positive" {
			good++
		}
	}
	if good == 0 || len(run.Trials) != 2*good {
		t.Errorf("there are %d trials, not two of each of %d pull requests", len(run.Trials), good)
	}
}

// minedIn are the languages that the spec wants, with the images that are the usual ones for them.
func minedIn() map[string]string {
	return map[string]string{"python": "python:3.12-bookworm", "go": "golang:1.26-bookworm", "javascript": "node:22-bookworm", "rust": "rust:1-bookworm"}
}

// realHours are the recorded hours, of both eras of payloads, for the archive to have beside the
// planted one, and the pull requests that are merged in them.
func realHours(t *testing.T) (hours [][]byte, merged []string) {
	t.Helper()
	dir := filepath.Join(os.Getenv("ASSAYD_DATA"), "gharchive")
	text, err := os.ReadFile(filepath.Join(dir, "EXPECTED.json"))
	if err != nil {
		t.Fatal(err)
	}
	var expected map[string]struct{ Merged []string }
	if err := json.Unmarshal(text, &expected); err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(expected)) {
		hour, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		hours, merged = append(hours, hour), append(merged, expected[name].Merged...)
	}
	return hours, merged
}

// realRecords holds what was mined against what is known, and looks for a record of each pull
// request that is merged in the real hours.
func (q *fakeForge) realRecords(pulls []known, merged []string, file string) {
	q.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		q.Fatal(err)
	}
	type decided struct {
		Type, Repo, Verdict, Stage, Reason, Detail, Task string
		Number                                           int
	}
	verdicts := map[github.Ref]decided{}
	for line := range bytes.Lines(text) {
		var d decided
		if err := json.Unmarshal(line, &d); err != nil {
			q.Fatal(err)
		}
		if d.Type == "pr" {
			ref := github.Ref{Repo: d.Repo, Number: d.Number}
			if _, twice := verdicts[ref]; twice {
				q.Errorf("%s is decided twice", ref)
			}
			verdicts[ref] = d
		}
	}
	for _, p := range pulls {
		d := verdicts[github.Ref{Repo: p.Repo, Number: p.Number}]
		if _, wanted := minedIn()[p.Language]; !wanted {
			if d.Verdict != "rejected" || d.Stage != "filter" || d.Reason != "language" {
				q.Errorf("%s is %s at %s: %s %s", p.ID, d.Verdict, d.Stage, d.Reason, d.Detail)
			}
			continue
		}
		if p.Category != "positive" {
			if d.Verdict != "rejected" || d.Reason != "passes_before" {
				q.Errorf("%s is %s: %s %s", p.ID, d.Verdict, d.Reason, d.Detail)
			}
			continue
		}
		if d.Verdict != "accepted" {
			q.Errorf("%s is %s at %s: %s %s", p.ID, d.Verdict, d.Stage, d.Reason, d.Detail)
			continue
		}
		f2p, p2p, patch := q.minedLists(d.Task)
		if diff := cmp.Diff(p.asPrinted(p.FailToPass), p.asPrinted(f2p)); diff != "" {
			q.Errorf("fail to pass of %s (-known +mined):\n%s", p.ID, diff)
		}
		if diff := cmp.Diff(p.asPrinted(p.PassToPass), p.asPrinted(p2p)); diff != "" {
			q.Errorf("pass to pass of %s (-known +mined):\n%s", p.ID, diff)
		}
		if len(patch) == 0 {
			q.Errorf("the test patch of %s is empty", p.ID)
		}
	}
	want, has := slices.Clone(merged), []string(nil)
	for _, p := range pulls {
		want = append(want, github.Ref{Repo: p.Repo, Number: p.Number}.String())
	}
	for ref, d := range verdicts {
		name := ref.String()
		if has = append(has, name); slices.Contains(merged, name) && d.Verdict != "rejected" {
			q.Errorf("%s is %s: %s %s", name, d.Verdict, d.Reason, d.Detail)
		}
	}
	if diff := cmp.Diff(sorted(want), sorted(has)); diff != "" {
		q.Errorf("pull requests with a record (-merged +decided):\n%s", diff)
	}
}

// asPrinted are names as the runner prints them, sorted. Cargo prints no target beside a test, so
// that the second of a name has a number where the known one has the target.
func (p known) asPrinted(names []string) []string {
	if p.Language != "rust" {
		return sorted(names)
	}
	var printed []string
	for _, name := range names {
		target := regexp.MustCompile(`^(doc|tests/[a-z_]+\.rs)::`)
		printed = append(printed, regexp.MustCompile(` #[0-9]+$`).ReplaceAllString(target.ReplaceAllString(name, ""), ""))
	}
	return sorted(printed)
}

func sorted(names []string) []string { return slices.Sorted(slices.Values(names)) }

// minedLists are the tests of a mined task, as trials judge by them.
func (q *fakeForge) minedLists(name string) (f2p, p2p []string, patch []byte) {
	q.Helper()
	var mined struct {
		FailToPass, PassToPass []string
		Judge                  struct{ Patch []byte }
	}
	s, err := store.Open(q.Context(), q.state, store.Options{ReadOnly: true})
	if err != nil {
		q.Fatal(err)
	}
	defer s.Close()
	err = s.View(q.Context(), func(tx *store.Tx) error {
		rows, err := tx.Mined(q.address())
		for _, row := range rows {
			if row.Task == name && err == nil {
				err = json.Unmarshal(row.Data, &mined)
			}
		}
		return err
	})
	if err != nil {
		q.Fatal(err)
	}
	return mined.FailToPass, mined.PassToPass, mined.Judge.Patch
}
