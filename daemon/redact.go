package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/assayd/assayd/config"
)

// redactedText stands where a secret stood.
const redactedText = "[secret]"

// shortestSecret is from how many bytes on a secret is looked for. A shorter one would be found in
// texts that have nothing to do with it.
const shortestSecret = 8

// secretsAge is for how long the secrets that were read are taken to be those that are there.
const secretsAge = 5 * time.Second

// redactor takes the secrets of the settings out of texts. One that was replaced stays a secret.
type redactor struct {
	read func() []string // the secrets of now

	mu      sync.Mutex
	at      time.Time
	known   map[string]bool
	needles [][]byte // longest first
}

// newRedactor makes the redactor for settings.
func newRedactor(settings *config.Settings) *redactor {
	secret := ConfigOptions(settings).Secret
	return &redactor{read: func() []string { return settings.Secrets(secret) }, known: map[string]bool{}}
}

// forms are the ways in which a secret may stand in a text.
func forms(secret string) []string {
	all := []string{secret}
	if strings.Contains(secret, "\n") { // a key of many lines: each of them tells something
		for line := range strings.Lines(secret) {
			if line = strings.TrimSpace(line); !strings.HasPrefix(line, "-----") {
				all = append(all, line)
			}
		}
	}
	for _, text := range slices.Clone(all) {
		quoted := strconv.Quote(text)
		escaped, _ := json.Marshal(text) // text always has a form
		all = append(all, url.QueryEscape(text), url.PathEscape(text), quoted[1:len(quoted)-1], string(escaped[1:len(escaped)-1]))
	}
	return all
}

// current returns what to look for.
func (r *redactor) current() [][]byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := time.Now(); r.at.IsZero() || now.Sub(r.at) > secretsAge || now.Before(r.at) {
		r.at = now
		r.add(r.read())
	}
	return r.needles
}

func (r *redactor) add(secrets []string) {
	before := len(r.known)
	for _, secret := range secrets {
		if len(secret) < shortestSecret || r.known[secret] {
			continue
		}
		for _, form := range forms(secret) {
			if len(form) >= shortestSecret {
				r.known[form] = true
			}
		}
	}
	if len(r.known) == before {
		return
	}
	needles := make([][]byte, 0, len(r.known)) // a new one: others may still read the old
	for text := range r.known {
		needles = append(needles, []byte(text))
	}
	slices.SortFunc(needles, func(a, b []byte) int { return len(b) - len(a) })
	r.needles = needles
}

// bytes returns the text without secrets; the argument stays as it is.
func (r *redactor) bytes(text []byte) []byte {
	for _, needle := range r.current() {
		if bytes.Contains(text, needle) {
			text = bytes.ReplaceAll(text, needle, []byte(redactedText))
		}
	}
	return text
}

// text returns the text without secrets.
func (r *redactor) text(text string) string {
	for _, needle := range r.current() {
		text = strings.ReplaceAll(text, string(needle), redactedText)
	}
	return text
}

// logger returns a logger that writes what the given one writes, without secrets.
func (r *redactor) logger(log *slog.Logger) *slog.Logger {
	return slog.New(redactedLog{log.Handler(), r})
}

// redactedLog is a handler of records that takes secrets out of them.
type redactedLog struct {
	slog.Handler
	redact *redactor
}

// Handle implements slog.Handler.
func (l redactedLog) Handle(ctx context.Context, record slog.Record) error {
	clean := slog.NewRecord(record.Time, record.Level, l.redact.text(record.Message), record.PC)
	record.Attrs(func(a slog.Attr) bool {
		clean.AddAttrs(l.attr(a))
		return true
	})
	return l.Handler.Handle(ctx, clean)
}

// attr returns the attribute without secrets.
func (l redactedLog) attr(a slog.Attr) slog.Attr {
	value := a.Value.Resolve()
	switch value.Kind() {
	case slog.KindString:
		return slog.String(a.Key, l.redact.text(value.String()))
	case slog.KindGroup:
		var group []slog.Attr
		for _, inner := range value.Group() {
			group = append(group, l.attr(inner))
		}
		return slog.Attr{Key: a.Key, Value: slog.GroupValue(group...)}
	case slog.KindAny:
		text := fmt.Sprintf("%+v", value.Any())
		if clean := l.redact.text(text); clean != text {
			return slog.String(a.Key, clean)
		}
	}
	return slog.Attr{Key: a.Key, Value: value}
}

// WithAttrs implements slog.Handler.
func (l redactedLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	clean := make([]slog.Attr, 0, len(attrs))
	for _, a := range attrs {
		clean = append(clean, l.attr(a))
	}
	return redactedLog{l.Handler.WithAttrs(clean), l.redact}
}

// WithGroup implements slog.Handler.
func (l redactedLog) WithGroup(name string) slog.Handler {
	return redactedLog{l.Handler.WithGroup(name), l.redact}
}
