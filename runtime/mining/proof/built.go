package proof

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/assayd/assayd/runtime/mining/reason"
)

// built sees to it that tests fail before as tests do. One that was not seen, in a file or a
// package of which nothing ran, has not failed: it did not build, which an agent can only
// mend if the statement says what to call things.
func (p *prover) built(ctx context.Context) error {
	for _, s := range p.before {
		p.unbuilt = append(p.unbuilt, kept(p.proof.FailToPass, p.lacks(s))...)
	}
	slices.Sort(p.unbuilt)
	p.unbuilt = slices.Compact(p.unbuilt)
	if len(p.unbuilt) == 0 {
		return nil
	}
	said, err := p.said(ctx, p.before[0])
	if err != nil {
		return err
	}
	after, err := p.said(ctx, p.after[0])
	if err != nil {
		return err
	}
	still := missing(after) // what fails on both sides is nothing that the fix brings
	p.proof.Missing = kept(missing(said), func(name string) bool { return !slices.Contains(still, name) })
	p.named = p.told() || p.c.Interface && len(p.proof.Missing) == 0
	if p.named {
		return nil
	}
	what := ""
	if len(p.proof.Missing) > 0 {
		what = "; missing: " + some(p.proof.Missing)
	}
	return reason.Reject(CollectionError, "before the fix %s did not run%s%s", some(p.unbuilt), what, behind(telling(said)))
}

// lacks says which tests that were not seen in a run were not there to run: nothing of their
// file or package ran, or that itself was told as an error, under a name that no test has
// with the fix.
func (p *prover) lacks(s seen) func(name string) bool {
	ran := map[string]bool{} // groups
	var errors []string
	for name, w := range s.ways {
		real := slices.ContainsFunc(p.after, func(a seen) bool { return a.way(name) != absent })
		if real {
			ran[groupOf(name)] = true
		} else if w == failed {
			errors = append(errors, name)
		}
	}
	return func(name string) bool {
		group := groupOf(name)
		return s.way(name) == absent &&
			(!ran[group] || slices.ContainsFunc(errors, func(of string) bool { return within(of, group) }))
	}
}

// kept are the names for which something holds.
func kept(names []string, holds func(string) bool) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !holds(name) })
}

// groupOf is the file or the package in the name of a test, "" where names do not say it.
func groupOf(name string) string {
	group, _, ok := strings.Cut(name, "::")
	if !ok {
		return ""
	}
	return group
}

// within reports whether what runners tell under a name is of a group.
func within(name, group string) bool {
	return group == "" || name == group || strings.HasPrefix(name, group+"::") || strings.HasPrefix(name, group+" ")
}

// said is what a run said of its troubles.
func (p *prover) said(ctx context.Context, s seen) (string, error) {
	var text strings.Builder
	for _, t := range s.report.Tests {
		if s.way(t.Name) == failed {
			text.WriteString(t.Message + "\n")
		}
	}
	text.WriteString(s.report.Problem + "\n")
	if p.c.Printed == nil {
		return text.String(), nil
	}
	printed, err := p.c.Printed(ctx, s.report)
	if err != nil {
		return "", fmt.Errorf("look up what the tests of %s printed: %w", p.c.Task.Name, err)
	}
	return text.String() + printed, nil
}

// complaints are how compilers and interpreters put that they do not find a name.
func complaints() []*regexp.Regexp {
	var all []*regexp.Regexp
	for _, form := range []string{
		"cannot import name '([\\w.]+)'", "No module named '([\\w.]+)'", "has no attribute '(\\w+)'", "name '(\\w+)' is not defined", // Python
		"undefined: ([\\w.]+)", "has no field or method (\\w+)", "unknown field (\\w+)", "undefined \\(type .* has no field or method (\\w+)", "provides package (\\S+)[:;]", // Go
		"Cannot find module '([^']+)'", "provide an export named '(\\w+)'", "\\b(\\w+) is not defined", "\\b([\\w.]+) is not a (?:function|constructor)", // JavaScript
		"Cannot find name '(\\w+)'", "Property '(\\w+)' does not exist", "no exported member '?\"?(\\w+)", // TypeScript
		"cannot find [\\w, ]+ `(\\w+)`", "no [\\w, ]+ named `(\\w+)`", "unresolved import `([^`]+)`", "no `(\\w+)` in ", // Rust
		"symbol: +(?:class|method|variable|constructor|interface) (\\w+)",                         // Java
		"undefined (?:local variable or )?method [`'](\\w+)'", "uninitialized constant ([\\w:]+)", // Ruby
	} {
		all = append(all, regexp.MustCompile(form))
	}
	return all
}

// missing are the names that somebody complains of not to find, in the order of the text.
func missing(text string) (names []string) {
	const most = 20
	forms := complaints()
	for line := range strings.Lines(text) {
		for _, form := range forms {
			for _, m := range form.FindAllStringSubmatch(clip(line, 2000), -1) {
				if name := m[1]; len(names) < most && len(name) < 200 && !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
	}
	return names
}

// telling are the lines that complain of something, or else the first ones.
func telling(text string) string {
	const most = 8
	forms := complaints()
	var lines, first []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if len(first) < most {
			first = append(first, line)
		}
		if len(lines) < most && slices.ContainsFunc(forms, func(f *regexp.Regexp) bool { return f.MatchString(clip(line, 2000)) }) {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		lines = first
	}
	return strings.Join(lines, " | ")
}

// told reports whether the statement has all the names that were missing.
func (p *prover) told() bool {
	for _, name := range p.proof.Missing {
		last := name[strings.LastIndexAny(name, "./:")+1:]
		word := regexp.MustCompile(`(^|\W)` + regexp.QuoteMeta(last) + `(\W|$)`)
		if last == "" || !word.MatchString(p.c.Statement) {
			return false
		}
	}
	return len(p.proof.Missing) > 0
}
