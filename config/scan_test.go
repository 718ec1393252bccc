package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

const anAgent = `agent "a" { command = "x" }`

func scanned(root string, prev Previous) []string {
	var out []string
	for _, in := range Scan(root, prev, testOptions()).Inputs {
		state := ""
		if in.Unknown != "" {
			state = " unknown"
		}
		if in.Refused != "" {
			state = " refused"
		}
		out = append(out, in.Display+state)
	}
	return out
}

func link(t *testing.T, target, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}

func TestScanFindsSpecsOnly(t *testing.T) {
	for _, test := range []struct {
		name  string
		files []txtar.File
		links map[string]string // path -> target
		want  []string
	}{
		{"below", []txtar.File{at("a.hcl", ""), at("b/c/d.hcl", ""), at("b/x.txt", "")}, nil, []string{"a.hcl", "b/c/d.hcl"}},
		{"hidden and private folders", []txtar.File{at("a.hcl", ""), at(".git/x.hcl", ""), at("_old/x.hcl", ""), at(".x.hcl", ""), at("b/_c/x.hcl", "")}, nil, []string{"a.hcl"}},
		{"contexts and agents", []txtar.File{
			at("a.hcl", task+`agent "m" {`+"\n"+`dir = "agent"`+"\ncommand = \"x\"\n}"), at("ctx/x.hcl", ""), at("agent/deep/x.hcl", ""), at("other/x.hcl", ""),
		}, nil, []string{"a.hcl", "other/x.hcl"}},
		{"what mining writes", []txtar.File{at("a.hcl", "mining \"m\" {}\nmining \"n\" {\n output { dir = \"out\" }\n}"), at("m/x.hcl", ""), at("n/x.hcl", ""), at("out/x.hcl", "")}, nil, []string{"a.hcl", "n/x.hcl"}},
		{"over locals", []txtar.File{at("a.hcl", "locals { d = \"data\" }\nbenchmark \"b\" {\n import \"sforge\" { path = \"${local.d}/x\" }\n}"), at("data/x/y.hcl", ""), at("data/y.hcl", "")}, nil, []string{"a.hcl", "data/y.hcl"}},
		{"of a broken file", []txtar.File{at("a.hcl", "benchmark \"b\" {\n import \"sforge\" {\n path = \"data\"\n"), at("data/y.hcl", "")}, nil, []string{"a.hcl"}},
		{"named later and from the side", []txtar.File{at("a/x.hcl", ""), at("b/c/s.hcl", `agent "m" { dir = "../../a" }`)}, nil, []string{"b/c/s.hcl"}},
		{"the folder of the spec itself", []txtar.File{at("t/a.hcl", `agent "m" { dir = "." }`), at("t/b.hcl", ""), at("t/in/x.hcl", ""), at("u/x.hcl", "")}, nil, []string{"t/a.hcl", "t/b.hcl", "u/x.hcl"}},
		{"a ConfigMap", []txtar.File{at("..2026/a.hcl", ""), at("..2026/t/b.hcl", "")}, map[string]string{"..data": "..2026", "a.hcl": "..data/a.hcl", "t": "..data/t"}, []string{"a.hcl", "t/b.hcl"}},
		{"links inside, each file once", []txtar.File{at("z/a.hcl", "")}, map[string]string{"b": "z", "c.hcl": "z/a.hcl", "z/loop": ".."}, []string{"z/a.hcl"}},
		{"links into data", []txtar.File{at("a.hcl", task), at("ctx/x.hcl", "")}, map[string]string{"l": "ctx", "m.hcl": "ctx/x.hcl"}, []string{"a.hcl"}},
		{"links to nothing", []txtar.File{at("a.hcl", "")}, map[string]string{"b.hcl": "gone.hcl", "c": "gone"}, []string{"a.hcl"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := t.TempDir()
			write(t, root, test.files...)
			for path, target := range test.links {
				link(t, target, filepath.Join(root, path))
			}
			if diff := cmp.Diff(test.want, scanned(root, nil)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestScanDoesNotLeaveTheRoot(t *testing.T) {
	outside, root := t.TempDir(), t.TempDir()
	write(t, outside, at("x.hcl", ""))
	write(t, root, at("a.hcl", ""))
	link(t, outside, filepath.Join(root, "dir"))
	link(t, filepath.Join(outside, "x.hcl"), filepath.Join(root, "x.hcl"))
	if diff := cmp.Diff([]string{"a.hcl"}, scanned(root, nil)); diff != "" {
		t.Error(diff)
	}
	linked := filepath.Join(t.TempDir(), "root")
	link(t, root, linked)
	if diff := cmp.Diff([]string{"a.hcl"}, scanned(linked, nil)); diff != "" {
		t.Error("the root itself may be a link:", diff)
	}
}

// A file that appears in a data folder and calls the folder of the real spec data must not
// win, although it lies higher up.
func TestScanTrustsWhatWasAccepted(t *testing.T) {
	root := t.TempDir()
	write(t, root, at("team/deep/spec.hcl", `agent "m" {
  dir     = "../../data"
  command = "x"
}`), at("data/f", ""))
	prev := load(root, nil, nil).Accepted()
	write(t, root, at("data/evil.hcl", `agent "e" { dir = "../team" }`))
	if diff := cmp.Diff([]string{"team/deep/spec.hcl"}, scanned(root, prev)); diff != "" {
		t.Error(diff)
	}
}

func TestScanTellsUnknownFromAbsent(t *testing.T) {
	root := t.TempDir()
	write(t, root, at("a.hcl", anAgent), at("current/b.hcl", `agent "b" { command = "x" }`))
	set := load(root, nil, nil)
	prev := set.Accepted()
	if err := os.RemoveAll(filepath.Join(root, "current")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a.hcl"}, scanned(root, prev)); diff != "" {
		t.Error("absent:", diff)
	}
	link(t, "half-swapped", filepath.Join(root, "current"))
	if diff := cmp.Diff([]string{"a.hcl", "current/b.hcl unknown"}, scanned(root, prev)); diff != "" {
		t.Error("unknown:", diff)
	}
	if load(root, prev, nil).Agent("b") == nil {
		t.Error("an unknown file lost its blocks")
	}
	for name, spoil := range map[string]func() error{
		"empty": func() error { return os.Mkdir(root, 0o755) },
		"empty but for records": func() error {
			return errors.Join(os.Mkdir(root, 0o755), os.WriteFile(filepath.Join(root, "a.status.jsonl"), nil, 0o644))
		},
		"missing":      func() error { return nil },
		"not a folder": func() error { return os.WriteFile(root, nil, 0o644) },
	} {
		if err := errors.Join(os.RemoveAll(root), spoil()); err != nil {
			t.Fatal(err)
		}
		found := Scan(root, prev, testOptions())
		if len(found.Unknown) != 1 || len(found.Inputs) != 2 || strings.HasPrefix(name, "empty") != errors.Is(found.Unknown[0].Err, ErrEmpty) {
			t.Errorf("%s: %+v", name, found)
		}
	}
}

func TestScanRefusesWhatIsTooLarge(t *testing.T) {
	root := t.TempDir()
	write(t, root, at("big.hcl", strings.Repeat("#", maxSpec+1)), at("a.hcl", anAgent))
	if diff := cmp.Diff([]string{"a.hcl", "big.hcl refused"}, scanned(root, nil)); diff != "" {
		t.Error(diff)
	}
}
