package extract

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/assayd/assayd/runtime/git"
	"github.com/assayd/assayd/runtime/mining/reason"
)

// clone is one repository, for as long as one piece of work has it.
type clone struct {
	repo    string
	dir     string
	git     git.Git
	log     *slog.Logger
	most    int64 // bytes on disk
	packs   int   // more are made into one
	fresh   bool  // it was made for this work
	suspect bool  // reading it failed
}

// errEnough ends a command whose output nobody needs any more. What the command makes of that
// hides it.
var errEnough = errors.New("that is enough")

// mark says that the clone is not to be trusted until somebody says otherwise.
func (c *clone) mark() error {
	return os.WriteFile(filepath.Join(c.dir, busyName), nil, 0o600)
}

func (c *clone) clear() error { return os.Remove(filepath.Join(c.dir, busyName)) }

// pipe runs a command that only reads what is there. When it fails by itself something is
// wrong with the clone.
func (c *clone) pipe(ctx context.Context, in io.Reader, out io.Writer, args ...string) error {
	err := c.git.Pipe(ctx, in, out, args...)
	c.suspect = c.suspect || ctx.Err() == nil && failed(err)
	return err
}

// failed reports whether a command ended badly by itself: it said so, or crashed. One that
// nobody reads from any more did not, nor did one that was ended.
func failed(err error) bool {
	e, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return false
	}
	status, ok := e.Sys().(syscall.WaitStatus)
	return !ok || !status.Signaled() || status.Signal() != syscall.SIGPIPE && status.Signal() != syscall.SIGKILL
}

func (c *clone) run(ctx context.Context, args ...string) (string, error) {
	var out bytes.Buffer
	err := c.pipe(ctx, nil, &out, args...)
	return out.String(), err
}

// fetch changes the clone. When that is broken off, the clone is not used again; a transfer
// that fails by itself leaves it as it was.
func (c *clone) fetch(ctx context.Context, in io.Reader, args ...string) error {
	if err := c.mark(); err != nil {
		return err
	}
	began := time.Now()
	args = append([]string{"fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--no-auto-maintenance"}, args...)
	err := git.Bringing(ctx, c.dir, c.most, func(ctx context.Context) error {
		return c.git.Within(fetchTime).Pipe(ctx, in, nil, args...)
	})
	c.log.Debug("Fetched.", "repository", c.repo, "took", time.Since(began), "error", err)
	if err != nil && (git.Code(err) < 0 || errors.Is(err, git.ErrGrown)) {
		return err
	}
	if err == nil {
		err = c.consolidate(ctx)
	}
	if err != nil && git.Code(err) < 0 {
		return err
	}
	return errors.Join(c.server(err), c.clear())
}

// Unavailable is a server of repositories that does not answer now, and may do so later.
type Unavailable struct {
	Repo string
	Err  error // what Git says
}

// Error shows what Git says.
func (u *Unavailable) Error() string {
	return fmt.Sprintf("the server of %s does not answer: %v", u.Repo, u.Err)
}

// Unwrap gives what Git says.
func (u *Unavailable) Unwrap() error { return u.Err }

// What Git says of servers. One that is away may be so for every repository; what else is wrong
// with a transfer would only be so again.
var (
	away    = regexp.MustCompile(`unable to access|RPC failed|hung up unexpectedly|early EOF|unexpected disconnect|Authentication failed|[Cc]onnection (reset|refused|closed|timed out)|Could not resolve hostname`)
	status  = regexp.MustCompile(`(?:returned error:|HTTP) ([0-9]{3})`)
	missing = regexp.MustCompile(`repository '[^']*' not found|Repository not found|could not read Username`)
)

// refused reports whether a server has an answer, which is no.
func refused(said string) bool {
	m := status.FindStringSubmatch(said)
	return m != nil && m[1][0] == '4' && !slices.Contains([]string{"408", "425", "429"}, m[1])
}

// server tells a server that is away, and a repository that is gone, from what else is wrong.
func (c *clone) server(err error) error {
	said, ok := errors.AsType[*git.Error](err)
	switch {
	case !ok:
		return err
	case missing.MatchString(said.Text):
		return reason.Reject("unreachable", "%s is not there any more, or not for us", c.repo)
	case away.MatchString(said.Text) && !refused(said.Text):
		return &Unavailable{c.repo, err}
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
	if !git.IsFullHash(commit) {
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
		if _, err := c.git.Run(ctx, "cat-file", "-e", commit+"^{tree}"); err != nil {
			if git.Code(err) >= 0 {
				return line, false, nil
			}
			c.suspect = c.suspect || failed(err)
			return nil, false, err
		}
		text, err := c.run(ctx, "cat-file", "commit", commit)
		if err != nil {
			return nil, false, err
		}
		n := node{hash: commit}
		head, _, _ := strings.Cut(text, "\n\n")
		for l := range strings.Lines(head) {
			if hash, ok := strings.CutPrefix(strings.TrimSuffix(l, "\n"), "parent "); ok && git.IsFullHash(hash) {
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
// files, and all there is from a server that gives no single commits.
func (c *clone) fetchCommit(ctx context.Context, commit string, depth int) error {
	err := c.fetch(ctx, nil, "--update-shallow", "--filter=blob:none", "--depth="+strconv.Itoa(depth), "origin", "+"+commit+":refs/assayd/"+commit)
	if git.Said(err, "unadvertised object") {
		c.log.Debug("The server gives no single commits.", "repository", c.repo)
		err = c.fetch(ctx, nil, "--update-shallow", "origin", "+refs/*:refs/remote/*")
	}
	if git.Said(err, "not our ref") {
		return reason.Reject("unreachable", "%s has no commit %s", c.repo, commit)
	}
	if err != nil {
		return fmt.Errorf("fetch %s of %s: %w", commit, c.repo, err)
	}
	return nil
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
		return fmt.Errorf("look for missing objects of %s: %w", c.repo, err)
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
	if err := c.fetch(ctx, strings.NewReader(missing.String()), "--filter=blob:none", "--stdin", "origin"); err != nil {
		return fmt.Errorf("fetch files of %s: %w", c.repo, err)
	}
	return nil
}
