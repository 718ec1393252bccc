package arch

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

var (
	promise = regexp.MustCompile(`(?m)^(\d+)\. `)
	holder  = regexp.MustCompile("`(?:([a-z/]+) )?(Test\\w+)`")
)

// The front page promises ten things, and each line names the tests that hold it.
func TestEveryPromiseNamesItsTests(t *testing.T) {
	page, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(page), "\n## What it promises\n")
	section, _, ended := strings.Cut(rest, "\n## ")
	if !found || !ended {
		t.Fatal("README.md has no section of promises")
	}
	there := testsOf(t, "../..")
	starts := promise.FindAllStringSubmatchIndex(section, -1)
	if len(starts) != 10 {
		t.Fatalf("%d promises, want 10", len(starts))
	}
	for i, at := range starts {
		line := section[at[0]:]
		if i+1 < len(starts) {
			line = section[at[0]:starts[i+1][0]]
		}
		if number := section[at[2]:at[3]]; number != fmt.Sprint(i+1) {
			t.Errorf("promise %s stands where %d should", number, i+1)
		}
		tests := holder.FindAllStringSubmatch(line, -1)
		if len(tests) == 0 {
			t.Errorf("promise %d names no test", i+1)
		}
		for _, name := range tests {
			folder := name[1]
			if folder == "" {
				folder = "daemon"
			}
			if !there[folder+" "+name[2]] {
				t.Errorf("promise %d: there is no test %s %s", i+1, folder, name[2])
			}
		}
	}
}
