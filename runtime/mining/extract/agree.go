package extract

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/assayd/assayd/runtime/mining/github"
	"github.com/assayd/assayd/runtime/mining/reason"
	"github.com/assayd/assayd/runtime/mining/screen"
)

// agrees compares what lies between a base and the merge with what the pull request lists:
// names, what became of them, and lines. Where they differ somebody else's work is in it.
func (c *clone) agrees(ctx context.Context, base string, p github.Pull) error {
	entries, err := c.entries(ctx, base, p.MergeSHA, false)
	if err != nil {
		return err
	}
	if len(entries) == 0 {
		return reason.Reject("empty", "nothing is changed from %s to %s", base, p.MergeSHA)
	}
	if why := sameNames(entries, p); why != "" {
		return foreign(base, why)
	}
	if err := c.fillEntries(ctx, entries, base, p.MergeSHA); err != nil {
		return err
	}
	counted, err := c.numbers(ctx, base, p.MergeSHA, true)
	if err != nil {
		return err
	}
	if why := sameLines(counted, p.Files); why != "" {
		return foreign(base, why)
	}
	return nil
}

func foreign(base, why string) error {
	return reason.Reject("foreign_commits", "from %s to the merge %s", base, why)
}

// Ways in which a file differs, as far as GitHub and Git tell them alike.
const (
	added   = "added"
	removed = "removed"
	changed = "changed"
)

// sameNames says where the files differ from those listed; "" = nowhere. A rename counts as
// a file that goes and one that comes: which files belong together is a guess of each.
func sameNames(entries []entry, p github.Pull) string {
	git, listed := map[string]string{}, map[string]string{}
	for _, e := range entries {
		git[e.name] = map[byte]string{'A': added, 'D': removed}[e.status]
		if git[e.name] == "" {
			git[e.name] = changed
		}
	}
	for _, f := range p.Files {
		listed[f.Name] = changed
		switch f.Status {
		case "added", "copied":
			listed[f.Name] = added
		case "removed":
			listed[f.Name] = removed
		case "renamed":
			listed[f.Name] = added
			if f.Previous != "" {
				listed[f.Previous] = removed
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(listed)) {
		if git[name] != listed[name] {
			return fmt.Sprintf("%s is %s, and %s as the pull request has it", name, orNot(git[name]), listed[name])
		}
	}
	if p.FilesCut {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(git)) {
		if listed[name] == "" {
			return fmt.Sprintf("%s is %s, which the pull request does not list", name, git[name])
		}
	}
	return ""
}

func orNot(state string) string {
	if state == "" {
		return "not changed"
	}
	return state
}

// sameLines says where the numbers of lines differ from those listed; "" = nowhere. Files
// that only one of the two takes for renamed are not compared.
func sameLines(counted []lines, files []github.File) string {
	type key struct{ old, name string }
	listed := map[key]github.File{}
	for _, f := range files {
		if f.Status != "renamed" {
			f.Previous = ""
		}
		listed[key{f.Previous, f.Name}] = f
	}
	for _, l := range counted {
		f, ok := listed[key{l.old, l.name}]
		if !ok || l.binary || f.Status == "copied" || l.added == f.Added && l.removed == f.Removed {
			continue
		}
		// The attributes of a repository have GitHub count no lines of what is no text to it.
		kind := screen.KindOf(l.name)
		if f.Added == 0 && f.Removed == 0 && kind != screen.Source && kind != screen.Test {
			continue
		}
		return fmt.Sprintf("%s has +%d -%d lines, and +%d -%d as the pull request has it", l.name, l.added, l.removed, f.Added, f.Removed)
	}
	return ""
}
