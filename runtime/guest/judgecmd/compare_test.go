package judgecmd

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What is not the file that it was is told: of another content, a link, a folder, gone, or out
// of the folder.
func TestFilesAreComparedByTheirDigests(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"a b": "one", "sub/c": "two", "changed": "other"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("a b", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	of := func(name, content string) string {
		return fmt.Sprintf("%x %s\x00", sha256.Sum256([]byte(content)), name)
	}
	same := of("a b", "one") + of("sub/c", "two")
	for list, want := range map[string]string{
		same:                         "",
		same + of("changed", "this"): "differs: changed\n",
		of("link", "one") + same:     "differs: link\n",
		same + of("gone", ""):        "differs: gone\n",
		of("sub", ""):                "differs: sub\n",
		of("../x", ""):               "differs: ../x\n",
		"":                           "",
	} {
		var out strings.Builder
		if err := Compare(dir, strings.NewReader(list), &out); err != nil || out.String() != want {
			t.Errorf("%q: %q, %v; want %q", list, out.String(), err, want)
		}
	}
}
