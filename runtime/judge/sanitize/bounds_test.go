package sanitize

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/assayd/assayd/runtime/judge/judgetest"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/task"
)

func TestAPathHasToFitBehindTheWorkdir(t *testing.T) {
	long := strings.Repeat(strings.Repeat("x", 199)+"/", 19) // 3800 bytes
	for workdir, fits := range map[string]bool{"/w": true, "/" + strings.Repeat("w", 220): false} {
		rules := testRules(t)
		rules.Workdir = workdir
		_, err := Clean(bytes.NewReader(judgetest.Pack(t, judgetest.File(long+"f", "1"))), io.Discard, rules)
		if r, ok := errors.AsType[*round.Refusal](err); ok == fits || !fits && r.Code != 400 {
			t.Errorf("below a workdir of %d bytes: %v", len(workdir), err)
		}
	}
}

// TestWhatIsLeftOutIsNotRemembered: folders below an excluded one cost nothing but their
// reading.
func TestWhatIsLeftOutIsNotRemembered(t *testing.T) {
	book, err := NewRulebook(testRules(t))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		if book.open(fmt.Sprintf("src/tests/%d/%d/x", i, i)) {
			t.Fatal("an excluded file is open")
		}
	}
	if n := len(book.folders); n != 2 {
		t.Errorf("%d folders are remembered", n)
	}
}

// Twenty braces already take a second for each path, and thirty an hour.
func TestAPatternCannotMultiply(t *testing.T) {
	for glob, ok := range map[string]bool{
		"*.{go,mod,sum}":                                     true,
		"{a,b}{c,d}{e,f}/**":                                 true,
		`\{a,b\}{c,{d,e}}[{]`:                                true,
		strings.Repeat("{a,a}", 30) + "x":                    false,
		strings.Repeat("{a,{b,c}}", 9):                       false,
		strings.Repeat(`\{a,a\}`, 30):                        true, // letters
		"{" + strings.Repeat("a,", 999) + "a}":               true,
		"{" + strings.Repeat("a,", 1000) + "a}":              false,
		strings.Repeat("{a[}],a}", 30):                       false,
		strings.Repeat("{", 40) + strings.Repeat("a,a}", 40): false,
	} {
		if _, err := NewFilter(task.Submit{Exclude: []string{glob}}); (err == nil) != ok {
			t.Errorf("%.60s: %v", glob, err)
		}
	}
}
