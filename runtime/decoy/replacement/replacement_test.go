package replacement

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNewValues(t *testing.T) {
	unit, file := NewPool(), NewPool()
	for _, literal := range []string{`"red"`, `"blue"`, `"ok"`} { // runners have a meaning for the last
		unit.AddText(literal)
	}
	file.AddText(`"sun"`)
	unit.AddChar("'a'")
	unit.AddConstant("COLOR_", "COLOR_RED")
	for name, tc := range map[string]struct{ got, want []string }{
		"a string becomes another of its length": {Text(`"sky"`, false, unit, file), []string{`"red"`, `"blue"`}},
		"a number in a string moves":             {Text(`"v19"`, false, NewPool(), NewPool()), []string{`"v18"`}},
		"escapes stay":                           {Text(`"\x41"`, false, NewPool(), NewPool()), nil},
		"numbers move by one":                    {Number("7"), []string{"8", "6"}},
		"large ones get smaller first":           {Number("255"), []string{"254", "256"}},
		"in their own digits":                    {Number("0xff"), []string{"0xfe"}},
		"characters are those of the test":       {Char("'b'", unit, file), []string{"'a'"}},
		"patterns have other words":              {Pattern("/sky+/", unit, file), []string{"/red+/", "/sun+/"}},
		"names of one length come first":         {Name("ab", []string{"abc", "xy", "ab"}), []string{"xy", "abc"}},
	} {
		if diff := cmp.Diff(tc.want, tc.got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if got := SwapCase(`"Red one"`, false); got != `"rED ONE"` {
		t.Errorf("%s", got)
	}
	if got := unit.Constants["COLOR_"]; len(got) != 1 {
		t.Errorf("%q are kept", got)
	}
}
