package config

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

// TestAMistakeIsToldOnce: each of these files has one mistake, and gets one message.
func TestAMistakeIsToldOnce(t *testing.T) {
	const name = "testdata/mistakes/mistakes.txtar"
	archive, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	mistakes := 0
	for i := 0; i+1 < len(archive.Files); i += 2 {
		spec, want := archive.Files[i], &archive.Files[i+1]
		mistake := strings.TrimSuffix(spec.Name, ".hcl")
		mistakes++
		t.Run(mistake, func(t *testing.T) {
			root := t.TempDir()
			if err := os.Mkdir(filepath.Join(root, "skeleton"), 0o700); err != nil { // what is near to a misspelt folder and file
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(root, "skeleton", "instruction.md"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(root, "spec.hcl")
			if err := os.WriteFile(path, spec.Data, 0o600); err != nil {
				t.Fatal(err)
			}
			options := testOptions()
			options.Settings.Providers["lab"] = Provider{Protocol: "openai", BaseURL: "http://127.0.0.1:1/v1", APIKey: SecretText("a-key-of-the-laboratory")}
			set := Load([]Input{{Path: path, Display: "spec.hcl", Root: root, Text: spec.Data}}, nil, options)
			var text bytes.Buffer
			if err := set.Diagnostics.WriteText(&text); err != nil {
				t.Fatal(err)
			}
			if len(set.Diagnostics) != 1 {
				t.Errorf("%d messages:\n%s", len(set.Diagnostics), text.Bytes())
			}
			if *update {
				want.Data = text.Bytes()
			} else if diff := cmp.Diff(string(want.Data), text.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if mistakes < 64 {
		t.Errorf("there are %d mistakes", mistakes)
	}
	if *update {
		if err := os.WriteFile(name, txtar.Format(archive), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
