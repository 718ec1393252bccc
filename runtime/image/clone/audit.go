package clone

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/assayd/assayd/runtime/git"
)

// audit proves that a clone leads nowhere but to the commit: one branch, no other ref, no
// reflog, remote or borrowed object store, and not one object more than its history has.
func audit(ctx context.Context, g git.Git, dir, commit string) error {
	refs, err := g.Run(ctx, "for-each-ref", "--format=%(refname) %(objectname)")
	if err != nil {
		return err
	}
	if got, want := strings.TrimSpace(refs), "refs/heads/main "+commit; got != want {
		return fmt.Errorf("the cut clone has the refs %q", got)
	}
	config, err := g.Run(ctx, "config", "--local", "--name-only", "--list")
	if err != nil {
		return err
	}
	if strings.Contains(config, "remote.") || strings.Contains(config, "branch.") {
		return errors.New("the cut clone knows a remote")
	}
	if left := memory(filepath.Join(dir, ".git")); len(left) > 0 {
		return fmt.Errorf("the cut clone has .git/%s", left[0])
	}
	beyond, err := objectsBeyond(ctx, g, commit)
	if err == nil && len(beyond) > 0 {
		err = fmt.Errorf("the cut clone holds object %s, which the commit does not lead to", beyond[0].id)
	}
	return err
}

// memory names what of a Git folder is there that remembers or borrows more than a history.
func memory(gitDir string) (left []string) {
	for _, name := range []string{"logs", "FETCH_HEAD", "ORIG_HEAD", "objects/info/alternates", "refs/stash", "worktrees", "modules"} {
		if _, err := os.Lstat(filepath.Join(gitDir, filepath.FromSlash(name))); !errors.Is(err, fs.ErrNotExist) {
			left = append(left, name)
		}
	}
	return left
}

// object is one of a repository.
type object struct{ id, kind string }

// objectsBeyond compares all objects with those that the commit leads to.
func objectsBeyond(ctx context.Context, g git.Git, commit string) (beyond []object, err error) {
	reachable, err := g.Run(ctx, "rev-list", "--objects", "--no-object-names", commit)
	if err != nil {
		return nil, err
	}
	all, err := g.Run(ctx, "cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)")
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for id := range strings.FieldsSeq(reachable) {
		known[id] = true
	}
	for line := range strings.Lines(all) {
		if id, kind, _ := strings.Cut(strings.TrimSpace(line), " "); !known[id] {
			beyond = append(beyond, object{id, kind})
		}
	}
	return beyond, nil
}

// fileMode is 0755 for folders and what may be executed, 0644 for the rest, whatever the
// umask of this process is.
func fileMode(info fs.FileInfo) int64 {
	if info.IsDir() || info.Mode()&0o100 != 0 {
		return 0o755
	}
	return 0o644
}

// copyFile writes the content of a regular file; other kinds have none.
func copyFile(tw *tar.Writer, name string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return nil
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(tw, f)
	return err
}
