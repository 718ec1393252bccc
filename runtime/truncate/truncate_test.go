package truncate

import "testing"

func TestTextsAreCutBetweenCharacters(t *testing.T) {
	for _, c := range []struct {
		text                string
		most                int
		plain, valid, shown string
	}{
		{"", 0, "", "", ""},
		{"four", 4, "four", "four", "four"},
		{"four", 3, "fou", "fou", "fou…"},
		{"four", 0, "", "", "…"},
		{"aä", 3, "aä", "aä", "aä"},
		{"aä", 2, "a", "a", "a…"},
		{"ä€𝄞", 9, "ä€𝄞", "ä€𝄞", "ä€𝄞"},
		{"ä€𝄞", 8, "ä€", "ä€", "ä€…"},
		{"ä€𝄞", 4, "ä", "ä", "ä…"},
		{"ä€𝄞", 1, "", "", "…"},
		{"a\xffb", 3, "a\xffb", "ab", "a\xffb"}, // a short text is nobody's business, but for Valid
		{"a\xffbc", 3, "a\xffb", "ab", "ab…"},
		{"\x80\x80\x80", 2, "", "", "…"}, // no character begins anywhere
	} {
		if got := Text(c.text, c.most); got != c.plain {
			t.Errorf("Text of %q and %d is %q, want %q", c.text, c.most, got, c.plain)
		}
		if got := Valid(c.text, c.most); got != c.valid {
			t.Errorf("Valid of %q and %d is %q, want %q", c.text, c.most, got, c.valid)
		}
		if got := Marked(c.text, c.most, "…"); got != c.shown {
			t.Errorf("Marked of %q and %d is %q, want %q", c.text, c.most, got, c.shown)
		}
	}
}
