package parser

import (
	"strings"
	"testing"
)

const ctrfReportText = `{
  "reportFormat": "CTRF", "specVersion": "0.0.0",
  "results": {
    "tool": {"name": "jest"},
    "summary": {"tests": 5, "passed": 2, "failed": 1, "pending": 1, "skipped": 0, "other": 1, "start": 1, "stop": 2},
    "tests": [
      {"name": "one", "status": "passed", "duration": 2, "filePath": "/w/b.js", "suite": "b.js"},
      {"name": "one", "status": "failed", "duration": 1, "filePath": "/w/a.js", "suite": ["a.js"], "message": "no"},
      {"name": "test_x.py::test_a", "status": "passed", "duration": 1},
      {"name": "later", "status": "pending", "duration": 0},
      {"name": "odd", "status": "other", "duration": 0}
    ]
  }
}
`

func TestCTRF(t *testing.T) {
	all := []string{"passed test_x.py::test_a", "skipped later", "error odd", "failed one", "passed one #2"}
	file := func(name, text string) Input {
		return Input{Output: []byte(ctrfReportText), Files: map[string][]byte{name: []byte(text)}}
	}
	good := `{"results":{"summary":{"tests":1,"passed":1},"tests":[{"name":"a","status":"passed"}]}}`
	bad := `{"results":{"summary":{"tests":1,"failed":1},"tests":[{"name":"a","status":"failed"}]}}`
	checkReadings(t, "ctrf", []reading{
		{"a file beats the output", file("/logs/verifier/ctrf.json", good), []string{"passed a"}, true, ""},
		{"in the output", output("noise {\n" + ctrfReportText + "noise"), all, true, ""},
		{"the last document counts", output(ctrfReportText + good + "\n{\"other\": 1}\n"), []string{"passed a"}, true, ""},
		{"of two files the worse result", Input{Files: map[string][]byte{"ctrf.json": []byte(good), "/logs/verifier/ctrf.json": []byte(bad)}}, []string{"failed a"}, true, ""},
		{"a document begun and left", output("{\n  \"results\": {\n" + good + "\n"), []string{"passed a"}, true, ""},

		// Attacks, and reports that are not whole.
		{"summary that disagrees", output(strings.Replace(ctrfReportText, `"passed": 2`, `"passed": 4`, 1)), all, false, "claims 4 passed"},
		{"summary without failures", output(strings.Replace(ctrfReportText, `"failed": 1, `, ``, 1)), all, false, "claims 0 failed"},
		{"no summary", output(`{"results":{"tests":[{"name":"a","status":"passed"}]}}`), []string{"passed a"}, false, "claims 0 tests"},
		{"summary that is no number", output(`{"results":{"summary":{"tests":"1","passed":1},"tests":[{"name":"a","status":"passed"}]}}`), []string{"passed a"}, false, "claims -1 tests"},
		{"unknown status", output(`{"results":{"summary":{"tests":1},"tests":[{"name":"a","status":"great"}]}}`), []string{"error a"}, false, "unknown status"},
		{"test without a name", output(`{"results":{"summary":{"tests":1,"passed":1},"tests":[{"status":"passed"}]}}`), nil, false, "no name"},
		{"cut short", file("ctrf.json", ctrfReportText[:400]), nil, false, "ctrf.json: not a CTRF report"},
		{"a document in a line", output("printed: " + good), nil, false, "no CTRF report"},
		{"nothing", output(""), nil, false, "no CTRF report"},
		{"out of time", Input{Output: []byte(good), TimedOut: true}, []string{"passed a"}, false, "out of time"},
	})
}
