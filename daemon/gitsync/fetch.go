package gitsync

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/assayd/assayd/runtime/git"
)

// Refs of our own copy.
const (
	refFetched = "refs/assayd/fetched"
	refPinned  = "refs/assayd/pinned"
	refCommit  = "refs/assayd/commit" // what the tree is of
	refTree    = "refs/assayd/tree"
	refSub     = "refs/assayd/submodule"
	refResults = "refs/assayd/results"
	refNotes   = "refs/notes/assayd"
	refEvery   = "refs/assayd/all/"
)

// mostCopy bounds our copy of the repository, with what was there before, in bytes.
const mostCopy = 4 << 30

// ask runs a command that talks to a remote, with what it needs to be let in there.
func (s *Syncer) ask(ctx context.Context, within time.Duration, in io.Reader, args ...string) (out string, err error) {
	g, done, err := s.letIn(s.git)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, done()) }()
	bring := func(ctx context.Context) (err error) {
		out, err = g.Within(within).Feed(ctx, in, args...)
		return err
	}
	repo := filepath.Join(s.dir, repoName)
	err = git.Bringing(ctx, repo, s.most, bring)
	if !errors.Is(err, git.ErrGrown) || in != nil {
		return out, err
	}
	// Most of it may be what nothing leads to any more.
	if _, err := s.git.Run(ctx, "gc", "--prune=now", "--quiet"); err != nil {
		return "", err
	}
	err = git.Bringing(ctx, repo, s.most, bring)
	return out, err
}

// letIn gives a command the token, by a helper that Git asks about this one site only, or
// the ssh key. They are in its environment and in a file only it uses, until done.
func (s *Syncer) letIn(g git.Git) (_ git.Git, done func() error, err error) {
	done = func() error { return nil }
	if site := s.remote.site(); site != "" && s.secrets.token != "" {
		user := s.remote.user
		if user == "" {
			user = "x-access-token" // any will do where the token says it all
		}
		return g.With(
			"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=credential."+site+".helper",
			`GIT_CONFIG_VALUE_0=!f() { test "$1" = get && printf 'username=%s\npassword=%s\n' "$ASSAYD_GIT_USER" "$ASSAYD_GIT_TOKEN"; }; f`,
			"ASSAYD_GIT_USER="+user, "ASSAYD_GIT_TOKEN="+s.secrets.token), done, nil
	}
	ssh := "ssh -o BatchMode=yes -o ConnectTimeout=30 -o ServerAliveInterval=15 -o StrictHostKeyChecking=accept-new -o UserKnownHostsFile=" +
		quoted(filepath.Join(s.dir, hostsName))
	if s.secrets.key != "" {
		f, err := os.CreateTemp(s.dir, keyPrefix) // only its owner may read it
		if err != nil {
			return g, done, fmt.Errorf("give the ssh key to Git: %w", err)
		}
		done = func() error { return os.Remove(f.Name()) }
		_, err = f.WriteString(s.secrets.key + "\n")
		if err = errors.Join(err, f.Close()); err != nil {
			return g, nil, errors.Join(fmt.Errorf("give the ssh key to Git: %w", err), done())
		}
		ssh += " -F none -o IdentitiesOnly=yes -o IdentityAgent=none -i " + quoted(f.Name())
	}
	return g.With("GIT_SSH_COMMAND=" + ssh), done, nil
}

// fetch brings what the ref is now at the remote, and returns its commit. Only what is new
// of that one commit comes, no history; with a path, no file outside it.
func (s *Syncer) fetch(ctx context.Context) (commit string, err error) {
	if ref := s.o.Git.Ref; git.IsFullHash(ref) {
		return ref, s.fetchPinned(ctx, ref)
	}
	name, hash, err := s.resolve(ctx)
	if err != nil {
		return "", err
	}
	if now := s.recalled().Now; hash == now.Commit && s.has(ctx, hash) {
		return hash, nil
	}
	if err := s.bring(ctx, "origin", name, refFetched); err != nil {
		return "", err
	}
	commit, err = s.git.Run(ctx, "rev-parse", "--verify", "--quiet", refFetched+"^{commit}")
	if err != nil {
		return "", fmt.Errorf("%s is no commit: %w", s.refName(), err)
	}
	return strings.TrimSpace(commit), nil
}

