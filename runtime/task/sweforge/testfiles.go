package sweforge

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/assayd/assayd/runtime/task/runner"
)

// testFile is an entry of meta.test_files.
type testFile struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

// TestFiles is the text under TestFilesKey: contents by paths relative to the repository.
func TestFiles(files map[string]string) string {
	var all []testFile
	for _, name := range slices.Sorted(maps.Keys(files)) {
		all = append(all, testFile{name, files[name]})
	}
	return filesText(all)
}

// filesText writes test files as swe-forge does; "" = there are none.
func filesText(files []testFile) string {
	if len(files) == 0 {
		return ""
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(files); err != nil {
		panic(err) // plain data always encodes
	}
	return strings.TrimSpace(b.String())
}

// filesOf reads test files; what is no list of them holds none.
func filesOf(text string) (files []testFile) {
	if text == "" || json.Unmarshal([]byte(text), &files) != nil {
		return nil
	}
	return files
}

// patched are those test files that the patch of tests touches. They are there for swe-forge's
// harness, which applies no patch; here the patch makes them.
func (w workspace) patched() []testFile {
	touched := w.touched()
	return slices.DeleteFunc(filesOf(w.Meta[testFiles]), func(file testFile) bool { return !touched[file.Path] })
}

// touched are the files that the patch of tests touches.
func (w workspace) touched() map[string]bool {
	touched := map[string]bool{}
	names, _ := runner.Files([]byte(w.TestPatch)) // that it fails is said with the hidden tests
	for _, name := range names {
		touched[name] = true
	}
	return touched
}
