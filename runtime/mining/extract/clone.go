package extract

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/assayd/assayd/runtime/git"
	"github.com/assayd/assayd/runtime/mining/reason"
)

// clone is one repository, for as long as one piece of work has it.
type clone struct {
	repo    string
	url     string
	dir     string
	git     git.Git
	log     *slog.Logger
	most    int64 // bytes on disk
	packs   int   // more are made into one
	fresh   bool  // it was made for this work
	suspect bool  // reading it failed
}

// errFull says that a clone has become larger than it may.
var errFull = errors.New("the clone is too large")

// errEnough ends a command whose output nobody needs any more. What the command makes of that
// hides it.
var errEnough = errors.New("that is enough")

// watchEvery is how often the size of a clone is looked at while something comes.
const watchEvery = 300 * time.Millisecond

var fullHash = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// configured is configuration as the environment of a command, from keys and values.
func configured(pairs ...string) []string {
	env := []string{"GIT_CONFIG_COUNT=" + strconv.Itoa(len(pairs)/2)}
	for i := 0; i+1 < len(pairs); i += 2 {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i/2, pairs[i]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i/2, pairs[i+1]))
	}
	return env
}

// mark says that the clone is not to be trusted until somebody says otherwise.
func (c *clone) mark() error {
	return os.WriteFile(filepath.Join(c.dir, busyName), nil, 0o600)
}

func (c *clone) clear() error { return os.Remove(filepath.Join(c.dir, busyName)) }

// pipe runs a command that only reads what is there. When it fails by itself something is
// wrong with the clone.
func (c *clone) pipe(ctx context.Context, in io.Reader, out io.Writer, args ...string) error {
	err := c.reading().Pipe(ctx, in, out, args...)
	if err != nil && ctx.Err() == nil && git.Code(err) >= 0 {
		c.suspect = true
	}
	return err
}

func (c *clone) run(ctx context.Context, args ...string) (string, error) {
	var out bytes.Buffer
	err := c.pipe(ctx, nil, &out, args...)
	return out.String(), err
}

// reading is Git that asks no network for what is missing.
func (c *clone) reading() git.Git { return c.git.With("GIT_NO_LAZY_FETCH=1") }

// fetch changes the clone. When that is broken off, the clone is not used again; a transfer
// that fails by itself leaves it as it was.
func (c *clone) fetch(ctx context.Context, g git.Git, in io.Reader, args ...string) error {
	if err := c.mark(); err != nil {
		return err
	}
	began := time.Now()
	args = append([]string{"fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--no-auto-maintenance"}, args...)
	err := c.watched(ctx, func(ctx context.Context) error {
		return g.Within(fetchTime).Pipe(ctx, in, nil, args...)
	})
	c.log.Debug("Fetched.", "repository", c.repo, "took", time.Since(began), "error", err)
	if err != nil && (git.Code(err) < 0 || errors.Is(err, errFull)) {
		return err
	}
	if err == nil {
		err = c.consolidate(ctx)
	}
	if err != nil && git.Code(err) < 0 {
		return err
	}
	return errors.Join(err, c.clear())
}

// watched has work done that makes the clone grow, and ends it when that is too much.
func (c *clone) watched(ctx context.Context, work func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(watchEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				if folderSize(c.dir) > c.most {
					cancel(errFull)
				}
			}
		}
	}()
	err := work(ctx)
	cancel(nil)
	<-done
	if folderSize(c.dir) > c.most {
		return errFull
	}
	return err
}

// consolidate makes one pack of many.
func (c *clone) consolidate(ctx context.Context) error {
	packs, err := filepath.Glob(filepath.Join(c.dir, "objects", "pack", "*.pack"))
	if err != nil || len(packs) <= c.packs {
		return err
	}
	_, err = c.git.Run(ctx, "repack", "-a", "-d", "-q")
	return err
}

