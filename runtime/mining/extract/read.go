package extract

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/assayd/assayd/runtime/mining/screen"
)

// MaxFile is how long a file may be that File returns, in bytes.
const MaxFile = 8 << 20

// leaf is a file of a tree.
type leaf struct{ mode, id, name string }

// tree lists the files of a commit, links included, parts that are other repositories not.
func (c *clone) tree(ctx context.Context, commit string) ([]leaf, error) {
	if _, err := c.need(ctx, commit, 1); err != nil {
		return nil, err
	}
	out, err := c.run(ctx, "ls-tree", "-r", "-z", "--full-tree", commit)
	if err != nil {
		return nil, fmt.Errorf("list the files of %s: %w", commit, err)
	}
	var all []leaf
	for line := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		about, name, ok := strings.Cut(line, "\t")
		fields := strings.Fields(about)
		if !ok || len(fields) != 3 {
			continue // an empty tree
		}
		if fields[1] == "blob" {
			all = append(all, leaf{fields[0], fields[2], name})
		}
	}
	return all, nil
}

// File returns the content of a file at a commit, fs.ErrNotExist where there is none. A link
// within the tree is followed once.
func (r *Repositories) File(ctx context.Context, repo, commit, name string) ([]byte, error) {
	var content []byte
	err := r.use(ctx, repo, func(c *clone) error {
		leaves, err := c.tree(ctx, commit)
		if err != nil {
			return err
		}
		content, err = c.file(ctx, commit, leaves, name, true)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read %s of %s at %s: %w", name, repo, commit, err)
	}
	return content, nil
}

func (c *clone) file(ctx context.Context, commit string, leaves []leaf, name string, follow bool) ([]byte, error) {
	at := -1
	for i, l := range leaves {
		if l.name == name {
			at = i
		}
	}
	if at < 0 {
		return nil, fs.ErrNotExist
	}
	id := leaves[at].id
	if err := c.fill(ctx, map[string]bool{id: true}, commit); err != nil {
		return nil, err
	}
	sizes, err := c.sizes(ctx, []string{id})
	if err != nil {
		return nil, err
	}
	if sizes[id] > MaxFile {
		return nil, fmt.Errorf("it has %d bytes; %d are the most", sizes[id], MaxFile)
	}
	var content []byte
	err = c.blobs(ctx, []string{id}, func(_ string, text []byte) error {
		content = bytes.Clone(text)
		return nil
	})
	if err == nil && leaves[at].mode == linkMode {
		if !follow || leadsOut(name, string(content)) {
			return nil, fs.ErrNotExist
		}
		return c.file(ctx, commit, leaves, path.Join(path.Dir(name), string(content)), false)
	}
	return content, err
}

// environment are the files that say what has to be installed, besides those in which
// package managers keep what they have settled on.
var environment = regexp.MustCompile(`^(package\.json|\.npmrc|\.nvmrc|\.node-version|pnpm-workspace\.yaml|go\.(mod|work)|pyproject\.toml|setup\.(py|cfg)|.*requirements.*\.(txt|in)|constraints.*\.txt|pipfile|environment\.ya?ml|\.python-version|runtime\.txt|\.tool-versions|tox\.ini|cargo\.toml|rust-toolchain(\.toml)?|pom\.xml|(build|settings)\.gradle(\.kts)?|gradle\.properties|libs\.versions\.toml|gradle-wrapper\.properties|build\.sbt|cmakelists\.txt|vcpkg\.json|conanfile\.(txt|py)|meson\.build|gemfile|.*\.gemspec|\.ruby-version|composer\.json|mix\.exs|.*\.(cs|fs|vb)proj|directory\.(packages|build)\.props|global\.json|package\.swift)$`)

// Lock returns a hash of all that says what a commit needs to be built and tested: manifests
// and locked versions, but for those in vendored projects and in data of tests. Where it is
// equal for two commits of a repository, one environment does for both.
func (r *Repositories) Lock(ctx context.Context, repo, commit string) (string, error) {
	hash := ""
	err := r.use(ctx, repo, func(c *clone) error {
		leaves, err := c.tree(ctx, commit)
		if err != nil {
			return err
		}
		sum := sha256.New()
		for _, l := range leaves {
			switch kind := screen.KindOf(l.name); {
			case kind == screen.Vendored, kind == screen.Fixture, kind == screen.Test:
			case kind == screen.Lock, environment.MatchString(strings.ToLower(path.Base(l.name))), strings.Contains("/"+l.name, "/requirements/"):
				fmt.Fprintf(sum, "%s %s %s\x00", l.mode, l.id, l.name)
			}
		}
		hash = hex.EncodeToString(sum.Sum(nil))
		return nil
	})
	return hash, err
}

// sizes are the lengths of contents, in bytes.
func (c *clone) sizes(ctx context.Context, ids []string) (map[string]int64, error) {
	var out bytes.Buffer
	if err := c.pipe(ctx, strings.NewReader(strings.Join(ids, "\n")+"\n"), &out, "cat-file", "--batch-check=%(objectname) %(objectsize)"); err != nil {
		return nil, fmt.Errorf("measure files of %s: %w", c.repo, err)
	}
	sizes := map[string]int64{}
	for line := range strings.Lines(out.String()) {
		id, size, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, err := strconv.ParseInt(size, 10, 64)
		if err != nil && id != "" {
			return nil, fmt.Errorf("measure files of %s: %s", c.repo, strings.TrimSpace(line))
		}
		sizes[id] = n
	}
	return sizes, nil
}

// blobs reads contents one after the other; what visit gets holds until it returns.
func (c *clone) blobs(ctx context.Context, ids []string, visit func(id string, content []byte) error) error {
	if len(ids) == 0 {
		return nil
	}
	b := &batch{visit: visit}
	err := c.pipe(ctx, strings.NewReader(strings.Join(ids, "\n")+"\n"), b, "cat-file", "--batch=%(objectname) %(objectsize)")
	if b.err != nil {
		return b.err
	}
	if err != nil {
		return fmt.Errorf("read files of %s: %w", c.repo, err)
	}
	return nil
}

// batch reads what cat-file writes: for each object a line with its name and its size, the
// content and the end of a line.
type batch struct {
	visit func(id string, content []byte) error
	rest  []byte
	id    string
	size  int
	begun bool  // id and size are those of what comes
	err   error // of visit
}

// Write implements io.Writer.
func (b *batch) Write(p []byte) (int, error) {
	b.rest = append(b.rest, p...)
	used := 0
	for {
		text := b.rest[used:]
		if !b.begun {
			end := bytes.IndexByte(text, '\n')
			if end < 0 {
				break
			}
			id, size, _ := strings.Cut(string(text[:end]), " ")
			n, err := strconv.Atoi(size)
			if err != nil || n < 0 {
				return 0, fmt.Errorf("git tells of an object in an unknown form: %.200q", text[:end])
			}
			b.id, b.size, b.begun = id, n, true
			used += end + 1
			continue
		}
		if len(text) <= b.size {
			break
		}
		if b.err = b.visit(b.id, text[:b.size]); b.err != nil {
			return 0, b.err
		}
		used += b.size + 1
		b.begun = false
	}
	if used > 0 {
		b.rest = append(b.rest[:0], b.rest[used:]...)
	}
	return len(p), nil
}
