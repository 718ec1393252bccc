package daemon

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/assayd/assayd/config"
)

// TestTheLogTakesSecretsOut goes through the ways in which a value gets into a line of the log.
func TestTheLogTakesSecretsOut(t *testing.T) {
	const secret, key = `hunter-"two"-hunter`, "-----BEGIN KEY-----\nabcdefghijklmnop\n-----END KEY-----"
	settings := &config.Settings{
		HTTP: config.HTTP{Token: config.SecretText(secret)}, Git: &config.Git{SSHKey: config.SecretText(key)},
		GitHub: config.GitHub{Tokens: []config.Secret{config.SecretText("short")}},
	}
	for _, format := range []string{"text", "json"} {
		var out bytes.Buffer
		var handler slog.Handler = slog.NewTextHandler(&out, nil)
		if format == "json" {
			handler = slog.NewJSONHandler(&out, nil)
		}
		log := newRedactor(settings).logger(slog.New(handler))
		log.With("with", secret).WithGroup("g").Info("message "+secret, "text", "x"+secret+"y", "error", fmt.Errorf("ask: %w", errors.New(secret)),
			slog.Group("inner", "deep", secret), "list", []string{secret}, "line", "abcdefghijklmnop", "kept", "a short word", "number", 7)
		line := out.String()
		if strings.Contains(line, "hunter") || strings.Contains(line, "abcdefgh") {
			t.Errorf("%s: %s", format, line)
		}
		if strings.Count(line, redactedText) != 7 || !strings.Contains(line, "a short word") || !strings.Contains(line, "7") {
			t.Errorf("%s: too much or too little is gone: %s", format, line)
		}
	}
}

// TestWhatAServerSaysHasNoSecrets lets a handler panic with one.
func TestWhatAServerSaysHasNoSecrets(t *testing.T) {
	const secret = "hunter-two-hunter"
	var out bytes.Buffer
	settings := &config.Settings{HTTP: config.HTTP{Token: config.SecretText(secret)}}
	d := &Daemon{opts: Options{Log: newRedactor(settings).logger(slog.New(slog.NewTextHandler(&out, nil)))}}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("show " + secret) }))
	d.logged(server.Config)
	server.Start()
	if answer, err := server.Client().Get(server.URL); err == nil {
		_ = answer.Body.Close()
		t.Error("the handler answers")
	}
	server.Close()
	if said := out.String(); !strings.Contains(said, "show "+redactedText) || strings.Contains(said, secret) {
		t.Errorf("the log says %s", said)
	}
}

// TestASecretThatWasReplacedStaysOne: what was written while it held is still around.
func TestASecretThatWasReplacedStaysOne(t *testing.T) {
	now := "the-first-secret"
	r := &redactor{read: func() []string { return []string{now} }, known: map[string]bool{}}
	if got := r.text("a the-first-secret b"); got != "a [secret] b" {
		t.Error(got)
	}
	now, r.at = "the-second-secret", r.at.Add(-secretsAge*2)
	if got := string(r.bytes([]byte("the-first-secret the-second-secret"))); got != "[secret] [secret]" {
		t.Error(got)
	}
}
