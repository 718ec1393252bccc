package github

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
)

// maxIssues is how many issues of a pull request are looked at.
const maxIssues = 10

var (
	comment = regexp.MustCompile(`(?s)<!--.*?(-->|$)`)
	// closing finds what GitHub takes for "this closes that": "Fixes #12", "closes: o/r#3",
	// "resolved https://github.com/o/r/issues/3", "fix GH-3".
	closing = regexp.MustCompile(`(?i)\b(?:close[sd]?|fix(?:es|ed)?|resolve[sd]?):?\s+` +
		`(?:https?://([a-z0-9.:-]+)/([\w.-]+/[\w.-]+)/issues/(\d{1,9})|([\w.-]+/[\w.-]+)?#(\d{1,9})|gh-(\d{1,9}))\b`)
)

// Uncommented is a text of GitHub without its comments, which nobody is shown: templates have them.
func Uncommented(text string) string { return comment.ReplaceAllString(text, "") }

// closes reads from the text of a pull request which issues it closes, as the web site at
// host does: at most ten, in their order, each once.
func closes(body, repo, host string) (refs []Ref) {
	seen := map[string]bool{}
	for _, m := range closing.FindAllStringSubmatch(Uncommented(body), -1) {
		if m[1] != "" && !strings.EqualFold(strings.TrimPrefix(m[1], "www."), host) {
			continue
		}
		ref := Ref{Repo: cmp.Or(m[2], m[4], repo)}
		ref.Number, _ = strconv.Atoi(cmp.Or(m[3], m[5], m[6])) // nine digits at most
		key := strings.ToLower(ref.String())
		if !ref.valid() || seen[key] {
			continue
		}
		seen[key] = true
		if refs = append(refs, ref); len(refs) == maxIssues {
			break
		}
	}
	return refs
}
