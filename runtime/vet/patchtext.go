package vet

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var hunkHead = regexp.MustCompile(`^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@`)

// Added is what a diff writes: for each file that it names, the lines that it adds.
func Added(diff []byte) (files []Text) {
	at := ""
	old, made := 0, 0 // lines of the hunk that are still to come
	for line := range bytes.Lines(diff) {
		text := string(line)
		switch {
		case old <= 0 && made <= 0:
			if m := hunkHead.FindStringSubmatch(text); m != nil {
				old, made = span(m[1]), span(m[2])
			} else if name, ok := strings.CutPrefix(text, "+++ "); ok {
				name, _, _ = strings.Cut(strings.TrimSpace(name), "\t")
				at = strings.TrimPrefix(strings.Trim(name, `"`), "b/")
			}
		case strings.HasPrefix(text, "+"):
			if made--; at != "" && at != "/dev/null" {
				files = grown(files, at, line[1:])
			}
		case strings.HasPrefix(text, "-"):
			old--
		case strings.HasPrefix(text, `\`):
		default:
			old, made = old-1, made-1
		}
	}
	return files
}

// span is how many lines one side of a hunk has.
func span(text string) int {
	if text == "" {
		return 1
	}
	n, _ := strconv.Atoi(text) // digits; of too many there is no end
	return n
}

// grown adds a line to the file of that name.
func grown(files []Text, name string, line []byte) []Text {
	i := slices.IndexFunc(files, func(f Text) bool { return f.Name == name })
	if i < 0 {
		i, files = len(files), append(files, Text{Name: name})
	}
	files[i].Content = append(files[i].Content, line...)
	return files
}
