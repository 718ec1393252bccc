package parser

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// Runner is a test runner that a shell command starts. A command that starts one and exits
// with 0 has shown no more than that: code under test can end the process itself.
type Runner struct {
	Parser
	Times int  // how often the command starts it
	Whole bool // all of its output is the command's: nothing keeps it, or passes on less of it
	Seen  bool // its closing summary is, at least
}

// Runners returns the test runners that a shell command names and that a parser understands.
// There are none in what starts its tests in a way of its own (make, a script), and in what
// asks a runner for anything but to run tests.
func Runners(command string) []Runner {
	text, cut := withoutViewers(command)
	parts, ok := splitCommand(text)
	if !ok {
		return roughly(command)
	}
	var found []Runner
	for _, words := range parts {
		for _, r := range runnersOf(words) {
			found = addRunner(found, r, !cut, !cut || endsWithAll(r))
		}
	}
	return found
}

// withoutViewers takes off what passes on the whole of an output, or the end of it.
func withoutViewers(command string) (text string, cut bool) {
	viewer := regexp.MustCompile(`(?s)^(.*[^|])\|\s*(tail|cat|tee)((?:\s+[-+\w./=]+)*)\s*$`)
	for {
		m := viewer.FindStringSubmatch(command)
		if m == nil {
			return command, cut
		}
		command, cut = m[1], cut || m[2] == "tail"
	}
}

// endsWithAll reports whether the last line of a runner's output tells all that is needed.
func endsWithAll(name string) bool {
	return slices.Contains([]string{"pytest", "unittest", "django"}, name)
}

// addRunner counts one start of a runner.
func addRunner(found []Runner, name string, whole, seen bool) []Runner {
	i := slices.IndexFunc(found, func(r Runner) bool { return r.Name == name })
	if i < 0 {
		p, _ := Lookup(name)
		return append(found, Runner{Parser: p, Times: 1, Whole: whole, Seen: seen})
	}
	found[i].Times++
	return found
}

// roughly names the runners of a command that is more than programs one after the other.
// What becomes of their output is not known.
func roughly(command string) (found []Runner) {
	for _, r := range []struct{ name, shape string }{
		{"pytest", `(?:pytest|py\.test)`},
		{"unittest", `python[0-9.]*\s+-m\s+unittest`},
		{"django", `manage\.py\s+test`},
		{"gotest", `go\s+test`},
		{"cargo", `cargo\s+test`},
		{"jest", `jest`},
		{"mocha", `mocha`},
		{"node", `node\s+--test`},
	} {
		at := `(?:^|[;&|(]|&&|\n|\bpython[0-9.]*\s+-m|\bnpx|/|\bpython[0-9.]*)\s*`
		shape := regexp.MustCompile(at + r.shape + `(?:$|[\s;&|)])`)
		if shape.MatchString(command) && !asksElse(r.name, strings.Fields(command)) {
			found = addRunner(found, r.name, false, false)
		}
	}
	return found
}

// runnersOf names the runner that a simple command starts, or those of the command that it
// has a shell run.
func runnersOf(words []string) []string {
	words = unwrapped(words)
	if len(words) == 0 {
		return nil
	}
	program, args := path.Base(words[0]), words[1:]
	if slices.Contains([]string{"sh", "bash", "dash"}, program) {
		for i, arg := range args {
			if strings.HasPrefix(arg, "-") && strings.HasSuffix(arg, "c") && i+1 < len(args) {
				var names []string
				for _, r := range Runners(args[i+1]) {
					names = append(names, slices.Repeat([]string{r.Name}, r.Times)...)
				}
				return names
			}
		}
		return nil
	}
	name := runnerOf(program, args)
	if name == "" || asksElse(name, args) {
		return nil
	}
	return []string{name}
}

