package sanitize

import (
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/assayd/assayd/runtime/task"
)

// Filter says which paths of a workdir may be submitted at all. Names are slash-separated,
// clean and relative to the workdir. It is safe for use by several goroutines.
type Filter struct {
	roots []string
	drop  patterns
}

// NewFilter compiles the submit paths and exclusions of a task. Git's own folder is left
// out too, unless one of the paths names it: it changes without any change of the work.
func NewFilter(s task.Submit) (*Filter, error) {
	f := &Filter{}
	exclude := slices.Clone(s.Exclude)
	git := false
	for _, p := range s.Paths {
		root := path.Clean(p)
		if path.IsAbs(root) || root == ".." || strings.HasPrefix(root, "../") {
			return nil, fmt.Errorf("submit path %q is not below the workdir", p)
		}
		git = git || slices.Contains(strings.Split(root, "/"), ".git")
		f.roots = append(f.roots, root)
	}
	if !git {
		exclude = append(exclude, ".git")
	}
	var err error
	if f.drop, err = compile(exclude); err != nil {
		return nil, fmt.Errorf("submit exclusions: %w", err)
	}
	return f, nil
}

// Keep reports whether the entry of that name may be submitted.
func (f *Filter) Keep(name string) bool {
	return f.inside(name) && !f.drop.below(name)
}

// Enter reports whether anything in the folder of that name may be submitted, the folder
// being a root, below one, or on the way to one.
func (f *Filter) Enter(dir string) bool {
	if f.drop.below(dir) {
		return false
	}
	return dir == "." || f.inside(dir) || slices.ContainsFunc(f.roots, func(root string) bool {
		return strings.HasPrefix(root, dir+"/")
	})
}

func (f *Filter) inside(name string) bool {
	return slices.ContainsFunc(f.roots, func(root string) bool {
		return root == "." || name == root || strings.HasPrefix(name, root+"/")
	})
}

// patterns are globs that hold at any depth, for a path and all that lies below it.
type patterns []pattern

type pattern struct {
	glob    string
	base    bool // no slash inside: compared with the last element
	rooted  bool // began with a slash: counts from the workdir only
	literal bool
	suffix  string // of a base that is a star and then this
}

func compile(globs []string) (patterns, error) {
	var ps patterns
	for _, g := range globs {
		p := pattern{glob: strings.TrimRight(strings.TrimPrefix(g, "./"), "/")}
		p.glob, p.rooted = strings.CutPrefix(p.glob, "/")
		if p.glob == "" || p.glob == "." {
			continue
		}
		if !doublestar.ValidatePattern(p.glob) {
			return nil, fmt.Errorf("%q is not a valid pattern", g)
		}
		if alternatives(p.glob) > maxAlternatives {
			return nil, fmt.Errorf("%.80q stands for more than %d patterns", g, maxAlternatives)
		}
		p.base = !p.rooted && !strings.Contains(p.glob, "/")
		p.literal = !strings.ContainsAny(p.glob, `*?[{\`)
		if rest, star := strings.CutPrefix(p.glob, "*"); p.base && star && !strings.ContainsAny(rest, `*?[{\`) {
			p.suffix = rest
		}
		if !p.base && !p.rooted && !p.literal {
			p.glob = "**/" + p.glob
		}
		ps = append(ps, p)
	}
	return ps, nil
}

// maxAlternatives bounds what the braces of one pattern multiply to: each is tried, for each
// path.
const maxAlternatives = 1000

// alternatives is the most patterns without braces that a glob can stand for, however its
// commas are spread over its braces.
func alternatives(glob string) float64 {
	var braces, commas float64
	for i := 0; i < len(glob); i++ {
		switch glob[i] {
		case '\\':
			i++ // the next one is a letter
		case '{':
			braces++
		case ',':
			commas++
		}
	}
	if braces == 0 {
		return 1
	}
	return math.Pow(1+commas/braces, braces)
}

// exactly reports whether a pattern matches this very path.
func (ps patterns) exactly(name string) bool {
	base := path.Base(name)
	for _, p := range ps {
		switch {
		case p.literal && p.base:
			if base == p.glob {
				return true
			}
		case p.literal:
			if name == p.glob || !p.rooted && strings.HasSuffix(name, "/"+p.glob) {
				return true
			}
		case p.suffix != "":
			if strings.HasSuffix(base, p.suffix) {
				return true
			}
		case p.base:
			if doublestar.MatchUnvalidated(p.glob, base) {
				return true
			}
		case doublestar.MatchUnvalidated(p.glob, name):
			return true
		}
	}
	return false
}

// below reports whether a pattern matches the path or a folder above it.
func (ps patterns) below(name string) bool {
	for p := range Upwards(name) {
		if ps.exactly(p) {
			return true
		}
	}
	return false
}

// Upwards yields a clean relative path and then each folder above it, without ".".
func Upwards(name string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for name != "." && name != "" {
			if !yield(name) {
				return
			}
			i := strings.LastIndexByte(name, '/')
			if i < 0 {
				return
			}
			name = name[:i]
		}
	}
}
