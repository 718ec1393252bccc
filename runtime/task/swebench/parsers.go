package swebench

import "strings"

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

// theirNames are the names of tests as SWE-bench's parser of go's runner gives them, which
// knows no packages.
func theirNames(parser string, names []string) []string {
	if parser != "gotest" {
		return names
	}
	out := make([]string, len(names))
	for i, name := range names {
		_, test, ok := strings.Cut(name, "::")
		if !ok {
			test = name
		}
		out[i] = test
	}
	return out
}
