package shell

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// hostile is a text that a shell would run in every way that there is.
const hostile = "it's \"$(touch ran)\" `touch ran` $HOME '; touch ran; ' \\ ${x:=$(touch ran)}\nEOF\ntouch ran\n# a[$(touch ran)]"

// TestThePromptIsNeverRun has a real shell run each line, with a text that wants to be run. The
// program of the line shows its arguments, and what it reads, between brackets.
func TestThePromptIsNeverRun(t *testing.T) {
	for _, tt := range []struct{ line, want string }{
		{`show {{.Prompt}}`, "[" + hostile + "]"},
		{`show "do: {{.Prompt}}!" b`, "[do: " + hostile + "!][b]"},
		{`show 'do: {{.Prompt}}!'`, "[do: " + hostile + "!]"},
		{`show --text={{ .Prompt }}-x`, "[--text=" + hostile + "-x]"},
		{`x={{.Prompt}}; show "$x"`, "[" + hostile + "]"},
		{`show "$(show {{.Prompt}})"`, "[[" + hostile + "]]"},
		{`show "$(show "<{{.Prompt}}>")"`, "[[<" + hostile + ">]]"},
		{"show <<EOF\nsay {{.Prompt}}\nEOF", "say " + hostile + "\n"},
		{`if true; then show {{.Prompt}}; fi && show "{{.Prompt}}"`, "[" + hostile + "][" + hostile + "]"},
		{`for x in {{.Prompt}}; do show "$x"; done`, "[" + hostile + "]"},
		{`case {{.Prompt}} in a) show a;; *) show b "$#";; esac`, "[b][0]"},
		{"show a # {{.Prompt}}\nshow b", "[a][b]"},
		{`f() { show "$1"; }; f {{.Prompt}}`, "[" + hostile + "]"},
		{`sh -c 'show "$1"' sh {{.Prompt}}`, "[" + hostile + "]"},
		{`show a || show {{.Prompt}} & wait`, "[a]"},
		{`show {{.Prompt}} | cat`, "[" + hostile + "]"},
		{`(cd / && show {{.Prompt}})`, "[" + hostile + "]"},
		{`show $(({{.TimeLeft}} + 1)) {{.Prompt}} --model {{.Model}}`, "[61][" + hostile + "][--model][m]"},
		{`show "$#" {{.Prompt}}`, "[0][" + hostile + "]"},
	} {
		dir := t.TempDir()
		program := "#!/bin/sh\n[ $# -gt 0 ] || exec cat\nprintf '[%s]' \"$@\"\n"
		if err := os.WriteFile(filepath.Join(dir, "show"), []byte(program), 0o700); err != nil {
			t.Fatal(err)
		}
		argv, err := Bind(tt.line)
		if err != nil {
			t.Errorf("%s: %v", tt.line, err)
			continue
		}
		for i, arg := range argv {
			argv[i] = strings.NewReplacer(Prompt, hostile, "{{.TimeLeft}}", "60", "{{.Model}}", "m").Replace(arg) // as the guest does at each start
		}
		cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
		cmd.Dir, cmd.Env = dir, []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "HOME=/home"}
		out, err := cmd.CombinedOutput()
		if err != nil || string(out) != tt.want {
			t.Errorf("%s: %v\n got %q\nwant %q\nthe line is %s", tt.line, err, out, tt.want, argv[2])
		}
		if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
			t.Errorf("%s: the text was run", tt.line)
		}
	}
}

// TestThePromptIsRefusedWhereItWouldBeRun goes through the places that cannot be had, with their columns.
func TestThePromptIsRefusedWhereItWouldBeRun(t *testing.T) {
	for line, want := range map[string]string{
		`sh -c "agent {{.Prompt}}"`:                              "column 7",
		`timeout 9 /bin/bash -lc 'agent {{.Prompt}}'`:            "in what bash runs",
		`eval agent {{.Prompt}}`:                                 "in what eval runs",
		`ssh host agent {{.Prompt}}`:                             "in what ssh runs",
		`su me -c "agent {{.Prompt}}"`:                           "in what su runs",
		"cat <<'EOF'\n{{.Prompt}}\nEOF":                          "here-document",
		"sh <<EOF\n{{.Prompt}}\nEOF":                             "a shell reads",
		"bash -s <<<{{.Prompt}}":                                 "a shell reads",
		"echo {{.Prompt}} | sh":                                  "a shell reads",
		"echo `agent {{.Prompt}}`":                               "backquotes",
		`echo $(({{.Prompt}} + 1))`:                              "arithmetic",
		`[[ {{.Prompt}} -eq 1 ]]`:                                "arithmetic",
		`echo ${x:-{{.Prompt}}}`:                                 "expansion",
		`a[{{.Prompt}}]=1`:                                       "index",
		`echo $'{{.Prompt}}'`:                                    "$'…'",
		`agent "{{.Prompt}}`:                                     "cannot be read",
		`agent {{.Prompt}} "$assayd_prompt"`:                     "cannot be used",
		`agent {{.Prompt}} ` + strings.Repeat("x", maxLine):      "bytes at most",
		`agent {{.Prompt}}; ` + strings.Repeat("(", maxLine-100): "cannot be read",
	} {
		argv, err := Bind(line)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %q, %v, want an error with %q", line, argv, err, want)
		}
		if err != nil && !strings.Contains(err.Error(), "{{.PromptFile}}") && !strings.Contains(err.Error(), "cannot be used in a line") {
			t.Errorf("%.60s: the way out is not told: %v", line, err)
		}
	}
}
