package config

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// someFile draws a spec file: some blocks of few names, so that they meet and miss each
// other, and now and then a mistake.
func someFile(t *rapid.T) string {
	name := rapid.SampledFrom([]string{"a", "b", "c"})
	var text strings.Builder
	for range rapid.IntRange(0, 3).Draw(t, "blocks") {
		switch rapid.SampledFrom([]string{"agent", "benchmark", "run", "locals", "mistake", "syntax"}).Draw(t, "block") {
		case "agent":
			fmt.Fprintf(&text, "agent %q {\n command = \"x\"\n env = { A = %q }\n}\n", name.Draw(t, "name"), rapid.String().Filter(plainText).Draw(t, "env"))
		case "benchmark":
			fmt.Fprintf(&text, "benchmark %q {\n task %q {\n image = \"x\"\n instruction = \"y\"\n judge { command = \"z\" }\n }\n}\n", name.Draw(t, "name"), name.Draw(t, "task"))
		case "run":
			fmt.Fprintf(&text, "run %q {\n tasks = [benchmark.%s.%s]\n agent %q {}\n}\n", name.Draw(t, "name"), name.Draw(t, "benchmark"), name.Draw(t, "task"), name.Draw(t, "agent"))
		case "locals":
			fmt.Fprintf(&text, "locals {\n %s = local.%s\n}\n", name.Draw(t, "local"), name.Draw(t, "other"))
		case "mistake":
			fmt.Fprintf(&text, "agent %q {\n comand = 1\n zeal = 2\n}\n", name.Draw(t, "name"))
		case "syntax":
			text.WriteString("run \"a\" {\n")
		}
	}
	return text.String()
}

func plainText(s string) bool { return !strings.ContainsAny(fmt.Sprintf("%q", s), "\\$%") }

func someInputs(t *rapid.T) []Input {
	var out []Input
	for i := range rapid.IntRange(1, 4).Draw(t, "files") {
		name := fmt.Sprintf("%d.hcl", i)
		out = append(out, Input{Path: "/specs/" + name, Display: name, Root: "/specs", Text: []byte(someFile(t))})
	}
	return out
}

func encoded(t *rapid.T, value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestLoadProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		prev := Load(someInputs(t), nil, testOptions()).Accepted()
		before := encoded(t, prev)
		inputs := someInputs(t)
		set := Load(inputs, prev, testOptions())

		if encoded(t, prev) != before {
			t.Fatal("Load changed what it was given")
		}
		reversed := slices.Clone(inputs)
		slices.Reverse(reversed)
		if encoded(t, Load(reversed, prev, testOptions())) != encoded(t, set) {
			t.Fatal("Load depends on the order of its inputs")
		}
		var back Previous
		if err := json.Unmarshal([]byte(encoded(t, set.Accepted())), &back); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(set.Accepted(), back); diff != "" {
			t.Fatal("lost in JSON: ", diff)
		}
		again := Load(inputs, back, testOptions())
		if diff := cmp.Diff(set.Blocks, again.Blocks); diff != "" {
			t.Fatal("the same files, loaded again, differ: ", diff)
		}
		checkInForce(t, set)
	})
}

// checkInForce holds what a set promises whatever the files say.
func checkInForce(t *rapid.T, set *Set) {
	seen := map[string]bool{}
	for _, b := range set.All() {
		if seen[b.Address()] {
			t.Fatalf("%s is in force twice", b.Address())
		}
		seen[b.Address()] = true
	}
	for _, file := range set.Files {
		if (file.Status == OK) == file.Diagnostics.HasErrors() {
			t.Fatalf("%s is %s with %v", file.Display, file.Status, file.Diagnostics)
		}
		if file.Status != OK {
			continue
		}
		for _, r := range set.Blocks.Runs {
			if r.Path == file.Path && len(set.Tasks(&r)) == 0 {
				t.Fatalf("run %s of a valid file refers to nothing", r.Name)
			}
		}
	}
}

func FuzzLoad(f *testing.F) {
	archives, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range archives {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
		for part := range strings.SplitSeq(string(data), "-- ") {
			f.Add([]byte(part))
		}
	}
	for _, text := range []string{
		"\xef\xbb\xbf", "a = \"${", "locals {\n a = null\n}\nagent \"a\" {\n command = local.a\n}",
		"agent \"a\" {\n command = [null]\n env = { a = null }\n}", "run \"r\" {\n tasks = [benchmark.x[null], benchmark[\"x\"].y, benchmark.x[*].y]\n agent \"a\" { env = jsondecode(\"null\") }\n}",
		"agent \"a\" {\n command = indent(-1, \"x\\n\")\n}", "agent \"a\" {\n timeout = 1e99999\n user = format(\"%s\", [])\n}",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		root := t.TempDir()
		in := Input{Path: filepath.Join(root, "a.hcl"), Display: "a.hcl", Root: root, Text: text}
		set := Load([]Input{in}, nil, testOptions())
		data, err := json.Marshal(set.Accepted())
		if err != nil {
			t.Fatal(err)
		}
		var back Previous
		if err := json.Unmarshal(data, &back); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(set.Accepted(), back); diff != "" {
			t.Fatal(diff)
		}
		LoadSettings("assayd.hcl", text, testOptions())
		newFile(in, &Options{Settings: DefaultSettings(nil)}).dataFolders()
		Format(text)
	})
}

// Texts that would use up the stack or the day are refused, and in reasonable time.
func TestHostileTexts(t *testing.T) {
	const much = 1 << 16
	for name, text := range map[string]string{
		"brackets":  "x = " + strings.Repeat("[", much),
		"templates": "x = " + strings.Repeat(`"${`, much),
		"unary":     "x = " + strings.Repeat("!", much) + "true",
		"sum":       "x = 1" + strings.Repeat("+1", much),
		"blocks":    strings.Repeat("a {\n", much),
		"errors":    strings.Repeat("a b\n", much/4),
		"unknown":   strings.Repeat("a {}\n", much/4),
		"no text":   "\xff\xfe",
	} {
		t.Run(name, func(t *testing.T) {
			set := Load([]Input{{Path: "/specs/a.hcl", Display: "a.hcl", Root: "/specs", Text: []byte(text)}}, nil, testOptions())
			if set.Files[0].Status != Rejected || len(set.Diagnostics) == 0 || len(set.Diagnostics) > maxComplaints+1 {
				t.Errorf("%s with %d complaints", set.Files[0].Status, len(set.Diagnostics))
			}
		})
	}
}
