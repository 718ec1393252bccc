package daemon

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/daemon/api"
)

// On a network nobody is trusted to send what was begun.
const (
	headerTime = 10 * time.Second // until a request's head must be there
	bodyPause  = 30 * time.Second // in which the next piece of a body must come
	idleTime   = 2 * time.Minute
	maxHead    = 64 << 10
	maxBody    = 1 << 20
	maxArchive = 8 << 30 // of POST /v1/eval, which is cleaned by closer bounds
)

// webhookPath takes the events of the repository's host, which have a signature of their own.
const webhookPath = "/api/v1/git/webhook"

// CheckHTTP tells what is wrong with the settings for a listener on a network: it is wanted
// because an address is given or because systemd opened sockets for it.
func CheckHTTP(settings *config.Settings, wanted bool) error {
	if !wanted {
		return nil
	}
	if settings.HTTP.Token.IsZero() {
		return errors.New(`the HTTP listener needs a token: write http { token = secret("NAME") } into the settings`)
	}
	_, err := httpToken(settings)
	return err
}

// httpToken is what callers must show.
func httpToken(settings *config.Settings) (string, error) {
	token, ok := settings.HTTP.Token.Value(ConfigOptions(settings).Secret)
	if token = strings.TrimSpace(token); !ok || token == "" {
		return "", fmt.Errorf("http in the settings: token: there is no secret %q", settings.HTTP.Token.Name())
	}
	if len(token) < shortestToken {
		return "", fmt.Errorf("http in the settings: the token has %d characters, and it must have %d characters or more, for it equals root here; make one with: openssl rand -hex 32", len(token), shortestToken)
	}
	return token, nil
}

// listenHTTP opens the listener on a network, or takes it over from systemd.
func (d *Daemon) listenHTTP(ctx context.Context) error {
	d.http = d.opts.HTTP
	if at := d.opts.Listen; at != "" && len(d.http) == 0 {
		host, port, err := net.SplitHostPort(at)
		if err != nil {
			return fmt.Errorf("open the HTTP listener: %w", err)
		}
		if host == "" {
			host = "127.0.0.1"
		}
		var config net.ListenConfig
		l, err := config.Listen(ctx, "tcp", net.JoinHostPort(host, port))
		if err != nil {
			return fmt.Errorf("open the HTTP listener: %w", err)
		}
		d.http = []net.Listener{l}
	}
	for _, l := range d.http {
		d.opts.Log.Info("HTTP listener", "address", l.Addr().String())
		if at, ok := l.Addr().(*net.TCPAddr); ok && !at.IP.IsLoopback() {
			d.opts.Log.Warn("the HTTP listener can be reached from elsewhere and is not encrypted: whoever listens on the way learns the token, which equals root here; put a proxy with TLS before it",
				"address", l.Addr().String())
		}
	}
	return nil
}

// network is the server of the HTTP listener: what control serves, for who has the token,
// and the webhook of the repository.
func (d *Daemon) network(ctx context.Context, control http.Handler) (*http.Server, error) {
	mux := http.NewServeMux()
	if len(d.http) > 0 {
		token, err := httpToken(d.opts.Settings)
		if err != nil {
			return nil, err
		}
		mux.Handle("/", authorized(token, control))
		if d.git != nil {
			mux.Handle("POST "+webhookPath, d.git.Webhook())
		}
	}
	return d.logged(&http.Server{
		Handler:           bounded(mux),
		ReadHeaderTimeout: headerTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    maxHead,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}), nil
}

// authorized lets those through who show the token.
func authorized(token string, next http.Handler) http.Handler {
	want := sha256.Sum256([]byte(token))
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		scheme, shown, _ := strings.Cut(q.Header.Get("Authorization"), " ")
		got := sha256.Sum256([]byte(strings.TrimSpace(shown)))
		if subtle.ConstantTimeCompare(got[:], want[:]) == 1 && strings.EqualFold(scheme, "Bearer") {
			next.ServeHTTP(w, q)
			return
		}
		w.Header().Set("WWW-Authenticate", `Bearer realm="assayd"`)
		w.Header().Set("Connection", "close") // its body is not waited for
		api.Refuse(w, http.StatusUnauthorized, api.Unauthorized, "this needs the header Authorization: Bearer TOKEN")
	})
}

// bounded cuts off bodies that are too large or do not get on.
func bounded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		limit := int64(maxBody)
		if q.URL.Path == "/v1/eval" {
			limit = maxArchive
		}
		if q.Body != http.NoBody {
			body := &steady{ReadCloser: q.Body, deadline: http.NewResponseController(w).SetReadDeadline}
			_ = body.deadline(time.Now().Add(bodyPause)) // also for what nobody reads
			q.Body = http.MaxBytesReader(w, body, limit)
		}
		next.ServeHTTP(w, q)
	})
}

// steady is a body of which each piece must come soon. When all of it is there, nothing is
// waited for any more, however long the answer takes.
type steady struct {
	io.ReadCloser
	deadline func(time.Time) error
}

func (s *steady) Read(p []byte) (int, error) {
	_ = s.deadline(time.Now().Add(bodyPause)) // a connection that is gone fails the read
	n, err := s.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) { // else the server itself would wait for the rest
		_ = s.deadline(time.Time{})
	}
	return n, err
}
