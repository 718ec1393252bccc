package config

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// TestARejectedFileTakesLittle: files of the largest size, made to take memory.
func TestARejectedFileTakesLittle(t *testing.T) {
	const size = 4 << 20
	fill := func(piece string) string { return strings.Repeat(piece, size/len(piece)) }
	for name, text := range map[string]string{
		"numbers":                   "locals { a = [" + fill("1,") + "] }",
		"lines":                     fill("a=1\n"),
		"mistakes":                  fill("a b\n"),
		"blocks":                    fill("a{}\n"),
		"texts":                     "locals { a = [" + fill(`"",`) + "] }",
		"in a template":             `locals { a = "${[` + fill("1,") + `]}" }`,
		"in a text of many lines":   "locals { a = <<E\n${[" + fill("1,") + "]}\nE\n}",
		"behind half a quote":       "x = \"\n" + fill("1,"),
		"behind half a comment":     "/*" + fill("1,"),
		"behind a comment's quote":  "# \"\n" + fill("1,"),
		"behind a comment's text":   "# <<E\n" + fill("1,"),
		"behind half a text":        "x = <<\n" + fill("1,"),
		"behind a text of one line": "x = <<E\nE\n" + fill("1,"),
		"templates":                 `x = "` + fill("${a}") + `"`,
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		set := Load([]Input{{Path: "/specs/a.hcl", Display: "a.hcl", Root: "/specs", Text: []byte(text)}}, nil, testOptions())
		runtime.ReadMemStats(&after)
		if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 100 {
			t.Errorf("%s: it took %d MiB", name, took)
		}
		if n := len(set.Diagnostics); n == 0 || n > 2*maxSyntax {
			t.Errorf("%s: %d diagnostics", name, n)
		}
	}
}

// TestTokensAreCountedHighEnough compares with the lexer, and lets long texts pass.
func TestTokensAreCountedHighEnough(t *testing.T) {
	long := "x = <<EOF\n" + strings.Repeat("a[1] = {2: \"3\"}; b += 'c'\n", 100_000) + "EOF\n"
	if manyTokens([]byte(long)) {
		t.Error("a long text is refused")
	}
	for i, piece := range []string{"a = 1\n", "a = \"b\"\n", "a = \"${b}\"\n", "a = [1, {b = 2}]\n", "a = <<E\nx\nE\n", "a = <<-E\n x${y}\n E\n", "a {\n}\n", "a = b ? c : !d\n"} {
		text := []byte(strings.Repeat(piece, 100))
		tokens, _ := hclsyntax.LexConfig(text, "", hcl.InitialPos)
		per := len(tokens) / 100
		many := []byte(strings.Repeat(piece, maxTokens/per+1000))
		if !manyTokens(many) {
			t.Error(fmt.Sprint(i, ": more tokens than the bound pass: ", piece))
		}
	}
}
