package main

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/assayd/assayd/runtime/gateway/modeltest"
)

// testCommand is how the tests of the repository are run.
const testCommand = "python3 -m pytest -v -p no:cacheprovider"

// script is a model that knows what to say about some pull requests, and nothing else.
type script []*pull

// answer answers a request with a call of the tool that is asked for.
func (s script) answer(r modeltest.Request) modeltest.Answer {
	p := s.about(r)
	if p == nil {
		return modeltest.Answer{Status: http.StatusBadRequest, Message: "this model knows only the pull requests of the example"}
	}
	switch offered := func(tool string) bool { return slices.Contains(r.Tools, tool) }; {
	case offered("write_statement"):
		return call("write_statement", map[string]any{"statement": p.Model.Statement})
	case offered("describe_interface"):
		return call("describe_interface", map[string]any{"section": "Nothing to name."})
	case offered("classify"):
		return call("classify", map[string]any{"class": p.Model.Class, "score": p.Model.Difficulty, "reasoning": "The change is small and in one place."})
	case offered("rate_quality"):
		return call("rate_quality", map[string]any{"score": p.Model.Quality, "reasoning": "The tests check what the statement asks for."})
	}
	return p.work(r)
}

// about finds the pull request by its title, which the first words of each conversation have.
func (s script) about(r modeltest.Request) *pull {
	for _, turn := range r.Turns {
		if i := slices.IndexFunc(s, func(p *pull) bool { return strings.Contains(turn.Text, p.Title) }); i >= 0 {
			return s[i]
		}
	}
	return nil
}

// work is the model at the workbench, where it finds out how to test: it looks around, writes the
// tests that it has, and submits. What is refused after that it gives up.
func (p *pull) work(r modeltest.Request) modeltest.Answer {
	names := slices.Sorted(maps.Keys(p.written))
	steps := []modeltest.Answer{call("shell", map[string]any{"command": "ls; cat requirements.txt; " + testCommand})}
	for _, path := range names {
		steps = append(steps, call("write_file", map[string]any{"path": path, "content": p.written[path]}))
	}
	submit := map[string]any{"install": []string{}, "test_command": testCommand}
	if len(names) > 0 {
		submit["files"] = names
	}
	steps = append(steps, call("submit_tests", submit))
	if at := r.Results(); at < len(steps) {
		return steps[at]
	}
	return call("submit_tests", map[string]any{"install": []string{}, "test_command": "", "impossible": "The script has nothing else to propose."})
}

func call(tool string, arguments map[string]any) modeltest.Answer {
	return modeltest.Answer{
		Calls: []modeltest.Call{{Name: tool, Arguments: arguments}},
		Usage: modeltest.Usage{Input: 1000, Output: 100},
	}
}
