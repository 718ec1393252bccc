package extract

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/assayd/assayd/runtime/mining/reason"
	"github.com/assayd/assayd/runtime/mining/screen"
)

// entry is a file between two commits.
type entry struct {
	oldMode, newMode string
	oldID, newID     string
	status           byte   // A, D, M, T; R and C where renames are looked for
	old              string // name before, "" unless R or C
	name             string // after; before it where it is removed
}

// crosses reports whether a file leaves or joins the tests by its new name.
func (e entry) crosses() bool { return e.old != "" && screen.IsTest(e.old) != screen.IsTest(e.name) }

// sections is how many parts of a patch tell of it: one of another type is removed and made.
func (e entry) sections() int {
	if e.status == 'T' {
		return 2
	}
	return 1
}

// entries lists what differs between two commits. Without renames it looks at no content.
func (c *clone) entries(ctx context.Context, base, merge string, renames bool) ([]entry, error) {
	out, err := c.run(ctx, "diff-tree", "-r", "-z", "--raw", "--no-abbrev", detect(renames), base, merge)
	if err != nil {
		return nil, fmt.Errorf("compare %s with %s: %w", base, merge, err)
	}
	return parseRaw(out)
}

func detect(renames bool) string {
	if renames {
		return "--find-renames"
	}
	return "--no-renames"
}

var errRaw = errors.New("git tells of a change in an unknown form")

// parseRaw reads the raw form of a difference, with NUL behind each part.
func parseRaw(out string) ([]entry, error) {
	var all []entry
	fields := strings.Split(out, "\x00")
	fields = fields[:len(fields)-1]
	for len(fields) > 0 {
		about := strings.Fields(strings.TrimPrefix(fields[0], ":"))
		if len(about) != 5 || len(fields) < 2 {
			return nil, errRaw
		}
		e := entry{oldMode: about[0], newMode: about[1], oldID: about[2], newID: about[3], status: about[4][0], name: fields[1]}
		fields = fields[2:]
		if e.status == 'R' || e.status == 'C' {
			if len(fields) == 0 {
				return nil, errRaw
			}
			e.old, e.name, fields = e.name, fields[0], fields[1:]
		}
		all = append(all, e)
	}
	return all, nil
}

// lines is how much of a file differs.
type lines struct {
	old, name      string // old is "" unless it was renamed
	added, removed int
	binary         bool
}

// numbers counts lines. The content has to be there.
func (c *clone) numbers(ctx context.Context, base, merge string, renames bool) ([]lines, error) {
	out, err := c.run(ctx, "diff-tree", "-r", "-z", "--numstat", detect(renames), base, merge)
	if err != nil {
		return nil, fmt.Errorf("count the lines between %s and %s: %w", base, merge, err)
	}
	return parseNumstat(out)
}

func parseNumstat(out string) ([]lines, error) {
	var all []lines
	fields := strings.Split(out, "\x00")
	fields = fields[:len(fields)-1]
	for len(fields) > 0 {
		counts := strings.SplitN(fields[0], "\t", 3)
		fields = fields[1:]
		if len(counts) != 3 {
			return nil, errRaw
		}
		l := lines{name: counts[2], binary: counts[0] == "-"}
		if l.name == "" {
			if len(fields) < 2 {
				return nil, errRaw
			}
			l.old, l.name, fields = fields[0], fields[1], fields[2:]
		}
		if !l.binary {
			var err, err2 error
			l.added, err = strconv.Atoi(counts[0])
			l.removed, err2 = strconv.Atoi(counts[1])
			if err != nil || err2 != nil {
				return nil, errRaw
			}
		}
		all = append(all, l)
	}
	return all, nil
}

// patch is the difference as a patch, no longer than it may be.
func (c *clone) patch(ctx context.Context, base, merge string, renames bool) ([]byte, error) {
	out := &room{most: MaxPatch}
	err := c.pipe(ctx, nil, out, "diff-tree", "-r", "-p", "--binary", "--full-index", detect(renames), base, merge)
	if out.full {
		return nil, reason.Reject("too_large", "the patch has more than %d bytes", MaxPatch)
	}
	if err != nil {
		return nil, fmt.Errorf("make the patch from %s to %s: %w", base, merge, err)
	}
	return out.Bytes(), nil
}

// room is a buffer that takes no more than so much.
type room struct {
	bytes.Buffer
	most int
	full bool
}

// Write implements io.Writer.
func (r *room) Write(p []byte) (int, error) {
	if r.Len()+len(p) > r.most {
		r.full = true
		return 0, errEnough
	}
	return r.Buffer.Write(p)
}

// cut divides a patch into those of its files. No line of content begins as the first line
// of such a part does: it has a mark before it, or no blank in it where it is binary.
func cut(patch []byte) [][]byte {
	const header = "diff --git "
	var sections [][]byte
	for len(patch) > 0 {
		end := len(patch)
		if at := bytes.Index(patch, []byte("\n"+header)); at >= 0 {
			end = at + 1
		}
		sections = append(sections, patch[:end])
		patch = patch[end:]
	}
	return sections
}
