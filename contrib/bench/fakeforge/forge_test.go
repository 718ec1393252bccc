package fakeforge

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/mining/archive"
	"github.com/assayd/assayd/runtime/mining/github"
)

func TestTheQuarryTellsTheSameEverywhere(t *testing.T) {
	q, err := New(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	hours, err := archive.New(archive.Options{BaseURL: q.archive.URL})
	if err != nil {
		t.Fatal(err)
	}
	var refs []github.Ref
	if _, err := hours.Hour(t.Context(), q.hour, func(m archive.Merge) error {
		refs = append(refs, github.Ref{Repo: m.Repo, Number: m.Number})
		return nil
	}); err != nil || len(refs) != Pulls {
		t.Fatalf("the archive has %v, %v, want %d", refs, err, Pulls)
	}
	hub, err := github.Open(github.Options{BaseURL: q.github.URL, Tokens: []string{"t"}})
	if err != nil {
		t.Fatal(err)
	}
	outcomes, err := hub.Pulls(t.Context(), refs, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, out := range outcomes {
		p := out.Pull
		if out.Err != nil || seen[p.MergeSHA] {
			t.Fatalf("GitHub says of %v: %v, merge %s", out.Asked, out.Err, p.MergeSHA)
		}
		seen[p.MergeSHA] = true
		want := ""
		for _, f := range p.Files {
			want += fmt.Sprintf("%d\t%d\t%s\n", f.Added, f.Removed, f.Name)
		}
		bare := filepath.Join(q.forge, filepath.FromSlash(p.Repo))
		got, err := exec.CommandContext(t.Context(), "git", "-C", bare, "diff", "--numstat", p.BaseSHA, p.MergeSHA).Output()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(got)); diff != "" || strings.Count(want, "\n") != p.ChangedFiles {
			t.Errorf("%v, %d files: %s", out.Asked, p.ChangedFiles, diff)
		}
	}
}
