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

// TestMistakesInSettings compares what is said of settings, file by file, with the text behind it.
func TestMistakesInSettings(t *testing.T) {
	archives, err := filepath.Glob("testdata/settings/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatal("no golden files", err)
	}
	for _, name := range archives {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i+1 < len(archive.Files); i += 2 {
			settings, want := archive.Files[i], &archive.Files[i+1]
			t.Run(strings.TrimSuffix(settings.Name, ".hcl"), func(t *testing.T) {
				_, diags := LoadSettings("assayd.hcl", settings.Data, testOptions())
				var text bytes.Buffer
				if err := diags.WriteText(&text); err != nil {
					t.Fatal(err)
				}
				if *update {
					want.Data = text.Bytes()
				} else if diff := cmp.Diff(string(want.Data), text.String()); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		}
		if *update {
			if err := os.WriteFile(name, txtar.Format(archive), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}
