package gitsync

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/runtime/mining/github"
)

// secrets are what goes to the remote and nowhere else.
type secrets struct{ token, key, webhook string }

// configure reads the settings.
func (s *Syncer) configure() (err error) {
	if s.remote, s.secrets, err = read(s.o.Git, s.o.Secret); err != nil {
		return err
	}
	s.o.Git.Path = strings.Trim(filepath.Clean("/"+s.o.Git.Path), "/")
	if s.secrets.token != "" && s.remote.plain() {
		s.o.Log.Warn("the token of the repository is sent without encryption", "url", s.remote.url)
	}
	s.host, err = s.hostOf()
	return err
}

// Check tells what is wrong with settings, as Open would.
func Check(g config.Git, secret func(name string) (string, bool)) error {
	if _, _, err := read(g, secret); err != nil {
		return fmt.Errorf("git in the settings: %w", err)
	}
	return nil
}

func read(g config.Git, lookup func(name string) (string, bool)) (r remote, all secrets, err error) {
	if r, err = parseRemote(g.URL); err != nil {
		return r, all, err
	}
	for _, secret := range []struct {
		name string
		from config.Secret
		to   *string
	}{{"token", g.Token, &all.token}, {"ssh_key", g.SSHKey, &all.key}, {"webhook_secret", g.WebhookSecret, &all.webhook}} {
		if secret.from.IsZero() {
			continue
		}
		text, ok := secret.from.Value(lookup)
		if text = strings.TrimSpace(text); !ok || text == "" {
			return r, all, fmt.Errorf("%s: there is no secret %q", secret.name, secret.from.Name())
		}
		*secret.to = text
	}
	if all.token == "" {
		all.token = r.password
	}
	if g.PushResults != "" && g.PushResults == g.Ref {
		return r, all, fmt.Errorf("push_results: result files need a branch of their own, not %q, which the specs come from", g.Ref)
	}
	return r, all, nil
}

// hostOf is the GitHub that the repository is on, if it is, and there is a token for it.
func (s *Syncer) hostOf() (*host, error) {
	at, name := s.remote.hosted()
	owner, repo, ok := strings.Cut(name, "/")
	if !ok || repo == "" || strings.Contains(repo, "/") || !servedBy(s.o.GitHub.BaseURL, at) {
		return nil, nil
	}
	var tokens []string
	if s.secrets.token != "" {
		tokens = append(tokens, s.secrets.token)
	}
	for _, t := range s.o.GitHub.Tokens {
		if text, ok := t.Value(s.o.Secret); ok {
			tokens = append(tokens, text)
		}
	}
	if len(tokens) == 0 {
		return nil, nil
	}
	client, err := github.New(s.o.GitHub.BaseURL, tokens)
	return &host{client, owner, repo}, err
}
