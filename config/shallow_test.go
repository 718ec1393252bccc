package config

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// Whatever a text is made of: where its bytes are believed, the lexer finds it no deeper, and no more operators in it.
func TestBytesAreBelievedOnlyWhereTheLexerAgrees(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	pieces := []string{
		"{", "}", "[", "]", "(", ")", `"`, "${", "%{", "$${", `\\`, `\"`, "<<E", "<<-E\n", "E\n", "\n", "\r\n", "\r", "#", "//", "/*", "*/", " ", "a", "1", "=", "==", "!=", "<=", "=>", "<",
		">", "&&", "||", "-", "+", "*", "/", "%", "?", ":", ",", ".", "...", "'", "`", "~}", "\x00", "\u2028", "\xff", "a = ", "b {\n", "}\n", `"x"`,
	}
	plain := 0
	for range 300_000 {
		var b strings.Builder
		for range 1 + random.IntN(14) {
			b.WriteString(pieces[random.IntN(len(pieces))])
		}
		text := []byte(b.String())
		depth, operators, ok := measured(text)
		if !ok {
			continue
		}
		plain++
		tokens, _ := hclsyntax.LexConfig(text, "x.hcl", hcl.InitialPos)
		if d := lexedTooDeep(tokens, depth, operators); d != nil {
			t.Fatalf("%q has depth %d and %d operators by its bytes, and more by the lexer at %s", text, depth, operators, d.at)
		}
	}
	if plain < 10_000 {
		t.Errorf("only %d texts were plain", plain)
	}
}

func TestUsualTextsNeedNoLexer(t *testing.T) {
	for text, want := range map[string]bool{
		strings.Repeat("task \"a\" { # {{{\n  paths = [\"src/{\"] // [[[\n}\n", 5000): true,
		strings.Repeat("[", maxNesting) + strings.Repeat("]", maxNesting):             true,
		strings.Repeat("[", maxNesting+1):                                             false,
		"a = " + strings.Repeat("-", maxOperators+1) + "1":                            false,
		"a = \"${b}\"": false, "a = <<E\nE\n": false, "/* */": false, "}": false, "a = \"": false,
	} {
		if got := shallow([]byte(text)); got != want {
			t.Errorf("%.40q is believed: %v", text, got)
		}
	}
}

// The parser closes other brackets than a reader once it has found a mistake. No text makes it go so deep that the stack ends,
// which would be the end of the daemon, and what is said of such a text is where its brackets go wrong.
func TestMistakesMakeNoTextDeep(t *testing.T) {
	for name, text := range map[string]string{
		"closed in the middle of a line":          strings.Repeat("x {\ny }\n", 60_000),
		"many closed in the middle of a line":     strings.Repeat(strings.Repeat("x {\n", 200)+"y "+strings.Repeat("}", 200)+"\n", 450),
		"closed before they are opened":           "a " + strings.Repeat("]", 190_000) + "\nb = " + strings.Repeat("[", 190_000) + "\n",
		"blocks closed before they are opened":    strings.Repeat("}\n", 60_000) + strings.Repeat("x {\n", 60_000),
		"closed by another bracket":               strings.Repeat("x {\n  a = [1\n}\n", 30_000),
		"an attribute before the end of the line": strings.Repeat("x {\ny = 1 }\n", 30_000),
	} {
		set := Load([]Input{{Path: "/w/a.hcl", Display: "a.hcl", Root: "/w", Text: []byte(text)}}, nil, Options{})
		if !set.Diagnostics.HasErrors() || set.Diagnostics[0].Line == 0 {
			t.Errorf("%s: %v", name, set.Diagnostics)
		}
	}
	usual := strings.Repeat("agent \"a\" {\n  env = { A = {\n    b = [1,\n      2] }}\n  x { y = 1 }\n}\n", 2000)
	if d := tooDeep([]byte(usual), "a.hcl"); d != nil {
		t.Errorf("a usual text is refused: %+v", d)
	}
}
