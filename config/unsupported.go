package config

import (
	"fmt"
	"slices"
)

// What the language has and this version does not do is all in this file: it is compiled
// and checked like the rest, shown as a warning, and kept from being started. To support
// something, delete its line.

// gap is one such thing in one block.
type gap struct {
	attr string // where it is written
	what string // "a network allow list"
	here bool
	pos  Pos // where, if it is not an attribute of the block
}

func (g gap) at(place Place) Pos {
	if g.pos != (Pos{}) {
		return g.pos
	}
	return place.Of(g.attr)
}

func benchmarkGaps(b *Benchmark, o *Options) []gap {
	var gaps []gap
	for _, i := range b.Imports {
		gaps = append(gaps, gap{what: "importing the format " + i.Format, here: len(o.Formats) > 0 && !slices.Contains(o.Formats, i.Format), pos: i.Pos})
	}
	return gaps
}

func taskGaps(t *Task, o *Options) []gap {
	return []gap{
		{attr: "judge.parser", what: "the parser " + t.Judge.Parser, here: len(o.Parsers) > 0 && !slices.Contains(o.Parsers, t.Judge.Parser)},
	}
}

func runGaps(r *Run, o *Options) []gap {
	use := o.Settings.engine()
	return []gap{
		{attr: "engine", what: "the engine " + r.Engine, here: !o.hasEngine(r.Engine)},
		{attr: "engine", what: fmt.Sprintf("the engine %s beside %s", r.Engine, use), here: o.hasEngine(r.Engine) && r.Engine != use},
	}
}

// settingsGaps warns about settings that nothing acts on yet.
func (f *file) settingsGaps(b *body, s *Settings) {
	for _, name := range sortedKeys(s.Engines) {
		g := gap{attr: "engine", what: "the engine " + name}
		switch {
		case name == s.Engine:
			continue
		case f.o.hasEngine(name):
			g.what += " beside " + s.Engine
		}
		s.Unsupported = append(s.Unsupported, g.what)
		f.add(g.warning(b.at[g.attr], "It is checked and otherwise ignored."))
	}
}

// warning says that something is not done.
func (g gap) warning(at Pos, then string) Diagnostic {
	return Diagnostic{
		Severity: Warning, Summary: "Not in this version yet: " + g.what, Detail: then,
		Line: at.Line, Column: at.Column, End: Point{Line: at.Line, Column: at.Column},
	}
}

// parsers are the names that judge.parser can have: those of the language and those that
// this version has in addition.
func (f *file) parsers() []string {
	names := []string{
		"pytest", "pytest_v", "unittest", "django", "gotest", "cargo", "jest", "mocha", "node", "junit", "ctrf",
		"tap", "score_sum", "structured_json", "reward", "exit_code",
	}
	for _, name := range f.o.Parsers {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// markGaps sets Unsupported in a block in force and returns the warnings for it.
func (l *loader) markGaps(b *Block, whole any) Diagnostics {
	var out Diagnostics
	mark := func(gaps []gap, place Place, list *[]string, then string) {
		*list = nil
		for _, g := range gaps {
			if g.here {
				*list = append(*list, g.what)
				out = append(out, g.warning(g.at(place), then))
			}
		}
	}
	switch spec := whole.(type) {
	case *Benchmark:
		mark(benchmarkGaps(spec, l.o), b.Place, &b.Unsupported, "The benchmark is checked and its tasks are not started.")
		for i := range spec.Tasks {
			t := &spec.Tasks[i]
			mark(taskGaps(t, l.o), t.Place, &t.Unsupported, fmt.Sprintf("The task %q is checked and not started.", t.Name))
		}
	case *Run:
		mark(runGaps(spec, l.o), b.Place, &b.Unsupported, "The run is checked and not started.")
	}
	return out
}

func here(gaps []gap) []gap {
	return slices.DeleteFunc(slices.Clone(gaps), func(g gap) bool { return !g.here })
}
