package cheat

// marker is what a parser takes for a result.
type marker struct {
	hints []string
	re    string
}

// markers are those of a parser, and of all where it is not known, or reads none itself.
// A program may print PASSED or ok as it likes: a marker is a whole line of a runner, or the
// better part of one, in a text of the code.
//
// Known to be honest: test runners, and programs that imitate one.
func markers(parser string) (all []marker) {
	const n = `(?:\d+|\$?\{[^}\n]*\}|%[ds])`
	table := []struct {
		parser string
		common bool // looked for where the parser is not known: no file that programs may have for themselves
		marker
	}{
		{"pytest", true, marker{[]string{" passed"}, n + ` passed\b[^"'\n]{0,40} in (?:\d|\{|%)`}},
		{"pytest", true, marker{[]string{" PASSED"}, `::\w+ PASSED\b| PASSED\s+\[\s*\d+%+\]`}},
		{"pytest", true, marker{[]string{"short test summary info"}, `short test summary info =`}},
		{"unittest", true, marker{[]string{"Ran "}, `(?:\b|\\n)Ran ` + n + ` tests? in`}},
		{"gotest", true, marker{[]string{"--- PASS", "=== RUN"}, `--- PASS: |=== RUN  `}},
		{"gotest", true, marker{[]string{"Action"}, `\bAction\\?["']\s*:\s*\\?["']pass\b`}},
		{"cargo", true, marker{[]string{"test result: "}, `test result: ok`}},
		{"jest", true, marker{[]string{"Tests:", "Test Suites:"}, `(?:Tests|Test Suites):\s+` + n + ` passed`}},
		{"mocha", true, marker{[]string{" passing"}, n + ` passing \(`}},
		{"tap", true, marker{[]string{"TAP version", "ok "}, `TAP version 1[34]|(?:\\n|["'])ok ` + n + ` - `}},
		{"structured_json", true, marker{[]string{"Structured Result"}, `Start Structured Result`}},
		{"score_sum", true, marker{[]string{"TOTAL_SCORE", "CASES_OK"}, `(?:\b|\\n)(?:TOTAL_SCORE|CASES_OK)\b`}},
		{"junit", false, marker{[]string{"<test", "junit"}, `<testsuites?\b|<testcase\b|\bjunit[\w.-]*\.xml\b`}},
		{"ctrf", false, marker{[]string{"ctrf"}, `\bctrf(?:-report)?\.json\b`}},
		{"reward", false, marker{[]string{"reward."}, `\breward\.(?:txt|json)\b`}},
	}
	if alias, ok := map[string]string{"pytest_v": "pytest", "django": "unittest", "node": "tap"}[parser]; ok {
		parser = alias
	}
	known := false
	for _, row := range table {
		known = known || row.parser == parser
	}
	for _, row := range table {
		if row.parser == parser || !known && row.common {
			all = append(all, row.marker)
		}
	}
	return all
}
