package config

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"regexp"
	"time"

	"github.com/zclconf/go-cty/cty"
)

// DefaultSettings returns what holds without a settings file in the given environment.
func DefaultSettings(env func(name string) (string, bool)) *Settings {
	settings, _ := LoadSettings("", nil, Options{Env: env}) // without a text only ASSAYD_LOG can be wrong
	return settings
}

// LoadSettings reads assayd.hcl. The settings are complete also if there are errors: what
// is wrong is left at its default.
func LoadSettings(path string, text []byte, o Options) (*Settings, Diagnostics) {
	o.Settings = nil // they may read every variable
	f := newFile(Input{Path: path, Display: path, Text: text}, &o)
	f.variables = map[string]string{}
	out := &Settings{}
	syntax, sound := f.parse()
	if !sound {
		syntax = nil
	} else {
		f.locals.collect(f, syntax)
	}
	b := &body{f: f, syntax: syntax, name: "The settings", at: map[string]Pos{}, blocks: []string{"locals"}}
	out.Watch = b.checkedList("watch", nil, notEmpty)
	out.StateDir = b.checked("state_dir", "", notEmpty)
	out.ResultsDir = b.checked("results_dir", "", notEmpty)
	out.SecretsDir = b.checked("secrets_dir", f.lookup("CREDENTIALS_DIRECTORY"), notEmpty)
	out.Env = b.checkedList("env", nil, checkEnvName)
	out.Engine, out.Engines = b.readEngines()
	out.Providers = b.readProviders()
	out.GitHub = b.readGitHub()
	out.Git = b.readGit()
	out.Build = b.readBuild()
	repositories, _ := b.one("repositories")
	out.Repositories = Repositories{AllowFile: repositories.checkedList("allow_file", nil, checkAbsolute)}
	repositories.close()
	hub, _ := b.one("huggingface")
	out.HuggingFace = HuggingFace{BaseURL: hub.checked("base_url", "https://huggingface.co", checkURL), Token: hub.secret("token", Secret{})}
	hub.close()
	http, _ := b.one("http")
	out.HTTP = HTTP{
		Listen: http.checked("listen", "", checkListen), Token: http.secret("token", Secret{}), ViewerToken: http.secret("viewer_token", Secret{}),
		OperatorToken: http.secret("operator_token", Secret{}), Hosts: http.checkedList("hosts", nil, checkHostName),
		Content: http.choice("content", ContentAll, ContentAll, ContentMetadata),
	}
	if out.HTTP.Listen != "" {
		http.need("token")
	}
	http.close()
	out.Limits = b.readLimits()
	out.Budget = b.readHostBudget()
	out.Log = b.readLog()
	out.Notifiers = b.readNotifiers()
	out.Traces = b.readTraces()
	b.close()
	f.noteSecrets(b, out)
	f.settingsGaps(b, out)
	return out, f.diags.sorted()
}

// lookup returns a variable of the environment, "" if it is not set.
func (f *file) lookup(name string) string {
	text, _ := f.variable(name)
	return text
}

func checkAbsolute(s string) error {
	if !filepath.IsAbs(s) || filepath.Clean(s) != s {
		return fmt.Errorf("%q is no absolute folder: write it as in /srv/repositories", s)
	}
	return nil
}

// secret reads a text or secret().
func (b *body) secret(name string, value Secret) Secret {
	attr, v, ok := b.attr(name)
	if !ok {
		return value
	}
	s, err := toSecret(v)
	if err != nil {
		b.f.fail(attr.Expr.Range(), fmt.Sprintf("Invalid value for %q", name), sentence(err))
	}
	return s
}

func toSecret(v cty.Value) (Secret, error) {
	if v.Type().Equals(secretType) && !v.IsNull() {
		return Secret{name: v.EncapsulatedValue().(*secretName).name}, nil
	}
	s, err := toText(v)
	if err == nil && s == "" {
		err = errors.New("must not be empty")
	}
	return Secret{text: s}, err
}

// secrets reads a list or a map of secrets, by position or name.
func (b *body) secrets(name string, add func(key string, s Secret)) {
	attr, v, ok := b.attr(name)
	if !ok {
		return
	}
	if !v.CanIterateElements() {
		b.f.fail(attr.Expr.Range(), fmt.Sprintf("Invalid value for %q", name), fmt.Sprintf("This is %s.", kindOf(v)))
		return
	}
	for it := v.ElementIterator(); it.Next(); {
		k, item := it.Element()
		key := ""
		if k.Type() == cty.String {
			key = k.AsString()
		}
		s, err := toSecret(item)
		if err != nil {
			b.f.fail(attr.Expr.Range(), fmt.Sprintf("Invalid value for %q", name), sentence(err))
			continue
		}
		add(key, s)
	}
}

