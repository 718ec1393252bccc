package parser

import "slices"

// entry is one name by which a parser is known.
type entry struct {
	name   string
	parser Parser
}

// table lists every parser there is, aliases included: the one place where a format is
// made known.
func table() []entry {
	return []entry{
		{"cargo", cargoParser()},
		{"ctrf", ctrfParser()},
		{"django", djangoParser()},
		{"exit_code", exitCodeParser()},
		{"gotest", gotestParser()},
		{"jest", jestParser()},
		{"junit", junitParser()},
		{"mocha", mochaParser()},
		{"node", nodeParser()},
		{"pytest", pytestParser()},
		{"pytest_v", pytestVParser()},
		{"reward", rewardParser()},
		{"score_sum", scoreSumParser()},
		{"structured_json", structuredParser()},
		{"tap", tapParser()},
		{"unittest", unittestParser()},
	}
}

// Lookup returns the parser of that name or alias, and whether there is one. The Name of
// a parser is never an alias.
func Lookup(name string) (Parser, bool) {
	for _, e := range table() {
		if e.name == name {
			return e.parser, true
		}
	}
	return Parser{}, false
}

// Names returns every name that Lookup knows, aliases included, sorted.
func Names() []string {
	var names []string
	for _, e := range table() {
		names = append(names, e.name)
	}
	slices.Sort(names)
	return names
}
