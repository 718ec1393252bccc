package config

import (
	"math/rand/v2"
	"strings"
	"testing"
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
		if at, deeper := lexedTooDeep(text, "x.hcl", depth, operators); deeper {
			t.Fatalf("%q has depth %d and %d operators by its bytes, and more by the lexer at %s", text, depth, operators, at)
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
