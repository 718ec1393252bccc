package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/assayd/assayd/runtime/mining/github"
)

// name is that of the repository which all pull requests are of.
const name = "acme/durations"

// pull is a merged pull request of the stand-in: a folder with the number as its name, in which
// pull.json is this, files/ are the files that it changes, and written/ those that the model writes.
type pull struct {
	Title  string `json:"title"`
	Body   string `json:"body"`
	Author string `json:"author"`
	Head   string `json:"head"`
	Model  says   `json:"model"`

	number  int
	dir     string
	written map[string]string // by path
	github  github.Pull
}

// says is what the model says of a pull request.
type says struct {
	Statement  string  `json:"statement"`
	Class      string  `json:"class"`
	Difficulty float64 `json:"difficulty"`
	Quality    float64 `json:"quality"`
}

// readPulls reads the pull requests of a folder, and makes their repository below forge: each is
// merged onto the one before, by number.
func readPulls(ctx context.Context, dir, forge string) ([]*pull, error) {
	folders, err := os.ReadDir(filepath.Join(dir, "pulls"))
	if err != nil {
		return nil, fmt.Errorf("read the pull requests: %w", err)
	}
	r := repository{ctx: ctx, work: filepath.Join(forge, "work"), files: map[string]bool{}}
	base, err := r.begin(filepath.Join(dir, "repository"))
	if err != nil {
		return nil, err
	}
	var all []*pull
	for _, folder := range folders {
		p := &pull{dir: filepath.Join(dir, "pulls", folder.Name())}
		if p.number, err = strconv.Atoi(folder.Name()); err != nil {
			return nil, fmt.Errorf("%s is no number of a pull request: %w", folder.Name(), err)
		}
		if err := p.read(); err != nil {
			return nil, fmt.Errorf("read pull request %d: %w", p.number, err)
		}
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b *pull) int { return a.number - b.number })
	for _, p := range all {
		if base, err = r.merge(p, base); err != nil {
			return nil, fmt.Errorf("merge pull request %d: %w", p.number, err)
		}
	}
	return all, r.publish(filepath.Join(forge, name))
}

// read reads pull.json and what the model writes.
func (p *pull) read() error {
	text, err := os.ReadFile(filepath.Join(p.dir, "pull.json"))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, p); err != nil {
		return fmt.Errorf("decode pull.json: %w", err)
	}
	p.written, err = filesOf(filepath.Join(p.dir, "written"))
	return err
}

// filesOf reads the files of a folder, by their paths in it. One that is not there has none.
func filesOf(dir string) (map[string]string, error) {
	all := map[string]string{}
	files := os.DirFS(dir)
	err := fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(files, path)
		all[path] = string(text)
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return all, err
}

// repository is one that is being made.
type repository struct {
	ctx   context.Context
	work  string          // its work tree
	files map[string]bool // that are in it
}

// begin makes the first commit.
func (r *repository) begin(dir string) (commit string, err error) {
	if err := os.MkdirAll(r.work, 0o755); err != nil {
		return "", err
	}
	if _, err := r.git("init", "--quiet", "--initial-branch=main", "."); err != nil {
		return "", err
	}
	files, err := filesOf(dir)
	if err != nil {
		return "", err
	}
	if _, err := r.write(files); err != nil {
		return "", err
	}
	return r.commit("Begin")
}

// merge commits what a pull request changes, and notes what GitHub says of it.
func (r *repository) merge(p *pull, base string) (commit string, err error) {
	files, err := filesOf(filepath.Join(p.dir, "files"))
	if err != nil {
		return "", err
	}
	changed, err := r.write(files)
	if err != nil {
		return "", err
	}
	if commit, err = r.commit(fmt.Sprintf("%s (#%d)", p.Title, p.number)); err != nil {
		return "", err
	}
	if err := r.count(changed, base, commit); err != nil {
		return "", err
	}
	kind := "User"
	if strings.HasSuffix(p.Author, "[bot]") {
		kind = "Bot"
	}
	p.github = github.Pull{
		Ref: github.Ref{Repo: name, Number: p.number}, Title: p.Title, Body: p.Body, Author: p.Author, AuthorType: kind,
		Merged: true, MergedBy: "grace", MergedAt: time.Date(2026, 1, 5, 9, p.number, 0, 0, time.UTC), BaseRef: "main", HeadRef: p.Head,
		BaseSHA: base, HeadSHA: commit, MergeSHA: commit, Parents: []string{base}, Commits: 1, Files: changed, ChangedFiles: len(changed),
		Repository: github.Repository{
			Name: name, OwnerType: "Organization", Language: "Python", Languages: map[string]int64{"Python": 1000},
			Stars: 420, License: "MIT", DefaultBranch: "main", KiB: 10,
		},
	}
	for _, f := range changed {
		p.github.Added, p.github.Removed = p.github.Added+f.Added, p.github.Removed+f.Removed
	}
	return commit, nil
}

// write puts files into the work tree, and says which were changed and how.
func (r *repository) write(files map[string]string) (changed []github.File, err error) {
	for path, text := range files {
		status := "added"
		if r.files[path] {
			status = "modified"
		}
		r.files[path] = true
		changed = append(changed, github.File{Name: path, Status: status})
		to := filepath.Join(r.work, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, []byte(text), 0o644)); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(changed, func(a, b github.File) int { return strings.Compare(a.Name, b.Name) })
	return changed, nil
}

// count notes how many lines of each file were added and removed.
func (r *repository) count(changed []github.File, base, commit string) error {
	for i, f := range changed {
		out, err := r.git("diff", "--numstat", base, commit, "--", f.Name)
		if err != nil {
			return err
		}
		if _, err := fmt.Sscan(out, &changed[i].Added, &changed[i].Removed); err != nil {
			return fmt.Errorf("count the lines of %s from %q: %w", f.Name, out, err)
		}
	}
	return nil
}

func (r *repository) commit(message string) (string, error) {
	if _, err := r.git("add", "--all"); err != nil {
		return "", err
	}
	if _, err := r.git("commit", "--quiet", "--message", message); err != nil {
		return "", err
	}
	return r.git("rev-parse", "HEAD")
}

// publish makes the repository that mining fetches from.
func (r *repository) publish(dir string) error {
	if _, err := r.git("clone", "--quiet", "--bare", ".", dir); err != nil {
		return err
	}
	for _, key := range []string{"uploadpack.allowFilter", "uploadpack.allowAnySHA1InWant"} { // as GitHub allows
		if _, err := r.git("-C", dir, "config", key, "true"); err != nil {
			return err
		}
	}
	return nil
}

// git runs the machine's Git in the work tree, whatever its user has configured.
func (r *repository) git(args ...string) (string, error) {
	cmd := exec.CommandContext(r.ctx, "git", args...)
	cmd.Dir = r.work
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=ada", "GIT_AUTHOR_EMAIL=ada@example.org", "GIT_AUTHOR_DATE=2026-01-05T09:00:00Z",
		"GIT_COMMITTER_NAME=grace", "GIT_COMMITTER_EMAIL=grace@example.org", "GIT_COMMITTER_DATE=2026-01-05T09:00:00Z")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("git %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out)), nil
}
