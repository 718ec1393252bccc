package extract

import (
	"context"
	"fmt"
	"slices"

	"github.com/assayd/assayd/runtime/mining/github"
	"github.com/assayd/assayd/runtime/mining/reason"
	"github.com/assayd/assayd/runtime/mining/screen"
)

// MaxPatch is how long the patch of a pull request may be, in bytes.
const MaxPatch = 16 << 20

// maxRebased is how many commits of a rebase are looked through.
const maxRebased = 250

// Change is what a pull request changed in its repository. Patches are as "git diff --binary
// --full-index" writes them. Source and Tests, applied one after the other in either order,
// are Patch: a file that moves between the two is removed by one and made by the other.
type Change struct {
	Base, Merge string // full hashes; Base is the commit that the merge was made onto
	Patch       []byte
	Source      []byte
	Tests       []byte   // the files that screen.IsTest knows; may be empty
	TestFiles   []string // names after the change, or before it of what it removes; sorted
	Removed     []string // of both: names that are not there after the change, old ones included
}

// Change fetches and splits what a pull request changed. A pull request that is refused ends
// in a *reason.Rejected, and a server that is away in an *Unavailable:
//
//	unreachable      the repository has no such commit, or is gone
//	empty            nothing was changed
//	tests_only       nothing but tests was
//	foreign_commits  the merge changes other than what the pull request lists: it holds others' work
//	submodule        another repository is part of it
//	symlink          a link leads out of the tree
//	bad_path         a name that no file may have
//	lfs              content lies in Git LFS
//	binary           a source file is not text
//	binary_fixture   a file of the tests is not text
//	too_large        the patch, or the clone that is needed for it
func (r *Repositories) Change(ctx context.Context, p github.Pull) (Change, error) {
	var change Change
	err := r.use(ctx, p.Repo, func(c *clone) error {
		base, err := c.base(ctx, p)
		if err != nil {
			return err
		}
		change, err = c.change(ctx, base, p.MergeSHA)
		return err
	})
	if err != nil {
		return Change{}, fmt.Errorf("extract %s#%d: %w", p.Repo, p.Number, err)
	}
	return change, nil
}

// base finds what a pull request was merged onto: the first parent of a merge, the parent of
// a squash, or that of the first of several commits that were put on top.
func (c *clone) base(ctx context.Context, p github.Pull) (string, error) {
	line, err := c.need(ctx, p.MergeSHA, 2)
	if err != nil {
		return "", err
	}
	if len(line) < 2 {
		return "", reason.Reject("foreign_commits", "%s is the first commit of %s", p.MergeSHA, p.Repo)
	}
	refused := c.agrees(ctx, line[1].hash, p)
	if !otherBase(refused) || len(line[0].parents) > 1 || p.Commits < 2 {
		return line[1].hash, refused
	}
	// One commit that is not all of it: the last of a rebase, perhaps. Commits that turn out
	// empty are left out of one, and so are merges.
	if line, err = c.need(ctx, p.MergeSHA, min(p.Commits, maxRebased)+1); err != nil {
		return "", err
	}
	onto := slices.IndexFunc(line, func(n node) bool { return len(n.parents) != 1 })
	if onto < 0 {
		onto = len(line) - 1
	}
	for ; onto > 1; onto-- {
		err := c.agrees(ctx, line[onto].hash, p)
		if !otherBase(err) {
			return line[onto].hash, err
		}
	}
	return "", refused
}

// otherBase reports whether a pull request may be another one's change, or none, only because
// it was compared with a wrong base.
func otherBase(err error) bool {
	r := reason.Of(err)
	return r != nil && (r.Code == "foreign_commits" || r.Code == "empty")
}

// change splits what lies between two commits that are there.
func (c *clone) change(ctx context.Context, base, merge string) (Change, error) {
	entries, err := c.entries(ctx, base, merge, false)
	if err != nil {
		return Change{}, err
	}
	if err := sound(entries); err != nil {
		return Change{}, err
	}
	if err := c.fillEntries(ctx, entries, base, merge); err != nil {
		return Change{}, err
	}
	if err := c.content(ctx, base, merge, entries); err != nil {
		return Change{}, err
	}
	return c.split(ctx, base, merge)
}

// fillEntries gets the content on both sides of what was changed.
func (c *clone) fillEntries(ctx context.Context, entries []entry, base, merge string) error {
	wanted := map[string]bool{}
	for _, e := range entries {
		wanted[e.oldID], wanted[e.newID] = true, true
	}
	return c.fill(ctx, wanted, merge, base)
}

// split makes the patches.
func (c *clone) split(ctx context.Context, base, merge string) (Change, error) {
	change := Change{Base: base, Merge: merge}
	renames := true
	entries, err := c.entries(ctx, base, merge, renames)
	if err != nil {
		return Change{}, err
	}
	if slices.ContainsFunc(entries, entry.crosses) {
		// One part would need what only the other has.
		renames = false
		if entries, err = c.entries(ctx, base, merge, renames); err != nil {
			return Change{}, err
		}
	}
	if change.Patch, err = c.patch(ctx, base, merge, renames); err != nil {
		return Change{}, err
	}
	sections := cut(change.Patch)
	for _, e := range entries {
		n := e.sections()
		if n > len(sections) {
			return Change{}, fmt.Errorf("the patch of %s has fewer parts than files", merge)
		}
		part := &change.Source
		if screen.IsTest(e.name) {
			part = &change.Tests
			change.TestFiles = append(change.TestFiles, e.name)
		}
		for _, section := range sections[:n] {
			*part = append(*part, section...)
		}
		sections = sections[n:]
		if e.status == 'D' {
			change.Removed = append(change.Removed, e.name)
		}
		if e.status == 'R' {
			change.Removed = append(change.Removed, e.old)
		}
	}
	if len(sections) > 0 {
		return Change{}, fmt.Errorf("the patch of %s has more parts than files", merge)
	}
	if len(change.Source) == 0 {
		return Change{}, reason.Reject("tests_only", "no source is changed")
	}
	slices.Sort(change.TestFiles)
	slices.Sort(change.Removed)
	return change, nil
}
