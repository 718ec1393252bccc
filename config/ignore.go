package config

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"
)

// maxIgnore bounds an ignore file, in bytes.
const maxIgnore = 1 << 20

// ignoreRule is one line of a .gitignore.
type ignoreRule struct {
	base    string // folder of the .gitignore
	pattern string // for doublestar, relative to base
	negate  bool
	folders bool // matches folders only
}

// readGitIgnore returns the rules of a folder's own .gitignore, none if it has none.
func readGitIgnore(root *os.Root, folder string) ([]ignoreRule, error) {
	data, err := readOptional(root, path.Join(folder, ".gitignore"))
	var rules []ignoreRule
	for line := range strings.Lines(string(data)) {
		if rule, ok := parseIgnore(folder, strings.TrimRight(line, "\r\n")); ok {
			rules = append(rules, rule)
		}
	}
	return rules, err
}

func readOptional(root *os.Root, name string) ([]byte, error) {
	data, err := readRegular(root, name, maxIgnore)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotRegular) {
		return nil, nil
	}
	return data, err
}

// parseIgnore reads one line. A pattern without a slash before its end is looked for at
// any depth.
func parseIgnore(base, line string) (ignoreRule, bool) {
	rule := ignoreRule{base: base}
	for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
		line = line[:len(line)-1]
	}
	if strings.HasPrefix(line, "#") {
		return rule, false
	}
	line, rule.negate = strings.CutPrefix(line, "!")
	line, rule.folders = strings.CutSuffix(line, "/")
	if line == "" {
		return rule, false
	}
	anchored := strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if inside, ok := strings.CutSuffix(line, "/**"); ok {
		line = inside + "/**/*" // what is inside, not the folder itself
	}
	if !anchored {
		line = "**/" + line
	}
	// Braces are letters here, whether they are escaped or not.
	rule.pattern = strings.NewReplacer(`\\`, `\\`, `\{`, `\{`, `\}`, `\}`, "{", `\{`, "}", `\}`).Replace(line)
	return rule, doublestar.ValidatePattern(rule.pattern)
}

// ignored reports what the last rule that matches says.
func ignored(rules []ignoreRule, rel string, isDir bool) bool {
	for i := len(rules) - 1; i >= 0; i-- {
		rule := rules[i]
		if rule.folders && !isDir {
			continue
		}
		below := rel
		if rule.base != "." {
			below = strings.TrimPrefix(rel, rule.base+"/")
		}
		if doublestar.MatchUnvalidated(rule.pattern, below) {
			return !rule.negate
		}
	}
	return false
}

// dockerIgnore is the .dockerignore of the folder that is packed, whose lines have rules of
// their own: all are anchored, and an exception may lie in an excluded folder.
type dockerIgnore struct {
	matcher *patternmatcher.PatternMatcher
}

func readDockerIgnore(root *os.Root) (dockerIgnore, error) {
	data, err := readOptional(root, ".dockerignore")
	if err != nil || len(data) == 0 {
		return dockerIgnore{}, err
	}
	patterns, err := ignorefile.ReadAll(bytes.NewReader(data))
	if err != nil {
		return dockerIgnore{}, err
	}
	matcher, err := patternmatcher.New(patterns)
	return dockerIgnore{matcher}, err
}

func (d dockerIgnore) excludes(rel string) (bool, error) {
	if d.matcher == nil {
		return false, nil
	}
	return d.matcher.MatchesOrParentMatches(rel)
}

func (d dockerIgnore) exceptions() bool { return d.matcher != nil && d.matcher.Exclusions() }
