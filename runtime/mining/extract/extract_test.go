package extract

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/assayd/assayd/runtime/mining/github"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// origin is a repository somewhere else.
type origin struct {
	t   *testing.T
	dir string
}

// newOrigin makes a bare repository that a forge in the folder has under a name.
func newOrigin(t *testing.T, forge, repo string) origin {
	t.Helper()
	o := origin{t, filepath.Join(forge, repo)}
	if err := os.MkdirAll(o.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	o.git("init", "--quiet", "--bare", "--initial-branch=main", ".")
	return o
}

func (o origin) git(args ...string) string {
	o.t.Helper()
	return o.feed("", args...)
}

// feed runs git in the repository.
func (o origin) feed(in string, args ...string) string {
	o.t.Helper()
	cmd := exec.CommandContext(o.t.Context(), "git", args...)
	cmd.Dir, cmd.Stdin = o.dir, strings.NewReader(in)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org", "GIT_AUTHOR_DATE=1700000000 +0000", "GIT_COMMITTER_DATE=1700000000 +0000",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*")
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		o.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, said.String())
	}
	return out.String()
}

// filesAt are the names of all files at a commit.
func filesAt(ctx context.Context, r *Repositories, repo, commit string) (names []string, err error) {
	err = r.use(ctx, repo, func(c *clone) error {
		names = nil
		leaves, err := c.tree(ctx, commit)
		for _, l := range leaves {
			names = append(names, l.name)
		}
		return err
	})
	return names, err
}

// tree is files by name. A name may have a mode before it: "100755 run.sh".
type tree map[string]string

// with is the tree with other files; "-" removes one.
func (f tree) with(more tree) tree {
	all := tree{}
	for _, files := range []tree{f, more} {
		for name, content := range files {
			all[name] = content
			if content == "-" {
				delete(all, name)
			}
		}
	}
	return all
}

// commit makes a commit of a tree and returns its hash; main is the last one.
func (o origin) commit(files tree, parents ...string) string {
	o.t.Helper()
	var b strings.Builder
	message := "Commit " + strconv.Itoa(len(files))
	fmt.Fprintf(&b, "reset refs/heads/main\n")
	fmt.Fprintf(&b, "commit refs/heads/main\nmark :1\ncommitter a <a@example.org> 1700000000 +0000\ndata %d\n%s\n", len(message), message)
	for i, parent := range parents {
		fmt.Fprintf(&b, "%s %s\n", map[bool]string{true: "from", false: "merge"}[i == 0], parent)
	}
	b.WriteString("deleteall\n")
	for name, content := range files {
		mode := "100644"
		if m, rest, ok := strings.Cut(name, " "); ok && len(m) == 6 {
			mode, name = m, rest
		}
		if mode == projectMode {
			fmt.Fprintf(&b, "M %s %s %s\n", mode, content, quoted(name))
			continue
		}
		fmt.Fprintf(&b, "M %s inline %s\ndata %d\n%s\n", mode, quoted(name), len(content), content)
	}
	b.WriteString("get-mark :1\n")
	return strings.TrimSpace(o.feed(b.String(), "fast-import", "--quiet", "--force", "--cat-blob-fd=1"))
}

// quoted is a name as fast-import reads any.
func quoted(name string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(name) {
		fmt.Fprintf(&b, "\\%03o", c)
	}
	b.WriteByte('"')
	return b.String()
}

// listed is what GitHub would say of the files between two commits.
func (o origin) listed(base, merge string) []github.File {
	var all []github.File
	words := map[byte]string{'A': "added", 'D': "removed", 'M': "modified", 'T': "changed", 'R': "renamed", 'C': "copied"}
	entries, err := parseRaw(o.git("diff-tree", "-r", "-z", "--raw", "--no-abbrev", "-M", base, merge))
	if err != nil {
		o.t.Fatal(err)
	}
	counted, err := parseNumstat(o.git("diff-tree", "-r", "-z", "--numstat", "-M", base, merge))
	if err != nil || len(counted) != len(entries) {
		o.t.Fatalf("%d names and %d counts: %v", len(entries), len(counted), err)
	}
	for i, e := range entries {
		all = append(all, github.File{Name: e.name, Previous: e.old, Status: words[e.status], Added: counted[i].added, Removed: counted[i].removed})
	}
	return all
}

// pull is a pull request of acme/shop that was merged so.
func (o origin) pull(base, merge string, commits int) github.Pull {
	files := o.listed(base, merge)
	return github.Pull{Ref: github.Ref{Repo: "acme/shop", Number: 1}, Merged: true, MergeSHA: merge, Commits: commits, Files: files, ChangedFiles: len(files)}
}

// repositories are those of a forge in a folder.
func repositories(t *testing.T, forge string, o Options) *Repositories {
	t.Helper()
	o.Forge = forge
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	r, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
