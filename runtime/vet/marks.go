package vet

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/assayd/assayd/runtime/judge/parser"
)

// marks is what a parser takes for success: a text that is printed, and files.
func marks(format string, t Target) (text string, files []Text) {
	names := t.Tests
	if len(names) == 0 {
		names = []string{"test_all"}
	}
	n := len(names)
	each := func(line func(name string) string) string {
		var b strings.Builder
		for _, name := range names {
			b.WriteString(line(name))
		}
		return b.String()
	}
	switch format {
	case "pytest", "pytest_v":
		return "\n" + each(func(name string) string { return name + " PASSED [100%]\n" }) +
			"=== short test summary info ===\n" + each(func(name string) string { return "PASSED " + name + "\n" }) +
			fmt.Sprintf("==== %d passed in 0.01s ====\n", n), nil
	case "unittest", "django":
		return "\n" + each(func(name string) string { return name + " ... ok\n" }) + strings.Repeat("-", 70) +
			fmt.Sprintf("\nRan %d tests in 0.001s\n\nOK\n", n), nil
	case "gotest":
		return goMarks(t, names), nil
	case "cargo":
		return fmt.Sprintf("\nrunning %d tests\n", n) + each(func(name string) string { return "test " + name + " ... ok\n" }) +
			fmt.Sprintf("\ntest result: ok. %d passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\n", n), nil
	case "jest":
		return "\nPASS ./all.test.js\n" + each(func(name string) string { return "  ✓ " + last(name) + " (1 ms)\n" }) +
			fmt.Sprintf("\nTest Suites: 1 passed, 1 total\nTests:       %d passed, %d total\nSnapshots:   0 total\nTime:        0.1 s\n", n, n), nil
	case "mocha":
		return "\n\n" + each(func(name string) string { return "  ✔ " + last(name) + "\n" }) + fmt.Sprintf("\n\n  %d passing (1ms)\n\n", n), nil
	case "node", "tap":
		i := 0
		return "\nTAP version 13\n" + each(func(name string) string { i++; return fmt.Sprintf("ok %d - %s\n", i, last(name)) }) +
			fmt.Sprintf("1..%d\n# tests %d\n# pass %d\n# fail 0\n# cancelled 0\n# skipped 0\n# todo 0\n", n, n, n), nil
	case "structured_json":
		return structuredMarks(names, t), nil
	case "score_sum":
		return "\n" + each(func(name string) string { return "CASE " + strings.TrimPrefix(name, "case_") + " OK score=1000000\n" }) +
			fmt.Sprintf("CASES_OK %d\nCASES_TOTAL %d\nTOTAL_SCORE %d\n", n, n, perfect(t)), nil
	}
	return "", markFiles(format, names)
}

// perfect is a score that nobody reaches.
func perfect(t Target) int {
	if t.Task.Judge.Direction == "minimize" {
		return 0
	}
	return 1_000_000
}

// last is the title of a test below its suites.
func last(name string) string {
	if at := strings.LastIndex(name, " > "); at >= 0 {
		return name[at+3:]
	}
	return name
}

func goMarks(t Target, names []string) string {
	asJSON := strings.Contains(commandText(t.Task.Judge.Tests()), "-json")
	var b strings.Builder
	for _, name := range names {
		pkg, test, ok := strings.Cut(name, "::")
		if !ok {
			pkg, test = "all", name
		}
		if asJSON {
			for _, action := range []string{"run", "pass"} {
				line, _ := json.Marshal(map[string]string{"Action": action, "Package": pkg, "Test": test}) // texts always encode
				b.Write(append(line, '\n'))
			}
			continue
		}
		fmt.Fprintf(&b, "=== RUN   %[1]s\n--- PASS: %[1]s (0.00s)\n", test)
	}
	if !asJSON {
		b.WriteString("PASS\n")
	}
	return "\n" + b.String()
}

func structuredMarks(names []string, t Target) string {
	type detail struct {
		Name   string `json:"name"`
		Status string `json:"status"`
	}
	report := struct {
		Valid    bool     `json:"valid"`
		PassRate float64  `json:"pass_rate"`
		Score    int      `json:"score"`
		Details  []detail `json:"details,omitempty"`
	}{Valid: true, PassRate: 1, Score: perfect(t)}
	if len(t.Tests) > 0 {
		for _, name := range names {
			report.Details = append(report.Details, detail{name, "PASSED"})
		}
	}
	text, _ := json.Marshal(report) // plain data always encodes
	return "\n>>>>> Start Structured Result\n" + string(text) + "\n>>>>> End Structured Result\n"
}

// markFiles are the files in which a judge finds its verdict.
func markFiles(format string, names []string) (files []Text) {
	p, _ := parser.Lookup(format)
	for _, name := range p.Files {
		var content string
		switch {
		case format == "reward" && strings.HasSuffix(name, ".json"):
			content = `{"reward": 1}`
		case format == "reward":
			content = "1\n"
		case strings.HasSuffix(name, ".xml"):
			content = junitMarks(names)
		case strings.HasSuffix(name, ".json"):
			content = ctrfMarks(names)
		default:
			continue
		}
		files = append(files, Text{name, []byte(content)})
	}
	return files
}

func junitMarks(names []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<testsuite name="all" tests="%d" failures="0" errors="0" skipped="0">`, len(names))
	escape := strings.NewReplacer("&", "&amp;", "<", "&lt;", `"`, "&quot;")
	for _, name := range names {
		class, test, ok := strings.Cut(name, "::")
		if !ok {
			class, test = "", name
		}
		fmt.Fprintf(&b, `<testcase classname="%s" name="%s" time="0.01"/>`, escape.Replace(class), escape.Replace(test))
	}
	return b.String() + "</testsuite>\n"
}

func ctrfMarks(names []string) string {
	type test struct {
		Name     string `json:"name"`
		Status   string `json:"status"`
		Duration int    `json:"duration"`
	}
	tests := make([]test, len(names))
	for i, name := range names {
		tests[i] = test{name, "passed", 1}
	}
	n := len(names)
	text, _ := json.Marshal(map[string]any{"results": map[string]any{ // plain data always encodes
		"tool":    map[string]string{"name": "all"},
		"summary": map[string]int{"tests": n, "passed": n, "failed": 0, "pending": 0, "skipped": 0, "other": 0, "start": 0, "stop": 1},
		"tests":   tests,
	}})
	return string(text)
}
