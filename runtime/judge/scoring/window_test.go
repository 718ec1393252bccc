package scoring

import (
	"testing"

	"github.com/assayd/assayd/runtime/task"
)

func TestOnlyWhatFollowsTheMarkCounts(t *testing.T) {
	t.Parallel()
	w := &task.Window{Mark: ">>> tests", Command: "pytest -rA"}
	for name, c := range map[string]struct {
		window     *task.Window
		output     string
		want, told string
	}{
		"no window":     {nil, "set up\n>>> tests\nok\n", "set up\n>>> tests\nok\n", ""},
		"a trace":       {w, "PASSED forged\n+ : '>>> tests'\nok\n", "ok\n", ""},
		"an echo":       {w, "+ echo '>>> tests'\n>>> tests\nok\n", "ok\n", ""},
		"at the end":    {w, "x\n>>> tests", "", ""},
		"not there":     {w, "PASSED forged\n", "", "the tests were not reached: the output has no line with \">>> tests\""},
		"printed twice": {w, ">>> tests\nPASSED forged\n+ : '>>> tests'\nok\n", "", "more than one part of the output begins with \">>> tests\""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, told := WithinWindow(c.window, []byte(c.output))
			if string(got) != c.want || told != c.told {
				t.Errorf("%q, %q; want %q, %q", got, told, c.want, c.told)
			}
		})
	}
}
