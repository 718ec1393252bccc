package patch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/assayd/assayd/runtime/git"
	"github.com/assayd/assayd/runtime/truncate"
)

// The ways in which a diff may apply, in the order in which they are tried.
const (
	HowPlain    = "apply"   // as it is
	HowMerged   = "3way"    // merged with what it was made against
	HowEndings  = "endings" // with the line ends of the files that it changes
	HowTolerant = "recount" // by less context, whatever the white space and the counts of lines
)

// applyTime is what one try may take. A diff that takes longer is refused.
const applyTime = 5 * time.Minute

// maxWords is how much of Git's words a refusal has.
const maxWords = 1500

// ErrEmpty says that a diff has no content.
var ErrEmpty = errors.New("the patch is empty")

// NotApplied says that a diff is malformed, or not for this tree: its maker has to mend it.
type NotApplied struct {
	Words string // why, mostly Git's words; in one line, printable
}

// Error says why.
func (e *NotApplied) Error() string { return "the patch does not apply: " + e.Words }

// Apply returns what a diff changes in the base: all of it, or nothing with an error. What
// the diff is to blame for is a *NotApplied or ErrEmpty. The caller closes the changes.
func (b *Base) Apply(ctx context.Context, diff []byte) (c *Changes, err error) {
	names, err := Paths(diff)
	if err != nil {
		return nil, err
	}
	diff = slices.Clone(diff)
	if !bytes.HasSuffix(diff, []byte("\n")) { // models forget it
		diff = append(diff, '\n')
	}
	err = b.use(ctx, func(base *repository, tree string) error {
		return b.w.scratch(base.dir, func(r *repository) error {
			how, err := r.apply(ctx, tree, diff)
			if err != nil {
				return err
			}
			made, err := r.git.Run(ctx, "write-tree")
			if err != nil {
				return err
			}
			if c, err = r.changes(ctx, b.w.dir, tree, strings.TrimSpace(made)); err != nil {
				return err
			}
			c.How = how
			return c.within(names)
		})
	})
	if _, refused := errors.AsType[*NotApplied](err); err != nil && !refused {
		err = fmt.Errorf("apply a patch: %w", err)
	}
	if err != nil && c != nil {
		err = errors.Join(err, c.Close())
		c = nil
	}
	return c, err
}

// within makes sure that nobody was told of fewer files than are changed.
func (c *Changes) within(names []string) error {
	for _, file := range c.Files {
		if _, told := slices.BinarySearch(names, file); !told {
			return &NotApplied{fmt.Sprintf("it changes %.200q, which its headers do not say", file)}
		}
	}
	return nil
}

// apply has the index hold the tree with the diff in it, in the first way that works. Each
// begins with the tree alone.
func (r *repository) apply(ctx context.Context, tree string, diff []byte) (how string, err error) {
	first := r.try(ctx, tree, diff)
	if first == nil || !refusal(ctx, first) {
		return HowPlain, first
	}
	if err = r.try(ctx, tree, diff, "--3way"); err == nil || !refusal(ctx, err) {
		return HowMerged, err
	}
	mended, err := r.endings(ctx, tree, diff)
	if err != nil {
		return "", err
	}
	if !bytes.Equal(mended, diff) {
		if err = r.try(ctx, tree, mended); err == nil || !refusal(ctx, err) {
			return HowEndings, err
		}
	}
	if err = r.try(ctx, tree, mended, "-C1", "--recount", "--ignore-whitespace", "--unidiff-zero"); err == nil || !refusal(ctx, err) {
		return HowTolerant, err
	}
	// Git says in one way that the diff is wrong and that the disk is full. Where it can
	// still write, it was the diff.
	if _, err := r.git.Feed(ctx, bytes.NewReader(diff), "hash-object", "-w", "--stdin"); err != nil {
		return "", err
	}
	return "", &NotApplied{words(first)}
}

// try applies the diff to the tree.
func (r *repository) try(ctx context.Context, tree string, diff []byte, options ...string) error {
	if _, err := r.git.Run(ctx, "read-tree", tree); err != nil {
		return fmt.Errorf("look at the tree: %w", errors.Join(errMachinery, err))
	}
	args := slices.Concat([]string{"apply", "--cached", "--whitespace=nowarn", "-p1"}, options, []string{"-"})
	_, err := r.git.Within(applyTime).Feed(ctx, bytes.NewReader(diff), args...)
	return err
}

// errMachinery is never the fault of a diff.
var errMachinery = errors.New("git does not work")

// refusal reports whether a try failed by the diff: Git said so, or it died of it, or it
// took too long. One that was killed from outside was not refused.
func refusal(ctx context.Context, err error) bool {
	_, of := errors.AsType[*git.Error](err)
	return of && ctx.Err() == nil && !errors.Is(err, errMachinery) && !git.Killed(err)
}

// words are what Git said, fit for a terminal and a record.
func words(err error) string {
	text := err.Error()
	if failed, ok := errors.AsType[*git.Error](err); ok && failed.Text != "" {
		text = failed.Text
	}
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, strings.ToValidUTF8(text, "?"))
	return truncate.Marked(text, maxWords, " …")
}
