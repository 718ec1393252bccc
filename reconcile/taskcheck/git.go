package taskcheck

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/assayd/assayd/runtime/vet"
)

// Bounds of what is taken of Git's folders.
const (
	maxGitBytes = 8 << 30
	maxGitFiles = 1 << 20
)

// repositories are Git's folders of an image, taken into folders of this machine.
type repositories struct {
	dir   string
	found map[string]*repository // by the path of Git's folder
	bytes int64
	files int
	full  bool
}

type repository struct {
	dir    string
	remote string // the first one that it knows; "" = none
}

func newRepositories(dir string) *repositories {
	return &repositories{dir: dir, found: map[string]*repository{}}
}

// gitFolder splits the path of a file at the outermost folder of Git's that it is in.
func gitFolder(name string) (folder, rest string, ok bool) {
	parts := strings.Split(name, "/")
	for i, part := range parts[:len(parts)-1] {
		if part == ".git" {
			return strings.Join(parts[:i+1], "/"), strings.Join(parts[i+1:], "/"), true
		}
	}
	return "", "", false
}

var remoteName = regexp.MustCompile(`(?m)^\s*\[remote "([^"\n]*)"\]`)

// take keeps what Git needs of one of its own files to tell what there is, and nothing that
// says what Git is to do.
func (r *repositories) take(name string, size int64, content io.Reader) (taken bool, err error) {
	folder, rest, ok := gitFolder(name)
	if !ok {
		return false, nil
	}
	one := r.found[folder]
	if one == nil {
		one = &repository{dir: filepath.Join(r.dir, fmt.Sprint(len(r.found)))}
		r.found[folder] = one
	}
	if rest == "config" {
		text, err := io.ReadAll(io.LimitReader(content, 1<<20))
		if m := remoteName.FindSubmatch(text); m != nil {
			one.remote = string(m[1])
		}
		return true, err
	}
	first, _, _ := strings.Cut(rest, "/")
	if !slices.Contains([]string{"HEAD", "packed-refs", "refs", "objects", "shallow", "logs", "FETCH_HEAD", "ORIG_HEAD"}, first) {
		return true, nil
	}
	if r.bytes, r.files = r.bytes+size, r.files+1; r.bytes > maxGitBytes || r.files > maxGitFiles {
		r.full = true
		return true, nil
	}
	if rest == "objects/info/alternates" {
		content = strings.NewReader("") // it is noted, and not followed
	}
	to := filepath.Join(one.dir, filepath.FromSlash(rest))
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return true, err
	}
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return true, err
	}
	_, err = io.Copy(f, content)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return true, err
}

// audit looks for what leads beyond the commit of the task, or, in a repository that was in
// the image, beyond what is checked out.
func (k *checking) audit(ctx context.Context, all *repositories) error {
	if all.full {
		k.say(vet.Git, vet.Flags, "the repositories in the work image are too large to be looked through")
		return nil
	}
	for _, folder := range slices.Sorted(maps.Keys(all.found)) {
		one := all.found[folder]
		commit, severity := "", vet.Warns
		if path.Join("/", path.Dir(folder)) == path.Clean(k.task.Workdir) && k.task.Repo != nil {
			commit, severity = k.task.Repo.Commit, vet.Flags
		}
		found, err := k.r.o.Host.Images.Mirrors().Audit(ctx, one.dir, commit)
		if err != nil && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			k.say(vet.Git, severity, "/%s of the work image could not be looked through: %v", folder, err)
			continue
		}
		if found.Commits > 0 {
			k.say(vet.Git, vet.Flags, "/%s of the work image holds %d commits that are not in the history of %.12s%s",
				folder, found.Commits, found.Commit, namedBy(found.Refs))
		} else if found.Objects > 0 {
			k.say(vet.Git, severity, "/%s of the work image holds %d objects to which %.12s does not lead", folder, found.Objects, found.Commit)
		}
		if one.remote != "" {
			k.say(vet.Git, severity, "/%s of the work image knows the remote %q", folder, one.remote)
		}
		if len(found.Left) > 0 {
			k.say(vet.Git, severity, "/%s of the work image has %s", folder, strings.Join(found.Left, ", "))
		}
	}
	return nil
}

func namedBy(refs []string) string {
	if len(refs) == 0 {
		return ""
	}
	return ", as " + refs[0]
}
