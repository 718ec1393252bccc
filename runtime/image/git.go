package image

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/assayd/assayd/runtime/task"
)

// gitTime is what one Git command may take; a transfer that crawls ends sooner.
const gitTime = 2 * time.Hour

// gitConfig is all the configuration that Git sees. Folders of other people are fine to
// read from, and only well-known transports are used.
const gitConfig = `[safe]
	directory = *
[uploadpack]
	allowAnySHA1InWant = true
[protocol]
	allow = never
[protocol "https"]
	allow = always
[protocol "http"]
	allow = always
[protocol "ssh"]
	allow = always
[protocol "file"]
	allow = always
[core]
	hooksPath = /dev/null
	logAllRefUpdates = false
	autocrlf = false
[http]
	lowSpeedLimit = 1000
	lowSpeedTime = 300
[gc]
	auto = 0
[advice]
	detachedHead = false
`

// fullHash is a commit's name in full; anything shorter may mean another commit tomorrow.
var fullHash = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// mirrors keeps a copy of each remote repository, so that a second task of it needs little
// or no network.
type mirrors struct {
	dir   string
	mu    sync.Mutex
	ready bool                     // the folder is there, without remains of a crash
	locks map[string]chan struct{} // by URL: one writer at a time
}

// Names in the cache folder; what begins with one of the prefixes is temporary.
const (
	configName  = "gitconfig"
	cutPrefix   = "cut-"
	spoolPrefix = "spool-"
)

// prepare makes the cache folder once, and removes what a crash left in it.
func (m *mirrors) prepare() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ready {
		return nil
	}
	if err := os.MkdirAll(m.dir, 0o700); err != nil {
		return fmt.Errorf("make the folder of mirrors: %w", err)
	}
	if err := m.tidy(); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(m.dir, configName), []byte(gitConfig), 0o600); err != nil {
		return err
	}
	m.ready = true
	return nil
}

