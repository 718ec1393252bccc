package source

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var likeC = Syntax{
	Comments: []string{"//"}, Block: true, Quotes: []Quote{{Open: `"`, Kind: Text}, {Open: "'", Kind: Char}}, Symbols: []string{"=="},
}

func TestTokens(t *testing.T) {
	var got []string
	f := New("a.c", "x.y(1, \"a, b\") // no\n  == [2.5 /* 3 */, z ]", &likeC)
	for at := range f.Tok {
		got = append(got, f.At(at))
	}
	if diff := cmp.Diff(strings.Fields(`x . y ( 1 , "a,_b" ) == [ 2.5 , z ]`), strings.Fields(strings.ReplaceAll(strings.Join(got, " "), "a, b", "a,_b"))); diff != "" {
		t.Error(diff)
	}
	if name, begin := f.Callee(3); name != "x.y" || begin != 0 {
		t.Errorf("%q is called, from %d", name, begin)
	}
	if parts := f.Parts(3); len(parts) != 2 || parts[1] != (Span{6, 7}) {
		t.Errorf("the arguments are %v", parts)
	}
	if f.Over(3) != 8 || f.Back(7) != 3 || f.Find(f.Whole(), "z") != -1 || f.Find(f.Within(9), "z") != 12 {
		t.Error("brackets are not found")
	}
	if at := f.Tok[8].From; f.Line(at) != 2 || f.Column(8) != 2 || !f.Starts(8) || f.Starts(9) || !f.Touches(1) {
		t.Errorf("%q is on line %d", f.At(8), f.Line(at))
	}
	if f.Kind(-1) != Other || f.At(99) != "" {
		t.Error("there is a token beyond the end")
	}
}

func FuzzTokenize(f *testing.F) {
	f.Add("x(\"a\", 'b') /* c")
	f.Add("\"\\")
	f.Fuzz(func(t *testing.T, src string) {
		at := 0
		for _, token := range Tokenize(&likeC, src) {
			if token.From != at || token.To <= at {
				t.Fatalf("a token is [%d,%d) where %d is next", token.From, token.To, at)
			}
			at = token.To
		}
		if at != len(src) {
			t.Fatalf("the tokens end at %d of %d", at, len(src))
		}
	})
}
