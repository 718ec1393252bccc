package trialview

import (
	"strings"
	"testing"

	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/round"
)

func TestTestsThatWereFixedAndBroken(t *testing.T) {
	report := func(passed, failed string) *round.Report {
		r := &round.Report{}
		for _, name := range strings.Fields(passed) {
			r.Tests = append(r.Tests, parser.Test{Name: name, Status: parser.Passed})
		}
		for _, name := range strings.Fields(failed) {
			r.Tests = append(r.Tests, parser.Test{Name: name, Status: parser.Failed})
		}
		return r
	}
	fixed, broken := flips(report("a b", "c d"), report("a c new", "b d other"))
	if strings.Join(fixed, " ") != "c new" || strings.Join(broken, " ") != "b" {
		t.Errorf("fixed %v, broken %v", fixed, broken)
	}
	if fixed, broken := flips(nil, report("a", "")); fixed != nil || broken != nil {
		t.Errorf("without a verdict before: %v, %v", fixed, broken)
	}
}
