package task_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/assayd/assayd/runtime/task"
)

func TestWhichShellRunsACommand(t *testing.T) {
	t.Parallel()
	const which = `echo "${BASH_VERSION:+bash} it's"; exit 3`
	for name, c := range map[string]struct {
		command task.Command
		path    string
		want    string
	}{
		"for bash":            {task.Command{Shell: "[[ a == a* ]] && " + which, Bash: true}, "/usr/bin:/bin", "bash it's"},
		"where there is none": {task.Command{Shell: which, Bash: true}, "/nowhere", "it's"},
		"for any shell":       {task.Command{Shell: which}, "/usr/bin:/bin", "it's"},
		"an argument vector":  {task.Command{Argv: []string{"/bin/sh", "-c", which}, Bash: true}, "/nowhere", "it's"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			argv := c.command.Args()
			cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
			cmd.Env = []string{"PATH=" + c.path}
			out, _ := cmd.CombinedOutput() // the code says more
			if got := strings.TrimSpace(string(out)); got != c.want || cmd.ProcessState.ExitCode() != 3 {
				t.Errorf("%q, exit code %d; want %q, 3", got, cmd.ProcessState.ExitCode(), c.want)
			}
		})
	}
	if !(task.Command{Bash: true}).Empty() {
		t.Error("a shell alone is no command")
	}
}
