package cli

import (
	"slices"
	"testing"
)

// What is to be said of each of many tasks is printed once.
func TestEqualNoticesAreGrouped(t *testing.T) {
	all := []importedNotice{{Task: "a", Text: "x"}, {Task: "a", Text: "y"}, {Task: "b", Text: "x"}, {Task: "c", Text: "x"}}
	want := []importedNotice{{Task: "a", Text: "x (and 2 more)"}, {Task: "a", Text: "y"}}
	if got := grouped(all); !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
}
