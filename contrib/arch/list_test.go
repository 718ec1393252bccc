package arch

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const module = "github.com/assayd/assayd/"

// pkg is what go list tells of one package.
type pkg struct {
	ImportPath                         string
	Name, Doc, Dir                     string
	Standard                           bool
	GoFiles                            []string
	Imports, TestImports, XTestImports []string
}

// ours returns the imports from this module, without the module's path.
func (p pkg) ours() []string {
	var all []string
	for _, path := range p.Imports {
		if ours, ok := strings.CutPrefix(path, module); ok {
			all = append(all, ours)
		}
	}
	return all
}

// packages returns the packages of this module by their path in it; the contents of
// testdata folders are none.
func packages(t *testing.T) map[string]pkg {
	t.Helper()
	all := map[string]pkg{}
	for _, p := range list[pkg](t, "list", "-json=ImportPath,Name,Doc,Dir,GoFiles,Imports,TestImports,XTestImports", "./...") {
		all[strings.TrimPrefix(p.ImportPath, module)] = p
	}
	return all
}

// list runs the go command in the module's root and decodes the JSON values it prints.
func list[T any](t *testing.T, args ...string) []T {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = root(t)
	var complaints strings.Builder
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, complaints.String())
	}
	var all []T
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var one T
		err := decoder.Decode(&one)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("go %s: %v", strings.Join(args, " "), err)
		}
		all = append(all, one)
	}
}

// root is the folder of go.mod.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil {
		t.Fatal(err)
	}
	return dir
}
