package extract

import (
	"bytes"
	"context"
	"path"
	"path/filepath"
	"strings"

	"github.com/assayd/assayd/runtime/mining/reason"
	"github.com/assayd/assayd/runtime/mining/screen"
)

// Modes of what is no plain file, as Git writes them.
const (
	linkMode    = "120000"
	projectMode = "160000"
)

// maxPointer is how long a pointer to Git LFS may be, and what leads somewhere.
const maxPointer = 4096

// sound looks at what was changed without its content.
func sound(entries []entry) error {
	for _, e := range entries {
		switch {
		case e.oldMode == projectMode, e.newMode == projectMode, e.name == ".gitmodules":
			return reason.Reject("submodule", "%s is of a submodule", e.name)
		case !allowed(e.name):
			return reason.Reject("bad_path", "%.200q is no name of a file", e.name)
		}
	}
	return nil
}

// allowed reports whether a name can be one of a file in a work tree: trees of strangers may
// hold others.
func allowed(name string) bool {
	if !filepath.IsLocal(name) || path.Clean(name) != name || len(name) > 4096 {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if strings.EqualFold(part, ".git") {
			return false
		}
	}
	return true
}

// content looks into what was changed: links, pointers to Git LFS, and what is no text.
func (c *clone) content(ctx context.Context, base, merge string, entries []entry) error {
	if err := c.small(ctx, entries); err != nil {
		return err
	}
	counted, err := c.numbers(ctx, base, merge, false)
	if err != nil {
		return err
	}
	fixture := ""
	for _, l := range counted {
		if l.binary && !screen.IsTest(l.name) {
			return reason.Reject("binary", "%s is no text", l.name)
		}
		if l.binary {
			fixture = l.name
		}
	}
	if fixture != "" {
		return reason.Reject("binary_fixture", "%s, which the tests use, is no text", fixture)
	}
	return nil
}

// small reads what is short enough to be a link or a pointer.
func (c *clone) small(ctx context.Context, entries []entry) error {
	var ids []string
	for _, e := range entries {
		for _, id := range []string{e.oldID, e.newID} {
			if strings.Trim(id, "0") != "" {
				ids = append(ids, id)
			}
		}
	}
	sizes, err := c.sizes(ctx, ids)
	if err != nil {
		return err
	}
	short := ids[:0]
	for _, id := range ids {
		if sizes[id] <= maxPointer {
			short = append(short, id)
		}
	}
	text := map[string]string{}
	if err := c.blobs(ctx, short, func(id string, content []byte) error {
		text[id] = string(content)
		return nil
	}); err != nil {
		return err
	}
	for _, e := range entries {
		target, short := text[e.newID]
		if e.newMode == linkMode && (!short || leadsOut(e.name, target)) {
			return reason.Reject("symlink", "%s leads to %.200q", e.name, target)
		}
		if pointer(text[e.oldID]) || pointer(target) {
			return reason.Reject("lfs", "the content of %s lies in Git LFS", e.name)
		}
	}
	return nil
}

// leadsOut reports whether a link leads out of the tree that it is in.
func leadsOut(name, target string) bool {
	return path.IsAbs(target) || target == "" || strings.ContainsRune(target, 0) || !filepath.IsLocal(path.Join(path.Dir(name), target))
}

// pointer reports whether a text is what Git LFS leaves in a repository.
func pointer(text string) bool {
	return strings.HasPrefix(text, "version https://git-lfs.github.com/spec/") || strings.HasPrefix(text, "version https://hawser.github.com/spec/")
}

// isText reports whether Git would take content for text.
func isText(content []byte) bool {
	return bytes.IndexByte(content[:min(len(content), 8000)], 0) < 0
}
