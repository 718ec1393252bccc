package config

import (
	"strings"
	"testing"
)

// A value that lacks its quotes is one mistake, and the complaint says what to write.
func TestAValueWithoutQuotesIsOneMistake(t *testing.T) {
	t.Parallel()
	const spec = `benchmark "b" {
  task "t" {
    image       = "i"
    instruction = "x"
    work {
      memory = "1GiB"
    }
    judge {
      command = "true"
      parser  = "pytest"
    }
  }
}
run "r" {
  tasks   = [benchmark.b]
  timeout = "5m"
  agent "nop" {}
}
`
	for from, want := range map[string]string{
		`timeout = "5m"`:     `Quote it: timeout = "5m".`,
		`memory = "1GiB"`:    `Quote it: memory = "1GiB".`,
		`parser  = "pytest"`: `Text values need quotes: "pytest".`,
	} {
		text := strings.Replace(spec, from, strings.ReplaceAll(from, `"`, ""), 1)
		set := Load([]Input{{Path: "/s/a.hcl", Display: "a.hcl", Root: "/s", Text: []byte(text)}}, nil, Options{})
		var told []string
		for _, d := range set.Diagnostics {
			if d.Severity == Error {
				told = append(told, d.String())
			}
		}
		if len(told) != 1 || !strings.Contains(told[0], want) {
			t.Errorf("of %s it is told:\n%s", from, strings.Join(told, "\n"))
		}
	}
}
