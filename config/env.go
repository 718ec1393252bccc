package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
)

// longSecret is from how many bytes on a secret is also looked for inside longer texts. A shorter
// one would be found everywhere.
const longSecret = 8

// variable returns a variable of the daemon's environment. The settings may read all of them.
func (f *file) variable(name string) (string, bool) {
	if f.o.Env == nil {
		return "", false
	}
	text, ok := f.o.Env(name)
	if f.variables != nil && text != "" {
		f.variables[name] = text
	}
	return text, ok
}

// env is the function of that name. Specs read the variables that the settings allow, and never
// one that holds a secret: what a spec says is stored, hashed, and seen by containers.
func (f *file) env(name string) (string, error) {
	if f.o.Settings != nil {
		if err := f.o.Settings.mayRead(name, f.o); err != nil {
			return "", err
		}
	}
	if s, ok := f.pinned[Content{Kind: ContentEnv, Name: name}.key()]; ok {
		f.took(s)
		return string(s.Text), nil
	}
	if text, ok := f.variable(name); ok {
		f.took(Content{Kind: ContentEnv, Name: name, Digest: digestOfText([]byte(text)), Text: []byte(text)})
		return text, nil
	}
	return "", fmt.Errorf("the environment has no variable %q", name)
}

// mayRead reports why specs cannot read a variable.
func (s *Settings) mayRead(name string, o *Options) error {
	secret := fmt.Errorf("the variable %q holds a secret of the settings, which no spec can read; use another variable", name)
	if slices.Contains(s.secretVariables, name) {
		return secret
	}
	if !slices.Contains(s.Env, name) {
		return fmt.Errorf("the settings do not allow specs to read the variable %q; to allow it, add the name to env = [%q] in assayd.hcl", name, name)
	}
	if o.Env == nil {
		return nil
	}
	if text, ok := o.Env(name); ok && holdsSecret(text, s.Secrets(o.Secret)) {
		return secret
	}
	return nil
}

// holdsSecret reports whether a text is one of the secrets, or has a long one in it.
func holdsSecret(text string, secrets []string) bool {
	return slices.ContainsFunc(secrets, func(secret string) bool {
		return text == secret || len(secret) >= longSecret && strings.Contains(text, secret)
	})
}

// usualKeys are the variables that hold keys even where the settings take theirs from elsewhere.
var usualKeys = append(slices.Sorted(maps.Values(keyVariables)), "GITHUB_TOKEN")

// holdNoSecret refuses a text that has a long secret of the settings in it, written out or put
// together from pieces. Specs are stored and seen by containers, and what is stored has its secrets
// taken out: the spec would be another one after the next start.
func (f *file) holdNoSecret() {
	const summary = "Secret in a spec"
	const remedy = "Specs are stored and seen by containers. Remove it; set-up commands get the secrets of build { secrets } as variables."
	var made []byte
	for _, secret := range f.o.longSecrets() {
		if at := bytes.Index(f.in.Text, []byte(secret)); at >= 0 {
			f.fail(f.rangeAt(at), summary, "The text holds a secret of the settings. "+remedy)
			f.diags[len(f.diags)-1].Snippet = "" // it shows the secret
			continue
		}
		if made == nil {
			made, _ = json.Marshal(f.blocks) // plain data always encodes
		}
		if quoted, _ := json.Marshal(secret); bytes.Contains(made, quoted[1:len(quoted)-1]) {
			f.fail(f.rangeAt(0), summary, "A value that this file reads with file() or puts together holds a secret of the settings. "+remedy)
			f.diags[len(f.diags)-1].Snippet = "" // the place is the whole file
		}
	}
}

// rangeAt is the first character at an offset of the text.
func (f *file) rangeAt(offset int) hcl.Range {
	before := f.in.Text[:offset]
	line := bytes.Count(before, []byte("\n")) + 1
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	start := hcl.Pos{Line: line, Column: column, Byte: offset}
	return hcl.Range{Filename: f.in.Path, Start: start, End: hcl.Pos{Line: line, Column: column + 1, Byte: offset + 1}}
}

// noteSecrets finds out which variables the settings took a secret from, and refuses to allow those.
func (f *file) noteSecrets(b *body, s *Settings) {
	s.secretVariables = slices.Clone(usualKeys)
	var secrets []string
	for _, secret := range s.secrets() {
		secrets = append(secrets, secret.text)
	}
	for name, text := range f.variables {
		part := func(secret string) bool { return len(text) >= longSecret && strings.Contains(secret, text) }
		if holdsSecret(text, secrets) || slices.ContainsFunc(secrets, part) {
			s.secretVariables = append(s.secretVariables, name)
		}
	}
	slices.Sort(s.secretVariables)
	s.secretVariables = slices.Compact(s.secretVariables)
	for _, name := range s.Env {
		if slices.Contains(s.secretVariables, name) {
			f.fail(b.where("env"), `Invalid value for "env"`, fmt.Sprintf("%q holds a secret of the settings. Specs are stored and seen by containers, so they cannot read it.", name))
		}
	}
}

// secrets are those of the settings, in a fixed order.
func (s *Settings) secrets() []Secret {
	all := slices.Clone(s.GitHub.Tokens)
	for _, name := range sortedKeys(s.Providers) {
		all = append(all, s.Providers[name].APIKey)
	}
	if s.Git != nil {
		all = append(all, s.Git.Token, s.Git.SSHKey, s.Git.WebhookSecret)
	}
	for _, name := range sortedKeys(s.Build.Secrets) {
		all = append(all, s.Build.Secrets[name])
	}
	for _, name := range sortedKeys(s.Notifiers) {
		all = append(all, s.Notifiers[name].URL, s.Notifiers[name].Key)
	}
	for _, name := range sortedKeys(s.Traces.Headers) {
		all = append(all, s.Traces.Headers[name])
	}
	all = append(all, s.HuggingFace.Token, s.HTTP.Token, s.HTTP.ViewerToken, s.HTTP.OperatorToken)
	return append(all, s.passwords()...)
}

// passwords are those that stand in addresses.
func (s *Settings) passwords() (all []Secret) {
	addresses := []string{s.Build.Proxy, s.HuggingFace.BaseURL, s.GitHub.BaseURL, s.Build.Registry}
	for _, name := range sortedKeys(s.Providers) {
		addresses = append(addresses, s.Providers[name].BaseURL, s.Providers[name].Proxy)
	}
	for _, name := range sortedKeys(s.Build.Mirrors) {
		addresses = append(addresses, s.Build.Mirrors[name])
	}
	if s.Git != nil {
		addresses = append(addresses, s.Git.URL)
	}
	for _, address := range addresses {
		u, err := url.Parse(address)
		if err != nil || u.User == nil {
			continue
		}
		name, written, both := strings.Cut(u.User.String(), ":")
		if password, _ := u.User.Password(); both {
			all = append(all, SecretText(password), SecretText(written))
		} else if len(name) >= longSecret { // a token
			all = append(all, SecretText(name))
		}
	}
	return all
}

// Secrets returns the texts of all secrets of the settings, without those that are not there.
// read looks up the ones that are known by name; nil = there are none.
func (s *Settings) Secrets(read func(name string) (string, bool)) []string {
	if read == nil {
		read = func(string) (string, bool) { return "", false }
	}
	var texts []string
	for _, secret := range s.secrets() {
		if text, ok := secret.Value(read); ok && strings.TrimSpace(text) != "" {
			texts = append(texts, strings.TrimSpace(text))
		}
	}
	slices.Sort(texts)
	return slices.Compact(texts)
}