// readEngines reads the blocks of engines. Work runs on the first that this version has.
func (b *body) readEngines() (use string, out map[string]Engine) {
	out = map[string]Engine{}
	kinds := b.f.o.engineKinds()
	blocks := b.many("engine")
	b.f.unique(blocks, "engine")
	for _, e := range blocks {
		b.f.checkWord(e, "engine", sortedKeys(kinds))
		kind, known := kinds[e.label]
		if !known {
			continue
		}
		out[e.label] = e.engine(kind)
		if use == "" && b.f.o.hasEngine(e.label) {
			use = e.label
		}
		e.close()
	}
	return cmp.Or(use, defaultEngine), out
}

func (b labelled) engine(kind EngineKind) Engine {
	out := Engine{Texts: map[string]string{}, Pairs: map[string]map[string]string{}}
	for _, name := range sortedKeys(kind.Texts) {
		check := kind.Texts[name]
		if check == nil {
			check = anything
		}
		if text := b.checked(name, "", check); text != "" {
			out.Texts[name] = text
		}
	}
	for _, name := range kind.Pairs {
		if pairs := b.pairs(name, anything); pairs != nil {
			out.Pairs[name] = pairs
		}
	}
	return out
}

func (b *body) readProviders() map[string]Provider {
	out := map[string]Provider{
		"openrouter": {Protocol: "openai", BaseURL: "https://openrouter.ai/api/v1"},
		"openai":     {Protocol: "openai", BaseURL: "https://api.openai.com/v1"},
		"anthropic":  {Protocol: "anthropic", BaseURL: "https://api.anthropic.com"},
	}
	for name, p := range out {
		p.APIKey = Secret{text: b.f.lookup(keyVariables[name])}
		out[name] = p
	}
	blocks := b.many("provider")
	b.f.unique(blocks, "provider")
	for _, p := range blocks {
		have, ok := out[p.label]
		if !ok {
			p.need("protocol")
			p.need("base_url")
		}
		out[p.label] = Provider{
			Protocol:          p.choice("protocol", have.Protocol, "openai", "anthropic"),
			BaseURL:           p.checked("base_url", have.BaseURL, checkURL),
			APIKey:            p.secret("api_key", have.APIKey),
			Prices:            read(p.body, "prices", nil, toPrices),
			RequestsPerMinute: p.whole("requests_per_minute", 0, 0),
			TokensPerMinute:   p.whole("tokens_per_minute", 0, 0),
			Concurrency:       p.whole("concurrency", 0, 0),
			Proxy:             p.checked("proxy", "", checkURL),
		}
		p.close()
	}
	return out
}

// toPrices reads { "model" = { input = 1.25, output = 10, cached = 0.125 } }, in dollars
// per million tokens.
func toPrices(v cty.Value) (map[string]Price, error) {
	form := errors.New(`write { "MODEL" = { input = 1.25, output = 10, cached = 0.125 } }, in dollars per million tokens`)
	if t := v.Type(); !t.IsObjectType() && !t.IsMapType() {
		return nil, form
	}
	out := map[string]Price{}
	for it := v.ElementIterator(); it.Next(); {
		model, price := it.Element()
		if t := price.Type(); price.IsNull() || !t.IsObjectType() && !t.IsMapType() {
			return nil, form
		}
		numbers := map[string]float64{}
		for inner := price.ElementIterator(); inner.Next(); {
			k, n := inner.Element()
			if _, err := oneOf([]string{"input", "output", "cached", "cache_write", "cache_write_1h"})(k.AsString()); err != nil {
				return nil, err
			}
			amount, err := toNumber(n, 0, 1e9)
			if err != nil {
				return nil, fmt.Errorf("%q: %w", model.AsString(), err)
			}
			numbers[k.AsString()] = amount
		}
		out[model.AsString()] = priceOf(numbers)
	}
	return out, nil
}

func priceOf(numbers map[string]float64) Price {
	p := Price{Input: numbers["input"], Output: numbers["output"], Cached: numbers["input"], CacheWrite: numbers["input"]}
	if n, ok := numbers["cached"]; ok {
		p.Cached = n
	}
	if n, ok := numbers["cache_write"]; ok {
		p.CacheWrite = n
	}
	p.CacheWrite1h = p.CacheWrite
	if n, ok := numbers["cache_write_1h"]; ok {
		p.CacheWrite1h = n
	}
	return p
}

