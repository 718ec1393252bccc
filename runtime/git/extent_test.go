package git

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// grown makes a repository whose main holds what script leaves in $tree.
func grown(t *testing.T, script string) Git {
	t.Helper()
	g := newGit(t).In(t.TempDir())
	const begin = `set -e
git init --quiet --initial-branch=main .
folder() { i=0; while [ $i -lt $1 ]; do printf '040000 tree %s\td%s\n' $tree $i; i=$((i+1)); done | git mktree; }
files() { i=0; while [ $i -lt $1 ]; do printf '100644 blob %s\tf%s\n' $blob $i; i=$((i+1)); done | git mktree; }
blob=$(printf 123456789 | git hash-object -w --stdin)
`
	const end = `
git update-ref refs/heads/main $(git -c user.name=a -c user.email=a@b commit-tree -m x $tree)
`
	if _, err := g.Run(t.Context(), "sh", begin+script+end); err != nil {
		t.Fatal(err)
	}
	return g
}

func TestWhatATreeUnfoldsToIsKnownBeforeItIs(t *testing.T) {
	t.Parallel()
	most := Extent{Entries: 1000, Names: 10_000, Bytes: 8500}
	for name, tt := range map[string]struct {
		script string
		want   Extent
		err    string
	}{
		"a few":            {`tree=$(files 3); tree=$(folder 2)`, Extent{Entries: 8, Names: 2*2 + 6*5, Bytes: 54}, ""},
		"nothing":          {`tree=$(git mktree </dev/null)`, Extent{}, ""},
		"a million":        {`tree=$(files 10); for n in 1 2 3 4 5; do tree=$(folder 10); done`, Extent{}, "more than 1000 files and folders"},
		"many beside":      {`tree=$(files 1001)`, Extent{}, "more than 1000 files and folders"},
		"long names":       {`tree=$(printf '100644 blob %s\t%s\n' $blob $(printf %09999d 0) | git mktree); tree=$(folder 2)`, Extent{}, "more than 9.8 KiB of names"},
		"many bytes":       {`tree=$(files 40); tree=$(folder 24)`, Extent{}, "more than 8.3 KiB of files"},
		"folders in each":  {`tree=$(files 1); n=0; while [ $n -lt 600 ]; do tree=$(folder 1); n=$((n+1)); done`, Extent{}, "more than 500 folders in each other"},
		"other's commits":  {`tree=$(printf '160000 commit %s\tsub\n' 0123456789012345678901234567890123456789 | git mktree --missing)`, Extent{Entries: 1, Names: 3}, ""},
		"a link":           {`tree=$(printf '120000 blob %s\tl\n' $blob | git mktree)`, Extent{Entries: 1, Names: 1, Bytes: 9}, ""},
		"names with lines": {`tree=$(printf '100644 blob %s\ta\nb\0' $blob | git mktree -z)`, Extent{Entries: 1, Names: 3, Bytes: 9}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := grown(t, tt.script)
			got, err := g.Extent(t.Context(), "main", most, true)
			switch {
			case tt.err == "" && (err != nil || got != tt.want):
				t.Errorf("%+v, %v; want %+v", got, err, tt.want)
			case tt.err != "" && (!errors.Is(err, ErrExtent) || !strings.Contains(err.Error(), tt.err)):
				t.Errorf("%+v, %v; want an error with %q", got, err, tt.err)
			}
			if unsized, err := g.Extent(t.Context(), "main", Extent{}, false); tt.err == "" && (err != nil || unsized.Entries != tt.want.Entries || unsized.Bytes != 0) {
				t.Errorf("without sizes %+v, %v", unsized, err)
			}
		})
	}
}

// A real folder is as large as it is said to be.
func TestWhatATreeUnfoldsToIsTrue(t *testing.T) {
	t.Parallel()
	g := grown(t, `tree=$(files 3); for n in 1 2 3; do tree=$(folder 3); done`)
	want, err := g.Extent(t.Context(), "main", Extent{}, true)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if _, err := g.With("GIT_WORK_TREE="+dir).Run(t.Context(), "checkout", "--quiet", "--force", "main"); err != nil {
		t.Fatal(err)
	}
	var got Extent
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := d.Info()
		got.Entries, got.Names = got.Entries+1, got.Names+int64(len(path)-len(dir)-1)
		if !d.IsDir() {
			got.Bytes += info.Size()
		}
		return err
	})
	if err != nil || got != want {
		t.Errorf("there are %+v (%v), and %+v were foretold", got, err, want)
	}
}

func TestNoTreeHasNoExtent(t *testing.T) {
	t.Parallel()
	g := grown(t, `tree=$(files 1)`)
	for _, name := range []string{"none", strings.Repeat("0", 40), ""} {
		if got, err := g.Extent(t.Context(), name, Extent{}, true); err == nil {
			t.Errorf("of %q: %+v", name, fmt.Sprint(got))
		}
	}
}
