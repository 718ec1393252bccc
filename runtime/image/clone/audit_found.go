package clone

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/assayd/assayd/runtime/git"
)

// auditMemory bounds what Git may map while it reads a repository that somebody else wrote.
const auditMemory = 8 << 30

// Beyond is what of a repository leads further than a commit does.
type Beyond struct {
	Commit  string   // that was looked from
	Commits int      // that are not of its history
	Objects int      // all objects that it does not lead to, Commits among them
	Refs    []string // names of the refs to such commits
	Left    []string // reflogs and the like, by their path in Git's folder
}

// AuditFolder makes a folder for what is read of repositories. The caller removes it; what a
// crash leaves goes at the next start.
func (m *Mirrors) AuditFolder() (dir string, err error) {
	if err := m.prepare(); err != nil {
		return "", err
	}
	return os.MkdirTemp(m.Dir, cutPrefix)
}

// Audit looks for what in a repository the commit does not lead to; "" is what its HEAD
// names. gitDir is below an AuditFolder, with what was read of Git's own one: no configuration and
// no hooks. What is in it is hostile.
func (m *Mirrors) Audit(ctx context.Context, gitDir, commit string) (found Beyond, err error) {
	if err := m.prepare(); err != nil {
		return found, err
	}
	if err := writeConfig(gitDir); err != nil {
		return found, fmt.Errorf("look at a repository: %w", err)
	}
	g := m.git.In(gitDir).With("GIT_DIR=" + gitDir).Confined(auditMemory)
	if commit == "" {
		out, err := g.Run(ctx, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
		if err != nil {
			return found, fmt.Errorf("find the commit of a repository: %w", err)
		}
		commit = strings.TrimSpace(out)
	}
	found.Commit, found.Left = commit, memory(gitDir)
	beyond, err := objectsBeyond(ctx, g, commit)
	if err != nil {
		return found, fmt.Errorf("list the objects of a repository: %w", err)
	}
	found.Objects = len(beyond)
	ids := map[string]bool{}
	for _, o := range beyond {
		if o.kind == "commit" {
			found.Commits++
		}
		ids[o.id] = true
	}
	found.Refs, err = refsTo(ctx, g, ids)
	return found, err
}

// refsTo names the refs to one of the objects.
func refsTo(ctx context.Context, g git.Git, ids map[string]bool) (names []string, err error) {
	out, err := g.Run(ctx, "for-each-ref", "--format=%(objectname) %(refname)")
	if err != nil {
		return nil, fmt.Errorf("list the refs of a repository: %w", err)
	}
	for line := range strings.Lines(out) {
		if id, name, _ := strings.Cut(strings.TrimSpace(line), " "); ids[id] {
			names = append(names, name)
		}
	}
	return names, nil
}

// longHash is the name of an object in a repository with SHA-256.
var longHash = regexp.MustCompile(`\b[0-9a-f]{64}\b`)

// writeConfig makes a folder one that Git takes for its own, whatever was read of it.
func writeConfig(gitDir string) error {
	format := "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"
	head, _ := os.ReadFile(filepath.Join(gitDir, "HEAD")) // what is not there names nothing
	ref, _ := os.ReadFile(filepath.Join(gitDir, filepath.Clean("/"+strings.TrimSpace(strings.TrimPrefix(string(head), "ref: ")))))
	packed, _ := os.ReadFile(filepath.Join(gitDir, "packed-refs"))
	if longHash.Match(slices.Concat(head, ref, packed)) {
		format = "[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\tobjectformat = sha256\n"
	}
	return errors.Join(
		os.MkdirAll(filepath.Join(gitDir, "objects"), 0o700),
		os.MkdirAll(filepath.Join(gitDir, "refs"), 0o700),
		os.WriteFile(filepath.Join(gitDir, "config"), []byte(format), 0o600),
	)
}
