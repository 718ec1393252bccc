package parser

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// invocation is the one program a simple judge command comes down to.
type invocation struct {
	dir  string            // where it runs, absolute
	env  map[string]string // assignments written before it
	args []string          // program and arguments
}

// lastInvocation reads a command of the shape "cd a && prepare; VAR=x program args" and
// returns its last part. It reports false for anything whose exit code, output or
// arguments could be other than what is written there: pipes, redirections into files,
// expansions, subshells, alternatives, jobs in the background.
func lastInvocation(site Site) (invocation, bool) {
	parts, ok := splitCommand(site.Command)
	if !ok || len(parts) == 0 {
		return invocation{}, false
	}
	in := invocation{dir: path.Clean(site.Workdir), env: map[string]string{}}
	last := len(parts) - 1
	for _, words := range parts[:last] {
		if words[0] != "cd" {
			continue
		}
		if len(words) != 2 || strings.HasPrefix(words[1], "-") || strings.HasPrefix(words[1], "~") {
			return invocation{}, false
		}
		in.dir = resolve(in.dir, words[1])
	}
	assignment := regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)
	words := parts[last]
	for len(words) > 0 {
		switch {
		case assignment.MatchString(words[0]):
			name, value, _ := strings.Cut(words[0], "=")
			in.env[name] = value
			words = words[1:]
		case slices.Contains([]string{"env", "exec", "time"}, words[0]):
			words = words[1:]
		case words[0] == "timeout" && len(words) > 2 && !strings.HasPrefix(words[1], "-"):
			words = words[2:]
		default:
			in.args = words
			return in, true
		}
	}
	return invocation{}, false
}

// value returns what a variable is when the program runs.
func (in invocation) value(site Site, name string) string {
	if v, ok := in.env[name]; ok {
		return v
	}
	return site.Env[name]
}

func resolve(dir, target string) string {
	if path.IsAbs(target) {
		return path.Clean(target)
	}
	return path.Join(dir, target)
}

// splitCommand splits a shell command at newlines, ";" and "&&" into words. It knows quotes
// and backslashes, leaves globs as they are, overlooks the joining of output and errors,
// and reports false at everything else that a shell would act on.
func splitCommand(command string) (parts [][]string, ok bool) {
	token := regexp.MustCompile(`(?s)^(?:([ \t]+|\\\n|[12]?>&[12](?:\s|$))|(\n|;|&&)|'([^']*)'|"([^"$\x60\\]*)"|\\(.)|([^\s;&|<>()\x60$#\\'"]+))`)
	var words []string
	var word *string
	flush := func() {
		if word != nil {
			words = append(words, *word)
		}
		word = nil
	}
	for rest := command; rest != ""; {
		m := token.FindStringSubmatch(rest)
		if m == nil {
			return nil, false
		}
		rest = rest[len(m[0]):]
		switch {
		case m[1] != "":
			flush()
		case m[2] != "":
			flush()
			if len(words) > 0 {
				parts = append(parts, words)
			}
			words = nil
		default:
			text := m[3] + m[4] + m[5] + m[6]
			if word != nil {
				text = *word + text
			}
			word = &text
		}
	}
	flush()
	if len(words) > 0 {
		parts = append(parts, words)
	}
	return parts, true
}
