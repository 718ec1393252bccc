package swebench

import (
	"slices"
	"strings"

	"github.com/assayd/assayd/runtime/task"
)

// ours is the parser here that understands what SWE-bench's of that name does, "" if none.
func ours(name string) string {
	name = strings.TrimPrefix(name, "parse_log_")
	if strings.HasPrefix(name, "pytest") {
		return "pytest"
	}
	switch name {
	case "gotest", "cargo", "jest", "mocha", "tap", "node", "django", "unittest", "junit":
		return name
	case "jest_json":
		return "jest"
	case "go_test":
		return "gotest"
	}
	return ""
}

// theirs is SWE-bench's parser for what ours of that name understands, "" if it has none.
func theirs(name string) string {
	switch name {
	case "pytest", "gotest", "cargo", "jest", "tap", "django":
		return "parse_log_" + name
	case "node":
		return "parse_log_tap"
	case "pytest_v":
		return "parse_log_pytest"
	}
	return ""
}

// theirNames are the names of tests as SWE-bench's parsers give them: that of go's runner knows
// no packages, that of jest the title alone.
func theirNames(parser string, names []string) []string {
	out := slices.Clone(names)
	for i, name := range names {
		switch parser {
		case "gotest":
			if _, test, ok := strings.Cut(name, "::"); ok {
				out[i] = test
			}
		case "jest":
			levels := strings.Split(name, " > ")
			out[i] = levels[len(levels)-1]
		}
	}
	return out
}

// sameTitles are two tests of jest that SWE-bench would take for one.
func sameTitles(t task.Task) (title string, found bool) {
	if t.Judge.Parser != "jest" {
		return "", false
	}
	names := slices.Compact(slices.Sorted(slices.Values(slices.Concat(t.FailToPass, t.PassToPass))))
	seen := map[string]bool{}
	for _, title := range theirNames(t.Judge.Parser, names) {
		if seen[title] {
			return title, true
		}
		seen[title] = true
	}
	return "", false
}