func (b *body) readGitHub() GitHub {
	g, _ := b.one("github")
	out := GitHub{BaseURL: g.checked("base_url", "https://api.github.com", checkURL)}
	g.secrets("tokens", func(_ string, s Secret) { out.Tokens = append(out.Tokens, s) })
	if token := b.f.lookup("GITHUB_TOKEN"); token != "" && !g.has("tokens") {
		out.Tokens = []Secret{{text: token}}
	}
	g.close()
	return out
}

func (b *body) readGit() *Git {
	g, ok := b.one("git")
	g.need("url")
	out := &Git{
		URL: g.checked("url", "", checkURL), Ref: g.checked("ref", "", checkRef),
		Interval: g.positive("interval", time.Minute), Path: g.checked("path", "", checkLocal),
		PushResults: g.checked("push_results", "", checkRef),
		Token:       g.secret("token", Secret{}), SSHKey: g.secret("ssh_key", Secret{}), WebhookSecret: g.secret("webhook_secret", Secret{}),
	}
	g.close()
	if !ok {
		return nil
	}
	return out
}

// variableName is what an environment variable may be called.
var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (b *body) readBuild() Build {
	build, _ := b.one("build")
	out := Build{
		Secrets: map[string]Secret{},
		Mirrors: build.pairs("mirrors", word("apt", "pip", "npm", "go", "maven", "git")),
		Proxy:   build.checked("proxy", "", checkURL), Registry: build.text("registry", ""), Keep: build.size("keep", 0),
	}
	build.secrets("secrets", func(key string, s Secret) {
		if key == "" {
			build.f.fail(build.where("secrets"), `Invalid value for "secrets"`, "Write a map of names and secrets.")
			return
		}
		if !variableName.MatchString(key) {
			build.f.fail(build.where("secrets"), `Invalid value for "secrets"`, fmt.Sprintf("%q cannot be the name of an environment variable, by which commands get the secret.", key))
			return
		}
		out.Secrets[key] = s
	})
	build.close()
	return out
}

func (b *body) readLimits() Limits {
	l, _ := b.one("limits")
	defer l.close()
	return Limits{
		CPUs: l.number("cpus", 0, 0.01, 1e6), Memory: l.size("memory", 0), Disk: l.size("disk", 0),
		Containers: l.whole("containers", 0, 1), Judge: l.number("judge", 0.2, 0, 0.95),
	}
}

// readHostBudget reads what all models together may cost in a day and in a month.
func (b *body) readHostBudget() HostBudget {
	budget, _ := b.one("budget")
	defer budget.close()
	usd := func(period string) float64 {
		p, is := budget.one(period)
		defer p.close()
		if is {
			p.need("usd")
		}
		return p.number("usd", 0, 0.01, 1e12)
	}
	out := HostBudget{DayUSD: usd("day"), MonthUSD: usd("month")}
	if out.MonthUSD > 0 && out.DayUSD > out.MonthUSD {
		budget.f.fail(budget.where("day"), "Day over month", "One day may cost more than the whole month. Raise month, or lower day.")
	}
	return out
}

func (b *body) readLog() Log {
	l, _ := b.one("log")
	defer l.close()
	levels := []string{"error", "warn", "info", "debug", "trace"}
	out := Log{Level: l.choice("level", "info", levels...), Format: l.choice("format", "", "text", "json", "journald")}
	if level := b.f.lookup("ASSAYD_LOG"); level != "" {
		if _, err := oneOf(levels)(level); err != nil {
			b.f.add(Diagnostic{Severity: Error, Summary: "Invalid ASSAYD_LOG", Detail: sentence(err)})
			return out
		}
		out.Level = level
	}
	return out
}

// checkListen accepts host:port; without a host it is this machine alone.
func checkHostName(s string) error {
	if !hostName.MatchString(s) {
		return fmt.Errorf("%q is no name of a host: write it as browsers do, without a port, as in evals.example.org", s)
	}
	return nil
}

var hostName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$`)

func checkListen(s string) error {
	if _, port, err := net.SplitHostPort(s); err != nil || port == "" {
		return fmt.Errorf(`%q is no address: write host:port, as in "127.0.0.1:7434"`, s)
	}
	return nil
}
