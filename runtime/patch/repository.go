package patch

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/assayd/assayd/runtime/git"
)

// maxMemory is what one Git command may map. Binary patches can be made to unfold without
// end.
const maxMemory = 4 << 30

// gitConfig is what Git sees of it besides what holds for all of ours. Names are those of
// Linux; large files are compared as a whole, and packs are not mapped as one.
const gitConfig = `[core]
	protectNTFS = false
	protectHFS = false
	ignoreCase = false
	symlinks = true
	fileMode = true
	bigFileThreshold = 128m
	looseCompression = 1
	packedGitWindowSize = 32m
	packedGitLimit = 256m
[pack]
	compression = 1
[fastimport]
	unpackLimit = 1
`

// attributes overrule those that a tree has: content is what it is, byte for byte, and
// whether it is text is seen by looking at it.
const attributes = "* -text -eol -ident -filter -working-tree-encoding !diff !merge !whitespace !conflict-marker-size\n"

func newGit(dir string) (git.Git, error) {
	g, err := git.New(dir, gitConfig)
	return g.With("GIT_NO_LAZY_FETCH=1").Confined(maxMemory), err
}

// repository is a bare repository of ours: no hook, no remote, no work tree.
type repository struct {
	dir string
	git git.Git
}

func (w *DiffService) repository(dir string) *repository {
	return &repository{dir, w.git.In(dir).With("GIT_DIR=" + dir)}
}

// Names in a repository.
const (
	keptName = "tree" // holds the name of the tree of a base that is whole
	head     = "refs/heads/tree"
)

// create makes the folder of a repository that sees the objects of another one, "" = none.
func (r *repository) create(objects string) error {
	for _, dir := range []string{"refs", "objects/info", "info"} {
		if err := os.MkdirAll(filepath.Join(r.dir, dir), 0o700); err != nil {
			return err
		}
	}
	files := map[string]string{
		"HEAD":            "ref: refs/heads/none\n",
		"config":          "[core]\n\trepositoryFormatVersion = 0\n\tbare = true\n",
		"info/attributes": attributes,
	}
	if objects != "" {
		files["objects/info/alternates"] = filepath.Join(objects, "objects") + "\n"
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// keep notes the tree that was taken last, which makes a base of the repository.
func (r *repository) keep(ctx context.Context) (tree string, err error) {
	out, err := r.git.Run(ctx, "rev-parse", "--verify", head+"^{tree}")
	if err != nil {
		return "", err
	}
	f, err := os.Create(filepath.Join(r.dir, keptName))
	if err != nil {
		return "", err
	}
	defer f.Close()
	if _, err := f.WriteString(out); err != nil {
		return "", err
	}
	return strings.TrimSpace(out), f.Sync()
}

// kept is the tree of a base, or fs.ErrNotExist.
func (r *repository) kept() (string, error) {
	text, err := os.ReadFile(filepath.Join(r.dir, keptName))
	if err != nil {
		return "", err
	}
	tree, whole := strings.CutSuffix(string(text), "\n")
	if !whole {
		return "", fmt.Errorf("the note of a base: %w", fs.ErrNotExist)
	}
	return tree, nil
}

// object is a file of a tree.
type object struct{ mode, id string }

// list returns the files of a tree by their names.
func (r *repository) list(ctx context.Context, tree string) (map[string]object, error) {
	out, err := r.git.Run(ctx, "ls-tree", "-r", "-z", tree)
	if err != nil {
		return nil, err
	}
	files := map[string]object{}
	for line := range strings.SplitSeq(out, "\x00") {
		if what, name, ok := strings.Cut(line, "\t"); ok {
			f := strings.Fields(what) // mode, type, id
			files[name] = object{f[0], f[2]}
		}
	}
	return files, nil
}

// contents writes the content of objects to w, one after the other, each behind a line with
// its size and before a line break.
func (r *repository) contents(ctx context.Context, ids []string, w io.Writer) error {
	return r.git.Printing(maxContent).Pipe(ctx, strings.NewReader(strings.Join(ids, "\n")+"\n"), w,
		"cat-file", "--batch=%(objectsize)")
}