// need has a commit and its tree be there, and those of its first parents down to a depth,
// 1 = itself alone. It returns them, the commit first: fewer where history begins.
func (c *clone) need(ctx context.Context, commit string, depth int) ([]node, error) {
	if !fullHash.MatchString(commit) {
		return nil, reason.Reject("unreachable", "%q is no full hash of a commit", commit)
	}
	line, whole, err := c.line(ctx, commit, depth)
	if err != nil || whole {
		return line, err
	}
	if err := c.fetchCommit(ctx, commit, depth); err != nil {
		return nil, err
	}
	if line, whole, err = c.line(ctx, commit, depth); err == nil && !whole {
		err = reason.Reject("unreachable", "%s has no commit %s, or not its history", c.repo, commit)
	}
	return line, err
}

// node is a commit.
type node struct {
	hash    string
	parents []string
}

// line follows first parents from a commit; whole = nothing was missing.
func (c *clone) line(ctx context.Context, commit string, depth int) (line []node, whole bool, err error) {
	for len(line) < depth {
		// Its own words, not what Git makes of them: where history was cut it takes parents away.
		// A tree is missing where its commit was only passed by.
		if _, err := c.reading().Run(ctx, "cat-file", "-e", commit+"^{tree}"); err != nil {
			if git.Code(err) < 0 {
				return nil, false, err
			}
			return line, false, nil
		}
		text, err := c.run(ctx, "cat-file", "commit", commit)
		if err != nil {
			return nil, false, err
		}
		n := node{hash: commit}
		head, _, _ := strings.Cut(text, "\n\n")
		for l := range strings.Lines(head) {
			if hash, ok := strings.CutPrefix(strings.TrimSuffix(l, "\n"), "parent "); ok && fullHash.MatchString(hash) {
				n.parents = append(n.parents, hash)
			}
		}
		line = append(line, n)
		if len(n.parents) == 0 {
			break
		}
		commit = n.parents[0]
	}
	return line, true, nil
}

// fetchCommit gets a commit by its hash, with so much history and without the content of
// files, and all there is from a server that does not do so.
func (c *clone) fetchCommit(ctx context.Context, commit string, depth int) error {
	err := c.fetch(ctx, c.git, nil, "--update-shallow", "--filter=blob:none", "--depth="+strconv.Itoa(depth), "origin", "+"+commit+":refs/assayd/"+commit)
	switch {
	case err == nil:
		return nil
	case git.Said(err, "not our ref"):
		return reason.Reject("unreachable", "%s has no commit %s", c.repo, commit)
	case git.Said(err, "unadvertised object", "support shallow"):
		c.log.Debug("The server gives no single commits.", "repository", c.repo)
		if err := c.fetch(ctx, c.git, nil, "--update-shallow", "--filter=blob:none", "origin", "+refs/*:refs/remote/*"); err != nil {
			return fmt.Errorf("fetch %s: %w", c.repo, err)
		}
		return nil
	}
	return fmt.Errorf("fetch %s of %s: %w", commit, c.repo, err)
}

// fill gets the content of files that is missing, all at once: those wanted of what stands
// in the trees of commits, nil = all.
func (c *clone) fill(ctx context.Context, wanted map[string]bool, commits ...string) error {
	args := []string{"rev-list", "--objects", "--missing=print", "--no-object-names"}
	for _, commit := range commits {
		args = append(args, commit+"^{tree}")
	}
	out, err := c.run(ctx, args...)
	if err != nil {
		return fmt.Errorf("look for what is missing of %s: %w", c.repo, err)
	}
	var missing strings.Builder
	for line := range strings.Lines(out) {
		if id, ok := strings.CutPrefix(line, "?"); ok && (wanted == nil || wanted[strings.TrimSpace(id)]) {
			missing.WriteString(id)
		}
	}
	if missing.Len() == 0 {
		return nil
	}
	// The server is told of no commit that is there: it would take its files to be there, too.
	g := c.git.With(configured("remote.origin.url", c.url, "fetch.negotiationAlgorithm", "noop")...)
	if err := c.fetch(ctx, g, strings.NewReader(missing.String()), "--filter=blob:none", "--stdin", "origin"); err != nil {
		return fmt.Errorf("fetch files of %s: %w", c.repo, err)
	}
	return nil
}
