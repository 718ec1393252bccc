package config

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write what the golden files should say")

// TestGolden loads the files of each archive and compares the normal form of what is in
// force and the complaints. Files below before/ are there first and are accepted; then
// those that the others replace change.
func TestGolden(t *testing.T) {
	archives, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatal("no golden files", err)
	}
	for _, name := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			got := loadArchive(t, archive)
			for i, file := range archive.Files {
				want, ok := strings.CutPrefix(file.Name, "want/")
				if !ok {
					continue
				}
				if *update {
					archive.Files[i].Data = got[want]
				} else if diff := cmp.Diff(string(file.Data), string(got[want])); diff != "" {
					t.Errorf("%s (-want +got):\n%s", want, diff)
				}
			}
			if *update {
				if err := os.WriteFile(name, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// loadArchive returns the outputs that an archive may want, by name.
func loadArchive(t *testing.T, archive *txtar.Archive) map[string][]byte {
	t.Helper()
	root := t.TempDir()
	var before, now []txtar.File
	loadRoot := loadRoot
	for _, file := range archive.Files {
		if file.Name == "env" { // more of the environment, a NAME=value a line
			loadRoot = inEnv(string(file.Data))
		} else if name, ok := strings.CutPrefix(file.Name, "before/"); ok {
			before = append(before, txtar.File{Name: name, Data: file.Data})
		} else if !strings.HasPrefix(file.Name, "want/") {
			now = append(now, file)
		}
	}
	prev := Previous{}
	if len(before) > 0 {
		write(t, root, before...)
		prev = loadRoot(root, nil).Accepted()
	}
	write(t, root, now...)
	set := loadRoot(root, prev)
	var text, lines, files bytes.Buffer
	if err := set.Diagnostics.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	if err := writeJSON(set.Diagnostics, &lines); err != nil {
		t.Fatal(err)
	}
	for _, file := range set.Files {
		files.WriteString(file.Display + " " + string(file.Status) + "\n")
	}
	var names bytes.Buffer
	for _, b := range set.All() {
		names.WriteString(strings.TrimSpace(b.Address()+" "+b.Pos.String()+" "+strings.Join(b.Unsupported, ", ")) + "\n")
	}
	var normal bytes.Buffer
	hidden := bytes.ReplaceAll(normalForm(&set.Blocks), []byte(root), []byte("ROOT"))
	if err := json.Indent(&normal, hidden, "", " "); err != nil {
		t.Fatal(err)
	}
	normal.WriteByte('\n')
	return map[string][]byte{
		"text": text.Bytes(), "lines": lines.Bytes(), "files": files.Bytes(), "specs": names.Bytes(), "normal.json": normal.Bytes(),
	}
}

func testOptions() Options {
	env := map[string]string{"REGION": "north"}
	lookup := func(name string) (string, bool) { text, ok := env[name]; return text, ok }
	return Options{
		Env: lookup, Settings: readable(lookup),
		Secret:  func(name string) (string, bool) { return "", name == "key" },
		Parsers: []string{"pytest", "pytest_v", "gotest", "node", "junit", "structured_json", "exit_code"},
		Host:    Host{CPUs: 4, Memory: 16 << 30},
	}
}

// readable are settings that let specs read the variable of the tests.
func readable(env func(string) (string, bool)) *Settings {
	settings := DefaultSettings(env)
	settings.Env = []string{"REGION"}
	return settings
}

// inEnv is loadRoot with more in the environment.
func inEnv(lines string) func(root string, prev Previous) *Set {
	more := map[string]string{}
	for line := range strings.Lines(lines) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		more[name] = value
	}
	return func(root string, prev Previous) *Set {
		return load(root, prev, func(o *Options) {
			env := o.Env
			o.Env = func(name string) (string, bool) {
				if value, ok := more[name]; ok {
					return value, true
				}
				return env(name)
			}
			o.Settings = readable(o.Env)
		})
	}
}

func loadRoot(root string, prev Previous) *Set {
	return Load(Scan(root, prev, testOptions()).Inputs, prev, testOptions())
}

// write puts files below a root; an empty one in the archive is written as an empty file.
func write(t testing.TB, root string, files ...txtar.File) {
	t.Helper()
	for _, file := range files {
		path := filepath.Join(root, filepath.FromSlash(file.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, file.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// writeJSON writes diagnostics as programs get them, one object a line.
func writeJSON(ds Diagnostics, w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for _, d := range ds {
		if err := enc.Encode(d); err != nil {
			return err
		}
	}
	return nil
}
