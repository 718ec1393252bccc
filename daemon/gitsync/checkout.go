package gitsync

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/assayd/assayd/runtime/git"
)

// turn makes the folder another tree, whose files are all here, and returns the paths that
// changed, absolute; nil when that is not known. What is in the way and not of the
// repository stops it before anything is touched. Once begun it is completed, if need be
// after a crash: until then nobody can hold the tree.
func (s *Syncer) turn(ctx context.Context, to place) (changed []string, err error) {
	from := s.recalled().Now
	s.own(ctx, s.recalled().Next)
	if err := s.clear(ctx, to); err != nil {
		return nil, err
	}
	s.tree.Lock()
	defer s.tree.Unlock()
	if err := s.remember(func(m *memory) { m.Next = to }); err != nil {
		return nil, err
	}
	s.setBroken(true)
	if err := s.write(ctx, to); err != nil {
		return nil, err
	}
	if from.Tree == "" {
		return nil, nil
	}
	out, err := s.git.Run(ctx, "diff-tree", "-r", "-z", "--no-renames", "--name-only", from.Tree, to.Tree)
	if err != nil {
		return nil, nil //nolint:nilerr // the old one is lost, so all may have changed
	}
	changed = []string{}
	for name := range strings.SplitSeq(out, "\x00") {
		if name != "" {
			changed = append(changed, filepath.Join(s.dir, treeName, name))
		}
	}
	return changed, nil
}

// complete finishes a change of the tree that was begun. While it cannot, the tree is held
// back, and what was accepted of it stays.
func (s *Syncer) complete(ctx context.Context) error {
	next := s.recalled().Next
	if next == (place{}) {
		return nil
	}
	s.tree.Lock()
	defer s.tree.Unlock()
	s.setBroken(true)
	if err := s.write(ctx, next); err != nil {
		return fmt.Errorf("the checkout of %.12s cannot be completed, its specs stay as they were accepted: %w", next.Commit, err)
	}
	return nil
}

// own makes the files of a change that stopped half way the repository's, so that another
// commit takes them away again.
func (s *Syncer) own(ctx context.Context, half place) {
	if half == (place{}) {
		return
	}
	files, err := s.git.Run(ctx, "ls-tree", "-r", "-z", half.Tree)
	if err == nil {
		_, err = s.work().Feed(ctx, strings.NewReader(files), "update-index", "--replace", "-z", "--index-info")
	}
	if err != nil {
		s.o.Log.Warn("files of a checkout that stopped half way may stay", "commit", half.Commit, "error", err)
	}
}

func (s *Syncer) setBroken(broken bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = broken
}

// work is Git with the folder for its work tree.
func (s *Syncer) work() git.Git {
	return s.git.With("GIT_WORK_TREE="+filepath.Join(s.dir, treeName), "GIT_INDEX_FILE="+filepath.Join(s.dir, indexName))
}

// write makes the folder equal to a tree and remembers it. It can be repeated from wherever
// it stopped.
func (s *Syncer) write(ctx context.Context, to place) error {
	if err := os.RemoveAll(filepath.Join(s.dir, indexName+".lock")); err != nil {
		return err
	}
	if _, err := s.work().Run(ctx, "read-tree", "--reset", "-u", to.Tree); err != nil {
		return err
	}
	for ref, hash := range map[string]string{refCommit: to.Commit, refTree: to.Tree} {
		if _, err := s.git.Run(ctx, "update-ref", ref, hash); err != nil {
			return err
		}
	}
	err := s.remember(func(m *memory) {
		m.URL, m.Ref, m.Path = s.remote.url, s.refName(), s.o.Git.Path
		m.Now, m.Next, m.Verdict, m.Errors, m.Detail, m.Shown = to, place{}, "", 0, "", false
	})
	if err != nil {
		return err
	}
	s.setBroken(false)
	if _, err := s.git.Run(ctx, "gc", "--auto", "--quiet"); err != nil {
		s.o.Log.Debug("the copy of the repository is not packed", "error", err)
	}
	s.warnOfLFS()
	if s.o.Moved != nil {
		s.o.Moved()
	}
	return nil
}

// warnOfLFS says that files kept elsewhere are not fetched.
func (s *Syncer) warnOfLFS() {
	for _, dir := range []string{filepath.Join(s.dir, treeName), Root(s.o.State, s.o.Git)} {
		text, err := os.ReadFile(filepath.Join(dir, ".gitattributes"))
		if err == nil && strings.Contains(string(text), "filter=lfs") {
			s.o.Log.Warn("Git LFS is not supported: specs see the pointers in place of the files", "url", s.remote.url)
			return
		}
	}
}

// clear makes sure that nothing is lost when the tree changes: where a new file or folder
// goes there is nothing, or what is of the repository, or result files, which are written
// again elsewhere.
func (s *Syncer) clear(ctx context.Context, to place) error {
	before, err := s.paths(ctx, s.work(), "ls-files", "-z")
	if err != nil {
		return err
	}
	after, err := s.paths(ctx, s.git, "ls-tree", "-r", "-z", "--name-only", to.Tree)
	if err != nil {
		return err
	}
	ours := map[string]bool{}
	for _, name := range before {
		ours[name] = true
	}
	results, err := s.resultPaths(ctx)
	if err != nil {
		return err
	}
	looked := map[string]bool{}
	for _, name := range after {
		if ours[name] {
			continue
		}
		if what, err := s.inTheWay(name, ours, results, looked); err != nil || what != "" {
			return errors.Join(err, fmt.Errorf("%s is in the way and not of the repository; move it away", what))
		}
	}
	return nil
}

func (s *Syncer) paths(ctx context.Context, g git.Git, args ...string) ([]string, error) {
	out, err := g.Run(ctx, args...)
	return strings.Split(strings.TrimSuffix(out, "\x00"), "\x00"), err
}

// resultPaths are the present result files, relative to the tree.
func (s *Syncer) resultPaths(ctx context.Context) (map[string]bool, error) {
	paths := map[string]bool{}
	if s.o.Results == nil {
		return paths, nil
	}
	all, err := s.o.Results(ctx)
	for _, r := range all {
		if rel, err := filepath.Rel(filepath.Join(s.dir, treeName), r.File); err == nil {
			paths[rel] = true
		}
	}
	return paths, err
}

// inTheWay names what would be lost if the file were written; folders once looked at are
// not looked at again.
func (s *Syncer) inTheWay(name string, ours, results, looked map[string]bool) (string, error) {
	root := filepath.Join(s.dir, treeName)
	for i := 0; i <= len(name); i++ {
		if i < len(name) && name[i] != '/' {
			continue
		}
		at := name[:i]
		if at == "" || looked[at] {
			continue
		}
		info, err := os.Lstat(filepath.Join(root, at))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return "", nil
		case err != nil:
			return "", err
		case i < len(name) && info.IsDir():
			looked[at] = true
		case !info.IsDir():
			if !ours[at] && !results[at] {
				return at, nil
			}
			return "", nil
		default:
			return s.foreign(at, ours, results)
		}
	}
	return "", nil
}

// foreign finds something below a folder that is neither of the repository nor a result.
func (s *Syncer) foreign(dir string, ours, results map[string]bool) (found string, err error) {
	root := filepath.Join(s.dir, treeName)
	err = filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err == nil && !ours[rel] && !results[rel] {
			found, err = rel, fs.SkipAll
		}
		return err
	})
	return found, err
}
