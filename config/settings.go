package config

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"path"
	"strings"
	"time"
)

// Settings are the daemon's own: assayd.hcl, with every default applied.
type Settings struct {
	Watch        []string
	StateDir     string            // "" = the daemon chooses
	ResultsDir   string            // "" = beside the specs
	SecretsDir   string            // "" = none
	Env          []string          // variables of the daemon's environment that specs may read
	Engine       string            // name of the engine that all work of this process runs on; "" = docker
	Engines      map[string]Engine // by name
	Providers    map[string]Provider
	GitHub       GitHub
	Git          *Git
	Build        Build
	HuggingFace  HuggingFace
	HTTP         HTTP
	Limits       Limits
	Budget       HostBudget
	Log          Log
	Repositories Repositories
	Notifiers    map[string]Notifier
	Traces       Traces
	Unsupported  []string // what this version does not act on

	secretVariables []string // variables that hold secrets of the settings
}

// Engine has what the block of an engine says: attributes with a text, and attributes with texts by key.
// What is not written is not there.
type Engine struct {
	Texts map[string]string
	Pairs map[string]map[string]string
}

// EngineKind is what the block of an engine may say.
type EngineKind struct {
	Texts map[string]func(string) error // attributes with a text, and what checks it; nil = any text
	Pairs []string                      // attributes with texts by key
}

// defaultEngine is the engine that is there without any setting.
const defaultEngine = "docker"

// engine is the name of the engine that all work runs on.
func (s *Settings) engine() string { return cmp.Or(s.Engine, defaultEngine) }

// languageEngines are the engines that have words of the language, whether this version has them or not.
func languageEngines() map[string]EngineKind {
	return map[string]EngineKind{
		defaultEngine: {Texts: map[string]func(string) error{"host": checkURL}},
		"kubernetes": {
			Texts: map[string]func(string) error{"kubeconfig": nil, "namespace": nil, "registry": nil, "advertise": nil},
			Pairs: []string{"node_selector"},
		},
	}
}

// engineKinds are the engines that can be named: those of the language, and those that this version has in
// addition.
func (o *Options) engineKinds() map[string]EngineKind {
	kinds := maps.Clone(o.Engines)
	if kinds == nil {
		kinds = map[string]EngineKind{}
	}
	maps.Copy(kinds, languageEngines())
	return kinds
}

// hasEngine reports whether this version has an engine.
func (o *Options) hasEngine(name string) bool {
	_, has := o.Engines[name]
	return has || o.Engines == nil && name == defaultEngine
}

// Provider is a model API. Prices are by model; zero limits are none.
type Provider struct {
	Protocol          string // openai, anthropic
	BaseURL           string
	APIKey            Secret
	Prices            map[string]Price
	RequestsPerMinute int
	TokensPerMinute   int
	Concurrency       int
	Proxy             string
}

// keyVariables are the variables of the daemon's environment that hold keys of providers.
var keyVariables = map[string]string{"openrouter": "OPENROUTER_API_KEY", "openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}

// NoKey says that the provider of that name has no key, and where one is put.
func (p Provider) NoKey(name string) error {
	if p.APIKey.Name() != "" {
		return fmt.Errorf("provider %q has no API key%s in secrets_dir", name, named(p.APIKey))
	}
	way := fmt.Sprintf("set api_key in provider %q of the settings", name)
	if variable := keyVariables[name]; variable != "" {
		way = fmt.Sprintf("set the variable %s for the daemon, or api_key in provider %q of the settings", variable, name)
	}
	return fmt.Errorf("provider %q has no API key: %s", name, way)
}

// tellsCost reports whether each answer tells what it costs, as OpenRouter's do.
func (p Provider) tellsCost() bool { return strings.HasSuffix(hostOf(p.BaseURL), "openrouter.ai") }

// pricesAny reports whether models cost something that the settings do not name: as much as the
// dearest that they do.
func (p Provider) pricesAny() bool { return p.tellsCost() || len(p.Prices) > 0 }

// prices reports whether it is known what a model costs.
func (p Provider) prices(model string) bool {
	if p.tellsCost() {
		return true
	}
	for pattern := range p.Prices {
		if ok, err := path.Match(pattern, model); ok && err == nil || pattern == model {
			return true
		}
	}
	return false
}

func hostOf(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// Price is in US dollars per million tokens: of a prompt, of what a model writes, and of what
// a prompt's cache gives and takes. What is not said of a cache costs as the prompt does.
type Price struct{ Input, Output, Cached, CacheWrite, CacheWrite1h float64 }

// GitHub is how its API is reached.
type GitHub struct {
	Tokens  []Secret
	BaseURL string
}

// Git is a repository that the specs come from.
type Git struct {
	URL           string
	Ref           string
	Interval      time.Duration
	Path          string
	PushResults   string // branch; "" = none
	Token         Secret
	SSHKey        Secret
	WebhookSecret Secret
}

// Build is how images are made.
type Build struct {
	Secrets  map[string]Secret
	Mirrors  map[string]string // apt, pip, npm, go, maven, git
	Proxy    string
	Registry string
	Keep     int64 // bytes of unused images; 0 = nothing is collected unasked
}

// ParseSize reads a size as specs write it, "20GiB".
func ParseSize(s string) (int64, error) { return parseSize(s) }

// HuggingFace is how the dataset hub is reached.
type HuggingFace struct {
	BaseURL string
	Token   Secret
}

// HTTP is the network listener; Listen "" is off.
type HTTP struct {
	Listen        string
	Token         Secret   // equals root
	ViewerToken   Secret   // lets look
	OperatorToken Secret   // lets look, and cancel, rerun and retry
	Hosts         []string // names by which browsers reach the daemon, besides the machine's own
	Content       string   // what viewers see: all, or metadata, which is no text of agents and hidden tests
}

// What viewers see.
const (
	ContentAll      = "all"
	ContentMetadata = "metadata"
)

// Limits bound everything together; zero = what the machine has, less a reserve.
type Limits struct {
	CPUs       float64
	Memory     int64
	Disk       int64
	Containers int     // 0 = no limit
	Judge      float64 // share of CPUs and memory kept for judging
}

// HostBudget is what all models together may cost in a day and in a month, in UTC; zero = no limit.
type HostBudget struct{ DayUSD, MonthUSD float64 }

// Log is how the daemon logs; Format "" = by where standard error goes.
type Log struct{ Level, Format string }
