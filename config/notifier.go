package config

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Notifier is where notices of what happens are sent.
type Notifier struct {
	URL    Secret
	Format string   // json, slack
	Key    Secret   // signs what is sent as json; none = it is not signed
	On     []string // kinds of notices
	Specs  []string // globs on addresses of specs; notices of the machine are sent in any case
}

// Formats of notices.
const (
	FormatJSON  = "json"  // Standard Webhooks
	FormatSlack = "slack" // which Mattermost and Discord take, too
)

// Kinds of notices.
const (
	OnRunFinished    = "run.finished"
	OnRunFailing     = "run.failing" // the machine fails many tries of a run
	OnBudget         = "budget"
	OnHeld           = "held"
	OnFlagged        = "flagged"
	OnSpecsRejected  = "specs.rejected"
	OnMiningFinished = "mining.finished"
	OnMachine        = "machine" // the disk is full, the engine or a provider does not answer
)

// NoticeKinds are all kinds of notices.
func NoticeKinds() []string {
	return []string{OnRunFinished, OnRunFailing, OnBudget, OnHeld, OnFlagged, OnSpecsRejected, OnMiningFinished, OnMachine}
}

// Wants reports whether notices of a kind about a spec are sent; "" is no spec.
func (n Notifier) Wants(kind, spec string) bool {
	return slices.Contains(n.On, kind) && (spec == "" || slices.ContainsFunc(n.Specs, func(glob string) bool {
		ok, err := doublestar.Match(glob, spec)
		return ok && err == nil
	}))
}

// Traces is where spans of trials are sent; Endpoint "" = nowhere.
type Traces struct {
	Endpoint string // of OTLP over HTTP, without /v1/traces
	Headers  map[string]Secret
	Models   bool    // with a span for each exchange with a model
	Sample   float64 // share of trials, 0 to 1
}

func (b *body) readNotifiers() map[string]Notifier {
	out := map[string]Notifier{}
	blocks := b.many("notifier")
	b.f.unique(blocks, "notifier")
	for _, n := range blocks {
		n.need("url")
		out[n.label] = Notifier{
			URL: n.checkedSecret("url", CheckNotifierURL), Format: n.choice("format", FormatJSON, FormatJSON, FormatSlack), Key: n.checkedSecret("key", CheckNotifierKey),
			On: n.kinds("on"), Specs: n.globs("specs", []string{"*"}),
		}
		if n.has("key") && out[n.label].Format == FormatSlack {
			b.f.fail(n.where("key"), `"slack" excludes "key"`, `A message in the format "slack" has no signature. Remove the key, or write format = "json".`)
		}
		n.close()
	}
	return out
}

// kinds reads a list of kinds of notices.
func (b *body) kinds(name string) []string {
	return b.checkedList(name, NoticeKinds(), func(s string) error {
		_, err := oneOf(NoticeKinds())(s)
		return err
	})
}

// checkedSecret reads a secret; a check sees it where its text is written out.
func (b *body) checkedSecret(name string, check func(string) error) Secret {
	s := b.secret(name, Secret{})
	if s.text == "" {
		return s
	}
	if err := check(s.text); err != nil {
		b.f.fail(b.syntax.Attributes[name].Expr.Range(), fmt.Sprintf("Invalid value for %q", name), sentence(err))
		return Secret{}
	}
	return s
}

// CheckNotifierURL accepts an address that notices can be sent to. Its errors do not show the address: who has
// it can send, too.
func CheckNotifierURL(s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return errors.New("this is no address of a receiver: write it as in https://hooks.example.org/assayd")
	}
	return nil
}

// Bytes that a key of Standard Webhooks has.
const (
	shortestKey = 24
	longestKey  = 64
)

// CheckNotifierKey accepts a key of Standard Webhooks.
func CheckNotifierKey(s string) error {
	_, err := NotifierKey(s)
	return err
}

// NotifierKey reads a key as Standard Webhooks writes it: whsec_ and base64. Its errors do not show it.
func NotifierKey(s string) ([]byte, error) {
	form := fmt.Errorf(`write a key as whsec_ and the base64 of %d to %d bytes; make one with: echo "whsec_$(openssl rand -base64 32)"`, shortestKey, longestKey)
	text, ok := strings.CutPrefix(s, "whsec_")
	key, err := base64.StdEncoding.DecodeString(text)
	if !ok || err != nil || len(key) < shortestKey || len(key) > longestKey {
		return nil, form
	}
	return key, nil
}

// headerName is what a header of HTTP may be called.
var headerName = regexp.MustCompile(`^[A-Za-z0-9-]{1,100}$`)

func (b *body) readTraces() Traces {
	t, _ := b.one("traces")
	defer t.close()
	t.need("endpoint")
	out := Traces{
		Endpoint: t.checked("endpoint", "", checkEndpoint), Headers: map[string]Secret{},
		Models: t.boolean("models", true), Sample: t.number("sample", 1, 0, 1),
	}
	t.secrets("headers", func(key string, s Secret) {
		if !headerName.MatchString(key) {
			t.f.fail(t.where("headers"), `Invalid value for "headers"`, `Write a map of names of headers and their values, as in { "Authorization" = secret("otlp") }.`)
			return
		}
		out.Headers[key] = s
	})
	return out
}

func checkEndpoint(s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return fmt.Errorf("%q is no address of a collector: write it as in http://127.0.0.1:4318; what it asks for belongs into headers", withoutUser(s))
	}
	return nil
}

// withoutUser is an address without a password that stands in it.
func withoutUser(s string) string {
	if at := strings.LastIndexByte(s, '@'); at >= 0 {
		return "…" + s[at:]
	}
	return s
}
