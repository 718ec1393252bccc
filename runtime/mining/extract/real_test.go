//go:build real

package extract

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/assayd/assayd/runtime/mining/github"
)

// TestRealPullRequestsAreSplit takes real merged pull requests from their clones.
func TestRealPullRequestsAreSplit(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(os.Getenv("ASSAYD_DATA"), "instances.json"))
	if err != nil {
		t.Fatalf("ASSAYD_DATA must name the folder with instances.json: %v", err)
	}
	var all []struct {
		Repo, Title string
		Number      int      `json:"pull_number"`
		Base        string   `json:"base_commit"`
		Merge       string   `json:"merge_commit"`
		TestFiles   []string `json:"test_files"`
	}
	if err := json.Unmarshal(raw, &all); err != nil || len(all) == 0 {
		t.Fatalf("instances.json: %d, %v", len(all), err)
	}
	forge := t.TempDir()
	r := repositories(t, forge, Options{})
	for _, one := range all {
		t.Run(strings.ReplaceAll(one.Repo, "/", "+"), func(t *testing.T) {
			clone := filepath.Join(os.Getenv("ASSAYD_REPOS"), strings.Replace(one.Repo, "/", "+", 1), "repo")
			if _, err := os.Stat(clone); err != nil {
				t.Fatalf("ASSAYD_REPOS must name the folder with the clones (owner+name/repo): %v", err)
			}
			at := filepath.Join(forge, one.Repo)
			if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(clone, at); err != nil && !os.IsExist(err) {
				t.Fatal(err)
			}
			o := origin{t, clone}
			p := github.Pull{Ref: github.Ref{Repo: one.Repo, Number: one.Number}, MergeSHA: one.Merge, Commits: 1, Files: o.listed(one.Base, one.Merge)}
			change, err := r.Change(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(one.TestFiles)
			if change.Base != one.Base || !slices.Equal(change.TestFiles, one.TestFiles) {
				t.Errorf("base %s with tests %q instead of %s with %q", change.Base, change.TestFiles, one.Base, one.TestFiles)
			}
			diff := []string{"-c", "core.quotePath=true", "diff", "--binary", "--full-index", one.Base, one.Merge, "--"}
			for name, part := range map[string]struct {
				got   []byte
				paths []string
			}{
				"whole": {change.Patch, nil}, "tests": {change.Tests, one.TestFiles}, "source": {change.Source, exclude(one.TestFiles)},
			} {
				if want := o.git(append(slices.Clone(diff), part.paths...)...); !bytes.Equal([]byte(want), part.got) {
					t.Errorf("the %s patch differs from that of git:\n%s\n%s", name, part.got, want)
				}
			}
		})
	}
}

func exclude(names []string) []string {
	paths := []string{"."}
	for _, name := range names {
		paths = append(paths, ":(exclude)"+name)
	}
	return paths
}
