//go:build real

package archive

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRealHours reads recorded hours of both eras. The folder is named by ASSAYD_DATA.
func TestRealHours(t *testing.T) {
	dir := filepath.Join(os.Getenv("ASSAYD_DATA"), "gharchive")
	text, err := os.ReadFile(filepath.Join(dir, "EXPECTED.json"))
	if err != nil {
		t.Fatalf("ASSAYD_DATA must name the folder of real data: %v", err)
	}
	var files map[string]struct {
		Events  int
		ByType  map[string]int `json:"by_type"`
		Merged  []string
		Actions map[string]int `json:"pull_request_actions"`
	}
	if err := json.Unmarshal(text, &files); err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatal("no hours")
	}
	for name, want := range files {
		t.Run(name, func(t *testing.T) {
			f, err := os.Open(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			var merged []string
			counts, err := Scan(t.Context(), f, func(m Merge) error {
				merged = append(merged, fmt.Sprintf("%s#%d", m.Repo, m.Number))
				if m.ID == "" || m.Actor == "" || m.BaseRef == "" || m.HeadRef == "" || m.BaseSHA == "" || m.At.IsZero() {
					t.Errorf("a merge lacks what all eras have: %+v", m)
				}
				if full := m.MergeSHA != "" && m.Title != "" && m.Author != "" && m.AuthorType != ""; full != (m.At.Year() < 2026) {
					t.Errorf("a merge of %v has its title, author and commit: %v", m.At, full)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(merged)
			if diff := cmp.Diff(want.Merged, merged); diff != "" {
				t.Error(diff)
			}
			counts.Bytes = 0
			if diff := cmp.Diff(Counts{Lines: want.Events, PullRequestEvents: want.ByType["PullRequestEvent"], Merged: len(want.Merged)}, counts); diff != "" {
				t.Error(diff)
			}
		})
	}
}
