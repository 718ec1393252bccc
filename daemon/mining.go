package daemon

import (
	"cmp"
	"path/filepath"
	"strings"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/runtime/mining"
	"github.com/assayd/assayd/runtime/mining/archive"
	"github.com/assayd/assayd/runtime/mining/extract"
	"github.com/assayd/assayd/runtime/mining/github"
	"github.com/assayd/assayd/runtime/task"
)

// openMining makes what mining reaches the outside by: GitHub's API and its repositories. The
// returned function adds the archive that a spec names.
func (d *Daemon) openMining(secret func(string) (string, bool), trees task.Trees) (func(config.Mining) (mining.Options, error), error) {
	settings := d.opts.Settings
	var tokens []string
	for _, t := range settings.GitHub.Tokens {
		if text, ok := t.Value(secret); ok {
			tokens = append(tokens, text)
		}
	}
	var err error
	if d.github, err = github.Open(github.Options{BaseURL: settings.GitHub.BaseURL, Tokens: tokens, Asked: d.metrics.GitHubAsked, Log: d.opts.Log}); err != nil {
		return nil, err
	}
	forge := forgeOf(settings.GitHub.BaseURL)
	repos, err := extract.New(extract.Options{
		Dir: filepath.Join(d.store.Dir(), "clones"), Forge: cmp.Or(settings.Build.Mirrors["git"], forge), Log: d.opts.Log,
	})
	if err != nil {
		return nil, err
	}
	return func(spec config.Mining) (mining.Options, error) {
		hours, err := archive.New(archive.Options{BaseURL: spec.Source.BaseURL, Ended: d.metrics.HourEnded, Log: d.opts.Log})
		return mining.Options{Archive: hours, GitHub: d.github, Forge: forge, Repos: repos, Trees: trees}, err
	}, nil
}

// forgeOf is the address of the repositories whose API is at an address.
func forgeOf(api string) string {
	if enterprise, ok := strings.CutSuffix(strings.TrimSuffix(api, "/"), "/api/v3"); ok {
		return enterprise
	}
	return "https://github.com"
}
