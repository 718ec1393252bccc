package extract

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/assayd/assayd/runtime/git"
	"github.com/assayd/assayd/runtime/keylock"
	"github.com/assayd/assayd/runtime/mining/reason"
)

// Options say where repositories come from and where they are kept.
type Options struct {
	Dir      string        // cache of clones, which belongs to Repositories alone
	Forge    string        // address that owner/name is below; "" = https://github.com
	Patience time.Duration // how long a transfer may crawl; 0 = a minute
	MaxBytes int64         // the most that one clone may take on disk; 0 = 4 GiB
	Log      *slog.Logger  // nil = none
}

// Repositories are clones. All methods may be called at once: work on one repository waits
// for the work on it before.
type Repositories struct {
	Options
	git   git.Git
	packs int

	locks keylock.Locks // by folder
}

// What a command may take. Fetching has a bound of its own.
const (
	fetchTime = time.Hour
	memory    = 8 << 30
)

// maxPacks is how many packs a clone may have before they are made into one: each transfer
// brings some.
const maxPacks = 60

// settings is more configuration. Files that are too large to be text are not looked into, and
// little memory and few threads are used. A server is told of no commit that is there: it
// would take the files of it to be there, too, and send differences to them.
const settings = `[core]
	bigFileThreshold = 32m
	packedGitLimit = 1g
	packedGitWindowSize = 128m
	quotePath = true
[uploadpack]
	allowFilter = true
[fetch]
	negotiationAlgorithm = noop
	unpackLimit = 1
	showForcedUpdates = false
[pack]
	threads = 2
[index]
	threads = 2
`

// Names in the cache folder; what begins with one of the prefixes is temporary.
const (
	suffix     = ".git"
	newPrefix  = "new-"
	gonePrefix = "gone-"
)

// Names in a clone: it was used last when the one was changed, and while the other is there it is
// not to be trusted.
const (
	usedName = "assayd-used"
	busyName = "assayd-busy"
)

// New makes the cache folder and removes what a crash left in it.
func New(o Options) (*Repositories, error) {
	o.Forge = strings.TrimRight(cmp.Or(o.Forge, "https://github.com"), "/")
	o.Patience = cmp.Or(o.Patience, time.Minute)
	o.MaxBytes = cmp.Or(o.MaxBytes, 4<<30)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if strings.HasPrefix(o.Forge, "-") {
		return nil, fmt.Errorf("%q is no address of repositories", o.Forge)
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, err
	}
	o.Dir = dir
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of clones: %w", err)
	}
	for _, prefix := range []string{newPrefix, gonePrefix} {
		left, err := filepath.Glob(filepath.Join(dir, prefix+"*"))
		if err != nil {
			return nil, err
		}
		for _, name := range left {
			if err := os.RemoveAll(name); err != nil {
				return nil, fmt.Errorf("remove what a crash left: %w", err)
			}
		}
	}
	g, err := git.New(dir, git.Fetching(o.Patience)+settings)
	if err != nil {
		return nil, err
	}
	g = g.Confined(memory).Masking(masking(o.Forge))
	return &Repositories{Options: o, git: g, packs: maxPacks}, nil
}

// masking takes the password of an address out of what Git says of it.
func masking(address string) func(string) string {
	u, err := url.Parse(address)
	if err != nil || u.User == nil {
		return func(said string) string { return said }
	}
	secret, _ := u.User.Password()
	pairs := []string{address, u.Redacted()}
	if secret != "" {
		pairs = append(pairs, secret, "xxxxx")
	}
	return strings.NewReplacer(pairs...).Replace
}

