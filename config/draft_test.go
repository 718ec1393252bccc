package config

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestADraftSaysWhatItWasGiven: whatever the text, it is the value of its attribute and nothing else of
// the file.
func TestADraftSaysWhatItWasGiven(t *testing.T) {
	root := t.TempDir()
	for _, text := range []string{
		"plain", `"quoted" \ and \n`, "${env(\"HOME\")} %{ if true }", "$${x} %%{x}", "line\nline\ttab\r", "\"\n}\nagent \"other\" {\n command = \"x\"", "# no comment", "日本 é", "<<EOT\nx\nEOT", `$("${`,
	} {
		d := NewDraft("Written for " + text)
		agent := d.Block("agent", "a")
		agent.Text("command", text)
		agent.Texts("install", []string{text, "true"})
		run := d.Block("run", "r")
		run.Refs("tasks", "benchmark", "b", "c-d")
		run.Number("parallel", 3)
		run.Bool("sanity_check", false)
		run.Block("agent", "a").Text("model", text)
		out, err := d.Text()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(Format(out)), string(out)); diff != "" {
			t.Error(diff)
		}
		in := Input{Path: filepath.Join(root, "a.hcl"), Root: root, Text: out}
		o := testOptions()
		f := newFile(in, &o)
		f.compile()
		if len(f.blocks.Agents) != 1 || len(f.blocks.Runs) != 1 {
			t.Fatalf("%q gives\n%s", text, out)
		}
		got := []string{f.blocks.Agents[0].Command.Shell, f.blocks.Runs[0].Agents[0].Model}
		if diff := cmp.Diff([]string{text, text}, got); diff != "" {
			t.Errorf("%s\n%s", diff, out)
		}
		if r := f.blocks.Runs[0]; len(r.Tasks) != 2 || r.Tasks[1].Name != "c-d" || r.Parallel != 3 || r.SanityCheck {
			t.Errorf("%+v", r)
		}
	}
	for _, text := range []string{"\xff", "nul\x00", "e\u0301"} {
		d := NewDraft("x")
		d.Block("agent", "a").Text("dir", text)
		if _, err := d.Text(); err == nil || !strings.Contains(err.Error(), "dir cannot be") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
