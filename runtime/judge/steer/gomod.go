package steer

import (
	"slices"
	"strings"
)

// mergeGoMod keeps the name of the module, and that no module which the base needs, and no
// folder, is replaced or hidden that was not before.
func mergeGoMod(base, submitted []byte) []byte {
	own, known := goDirectives(string(base))
	kept := map[string][]string{}
	for _, d := range own {
		if oneOf(d.verb, "module", "replace", "ignore") {
			kept[d.verb] = append(kept[d.verb], d.verb+" "+d.rest)
		}
	}
	theirs, _ := goDirectives(string(submitted))
	agrees := true
	seen := map[string][]string{}
	for _, d := range theirs {
		if !oneOf(d.verb, "module", "replace", "ignore") {
			continue
		}
		said := d.verb + " " + d.rest
		module, _, _ := strings.Cut(d.rest, " ")
		if d.verb == "replace" && !slices.Contains(kept["replace"], said) && !known[unquote(module)] {
			continue // of a module that is new itself
		}
		if d.verb == "module" && base == nil {
			continue
		}
		seen[d.verb] = append(seen[d.verb], said)
	}
	for _, verb := range []string{"module", "replace", "ignore"} {
		if verb == "module" && base == nil {
			continue
		}
		slices.Sort(seen[verb])
		slices.Sort(kept[verb])
		agrees = agrees && slices.Equal(slices.Compact(seen[verb]), slices.Compact(kept[verb]))
	}
	if agrees {
		return submitted
	}
	return rewritten(theirs, kept, known, base == nil)
}

// rewritten is a go.mod with the kept directives in place of its own.
func rewritten(theirs []goDirective, kept map[string][]string, known map[string]bool, fresh bool) []byte {
	var lines []string
	for _, verb := range []string{"module", "replace", "ignore"} {
		lines = append(lines, kept[verb]...)
	}
	for _, d := range theirs {
		module, _, _ := strings.Cut(d.rest, " ")
		said := d.verb + " " + d.rest
		switch d.verb {
		case "module":
			if !fresh {
				continue
			}
		case "ignore":
			continue
		case "replace":
			if known[unquote(module)] || slices.Contains(lines, said) {
				continue
			}
		}
		lines = append(lines, said)
	}
	return []byte(strings.Join(lines, "\n") + "\n")
}

type goDirective struct{ verb, rest string }

// goDirectives reads go.mod, blocks as single lines, and the modules that it names.
func goDirectives(text string) (all []goDirective, known map[string]bool) {
	known = map[string]bool{}
	block := ""
	for line := range strings.Lines(text) {
		code, comment, _ := strings.Cut(line, "//")
		words := strings.Fields(strings.NewReplacer("(", " ( ", ")", " ) ").Replace(code))
		switch {
		case len(words) == 0:
			continue
		case block == "" && len(words) > 1 && words[1] == "(":
			if words[len(words)-1] != ")" {
				block = words[0]
			}
			continue
		case words[0] == ")":
			block = ""
			continue
		case block != "":
			words = append([]string{block}, words...)
		}
		rest := strings.Join(words[1:], " ")
		if words[0] == "require" && strings.TrimSpace(comment) == "indirect" {
			rest += " // indirect"
		}
		all = append(all, goDirective{words[0], rest})
		if len(words) > 1 && oneOf(words[0], "require", "replace") {
			known[unquote(words[1])] = true
		}
	}
	return all, known
}

func unquote(word string) string { return strings.Trim(word, "\"`") }
