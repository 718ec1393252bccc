package query

import (
	"strings"
	"testing"
	"time"
)

func TestARunExplainsItself(t *testing.T) {
	for name, tt := range map[string]struct {
		run  Standing
		want []string // in this order
		not  string
	}{
		"not begun": {Standing{State: "waiting", Note: "fires next at 2030-05-02"}, []string{"It has not begun: fires next at 2030-05-02."}, "cells"},
		"blocked":   {Standing{State: "blocked", Note: "no such image."}, []string{"It cannot begin: no such image."}, ".."},
		"at work": {
			Standing{State: "running", Note: "24 of 32 CPUs are taken", Execution: 1, Wanted: 100, Cells: map[string]int{"resolved": 8, "unresolved": 2, "working": 4, "judging": 1, "retrying": 1}, CostUSD: 5, Began: noon.Add(-10 * time.Minute)},
			[]string{"10 of 100 cells are done, 4 work, 1 is judged, 85 wait: 24 of 32 CPUs are taken.", "13:30", "the mean of 10 cells", "$5.00", "$0.50 a trial", "$50.00"},
			"lost",
		},
		"too few to foretell": {Standing{State: "running", Execution: 1, Wanted: 9, Cells: map[string]int{"resolved": 1}, Began: noon.Add(-time.Hour)}, []string{"1 of 9 cells are done, 8 wait."}, "pace"},
		"over":                {Standing{State: "finished", Execution: 3, Wanted: 20, Cells: map[string]int{"resolved": 19, "infra_error": 1, "superseded": 4}}, []string{"20 of 20 cells are done.", "1 of 20 trials were lost", "assayd doctor"}, "wait"},
		"one of many lost":    {Standing{State: "finished", Execution: 3, Wanted: 100, Cells: map[string]int{"resolved": 99, "infra_error": 1}}, []string{"100 of 100 cells are done."}, "lost"},
	} {
		var text strings.Builder
		for _, f := range Explain(tt.run, noon) {
			text.WriteString(f.Text + " " + f.Advice + "\n")
		}
		rest := text.String()
		for _, part := range tt.want {
			_, behind, ok := strings.Cut(rest, part)
			if !ok {
				t.Errorf("%s: it lacks %q: %s", name, part, text.String())
			}
			rest = behind
		}
		if strings.Contains(text.String(), tt.not) {
			t.Errorf("%s: it has %q: %s", name, tt.not, text.String())
		}
	}
}
