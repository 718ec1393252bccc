package arch

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// toModels are files whose texts are for models: a change of one changes their answers.
var toModels = []string{
	"runtime/agent/env.go", "runtime/agent/launch.go", "runtime/mining/triage/", "runtime/mining/workbench/", "runtime/mining/statement/", "runtime/llm/",
	"runtime/mining/screen/author.go", // names of accounts
}

// lookarounds are the tokens of Vale's rules that Go's expressions cannot have, and what stands for them.
var lookarounds = map[string]string{
	`what (?:is|was|has|had)(?! wrong)`:   `what (?:is|was|has|had)`,
	`(?:^|(?<=[.:;,] |and ))who [a-z]+s`:  `(?:^|[.:;,] |and )who [a-z]+s`,
	`(?:by|for|from|of|that|to|with) who`: `(?:by|for|from|of|that|to|with) who`,
}

// forbidden are the phrases of contrib/style, and the words that were given up.
func forbidden(t *testing.T) *regexp.Regexp {
	t.Helper()
	var all []string
	for _, name := range []string{"Phrases.yml", "Terms.yml"} {
		text, err := os.ReadFile(filepath.Join(root(t), "contrib/style/styles/Assayd", name))
		if err != nil {
			t.Fatal(err)
		}
		var rule struct {
			Tokens []string
			Swap   map[string]string
		}
		if err := yaml.Unmarshal(text, &rule); err != nil || len(rule.Tokens)+len(rule.Swap) < 10 {
			t.Fatalf("%s has %d tokens and %d words, %v", name, len(rule.Tokens), len(rule.Swap), err)
		}
		for _, token := range rule.Tokens {
			all = append(all, cmp.Or(lookarounds[token], token))
		}
		all = slices.AppendSeq(all, maps.Keys(rule.Swap))
	}
	return regexp.MustCompile(`(?i)\b(?:` + strings.Join(all, "|") + `)\b(?: wrong)?`)
}

// Messages and help texts are as plain as pages: Vale reads no strings in code, so this test does.
func TestMessagesArePlain(t *testing.T) {
	phrases, read := forbidden(t), 0
	for path, p := range packages(t) {
		if !partOfProgram(path) {
			continue
		}
		for _, name := range p.GoFiles {
			file := filepath.Join(path, name)
			for at, text := range messages(t, filepath.Join(p.Dir, name)) {
				read++
				found := phrases.FindString(text)
				if found == "" || strings.HasSuffix(found, " wrong") || isForModel(file) {
					continue
				}
				t.Errorf("%s:%d: do not write %q: %.100q", file, at, found, text)
			}
		}
	}
	if read < 1_000 {
		t.Errorf("only %d messages were read", read)
	}
}

func isForModel(file string) bool {
	for _, exempt := range toModels {
		if strings.HasPrefix(file, exempt) {
			return true
		}
	}
	return false
}

// query are words that only statements of SQL have.
var query = regexp.MustCompile(`\b(?:SELECT|INSERT|UPDATE|DELETE|CREATE)\b`)

// messages are the texts of three words and more in a file, by line.
func messages(t *testing.T, path string) map[int]string {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	all := map[int]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return true
		}
		if text, err := strconv.Unquote(lit.Value); err == nil && len(strings.Fields(text)) >= 3 && !query.MatchString(text) {
			all[fset.Position(lit.Pos()).Line] = strings.Join(strings.Fields(text), " ")
		}
		return true
	})
	return all
}
