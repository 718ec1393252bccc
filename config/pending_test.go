package config

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A dataset that is not here yet is no error: the file is accepted, references to its tasks too,
// and it is asked for again at each look until it has come, whether the text changes or not.
func TestADatasetThatIsNotHereIsNoError(t *testing.T) {
	root := t.TempDir()
	text := "benchmark \"b\" {\n import \"harbor\" {\n dataset = \"o/n\"\n }\n}\nrun \"r\" {\n tasks = [benchmark.b[\"t\"]]\n agent \"nop\" {}\n}\n"
	write(t, root, at("a.hcl", text))
	var asked []Import
	come := false
	look := func(last Previous) *Set {
		t.Helper()
		set := load(root, last, func(o *Options) {
			o.Import = func(i Import) ([]Imported, []Problem) {
				asked = append(asked, i)
				if !come {
					return nil, []Problem{{File: "hf:o/n", Pending: true, Text: "it is being fetched"}}
				}
				return []Imported{{Name: "t", Task: json.RawMessage("1")}}, nil
			}
		})
		if set.Diagnostics.HasErrors() {
			t.Fatal(set.Diagnostics)
		}
		return set
	}
	set := look(nil)
	if set.Benchmark("b").Pending() == nil || len(set.Diagnostics) != 1 || set.Diagnostics[0].Summary != "Not here yet: hf:o/n" || set.Diagnostics[0].Severity != Warning {
		t.Errorf("%v", set.Diagnostics)
	}
	stored, err := json.Marshal(set.Accepted())
	if err != nil {
		t.Fatal(err)
	}
	var last Previous
	if err := json.Unmarshal(stored, &last); err != nil {
		t.Fatal(err)
	}
	come = true
	set = look(last)
	if b := set.Benchmark("b"); b.Pending() != nil || len(b.All()) != 1 {
		t.Errorf("when it has come: %+v", b.Imports)
	}
	come = false
	look(set.Accepted())
	if len(asked) != 2 || asked[0].Text == "" || asked[1].Text != "" || asked[0].File != filepath.Join(root, "a.hcl") {
		t.Fatalf("it was asked %d times: %+v", len(asked), asked)
	}
	// Another text asks again, and what there was stays until the answer.
	write(t, root, at("a.hcl", text+"# more\n"))
	set = look(set.Accepted())
	if b := set.Benchmark("b"); len(b.All()) != 1 || b.Pending() == nil || asked[2].Text == "" || asked[2].Text == asked[0].Text {
		t.Errorf("%+v, asked %+v", b.Imports, asked[2])
	}
}