// tidy removes what a crash left in the cache folder.
func (m *mirrors) tidy() error {
	for _, prefix := range []string{cutPrefix, spoolPrefix} {
		left, err := filepath.Glob(filepath.Join(m.dir, prefix+"*"))
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

// clone puts a clone, cut at the commit, into workdir.
func (s *site) clone(ctx context.Context) error {
	if s.recipe.Repo == nil {
		return nil
	}
	repo := *s.recipe.Repo
	dir, when, err := s.b.mirrors.cut(ctx, repo)
	if dir != "" {
		defer os.RemoveAll(dir)
	}
	if err != nil {
		return fmt.Errorf("repo %s at %s: %w", redacted(repo.URL), repo.Commit, err)
	}
	return s.put(ctx, s.recipe.Workdir, func(tw *tar.Writer) error { return tarFolder(tw, dir, when) })
}

// redacted returns the URL without a password.
func redacted(raw string) string {
	if u, err := url.Parse(raw); err == nil {
		return u.Redacted()
	}
	return raw
}

// cut makes a new folder with a clone whose only ref is the branch main at the commit, and
// in which nothing is that the commit does not lead to. It returns the folder, which the
// caller removes, and the time of the commit.
func (m *mirrors) cut(ctx context.Context, repo task.Repo) (dir string, when time.Time, err error) {
	if !fullHash.MatchString(repo.Commit) {
		return "", when, errors.New("the commit must be given as a full hash in lower case")
	}
	if repo.URL == "" || strings.HasPrefix(repo.URL, "-") {
		return "", when, errors.New("the URL is none")
	}
	if err := m.prepare(); err != nil {
		return "", when, err
	}
	g := git{config: filepath.Join(m.dir, configName), home: m.dir}
	mirror, err := m.fetch(ctx, g, repo)
	if err != nil {
		return "", when, err
	}
	if dir, err = os.MkdirTemp(m.dir, cutPrefix); err != nil {
		return "", when, err
	}
	if err := g.checkOut(ctx, dir, mirror, repo.Commit); err != nil {
		return dir, when, err
	}
	if err := audit(ctx, g, dir, repo.Commit); err != nil {
		return dir, when, err
	}
	out, err := g.run(ctx, dir, "show", "--no-patch", "--format=%ct", repo.Commit)
	if err != nil {
		return dir, when, err
	}
	seconds, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
	return dir, time.Unix(seconds, 0).UTC(), err
}

// checkOut fills the empty folder dir with the commit of a mirror and its history.
func (g git) checkOut(ctx context.Context, dir, mirror, commit string) error {
	for _, args := range [][]string{
		{"init", "--quiet", "--template=", "--initial-branch=main", "."},
		{"fetch", "--quiet", "--no-tags", "--update-shallow", mirror, commit},
		{"reset", "--quiet", "--hard", commit},
	} {
		if _, err := g.run(ctx, dir, args...); err != nil {
			return err
		}
	}
	for _, name := range []string{"index", "FETCH_HEAD", "ORIG_HEAD", "logs"} {
		if err := os.RemoveAll(filepath.Join(dir, ".git", name)); err != nil {
			return err
		}
	}
	// An index without the times of this machine's files: Git will look at each file once.
	_, err := g.run(ctx, dir, "read-tree", commit)
	return err
}

// fetch returns the mirror of the repository, which has the commit.
func (m *mirrors) fetch(ctx context.Context, g git, repo task.Repo) (string, error) {
	unlock, err := m.lock(ctx, repo.URL)
	if err != nil {
		return "", err
	}
	defer unlock()
	sum := sha256.Sum256([]byte(repo.URL))
	mirror := filepath.Join(m.dir, hex.EncodeToString(sum[:8])+".git")
	if _, err := g.run(ctx, m.dir, "init", "--quiet", "--bare", "--template=", mirror); err != nil {
		return "", err
	}
	has := func() bool {
		_, err := g.run(ctx, mirror, "cat-file", "-e", repo.Commit+"^{commit}")
		return err == nil
	}
	if has() {
		return mirror, nil
	}
	// The commit alone, with a ref that keeps it; servers that refuse are asked for all.
	keep := "+" + repo.Commit + ":refs/assayd/" + repo.Commit
	_, one := g.run(ctx, mirror, "fetch", "--quiet", "--no-tags", "--update-shallow", repo.URL, keep)
	if one != nil && ctx.Err() == nil {
		if _, err := g.run(ctx, mirror, "fetch", "--quiet", "--update-shallow", repo.URL, "+refs/*:refs/remote/*"); err != nil {
			return "", err
		}
	}
	if !has() {
		return "", errors.Join(errors.New("the repository has no such commit"), one)
	}
	return mirror, nil
}

// lock waits for the mirror of a URL.
func (m *mirrors) lock(ctx context.Context, remote string) (unlock func(), err error) {
	m.mu.Lock()
	if m.locks == nil {
		m.locks = map[string]chan struct{}{}
	}
	l := m.locks[remote]
	if l == nil {
		l = make(chan struct{}, 1)
		m.locks[remote] = l
	}
	m.mu.Unlock()
	select {
	case l <- struct{}{}:
		return func() { <-l }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// git runs the host's Git with nothing of the host's user in its environment.
type git struct {
	config string // the one file of configuration
	home   string
}

// run executes one command in dir and returns its standard output; an error holds the end
// of what it said.
func (g git) run(ctx context.Context, dir string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, gitTime, errTooLong)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	cmd.Env = append(passed(os.Environ()),
		"HOME="+g.home, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+g.config, "GIT_TERMINAL_PROMPT=0",
		"GIT_ASKPASS=/bin/false", "SSH_ASKPASS=/bin/false", "GIT_SSH_COMMAND=ssh -o BatchMode=yes",
		"GIT_NO_LAZY_FETCH=1", "GIT_NO_REPLACE_OBJECTS=1", "LC_ALL=C")
	var out bytes.Buffer
	said := &tail{heard: func() {}}
	cmd.Stdout, cmd.Stderr = &out, said
	// Git has children, which must not outlive it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
	err := cmd.Run()
	switch {
	case err == nil:
		return out.Bytes(), nil
	case errors.Is(err, exec.ErrNotFound):
		return nil, errors.New("git is not installed on this machine, and tasks with a repo need it")
	case ctx.Err() != nil:
		return nil, fmt.Errorf("git %s: %w", args[0], context.Cause(ctx))
	}
	return nil, fmt.Errorf("git %s: %w: %s", args[0], err, said.lines())
}

// passed keeps what Git needs of an environment: where programs are and how the network is
// reached.
func passed(environ []string) []string {
	keep := regexp.MustCompile(`(?i)^(PATH|TMPDIR|(https?|all|no)_proxy|SSL_CERT_(FILE|DIR)|GIT_SSL_CAINFO|GIT_EXEC_PATH)=`)
	var env []string
	for _, e := range environ {
		if keep.MatchString(e) {
			env = append(env, e)
		}
	}
	return env
}

// tarFolder writes a folder in a fixed order, as root's, with one time for all.
func tarFolder(tw *tar.Writer, dir string, when time.Time) error {
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
