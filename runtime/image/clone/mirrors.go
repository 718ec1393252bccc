package clone

import (
	"archive/tar"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/assayd/assayd/runtime/git"
	"github.com/assayd/assayd/runtime/keylock"
	"github.com/assayd/assayd/runtime/task"
)

// gitTime is what one Git command may take; a transfer that crawls ends sooner.
const gitTime = 2 * time.Hour

// gitOutput is what a command may print: the names of all objects of a large repository.
const gitOutput = 2 << 30

// crawl is how long a transfer may crawl before it is broken off.
const crawl = 5 * time.Minute

// mayUnfold bounds the work tree of a clone. The largest repositories that people work on have
// 400,000 files.
var mayUnfold = git.Extent{Entries: 500_000, Names: 128 << 20, Bytes: 20 << 30}

// mostMirror bounds what the copy of a repository takes, in bytes.
const mostMirror = 32 << 30

// Mirrors keeps a copy of each remote repository, so that a second task of it needs little
// or no network. Its methods may be called at once. The exported fields are set before.
type Mirrors struct {
	Dir   string              // where they are; it belongs to one Mirrors
	Hub   string              // address that stands for that of GitHub and the forge; "" = their own
	Forge string              // address of an enterprise's GitHub; "" = none
	Hide  func([]byte) []byte // takes secrets out of what Git says
	most  int64               // bytes of a copy; 0 = mostMirror
	mu    sync.Mutex
	ready bool          // the folder is there, without remains of a crash
	git   git.Git       // once ready
	locks keylock.Locks // by URL: one writer at a time
}

// Names in the cache folder; what begins with one of the prefixes is temporary.
const (
	cutPrefix   = "cut-"
	spoolPrefix = "spool-"
)

// prepare makes the cache folder once, and removes what a crash left in it.
func (m *Mirrors) prepare() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ready {
		return nil
	}
	if err := os.MkdirAll(m.Dir, 0o700); err != nil {
		return fmt.Errorf("make the folder of mirrors: %w", err)
	}
	if err := m.Tidy(); err != nil {
		return err
	}
	g, err := git.New(m.Dir, git.Fetching(crawl))
	if err != nil {
		return err
	}
	// A partial clone is none of ours: what is not there is not fetched by the way.
	m.git = g.With("GIT_NO_LAZY_FETCH=1").Within(gitTime).Printing(gitOutput)
	if m.Hide != nil {
		m.git = m.git.Masking(func(said string) string { return string(m.Hide([]byte(said))) })
	}
	m.ready = true
	return nil
}

// Spool makes a temporary file in the cache folder. The caller closes and removes it.
func (m *Mirrors) Spool() (*os.File, error) {
	if err := m.prepare(); err != nil {
		return nil, err
	}
	return os.CreateTemp(m.Dir, spoolPrefix)
}

// Tidy removes what a crash left in the cache folder. It is called before anything is cut.
func (m *Mirrors) Tidy() error {
	for _, prefix := range []string{cutPrefix, spoolPrefix} {
		left, err := filepath.Glob(filepath.Join(m.Dir, prefix+"*"))
		if err != nil {
			return err
		}
		for _, name := range left {
			if err := os.RemoveAll(name); err != nil {
				return fmt.Errorf("remove what a crash left: %w", err)
			}
		}
	}
	return nil
}

// Clone returns a repository cut at its commit, as images have it: an uncompressed tar of
// the work tree with .git. The caller closes it.
func (m *Mirrors) Clone(ctx context.Context, repo task.Repo) (io.ReadCloser, error) {
	dir, when, err := m.Cut(ctx, repo)
	if err != nil {
		if dir != "" {
			err = errors.Join(err, os.RemoveAll(dir))
		}
		return nil, err
	}
	read, write := io.Pipe()
	c := &openClone{PipeReader: read, removed: make(chan error, 1)}
	go func() { // ends at the latest when the reading end is closed
		tw := tar.NewWriter(write)
		err := TarFolder(tw, dir, when)
		if err == nil {
			err = tw.Close()
		}
		write.CloseWithError(err)
		c.removed <- os.RemoveAll(dir)
	}()
	return c, nil
}

// openClone is the tar of a clone that is removed when it is closed.
type openClone struct {
	*io.PipeReader
	removed chan error
	once    sync.Once
	err     error
}

func (c *openClone) Close() error {
	c.once.Do(func() {
		c.PipeReader.Close() // never fails
		c.err = <-c.removed
	})
	return c.err
}

// redacted returns the URL without a password.
func redacted(raw string) string {
	if u, err := url.Parse(raw); err == nil {
		return u.Redacted()
	}
	return raw
}

// Cut makes a new folder with a clone whose only ref is the branch main at the commit, and
// in which nothing is that the commit does not lead to. It returns the folder, which the
// caller removes also after an error, "" = there is none, and the time of the commit.
func (m *Mirrors) Cut(ctx context.Context, repo task.Repo) (dir string, when time.Time, err error) {
	if dir, when, err = m.cut(ctx, repo); err != nil {
		err = fmt.Errorf("repo %s at %s: %w", redacted(repo.URL), repo.Commit, err)
	}
	return dir, when, err
}

