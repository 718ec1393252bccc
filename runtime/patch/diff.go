package patch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/assayd/assayd/runtime/git"
)

// MaxBytes is how long a diff may be.
const MaxBytes = 256 << 20

// ErrTooLong says that two trees differ by more than a diff can hold, or than Git has the
// memory to compare. It would say so again.
var ErrTooLong = errors.New("the diff is too long")

// Diff returns what leads from the base to a later state of it, as a unified diff in Git's
// format with full hashes, binary files and modes; empty when nothing changed. after is a
// tar of the given paths, relative to the top of the tree, "." being all of it; what is
// elsewhere counts as unchanged. What a .gitignore leaves out is not in it when it is new.
// Git's own folders and what is neither file nor link are as absent; a hard link is a file.
// Where there is too much to say, the error is ErrTooLong.
func (b *Base) Diff(ctx context.Context, after io.Reader, paths []string) ([]byte, error) {
	s, err := newScope(paths)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = b.use(ctx, func(base *repository, tree string) error {
		return b.w.scratch(base.dir, func(r *repository) error {
			err := r.take(ctx, after, s, func(in *intake) (string, error) { return tree, r.leaveOut(ctx, in, tree) })
			if err == nil {
				err = r.git.Printing(b.w.most).Pipe(ctx, nil, &out, "diff-tree", "-p", "--binary", "--full-index", "--no-renames",
					"--no-ext-diff", "--no-textconv", "--src-prefix=a/", "--dst-prefix=b/", tree, head)
			}
			if tooMuch(err) {
				err = fmt.Errorf("%w: %w", ErrTooLong, err)
			}
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("compare trees: %w", err)
	}
	return out.Bytes(), nil
}

// tooMuch reports whether Git failed by the amount of what it was given: it printed more than
// it may, or had no memory for it.
func tooMuch(err error) bool {
	return errors.Is(err, git.ErrTooMuch) || git.Said(err, "ut of memory", "Cannot allocate memory")
}

// leaveOut drops the files that the base does not have and that a .gitignore leaves out.
func (r *repository) leaveOut(ctx context.Context, in *intake, tree string) error {
	base, err := r.list(ctx, tree)
	if err != nil {
		return err
	}
	var fresh []string
	for name := range in.entries {
		if _, ok := base[name]; !ok {
			fresh = append(fresh, name)
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	slices.Sort(fresh)
	rules, err := r.rules(ctx, in, base)
	if err != nil || len(rules) == 0 {
		return err
	}
	ignored, err := r.ignored(ctx, rules, fresh)
	for _, name := range ignored {
		delete(in.entries, name)
	}
	return err
}

// rules are the contents of the .gitignore files that hold after the change: its own, and
// those of the base where it says nothing.
func (r *repository) rules(ctx context.Context, in *intake, base map[string]object) (map[string][]byte, error) {
	var names, ids []string
	for name, f := range base {
		if path.Base(name) == ".gitignore" && f.mode != modeLink && !in.scope.holds(name) && !in.covers(name) {
			names, ids = append(names, name), append(ids, f.id)
		}
	}
	rules := maps.Clone(in.rules)
	if len(names) == 0 {
		return rules, nil
	}
	var out bytes.Buffer
	if err := r.contents(ctx, ids, &out); err != nil {
		return nil, err
	}
	return rules, eachContent(&out, len(names), func(i int, size int64, content io.Reader) error {
		if size > maxRules {
			return nil
		}
		text, err := io.ReadAll(content)
		rules[names[i]] = text
		return err
	})
}

// covers reports whether a file has come to be where a folder above the name was.
func (in *intake) covers(name string) bool {
	for above := path.Dir(name); above != "."; above = path.Dir(above) {
		if _, ok := in.entries[above]; ok {
			return true
		}
	}
	return false
}

// ignored asks Git which of the names these rules leave out. It needs no file but them.
func (r *repository) ignored(ctx context.Context, rules map[string][]byte, names []string) ([]string, error) {
	dir := filepath.Join(filepath.Dir(r.dir), "rules")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	for name, text := range rules {
		if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
			return nil, err
		}
		if err := root.WriteFile(name, text, 0o600); err != nil {
			return nil, err
		}
	}
	// With "./" no name begins as a pattern.
	in := "./" + strings.Join(names, "\x00./") + "\x00"
	out, err := r.git.In(dir).With("GIT_WORK_TREE="+dir).Feed(ctx, strings.NewReader(in),
		"-c", "core.bare=false", "check-ignore", "--no-index", "-z", "--stdin")
	if git.Code(err) == 1 {
		return nil, nil // none of them
	}
	all := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	for i, name := range all {
		all[i] = strings.TrimPrefix(name, "./")
	}
	return all, err
}