// repoName is what GitHub lets a repository be called.
var repoName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*/[A-Za-z0-9_.-]+$`)

// use has work done on the clone of a repository, which nobody else uses meanwhile. When it
// has become too large over time it is made anew, and the work is done again.
func (r *Repositories) use(ctx context.Context, repo string, work func(*clone) error) error {
	owner, name, _ := strings.Cut(repo, "/")
	if !repoName.MatchString(repo) || name == "." || name == ".." {
		return fmt.Errorf("%q is no repository: it is owner/name", repo)
	}
	dir := filepath.Join(r.Dir, strings.ToLower(owner+"+"+name)+suffix)
	unlock, err := r.locks.Lock(ctx, dir)
	if err != nil {
		return err
	}
	defer unlock()
	for {
		c, err := r.open(ctx, repo, dir)
		if err != nil {
			return fmt.Errorf("clone %s: %w", repo, err)
		}
		err = work(c)
		if c.suspect && ctx.Err() == nil {
			err = errors.Join(err, c.mark())
		}
		switch {
		case !errors.Is(err, git.ErrGrown):
			return err
		case c.fresh:
			return errors.Join(reason.Reject("too_large", "the clone of %s takes more than %d bytes", repo, r.MaxBytes), r.remove(dir))
		}
		r.Log.Info("A clone has become too large and is made again.", "repository", repo)
	}
}

// open returns the clone in a folder, and makes it when it is not there or not sound.
func (r *Repositories) open(ctx context.Context, repo, dir string) (*clone, error) {
	c := &clone{repo: repo, dir: dir, most: r.MaxBytes, packs: r.packs, log: r.Log}
	// The address may be another one tomorrow. Nothing that is missing is fetched by the way, while
	// something else is fetched least of all: Git would do so over and over.
	c.git = r.git.In(dir).With("GIT_NO_LAZY_FETCH=1", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=remote.origin.url", "GIT_CONFIG_VALUE_0="+r.Forge+"/"+repo)
	if _, err := os.Stat(filepath.Join(dir, busyName)); err == nil {
		if err := r.remove(dir); err != nil {
			return nil, err
		}
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		c.fresh = true
		made, err := os.MkdirTemp(r.Dir, newPrefix)
		if err != nil {
			return nil, err
		}
		if _, err := r.git.In(made).Run(ctx, "init", "--quiet", "--bare", "--template=", "."); err != nil {
			return nil, errors.Join(err, os.RemoveAll(made))
		}
		if err := os.Rename(made, dir); err != nil {
			return nil, errors.Join(err, os.RemoveAll(made))
		}
	} else if err != nil {
		return nil, err
	}
	return c, os.WriteFile(filepath.Join(dir, usedName), nil, 0o600)
}

// remove takes a clone away, at once as seen by others.
func (r *Repositories) remove(dir string) error {
	gone, err := os.MkdirTemp(r.Dir, gonePrefix)
	if err == nil {
		if err = os.Rename(dir, filepath.Join(gone, "clone")); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		err = errors.Join(err, os.RemoveAll(gone))
	}
	if err != nil {
		return fmt.Errorf("remove a clone: %w", err)
	}
	return nil
}

// Collect removes the clones that were used longest ago until those left take no more than
// keep bytes. One in use is left alone.
func (r *Repositories) Collect(ctx context.Context, keep int64) error {
	dirs, err := filepath.Glob(filepath.Join(r.Dir, "*+*"+suffix))
	if err != nil {
		return err
	}
	type kept struct {
		dir  string
		used time.Time
		size int64
	}
	var all []kept
	total := int64(0)
	for _, dir := range dirs {
		k := kept{dir: dir, size: git.SizeOf(dir)}
		if info, err := os.Stat(filepath.Join(dir, usedName)); err == nil {
			k.used = info.ModTime()
		}
		all = append(all, k)
		total += k.size
	}
	slices.SortFunc(all, func(a, b kept) int { return a.used.Compare(b.used) })
	for _, k := range all {
		if total <= keep || ctx.Err() != nil {
			break
		}
		unlock, free := r.locks.TryLock(k.dir)
		if !free {
			continue
		}
		err := r.remove(k.dir)
		unlock()
		if err != nil {
			return err
		}
		total -= k.size
		r.Log.Debug("A clone was removed.", "folder", filepath.Base(k.dir), "bytes", k.size)
	}
	return context.Cause(ctx)
}
