package swebench

import (
	"encoding/base64"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/assayd/assayd/runtime/patch"
	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/task/runner"
)

// Marks that SWE-bench looks for around the output of the tests.
const (
	startMark = ">>>>> Start Test Output"
	endMark   = ">>>>> End Test Output"
)

// What is put into a script that somebody else wrote, each on a line of its own.
const (
	keepExit = "assayd_exit=$?\n"
	endsHere = " # nothing that follows the tests counts\n"
)

var keptExit = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*)=\$\?$`)

// closed is a script that ends behind its tests, with their exit code in place of that of its
// last line, and what it runs as tests. ok is false where no marks say which part that is.
func closed(script string) (ending, tests string, ok bool) {
	lines := strings.SplitAfter(script, "\n")
	start := len(lines) - 1
	for ; start >= 0 && !strings.Contains(lines[start], startMark); start-- { // a patch may hold the mark, too
	}
	end := slices.IndexFunc(lines[start+1:], func(line string) bool { return strings.Contains(line, endMark) })
	if start < 0 || end < 1 {
		return "", "", false
	}
	end += start + 1
	body, before := lines[start+1:end], ""
	code := keptExit.FindStringSubmatch(strings.TrimSpace(body[len(body)-1]))
	if code != nil {
		body = body[:len(body)-1]
	} else {
		before = keepExit
		code = keptExit.FindStringSubmatch(strings.TrimSpace(keepExit))
	}
	if !strings.HasSuffix(lines[end], "\n") {
		lines[end] += "\n"
	}
	ending = strings.Join(lines[:end], "") + before + lines[end] + "exit \"$" + code[1] + "\"" + endsHere + strings.Join(lines[end+1:], "")
	return ending, strings.TrimSpace(strings.Join(body, "")), true
}

// reopened undoes closed.
func reopened(script string) string {
	lines := strings.SplitAfter(script, "\n")
	lines = slices.DeleteFunc(lines, func(line string) bool {
		return line == keepExit || strings.HasPrefix(line, "exit ") && strings.HasSuffix(line, endsHere)
	})
	return strings.Join(lines, "")
}

// evalScript is the script by which SWE-bench judges a task that is made of a repository: it
// restores the files of the tests, lays the hidden ones over them, and runs the command
// between the marks.
func evalScript(t task.Task) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("#!/bin/bash\nset -uxo pipefail")
	for _, name := range slices.Sorted(maps.Keys(t.Judge.Env)) {
		line("export %s=%s", name, runner.Quote(t.Judge.Env[name]))
	}
	line("cd %s", runner.Quote(t.Workdir))
	restore := restoring(t)
	b.WriteString(restore)
	if diff := string(t.Judge.Patch); diff != "" {
		end := delimiter(diff)
		line("git apply --verbose - <<'%s'\n%s\n%s", end, strings.TrimSuffix(diff, "\n"), end)
	}
	b.WriteString(files(t.Workdir, t.Judge.Files))
	for _, command := range t.Judge.Setup {
		line("/bin/sh -c %s", quoted(command))
	}
	line(": '%s'", startMark)
	line("%s", commandLine(t.Judge.Command))
	line(": '%s'", endMark)
	b.WriteString(restore)
	return b.String()
}

// restoring brings the files of the tests back to what they were at the base commit.
func restoring(t task.Task) string {
	touched, err := patch.Paths(t.Judge.Patch)
	if err != nil {
		return "" // it will not apply, and has nothing to be undone
	}
	added, _ := patch.Added(t.Judge.Patch) // fails as Paths does
	var b strings.Builder
	base := "HEAD"
	if t.Repo != nil {
		base = t.Repo.Commit
	}
	for _, name := range touched {
		if slices.Contains(added, name) {
			fmt.Fprintf(&b, "rm -f %s\n", quoted("./"+name))
		} else {
			fmt.Fprintf(&b, "git checkout %s -- %s\n", base, quoted(name))
		}
	}
	return b.String()
}

// delimiter is a line that a text does not hold.
func delimiter(text string) string {
	for number := 1; ; number++ {
		if end := fmt.Sprintf("END_OF_TEST_PATCH_%d", number); !strings.Contains(text, end) {
			return end
		}
	}
}

// commandLine is a command that cannot end the script around it.
func commandLine(c task.Command) string {
	return runner.Line(c.Args())
}

func quoted(text string) string { return runner.Quote(text) }

// files are the commands that write files.
func files(workdir string, contents map[string]string) string {
	var b strings.Builder
	for _, target := range slices.Sorted(maps.Keys(contents)) {
		at := target
		if !path.IsAbs(at) {
			at = path.Join(workdir, at)
		}
		fmt.Fprintf(&b, "mkdir -p %s && base64 -d >%s <<'EOF'\n%sEOF\n", quoted(path.Dir(at)), quoted(at), wrapped(contents[target]))
	}
	return b.String()
}

// wrapped is a content in base64 with lines that every tool takes.
func wrapped(content string) string {
	const width = 76
	var b strings.Builder
	for text := base64.StdEncoding.EncodeToString([]byte(content)); text != ""; {
		n := min(width, len(text))
		b.WriteString(text[:n] + "\n")
		text = text[n:]
	}
	return b.String()
}

// dockerfile makes the image of a task: its base, the repository at its commit with nothing
// that came later, and what the setup commands install.
func dockerfile(t task.Task) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	base, packages := t.Image, []string{}
	if t.Base != nil {
		base, packages = t.Base.Image, t.Base.Packages
	}
	line("FROM %s", base)
	if t.Base != nil && t.Base.User != "" {
		line("%s", t.Base.User)
	}
	if t.Repo != nil {
		packages = append([]string{"ca-certificates", "git"}, packages...)
	}
	if len(packages) > 0 {
		line("RUN if command -v apt-get >/dev/null; then apt-get update && apt-get install -y --no-install-recommends %s && rm -rf /var/lib/apt/lists/*; fi", runner.Line(packages))
	}
	if t.Base != nil && len(t.Base.PipPackages) > 0 {
		line("RUN python3 -m pip install --no-cache-dir %s", runner.Line(t.Base.PipPackages))
	}
	if t.Base != nil && t.Base.PostInstall != "" {
		line("%s", t.Base.PostInstall)
	}
	if t.Repo != nil {
		line("RUN mkdir -p %[1]s && cd %[1]s && git init -q && git fetch -q --depth 1 %s %s && git checkout -q FETCH_HEAD", quoted(t.Workdir), quoted(t.Repo.URL), quoted(t.Repo.Commit))
	}
	line("WORKDIR %s", t.Workdir)
	for _, name := range slices.Sorted(maps.Keys(t.Work.Env)) {
		line("ENV %s=%q", name, t.Work.Env[name])
	}
	if text := files(t.Workdir, t.Work.Files); text != "" {
		line("RUN echo %s | base64 -d | /bin/sh", base64.StdEncoding.EncodeToString([]byte(text)))
	}
	for _, command := range t.Work.Setup {
		line("RUN %s", oneLine(command))
	}
	if t.Workdir != workdir {
		line("RUN ln -sfn %s %s", quoted(t.Workdir), workdir)
	}
	return b.String()
}

// oneLine is a command that a Dockerfile takes: one with line ends goes through a decoder.
func oneLine(command string) string {
	if !strings.ContainsAny(command, "\n\r") && !strings.HasSuffix(command, `\`) && !strings.HasPrefix(strings.TrimSpace(command), "[") && !strings.HasPrefix(command, "--") && !strings.Contains(command, "<<") {
		return command
	}
	return "echo " + base64.StdEncoding.EncodeToString([]byte(command)) + " | base64 -d | /bin/sh -e"
}
