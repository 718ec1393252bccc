package folder

import (
	"fmt"
	"strings"
	"testing"

	"github.com/assayd/assayd/runtime/task"
)

// What is said of a dataset is bounded, and that there is more is said once.
func TestFindingsAreBounded(t *testing.T) {
	t.Parallel()
	var d task.Dataset
	for n := range 5000 {
		bad, odd := Findings{}, Findings{}
		for range 3 {
			bad.Problem("problem %d", n)
			odd.Notice("notice %d", n)
		}
		bad.Add(&d, task.Task{})
		odd.Add(&d, task.Task{Name: fmt.Sprint(n)})
	}
	for what, all := range map[string][]task.Problem{"problem": d.Problems, "notice": d.Notices} {
		if len(all) != maxListed+1 || all[maxListed-1].Text != what+" 333" || !strings.HasPrefix(all[maxListed].Text, "more is to be said") {
			t.Errorf("%d of kind %s are listed, the last ones %q and %q", len(all), what, all[len(all)-2].Text, all[len(all)-1].Text)
		}
	}
	if len(d.Tasks) != 5000 {
		t.Errorf("%d tasks are taken", len(d.Tasks))
	}
}

// What would take its reader long, or much memory, is refused before; what people write is not.
func TestSettingsAreBounded(t *testing.T) {
	t.Parallel()
	wide := ""
	for n := range 6000 {
		wide += fmt.Sprintf("k%d: v\n", n)
	}
	for name, tt := range map[string]struct {
		check func([]byte) error
		text  string
		wrong string
	}{
		"yaml":              {CheckYAML, "a: [1, 2]\nb: |\n" + strings.Repeat("  text: x\n", 100_000), ""},
		"no yaml":           {CheckYAML, "a: [", ""},
		"yaml with commas":  {CheckYAML, "a: [" + strings.Repeat("x,", 600_000) + "]", "more than 500000 lines and commas"},
		"yaml with keys":    {CheckYAML, wide, "line 1: a mapping has more than 5000 keys"},
		"yaml, keys inside": {CheckYAML, "a:\n  - b:\n      " + strings.ReplaceAll(wide, "\n", "\n      "), "line 3: a mapping"},
		"toml":              {CheckTOML, "a.b.c = 1\n[x.y]\nz = \"" + strings.Repeat("a. b. ", 1000) + "\"\n", ""},
		"toml with lines":   {CheckTOML, strings.Repeat("[[a]]\n", 30_000), "more than 20000 lines"},
		"toml in a line":    {CheckTOML, "a = {" + strings.Repeat("b=1,", 30_000) + "}", "or as many values"},
		"toml with parts":   {CheckTOML, "a" + strings.Repeat(".a", 200) + " = 1", "a hundred parts"},
		"toml, table":       {CheckTOML, "[a" + strings.Repeat(".a", 200) + "]", "a hundred parts"},
	} {
		if err := tt.check([]byte(tt.text)); tt.wrong == "" && err != nil || tt.wrong != "" && (err == nil || !strings.Contains(err.Error(), tt.wrong)) {
			t.Errorf("%s: %v, want %q", name, err, tt.wrong)
		}
	}
}