// resolve asks the remote what the ref is: its full name there, and the commit. A branch
// comes before a tag of the same name.
func (s *Syncer) resolve(ctx context.Context) (name, commit string, err error) {
	ref := s.o.Git.Ref
	names := []string{"refs/heads/" + ref, "refs/tags/" + ref}
	switch {
	case ref == "" || ref == "HEAD":
		names = []string{"HEAD"}
	case strings.HasPrefix(ref, "refs/"):
		names = []string{ref}
	}
	args := []string{"ls-remote", "--quiet", "origin"}
	for _, n := range names {
		args = append(args, n, n+"^{}")
	}
	out, err := s.ask(ctx, askTime, nil, args...)
	if err != nil {
		return "", "", err
	}
	at := map[string]string{}
	for line := range strings.Lines(out) {
		if hash, n, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			at[n] = hash
		}
	}
	for _, n := range names {
		if hash, ok := at[n]; ok {
			if peeled, ok := at[n+"^{}"]; ok { // a tag with a text of its own
				hash = peeled
			}
			return n, hash, nil
		}
	}
	return "", "", fmt.Errorf("the repository has no branch or tag %q", s.refName())
}

// bring fetches one ref or commit into a ref of ours, from origin or an address.
func (s *Syncer) bring(ctx context.Context, from, name, to string) error {
	args := []string{"fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--update-shallow", "--force"}
	if from == "origin" && s.o.Git.Path != "" {
		args = append(args, "--filter=blob:none") // a remote that cannot leaves it out
	}
	spec := "+" + name + ":" + to
	_, err := s.ask(ctx, remoteTime, nil, append(args, "--depth=1", from, spec)...)
	if git.Said(err, "shallow", "dumb http") && ctx.Err() == nil {
		_, err = s.ask(ctx, remoteTime, nil, append(args, from, spec)...)
	}
	if errors.Is(err, git.ErrGrown) { // what is too much may have come all the same
		s.forget(context.WithoutCancel(ctx), to)
	}
	return err
}

// fetchPinned brings a commit by its name; from a remote that gives none by name, with all
// branches and tags.
func (s *Syncer) fetchPinned(ctx context.Context, commit string) error {
	if s.has(ctx, commit) {
		return nil
	}
	err := s.bringCommit(ctx, "origin", commit, refPinned)
	if err == nil && !s.has(ctx, commit) {
		err = fmt.Errorf("%s is no commit", commit)
	}
	return err
}

func (s *Syncer) bringCommit(ctx context.Context, from, commit, to string) error {
	one := s.bring(ctx, from, commit, to)
	if one == nil || ctx.Err() != nil || !git.Said(one, "unadvertised object", "shallow", "not our ref", "dumb http") {
		return one
	}
	_, err := s.ask(ctx, remoteTime, nil, "fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head",
		"--update-shallow", "--force", from, "+refs/heads/*:"+refEvery+"heads/*", "+refs/tags/*:"+refEvery+"tags/*")
	defer s.forget(context.WithoutCancel(ctx), refEvery)
	if err != nil {
		return err
	}
	if !s.has(ctx, commit) {
		return fmt.Errorf("the repository has no commit %s: %w", commit, one)
	}
	_, err = s.git.Run(ctx, "update-ref", to, commit)
	return err
}

// forget drops refs, so that what only they lead to is collected some day.
func (s *Syncer) forget(ctx context.Context, prefix string) {
	out, err := s.git.Run(ctx, "for-each-ref", "--format=delete %(refname)", prefix)
	if err == nil {
		_, err = s.git.Feed(ctx, strings.NewReader(out), "update-ref", "--stdin")
	}
	if err != nil {
		s.o.Log.Debug("refs of the copy stay", "error", err)
	}
}

// has reports whether a commit is here, without asking the remote for it.
func (s *Syncer) has(ctx context.Context, commit string) bool {
	_, err := s.git.Run(ctx, "rev-list", "--quiet", "--no-walk", "--missing=allow-any", commit, "--")
	return err == nil
}
