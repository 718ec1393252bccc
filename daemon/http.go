package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/daemon/web"
)

// On a network nobody is trusted to send what was begun.
const (
	headerTime = 10 * time.Second // until a request's head must be there
	bodyPause  = 30 * time.Second // in which the next piece of a body must come, and of an answer be taken
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
	if wanted && settings.HTTP.Token.IsZero() {
		return errors.New(`the HTTP listener needs a token: write http { token = secret("NAME") } into the settings`)
	}
	_, err := httpTokens(settings)
	return err
}

// httpTokens are what callers may show.
func httpTokens(settings *config.Settings) (all []web.Token, err error) {
	for _, t := range []struct {
		name   string
		secret config.Secret
		web.Token
	}{
		{"token", settings.HTTP.Token, web.Token{Role: web.Operator, Whole: true}},
		{"viewer_token", settings.HTTP.ViewerToken, web.Token{Role: web.Viewer}},
		{"operator_token", settings.HTTP.OperatorToken, web.Token{Role: web.Operator}},
	} {
		if t.secret.IsZero() {
			continue
		}
		text, ok := t.secret.Value(ConfigOptions(settings).Secret)
		if t.Text = strings.TrimSpace(text); !ok || t.Text == "" {
			return nil, fmt.Errorf("http in the settings: %s: there is no secret %q", t.name, t.secret.Name())
		}
		if len(t.Text) < shortestToken {
			return nil, fmt.Errorf("http in the settings: the %s has %d characters, and it must have %d characters or more, because others on the network can try to guess it. Make one with: openssl rand -hex 32", t.name, len(t.Text), shortestToken)
		}
		all = append(all, t.Token)
	}
	return all, nil
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
			d.opts.Log.Warn("the HTTP listener can be reached from other machines and is not encrypted. A listener on the way learns the token, which equals root here. Put a proxy with TLS before it.",
				"address", l.Addr().String())
		}
	}
	return nil
}

// network is the server of the HTTP listener and of the socket for browsers: pages, what control serves for who has a
// token or a session, and the webhook of the repository.
func (d *Daemon) network(ctx context.Context) *http.Server {
	mux := http.NewServeMux()
	mux.Handle("/", d.pages.Handler())
	if d.git != nil {
		mux.Handle("POST "+webhookPath, d.git.Webhook())
	}
	return d.logged(&http.Server{
		Handler:           bounded(d.metrics.HTTP(mux)),
		ReadHeaderTimeout: headerTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    maxHead,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	})
}

// bounded cuts off bodies that are too large or do not get on, and answers that nobody takes.
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
		next.ServeHTTP(taken{w}, q)
		_ = taken{w}.soon() // what the server itself still writes; else the time of a former answer would hold
	})
}

// taken is an answer of which each piece must be taken soon.
type taken struct{ http.ResponseWriter }

// Unwrap lets others reach the connection.
func (t taken) Unwrap() http.ResponseWriter { return t.ResponseWriter }

// Write implements http.ResponseWriter.
func (t taken) Write(p []byte) (int, error) {
	written := 0
	for {
		piece := p[written:min(written+answerPiece, len(p))]
		_ = t.soon() // a connection that is gone fails the write
		n, err := t.ResponseWriter.Write(piece)
		if written += n; err != nil || written >= len(p) {
			return written, err
		}
	}
}

// answerPiece is how much of an answer must be taken in bodyPause, in bytes, however long the answer is.
const answerPiece = 64 << 10

// FlushError is what http.ResponseController calls.
func (t taken) FlushError() error {
	_ = t.soon()
	return http.NewResponseController(t.ResponseWriter).Flush()
}

func (t taken) soon() error {
	return http.NewResponseController(t.ResponseWriter).SetWriteDeadline(time.Now().Add(bodyPause))
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

// shortestToken is how long the token of the HTTP listener must be, in bytes: it equals root here,
// and anybody on the network may try tokens.
const shortestToken = 32
