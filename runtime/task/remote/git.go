package remote

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/assayd/assayd/runtime/git"
)

// crawl is how long a transfer may crawl before it is broken off.
const crawl = 2 * time.Minute

// maxNames bounds the paths of all files of a repository, in bytes.
const maxNames = 128 << 20

// gitTime bounds one command.
const gitTime = 2 * time.Hour

func newGit(dir string) (git.Git, error) {
	g, err := git.New(dir, git.Fetching(crawl))
	if agent, ok := os.LookupEnv("SSH_AUTH_SOCK"); ok {
		g = g.With("SSH_AUTH_SOCK=" + agent)
	}
	return g.Within(gitTime), err
}

// clone makes the folder of a repository at the commit that is asked for, without .git.
func (j *job) clone(ctx context.Context) (r record, err error) {
	g := j.git.Masking(masking(j.at))
	if r.Revision, err = j.commitOf(ctx, g); err != nil {
		return r, err
	}
	if r.Revision == j.have.Revision {
		return r, errUnchanged
	}
	// Git cannot go on with half a pack: what a former call left is of no use.
	if err := errors.Join(os.RemoveAll(j.partial), os.MkdirAll(j.data(), 0o755)); err != nil {
		return r, err
	}
	watched, done := j.measured(ctx)
	defer done()
	err = j.checkOut(watched, g, r.Revision)
	if cause := context.Cause(watched); err != nil && cause != nil && ctx.Err() == nil {
		err = cause
	}
	return r, err
}

// checkOut fetches one commit and lays out its files. Links stay links: whoever reads the
// folder follows none that leads out of it.
func (j *job) checkOut(ctx context.Context, g git.Git, commit string) error {
	repo := filepath.Join(j.partial, "repo")
	g = g.With("GIT_DIR=" + repo)
	if _, err := g.Run(ctx, "init", "--quiet", "--bare", "--template=", repo); err != nil {
		return err
	}
	_, err := g.Run(ctx, "fetch", "--quiet", "--no-tags", "--depth=1", "--", j.at, commit)
	if err != nil && ctx.Err() == nil { // a server that gives no commit by its name: everything, then
		if _, all := g.Run(ctx, "fetch", "--quiet", "--", j.at, "+refs/*:refs/remote/*"); all != nil {
			return errors.Join(err, all)
		}
		if _, has := g.Run(ctx, "cat-file", "-e", commit+"^{commit}"); has != nil {
			return fmt.Errorf("the repository has no commit %s", commit)
		}
		err = nil
	}
	if err != nil {
		return err
	}
	if _, err := g.Extent(ctx, commit, git.Extent{Entries: maxEntries, Names: maxNames, Bytes: j.o.Most}, true); err != nil {
		return err
	}
	g = g.With("GIT_WORK_TREE=" + j.data()).In(j.data())
	if _, err := g.Run(ctx, "read-tree", commit); err != nil {
		return err
	}
	if _, err := g.Run(ctx, "checkout-index", "--quiet", "--force", "--all"); err != nil {
		return err
	}
	return os.RemoveAll(repo)
}

// commitOf asks the repository for the commit that is meant. A branch goes before a tag of
// its name.
func (j *job) commitOf(ctx context.Context, g git.Git) (string, error) {
	ref := j.revision
	if git.IsFullHash(ref) {
		return ref, nil
	}
	want := []string{"refs/heads/" + ref, "refs/tags/" + ref + "^{}", "refs/tags/" + ref, ref}
	if ref == "" {
		want = []string{"HEAD"}
	}
	out, err := g.Within(2*time.Minute).Run(ctx, append([]string{"ls-remote", "--quiet", "--", j.at}, want...)...)
	if err != nil {
		return "", err
	}
	found := map[string]string{}
	for line := range strings.Lines(out) {
		hash, name, _ := strings.Cut(strings.TrimSpace(line), "\t")
		found[name] = hash
	}
	for _, name := range want {
		if hash := found[name]; git.IsFullHash(hash) {
			return hash, nil
		}
	}
	if ref == "" {
		return "", errors.New("the repository has no HEAD: it is empty, or needs a ref")
	}
	return "", fmt.Errorf("the repository has no branch or tag %q; of a commit the whole hash is needed", ref)
}

// masking takes the password of a URL out of what is said.
func masking(raw string) func(string) string {
	u, err := url.Parse(raw)
	if err != nil || u.User == nil {
		return func(said string) string { return said }
	}
	secrets := []string{raw, u.Redacted(), u.User.String() + "@", "***@"}
	if password, ok := u.User.Password(); ok && password != "" {
		secrets = append(secrets, password, "***")
	}
	return strings.NewReplacer(secrets...).Replace
}

// measured is a context that ends when the partial folder takes too much room; meanwhile it
// tells how much it takes.
func (j *job) measured(ctx context.Context) (_ context.Context, done func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(500 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			r := j.room()
			size := git.SizeOf(j.partial)
			if err := r.take(size); err != nil {
				cancel(err)
				return
			}
			j.tell(Progress{Done: size})
		}
	}()
	return ctx, func() { cancel(nil); <-stopped }
}