func (m *Mirrors) cut(ctx context.Context, repo task.Repo) (dir string, when time.Time, err error) {
	if !git.IsFullHash(repo.Commit) {
		return "", when, errors.New("the commit must be given as a full hash in lower case")
	}
	if repo.URL == "" || strings.HasPrefix(repo.URL, "-") {
		return "", when, errors.New("the URL is none")
	}
	if err := m.prepare(); err != nil {
		return "", when, err
	}
	mirror, err := m.fetch(ctx, repo)
	if err != nil {
		return "", when, err
	}
	if dir, err = os.MkdirTemp(m.Dir, cutPrefix); err != nil {
		return "", when, err
	}
	g := m.git.In(dir)
	if err := checkOut(ctx, g, dir, mirror, repo.Commit); err != nil {
		return dir, when, err
	}
	if err := audit(ctx, g, dir, repo.Commit); err != nil {
		return dir, when, err
	}
	out, err := g.Run(ctx, "show", "--no-patch", "--format=%ct", repo.Commit)
	if err != nil {
		return dir, when, err
	}
	seconds, err := strconv.ParseInt(strings.TrimSpace(out), 10, 64)
	return dir, time.Unix(seconds, 0).UTC(), err
}

// checkOut fills the empty folder dir with the commit of a mirror and its history.
func checkOut(ctx context.Context, g git.Git, dir, mirror, commit string) error {
	for _, args := range [][]string{
		{"init", "--quiet", "--template=", "--initial-branch=main", "."},
		{"fetch", "--quiet", "--no-tags", "--update-shallow", mirror, commit},
	} {
		if _, err := g.Run(ctx, args...); err != nil {
			return err
		}
	}
	if _, err := g.Extent(ctx, commit, mayUnfold, true); err != nil {
		return err
	}
	if _, err := g.Run(ctx, "reset", "--quiet", "--hard", commit); err != nil {
		return err
	}
	for _, name := range []string{"index", "FETCH_HEAD", "ORIG_HEAD", "logs"} {
		if err := os.RemoveAll(filepath.Join(dir, ".git", name)); err != nil {
			return err
		}
	}
	// An index without the times of this machine's files: Git will look at each file once.
	_, err := g.Run(ctx, "read-tree", commit)
	return err
}

// fetch returns the mirror of the repository, which has the commit.
func (m *Mirrors) fetch(ctx context.Context, repo task.Repo) (string, error) {
	unlock, err := m.locks.Lock(ctx, repo.URL)
	if err != nil {
		return "", err
	}
	defer unlock()
	sum := sha256.Sum256([]byte(repo.URL))
	mirror := filepath.Join(m.Dir, hex.EncodeToString(sum[:8])+".git")
	g, from := m.git.In(mirror), m.from(repo.URL)
	has := func() bool {
		_, err := g.Run(ctx, "cat-file", "-e", repo.Commit+"^{commit}")
		return err == nil
	}
	if has() {
		return mirror, nil
	}
	bring := func(ctx context.Context) error {
		if _, err := m.git.In(m.Dir).Run(ctx, "init", "--quiet", "--bare", "--template=", mirror); err != nil {
			return err
		}
		// The commit alone, with a ref that keeps it; servers that refuse are asked for all.
		keep := "+" + repo.Commit + ":refs/assayd/" + repo.Commit
		_, one := g.Run(ctx, "fetch", "--quiet", "--no-tags", "--update-shallow", from, keep)
		if one != nil && ctx.Err() == nil {
			if _, err := g.Run(ctx, "fetch", "--quiet", "--update-shallow", from, "+refs/*:refs/remote/*"); err != nil {
				return err
			}
		}
		if !has() {
			return errors.Join(errors.New("the repository has no such commit"), one)
		}
		return nil
	}
	for range 2 {
		if err = git.Bringing(ctx, mirror, cmp.Or(m.most, mostMirror), bring); !errors.Is(err, git.ErrGrown) {
			break
		}
		// What it holds of other commits is fetched again when they are needed.
		err = errors.Join(err, os.RemoveAll(mirror))
	}
	return mirror, err
}

// gitHub is what a mirror of the settings stands for.
const gitHub = "https://github.com/"

// from is the address where a repository is fetched from.
func (m *Mirrors) from(address string) string {
	if m.Hub == "" {
		return address
	}
	for _, forge := range []string{gitHub, strings.TrimSuffix(m.Forge, "/") + "/"} {
		if name, ok := strings.CutPrefix(address, forge); ok && forge != "/" {
			return strings.TrimSuffix(m.Hub, "/") + "/" + name
		}
	}
	return address
}

// TarFolder writes a folder in a fixed order, as root's, with one time for all.
func TarFolder(tw *tar.Writer, dir string, when time.Time) error {
	return filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || name == dir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		target := ""
		if info.Mode()&os.ModeSymlink != 0 {
			if target, err = os.Readlink(name); err != nil {
				return err
			}
		}
		h, err := tar.FileInfoHeader(info, target)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		h.Name = filepath.ToSlash(rel)
		if d.IsDir() {
			h.Name += "/"
		}
		h.Uid, h.Gid, h.Uname, h.Gname = 0, 0, "", ""
		h.ModTime, h.AccessTime, h.ChangeTime, h.Format = when, time.Time{}, time.Time{}, tar.FormatPAX
		h.Mode = fileMode(info)
		if err := tw.WriteHeader(h); err != nil {
			return err
		}
		return copyFile(tw, name, info)
	})
}
