package parser

import (
	"maps"
	"regexp"
	"strings"
)

// Environment is the command's environment with what makes the runner name its tests, so far
// as the command leaves that to the environment.
func (r Runner) Environment(command string, env map[string]string) map[string]string {
	switch {
	case r.Name == "pytest" && r.Whole && startsPytest(command) && !steersConftest(env["PYTEST_ADDOPTS"]):
		options := "-rap"
		if quiets := regexp.MustCompile(`\s-(?:q+|-quiet)\b`).FindAllString(command, -1); len(strings.Join(quiets, "")) > len(" -q") {
			options += " -v" // or there is no closing summary
		}
		out := maps.Clone(env)
		if out == nil {
			out = map[string]string{}
		}
		out["PYTEST_ADDOPTS"] = strings.TrimSpace(out["PYTEST_ADDOPTS"] + " " + options)
		return out
	case r.Environ != nil && r.Whole:
		return r.Environ(env)
	}
	return env
}
