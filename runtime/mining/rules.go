package mining

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/runtime/mining/screen"
)

// RulesOf are the rules of a filter, with the lists that are in files.
func RulesOf(f config.Filter) (screen.Rules, error) {
	excluded, err := listOf(f.ExcludeRepos, doublestar.ValidatePattern)
	known, err2 := listOf(f.Decontaminate, func(string) bool { return true })
	if err := errors.Join(err, err2); err != nil {
		return screen.Rules{}, err
	}
	return screen.Rules{
		Languages: f.Languages, MinStars: f.MinStars, OrgReposOnly: f.OrgReposOnly, ExcludeBots: f.ExcludeBots,
		Files: screen.Range(f.Files), AddedLines: screen.Range(f.AddedLines),
		ExcludeDocsOnly: f.ExcludeDocsOnly, ExcludeTestsOnly: f.ExcludeTestsOnly, ExcludeGenerated: f.ExcludeGenerated,
		ExcludeReverts: f.ExcludeReverts, ExcludeBackports: f.ExcludeBackports, ExcludeForks: f.ExcludeForks, ExcludeArchived: f.ExcludeArchived,
		MinDescription: f.MinDescription, Licenses: f.Licenses, ExcludeRepos: excluded, Decontaminate: known,
	}, nil
}

// listOf is a list of a filter. Of one in a file, each line that says something has to be valid.
func listOf(n config.Names, valid func(string) bool) (all []string, err error) {
	if n.File == "" {
		return n.List, nil
	}
	text, err := os.ReadFile(n.File)
	if err != nil {
		return nil, fmt.Errorf("read a list of the filter: %w", err)
	}
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		switch line = strings.TrimSpace(line); {
		case line == "", strings.HasPrefix(line, "#"):
		case !valid(line):
			return nil, fmt.Errorf("read a list of the filter: %s:%d: %q is no pattern", n.File, number, line)
		default:
			all = append(all, line)
		}
	}
	return all, nil
}
