package config

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// checkOutputs refuses outputs of a run that could have a say in the grading: all of the workdir,
// what the judge has at that path or beside it, what is protected, and what a
// grader loads as code.
func (b *body) checkOutputs(stages []Stage, blocks []labelled, of Judge) {
	contexts := []string{of.Context.Path}
	for _, s := range stages {
		if s.Name == "grade" {
			contexts = append(contexts, s.Context.Path)
		}
	}
	protect := slices.Clone(of.Protect)
	for _, name := range sortedKeys(of.Files) {
		if !path.IsAbs(name) {
			protect = append(protect, path.Clean(name))
		}
	}
	for i, s := range stages {
		if s.Name != "run" {
			continue
		}
		for _, output := range s.Outputs {
			if why := outputTrouble(path.Clean(output), contexts, protect); why != "" {
				b.f.fail(blocks[i].where("outputs"), "An output that could steer the grading", fmt.Sprintf("%q %s. Give outputs a folder of their own.", output, why))
			}
		}
	}
}

// outputTrouble says why an output may not be one; "" = it may.
func outputTrouble(output string, contexts, protect []string) string {
	if output == "." {
		return "is the workdir itself"
	}
	for _, element := range strings.Split(output, "/") {
		if slices.Contains([]string{"site-packages", "dist-packages", "node_modules", "__pycache__", ".git", "bin"}, element) {
			return "is where programs find code"
		}
	}
	for _, glob := range append([]string{"conftest.py", "pytest.ini", "tox.ini", "setup.cfg", "pyproject.toml", "package.json", "Makefile"}, protect...) {
		glob = strings.Trim(strings.TrimPrefix(glob, "./"), "/")
		if protects(glob, output) || strings.HasPrefix(glob, output+"/") {
			return fmt.Sprintf("is what %q keeps for the judge", glob)
		}
	}
	if slices.Contains([]string{
		".py", ".pyc", ".pyd", ".pth", ".so", ".js", ".cjs", ".mjs", ".ts", ".rb", ".pm", ".pl", ".php", ".jar", ".class", ".go", ".rs", ".sh",
	}, path.Ext(output)) {
		return "is a file that a grader can load as code"
	}
	for _, context := range contexts {
		if context == "" {
			continue
		}
		if holdsFiles(filepath.Join(context, filepath.FromSlash(output))) {
			return "is where the judge has files"
		}
		if dir := path.Dir(output); dir != "." && holdsFiles(filepath.Join(context, filepath.FromSlash(dir))) {
			return "is beside files of the judge"
		}
	}
	return ""
}

// protects reports whether a glob is about a path or a folder above it, at any depth.
func protects(glob, name string) bool {
	for dir := name; dir != "."; dir = path.Dir(dir) {
		if ok, err := doublestar.Match(glob, dir); err == nil && ok {
			return true
		}
		if ok, err := doublestar.Match("**/"+glob, dir); err == nil && ok {
			return true
		}
	}
	return false
}

// holdsFiles reports whether there is a file at a path, or one in the folder there.
func holdsFiles(name string) bool {
	info, err := os.Lstat(name)
	if err != nil || !info.IsDir() {
		return err == nil
	}
	found := false
	_ = filepath.WalkDir(name, func(_ string, d fs.DirEntry, err error) error { // what cannot be read is told where it is packed
		if err == nil && !d.IsDir() {
			found = true
			return fs.SkipAll
		}
		return nil
	})
	return found
}
