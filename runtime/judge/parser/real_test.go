//go:build real

package parser

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestRealLogs reads recorded output of real runners. The folder is named by ASSAYD_DATA.
func TestRealLogs(t *testing.T) {
	dir := filepath.Join(os.Getenv("ASSAYD_DATA"), "testlogs")
	raw, err := os.ReadFile(filepath.Join(dir, "EXPECTED.json"))
	if err != nil {
		t.Fatalf("ASSAYD_DATA must name the folder of real data: %v", err)
	}
	var logs []struct {
		File, Format string
		Expected     map[string]any
		FailedIDs    []string `json:"failed_ids"`
	}
	if err := json.Unmarshal(raw, &logs); err != nil {
		t.Fatal(err)
	}
	parsers := map[string]string{
		"cargo-test-text": "cargo", "go-test-json": "gotest", "jest-text": "jest", "junit-xml": "junit", "mocha-spec": "mocha",
		"pytest-text": "pytest", "tap": "node tap", "unittest-text": "django unittest",
	}
	if len(logs) == 0 {
		t.Fatal("no logs")
	}
	for _, log := range logs {
		t.Run(log.File, func(t *testing.T) {
			names := strings.Fields(parsers[log.Format])
			if len(names) == 0 {
				t.Fatalf("no parser is known for the format %s", log.Format)
			}
			output, err := os.ReadFile(filepath.Join(dir, log.File))
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range names {
				checkRealLog(t, name, output, log.Expected, log.FailedIDs)
			}
		})
	}
}

func checkRealLog(t *testing.T, parser string, output []byte, expected map[string]any, failed []string) {
	t.Helper()
	p, _ := Lookup(parser)
	r := p.Parse(Input{Output: output})
	got := counts(r)
	builds := number(expected["build_failed_packages"])
	if got[Passed] != number(expected["passed"]) || got[Failed] != number(expected["failed"]) ||
		got[Skipped] != number(expected["skipped"]) || got[Errored] != builds {
		t.Errorf("got %v, want %v", got, expected)
	}
	if r.Complete != (builds == 0) {
		t.Errorf("complete %v: %s", r.Complete, r.Problem)
	}
	if failed != nil {
		if bad := named(r, Failed); !slices.Equal(bad, failed) {
			t.Errorf("failed: %s\nwant: %s", strings.Join(bad, ", "), strings.Join(failed, ", "))
		}
	}
}

func number(v any) int {
	n, _ := v.(float64)
	return int(n)
}