func TestImportsAreFoundWhateverElseIsWrong(t *testing.T) {
	t.Parallel()
	text := "benchmark \"b\" {\n import \"harbor\" {\n url = \"https://h/r\"\n ref = \"v1\"\n }\n import \"swebench\" {\n dataset = \"o/n\"\n }\n nonsense = 1\n}\n"
	var got []string
	for _, i := range Imports([]Input{{Path: "/a.hcl", Text: []byte(text)}, {Path: "/b.hcl", Unknown: "no"}}, Options{}) {
		got = append(got, i.Format+" "+i.URL+i.Ref+i.Dataset+" "+i.File)
		if !i.Remote() || i.Text == "" {
			t.Errorf("%+v", i)
		}
	}
	if diff := cmp.Diff([]string{"harbor https://h/rv1 /a.hcl", "swebench o/n /a.hcl"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestAPathMayBeAFile(t *testing.T) {
	root := t.TempDir()
	write(t, root, at("rows.jsonl", "{}"))
	for path, wrong := range map[string]string{"rows.jsonl": "", "none": "no such file", "/dev/null": "leaves the folder"} {
		write(t, root, at("a.hcl", "benchmark \"b\" {\n import \"swebench\" { path = \""+path+"\" }\n}\n"))
		set := load(root, nil, func(o *Options) {
			o.Import = func(i Import) ([]Imported, []Problem) {
				if i.Path != filepath.Join(root, "rows.jsonl") {
					t.Errorf("the path is %s", i.Path)
				}
				return []Imported{{Name: "t", Task: json.RawMessage("1")}}, nil
			}
		})
		told := ""
		for _, d := range set.Diagnostics {
			told += d.Detail
		}
		if (wrong == "") != (told == "") || !strings.Contains(told, wrong) {
			t.Errorf("%s: %q, want %q", path, told, wrong)
		}
	}
}

// A folder that is being copied is no error: the file is accepted, with the copy that there was before,
// and is asked for again at each look until it has come.
func TestAFolderThatIsBeingCopiedIsNoError(t *testing.T) {
	root := t.TempDir()
	text := "agent \"a\" {\n dir = \"tool\"\n command = \"true\"\n}\nbenchmark \"b\" {\n task \"t\" {\n image = \"i\"\n instruction = \"x\"\n judge {\n command = \"true\"\n }\n }\n}\nrun \"r\" {\n tasks = [benchmark.b]\n agent \"a\" {}\n}\n"
	write(t, root, at("a.hcl", text), at("tool/x", "x"))
	tool := filepath.Join(root, "tool")
	digest, asked := "", 0
	look := func(last Previous) *Set {
		t.Helper()
		set := load(root, last, func(o *Options) {
			o.Snapshot = func(dir string) (string, error) {
				if asked++; dir != tool {
					t.Errorf("asked for %s", dir)
				}
				if digest == "" {
					return "", ErrPending
				}
				return digest, nil
			}
			o.Copied = func(string) string { return "as it lay" }
		})
		if set.Diagnostics.HasErrors() {
			t.Fatal(set.Diagnostics)
		}
		return set
	}
	again := func(set *Set) (last Previous) {
		t.Helper()
		stored, err := json.Marshal(set.Accepted())
		if err == nil {
			err = json.Unmarshal(stored, &last)
		}
		if err != nil {
			t.Fatal(err)
		}
		return last
	}
	is := func(set *Set, digest string, copying bool) {
		t.Helper()
		folder, address := set.PendingFolder(set.Run("r"))
		if d := set.Agent("a").Dir; d.Digest != digest || d.Pending != copying || (folder == tool && address == "agent.a") != copying || len(set.Diagnostics) > 1 {
			t.Errorf("%+v, pending %q of %q, %v", d, folder, address, set.Diagnostics)
		}
		if copying && (set.Diagnostics[0].Summary != "Not here yet: "+tool || set.Diagnostics[0].Severity != Warning) {
			t.Errorf("told as %v", set.Diagnostics)
		}
	}
	set := look(nil)
	is(set, "", true)
	set = look(again(set)) // of the same text
	is(set, "", true)
	digest = "one"
	set = look(again(set))
	is(set, "one", false)
	if asked != 3 {
		t.Errorf("asked %d times", asked)
	}
	look(again(set)) // of the same text, and all is there
	for _, c := range set.Accepted()[filepath.Join(root, "a.hcl")].Content() {
		if c.Kind == ContentFolder && c.Trace != "as it lay" {
			t.Errorf("it lay %q", c.Trace)
		}
	}
	if asked != 3 {
		t.Errorf("asked %d times", asked)
	}
	digest = ""
	write(t, root, at("a.hcl", text+"# more\n"))
	set = look(again(set))
	is(set, "one", true)
	digest = "two"
	is(look(again(set)), "two", false)
}

func TestFoldersAreFoundWhateverElseIsWrong(t *testing.T) {
	root := t.TempDir()
	write(t, root, at("x/f", ""), at("y/f", ""))
	text := "agent \"a\" {\n dir = \"x\"\n command = \"true\"\n nonsense = 1\n}\nagent \"b\" {\n dir = \"y\"\n command = \"true\"\n}\nagent \"c\" {\n dir = \"x\"\n command = \"true\"\n}\n"
	inputs := []Input{{Path: filepath.Join(root, "a.hcl"), Root: root, Text: []byte(text)}, {Path: "/b.hcl", Unknown: "no"}}
	if diff := cmp.Diff([]string{filepath.Join(root, "x"), filepath.Join(root, "y")}, Folders(inputs, Options{})); diff != "" {
		t.Error(diff)
	}
}
