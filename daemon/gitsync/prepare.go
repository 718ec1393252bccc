package gitsync

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/assayd/assayd/runtime/git"
)

// prepare makes the repository, or makes it usable again after a crash. One that Git does
// not know for one any more is made anew; the tree stays.
func (s *Syncer) prepare(ctx context.Context) error {
	g, err := newGit(s.dir, s.remote.local)
	if err != nil {
		return err
	}
	if err := s.sweep(); err != nil {
		return err
	}
	mask := []string{}
	for _, secret := range []string{s.secrets.token, s.remote.password} {
		if secret != "" {
			mask = append(mask, secret, "***")
		}
	}
	s.git = g.Masking(strings.NewReplacer(mask...).Replace)
	repo := filepath.Join(s.dir, repoName)
	if _, err := os.Stat(repo); err == nil {
		if _, err := s.git.Run(ctx, "rev-parse", "--git-dir"); err != nil {
			s.o.Log.Warn("the copy of the repository is damaged; it is made again", "error", err)
			if err := os.RemoveAll(repo); err != nil {
				return err
			}
		}
	}
	for _, args := range [][]string{
		{"init", "--quiet", "--bare", "--template=", "--initial-branch=none", repo},
		{"config", "core.bare", "false"},
		{"config", "remote.origin.url", s.remote.url},
	} {
		if _, err := s.git.Run(ctx, args...); err != nil {
			return err
		}
	}
	return nil
}

// sweep removes what commands that were killed left: locks, half packs, keys. Nobody else
// works here.
func (s *Syncer) sweep() error {
	var errs []error
	for _, prefix := range []string{keyPrefix, workPrefix} {
		left, err := filepath.Glob(filepath.Join(s.dir, prefix+"*"))
		errs = append(errs, err)
		for _, name := range left {
			errs = append(errs, os.Remove(name))
		}
	}
	errs = append(errs, os.RemoveAll(filepath.Join(s.dir, indexName+".lock")))
	return errors.Join(append(errs, git.Sweep(filepath.Join(s.dir, repoName)))...)
}
