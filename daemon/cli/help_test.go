package cli

import (
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestEachCommandSaysWhatItIsFor: a purpose, three examples that the command line takes, and what its
// exit codes mean.
func TestEachCommandSaysWhatItIsFor(t *testing.T) {
	t.Parallel()
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		if cmd.Hidden || cmd.Name() == "completion" || cmd.Name() == "help" {
			return
		}
		for _, below := range cmd.Commands() {
			walk(below)
		}
		if cmd.HasSubCommands() && cmd.Name() != "export" {
			return
		}
		if examples := strings.Split(strings.TrimSpace(cmd.Example), "\n"); len(examples) < 3 {
			t.Errorf("%s has the examples %q", cmd.CommandPath(), examples)
		} else {
			for _, line := range examples {
				taken(t, line)
			}
		}
		purpose, exits, ok := strings.Cut(cmd.Long, "\n\nExit codes:\n")
		if len(purpose) < 30 || !ok || !strings.Contains(exits, "  0  ") || !strings.Contains(exits, "  1  ") || !strings.Contains(exits, "  2  ") {
			t.Errorf("%s says %q", cmd.CommandPath(), cmd.Long)
		}
	}
	root := New(&env{out: io.Discard, err: io.Discard})
	walk(root)
	for name := range helps() {
		if found, _, err := root.Find(strings.Fields(name)); err != nil || found == root {
			t.Errorf("there is help for %q, which is no command", name)
		}
	}
}

// shellWord is a word of a command line, in which quotes may keep spaces.
var shellWord = regexp.MustCompile(`(?:'[^']*'|[^\s'])+`)

// taken complains of an example that the command line would refuse.
func taken(t *testing.T, line string) {
	t.Helper()
	line, _, _ = strings.Cut(line, "|")
	var words []string
	for _, word := range shellWord.FindAllString(line, -1) {
		words = append(words, strings.ReplaceAll(word, "'", ""))
	}
	cmd, args, err := New(&env{out: io.Discard, err: io.Discard}).Find(words[1:])
	if err == nil {
		err = cmd.ParseFlags(args)
	}
	if err == nil {
		err = cmd.ValidateArgs(cmd.Flags().Args())
	}
	if err != nil {
		t.Errorf("%s: %v", line, err)
	}
}
