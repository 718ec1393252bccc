package decoy

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write what is proposed into the golden files")

// TestGolden proposes variants for tests in the styles of each language. A golden file names
// the parser and the tests, holds their files, and says what is proposed.
func TestGolden(t *testing.T) {
	names, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			parser, tests, files, want := fixture(t, archive)
			proposal, err := Propose(parser, files, tests)
			if err != nil {
				t.Fatal(err)
			}
			checkProposal(t, files, proposal)
			got := written(proposal, tests)
			if *update {
				archive.Files[len(archive.Files)-1].Data = []byte(got)
				if err := os.WriteFile(name, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("other variants (-want +got):\n%s", diff)
			}
		})
	}
}

// fixture reads a golden file.
func fixture(t *testing.T, archive *txtar.Archive) (parser string, tests []string, files map[string][]byte, want string) {
	t.Helper()
	files = map[string][]byte{}
	for line := range strings.Lines(string(archive.Comment)) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "parser":
			parser = rest
		case "test":
			tests = append(tests, rest)
		}
	}
	for _, f := range archive.Files {
		if f.Name == "want" {
			want = string(f.Data)
		} else {
			files[f.Name] = f.Data
		}
	}
	if parser == "" || len(tests) == 0 || len(files) == 0 {
		t.Fatal("a golden file needs a parser, tests, and files")
	}
	return parser, tests, files, want
}

// written is a proposal as golden files have it.
func written(p Proposal, tests []string) string {
	var b bytes.Buffer
	for _, test := range tests {
		fmt.Fprintf(&b, "%s\n", test)
		if reason := p.None[test]; reason != "" {
			fmt.Fprintf(&b, "\tnone: %s\n", reason)
		}
		for _, v := range p.Variants[test] {
			fmt.Fprintf(&b, "\t%d %s: %s -> %s", v.Line, v.Side, quoted(v.Old), quoted(v.New))
			if len(v.Affects) > 1 {
				fmt.Fprintf(&b, " (affects %d)", len(v.Affects))
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func quoted(text string) string {
	return strings.NewReplacer("\n", `⏎`, "\t", " ").Replace(text)
}
