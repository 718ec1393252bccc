package decoy

// Support says whether there are decoys for the tests of one parser.
type Support struct {
	Parser   string
	Language string // "" = none
	Reason   string // why there are none
}

// Table lists every parser, sorted by name.
func Table() []Support {
	const anyLanguage, noTests = "its tests can be of any language", "it names no test of a file"
	return []Support{
		{"cargo", "rust", ""},
		{"ctrf", "", anyLanguage},
		{"django", "python", ""},
		{"exit_code", "", noTests},
		{"gotest", "go", ""},
		{"jest", "javascript", ""},
		{"junit", "", anyLanguage},
		{"mocha", "javascript", ""},
		{"node", "javascript", ""},
		{"pytest", "python", ""},
		{"pytest_v", "python", ""},
		{"reward", "", noTests},
		{"score_sum", "", noTests},
		{"structured_json", "", noTests},
		{"tap", "", anyLanguage},
		{"unittest", "python", ""},
	}
}

// Supported returns the language of a parser's tests, or the reason why there are no
// decoys for it; one of both is empty.
func Supported(parser string) (language, reason string) {
	for _, s := range Table() {
		if s.Parser == parser {
			return s.Language, s.Reason
		}
	}
	return "", "the parser " + parser + " is not known"
}
