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
	parsers := map[string]string{"pytest-text": "pytest", "go-test-json": "gotest", "tap": "node", "junit-xml": "junit"}
	read := 0
	for _, log := range logs {
		name, ok := parsers[log.Format]
		if !ok {
			continue
		}
		read++
		t.Run(log.File, func(t *testing.T) {
			output, err := os.ReadFile(filepath.Join(dir, log.File))
			if err != nil {
				t.Fatal(err)
			}
			p, _ := Lookup(name)
			r := p.Parse(Input{Output: output})
			got := counts(r)
			builds := number(log.Expected["build_failed_packages"])
			if got[Passed] != number(log.Expected["passed"]) || got[Failed] != number(log.Expected["failed"]) ||
				got[Skipped] != number(log.Expected["skipped"]) || got[Errored] != builds {
				t.Errorf("got %v, want %v", got, log.Expected)
			}
			if r.Complete != (builds == 0) {
				t.Errorf("complete %v: %s", r.Complete, r.Problem)
			}
			if log.FailedIDs != nil {
				if bad := named(r, Failed); !slices.Equal(bad, log.FailedIDs) {
					t.Errorf("failed: %s\nwant: %s", strings.Join(bad, ", "), strings.Join(log.FailedIDs, ", "))
				}
			}
		})
	}
	if read == 0 {
		t.Fatal("no log has a format that is known here")
	}
}

func number(v any) int {
	n, _ := v.(float64)
	return int(n)
}
