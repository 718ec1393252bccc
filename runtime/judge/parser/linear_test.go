package parser

import (
	"strings"
	"testing"
	"time"
)

// TestLinearText: text of unittest, cargo and scores made to be slow to read is read in time.
func TestLinearText(t *testing.T) {
	const size = 1 << 16
	pieces := []string{
		"a (b.c) ... ", "a (b.c) [", "a (b.c) (", "a (b.c) ... \n", "a (b.c)\n", "a (b.c)\nx ... ok\n", " ... ", "skipped '", "ok\n", "ok", "F\n",
		thickRule + "\nFAIL: a (b.c)\n", thinRule + "\nRan 1 test in 0.1s\n\nOK\n", thinRule + "\nRan 1 test in 0.1s\n",
		"test a ... ok\n", "test a - should panic", "test ", "test a ... ", "running 1 test\n", "\nfailures:\n", "---- a stdout ----\n",
		"test result: ok. 1 passed; ", "1 passed; ", "     Running a (b)\n", "CASE 1 OK score=1\n", "CASE ", "TOTAL_SCORE 1\n", "compil", "1",
	}
	for _, name := range []string{"unittest", "cargo", "score_sum", "reward"} {
		p, _ := Lookup(name)
		for _, piece := range pieces {
			took := spent(t, func() {
				for _, prefix := range []string{"", "running 1 test\n", "a (b.c) ... ", thickRule + "\nFAIL: a (b.c)\n"} {
					text := []byte(prefix + strings.Repeat(piece, size/len(piece)))
					checkResult(t, p, Input{Output: text, Files: map[string][]byte{"reward.txt": text}})
				}
			})
			if took > 3*time.Second {
				t.Errorf("%s took %v for %q", name, took, piece)
			}
		}
	}
}