// unwrapped is what a command comes to behind settings and programs that start others.
func unwrapped(words []string) []string {
	assignment := regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)
	starters := []string{"env", "exec", "time", "nice", "npx", "bunx", "xvfb-run", "nohup"}
	for len(words) > 0 {
		head := path.Base(words[0])
		switch {
		case assignment.MatchString(words[0]), slices.Contains(starters, head):
			words = words[1:]
			for len(words) > 0 && strings.HasPrefix(words[0], "-") {
				words = words[1:]
			}
		case head == "timeout" && len(words) > 2:
			words = words[1:]
			for len(words) > 2 && strings.HasPrefix(words[0], "-") {
				if words[0] == "-k" || words[0] == "-s" {
					words = words[1:]
				}
				words = words[1:]
			}
			words = words[1:] // how long
		case len(words) > 2 && slices.Contains([]string{"poetry", "uv", "pipenv", "hatch", "pdm"}, head) && words[1] == "run":
			words = words[2:]
		case len(words) > 2 && slices.Contains([]string{"pnpm", "npm", "yarn"}, head) && words[1] == "exec":
			words = words[2:]
			if words[0] == "--" {
				words = words[1:]
			}
		case len(words) > 1 && slices.Contains([]string{"pnpm", "yarn"}, head) && slices.Contains([]string{"jest", "mocha"}, words[1]):
			words = words[1:]
		case len(words) > 3 && head == "coverage" && words[1] == "run":
			words = slices.Concat([]string{"python"}, words[2:])
		default:
			return words
		}
	}
	return words
}

// runnerOf names the runner of a program with arguments, "" for none.
func runnerOf(program string, args []string) string {
	python := regexp.MustCompile(`^python[0-9.]*$`)
	switch {
	case program == "pytest" || program == "py.test":
		return "pytest"
	case program == "go" && len(args) > 0 && args[0] == "test":
		return "gotest"
	case program == "cargo" && slices.Contains(args[:min(2, len(args))], "test"):
		return "cargo"
	case program == "jest" || program == "mocha":
		return program
	case program == "node" && slices.Contains(args, "--test"):
		return "node"
	case program == "manage.py" && len(args) > 0 && args[0] == "test":
		return "django"
	case python.MatchString(program):
		return runnerOfPython(args)
	}
	return ""
}

func runnerOfPython(args []string) string {
	for i, arg := range args {
		if module, ok := strings.CutPrefix(arg, "-m"); ok {
			rest := args[i+1:]
			if module == "" && len(rest) > 0 {
				module, rest = rest[0], rest[1:]
			}
			switch module {
			case "pytest", "unittest":
				return module
			case "coverage":
				if len(rest) > 0 && rest[0] == "run" {
					return runnerOfPython(rest[1:])
				}
			}
			return ""
		}
		if !strings.HasPrefix(arg, "-") {
			return runnerOf(path.Base(arg), args[i+1:]) // "python manage.py test"
		}
	}
	return ""
}

// asksElse reports whether arguments ask a runner for something else than to run tests, or to
// write in a way that its parser does not read.
func asksElse(name string, args []string) bool {
	flags := map[string][]string{
		"pytest":   {"--collect-only", "--co", "--version", "-h", "--help", "--fixtures", "--markers", "no:terminal", "-pno:terminal"},
		"unittest": {"-h", "--help"},
		"django":   {"-h", "--help"},
		"gotest":   {"-c", "-list", "-n", "-bench", "-h", "-fuzz"},
		"cargo":    {"--no-run", "--list", "--help", "-h", "--bench"},
		"jest":     {"--listTests", "--version", "--help", "--passWithNoTests", "--reporters", "--silent", "--showConfig", "--init"},
		"mocha":    {"--version", "--help", "--reporter", "-R", "--dry-run", "--list-files"},
		"node":     {"--test-reporter", "--version"},
	}[name]
	return slices.ContainsFunc(args, func(arg string) bool {
		flag, _, _ := strings.Cut(arg, "=")
		return slices.Contains(flags, flag)
	}) || name == "gotest" && slices.ContainsFunc(args, func(arg string) bool {
		_, value, ok := strings.Cut(arg, "=")
		return arg == "^$" || ok && value == "^$" // a build, nothing more
	})
}
