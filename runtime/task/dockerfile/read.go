package dockerfile

import (
	"path"
	"strings"

	"github.com/assayd/assayd/runtime/task/folder"
)

// Tell says what of a Dockerfile is not done here: the building of more than one image, and
// the starting of anything.
func Tell(text string, say *folder.Findings) {
	stages, entry := 0, ""
	for verb, rest := range instructions(text) {
		switch verb {
		case "FROM":
			stages++
		case "COPY", "ADD":
			for _, word := range strings.Fields(rest) {
				if from, ok := strings.CutPrefix(word, "--from="); ok {
					say.Problem("its Dockerfile copies from another image, %s, which is not done here", from)
				}
			}
		case "ENTRYPOINT":
			entry = rest
		}
	}
	if stages > 1 {
		say.Problem("its Dockerfile has %d stages; one is built here", stages)
	}
	if entry != "" && entry != "[]" {
		say.Notice("the ENTRYPOINT of its Dockerfile, %s, is not run; what it starts is not there", entry)
	}
}

// Workdir returns the folder that the last stage of a Dockerfile ends in, "" where it says
// none, and whether it could be told: variables are known where ENV and ARG set them.
func Workdir(text string) (dir string, ok bool) {
	known, stages := map[string]string{}, map[string]string{}
	stage := ""
	for verb, rest := range instructions(text) {
		switch verb {
		case "FROM":
			from, name := fromLine(rest)
			dir, stage = stages[from], name
			if dir == "" && strings.Contains(from, "/t-bench/") {
				dir = "/app" // what the bases of terminal-bench have
			}
		case "ENV", "ARG":
			assign(known, rest)
		case "WORKDIR":
			to := expand(strings.Trim(rest, `"'`), known)
			if strings.Contains(to, "$") {
				return "", false
			}
			if !path.IsAbs(to) {
				to = path.Join("/", dir, to)
			}
			dir = path.Clean(to)
		}
		if stage != "" {
			stages[stage] = dir
		}
	}
	return dir, true
}

// User returns whom the last stage of a Dockerfile ends as, "" where it does not say, or in
// words that only a build understands.
func User(text string) (user string) {
	for verb, rest := range instructions(text) {
		switch verb {
		case "FROM":
			user = ""
		case "USER":
			user = rest
		}
	}
	if strings.Contains(user, "$") {
		return ""
	}
	return user
}

// fromLine returns what a stage is made from, and its name.
func fromLine(rest string) (from, name string) {
	var words []string
	for _, w := range strings.Fields(rest) {
		if !strings.HasPrefix(w, "--") {
			words = append(words, w)
		}
	}
	if len(words) > 0 {
		from = words[0]
	}
	if len(words) == 3 && strings.EqualFold(words[1], "as") {
		name = words[2]
	}
	return from, name
}

// instructions yields verb and rest; continued lines are joined, comments and the bodies of
// here-documents go.
func instructions(text string) func(yield func(verb, rest string) bool) {
	return func(yield func(string, string) bool) {
		joined, end := "", ""
		for line := range strings.SplitSeq(text, "\n") {
			line = strings.TrimSpace(line)
			if end != "" {
				if line == end {
					end = ""
				}
				continue
			}
			if line == "" || strings.HasPrefix(line, "#") {
				continue
			}
			body, continued := strings.CutSuffix(line, `\`)
			joined += " " + strings.TrimSpace(body)
			if continued {
				continue
			}
			verb, rest, _ := strings.Cut(strings.TrimSpace(joined), " ")
			joined = ""
			end = heredoc(rest)
			if !yield(strings.ToUpper(verb), strings.TrimSpace(rest)) {
				return
			}
		}
	}
}

// heredoc returns the word that ends the document that begins with a line.
func heredoc(line string) string {
	_, after, ok := strings.Cut(line, "<<")
	if !ok {
		return ""
	}
	word, _, _ := strings.Cut(strings.TrimPrefix(after, "-"), " ")
	word = strings.Trim(word, `"'`)
	for _, r := range word {
		if (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && r != '_' {
			return ""
		}
	}
	return word
}

func assign(known map[string]string, rest string) {
	if name, value, ok := strings.Cut(rest, " "); ok && !strings.Contains(name, "=") {
		known[name] = strings.TrimSpace(value)
		return
	}
	for _, pair := range strings.Fields(rest) {
		if name, value, ok := strings.Cut(pair, "="); ok {
			known[name] = expand(strings.Trim(value, `"'`), known)
		}
	}
}

// expand puts in the variables that are known, and leaves the others.
func expand(text string, known map[string]string) string {
	for range 8 { // values may hold variables, but not for ever
		at := strings.IndexByte(text, '$')
		if at < 0 {
			break
		}
		name, after := text[at+1:], ""
		if inner, ok := strings.CutPrefix(name, "{"); ok {
			name, after, _ = strings.Cut(inner, "}")
		} else if end := strings.IndexAny(name, "/.-$ "); end >= 0 {
			name, after = name[:end], name[end:]
		}
		value, ok := known[name]
		if !ok {
			break
		}
		text = text[:at] + value + after
	}
	return text
}
