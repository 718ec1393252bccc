package notifier

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/assayd/assayd/config"
)

// callTime bounds one call of a receiver.
const callTime = 10 * time.Second

// maxAnswer is how much of an answer is read, in bytes, so that the connection can be used again.
const maxAnswer = 4 << 10

// newClient follows no redirect: a signed message goes where the settings say, and nowhere else.
func newClient() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 1, IdleConnTimeout: time.Minute, ResponseHeaderTimeout: callTime,
			MaxResponseHeaderBytes: 64 << 10, ForceAttemptHTTP2: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// post sends a message. Its errors show neither the address nor the key.
func (n *notifier) post(ctx context.Context, m message) error {
	address, err := n.secret("url", n.settings.URL, config.CheckNotifierURL)
	if err != nil {
		return err
	}
	var key []byte
	if !n.settings.Key.IsZero() {
		text, err := n.secret("key", n.settings.Key, config.CheckNotifierKey)
		if err != nil {
			return err
		}
		if key, err = config.NotifierKey(text); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(m.body))
	if err != nil {
		return errors.New("the address is no address")
	}
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("User-Agent", "assayd/"+n.o.Version)
	if n.settings.Format == config.FormatJSON {
		m.sign(q.Header, key, time.Now())
	}
	a, err := n.client.Do(q)
	if err != nil {
		if inner, ok := errors.AsType[*url.Error](err); ok {
			err = inner.Err // without the address
		}
		return fmt.Errorf("call the receiver: %w", err)
	}
	_, _ = io.CopyN(io.Discard, a.Body, maxAnswer) // what it says does not matter
	_ = a.Body.Close()
	if a.StatusCode/100 != 2 {
		return fmt.Errorf("the receiver answers %d", a.StatusCode)
	}
	return nil
}

// secret looks up a text of the settings, each time: a new one needs no start.
func (n *notifier) secret(what string, s config.Secret, check func(string) error) (string, error) {
	text, ok := s.Value(n.o.Secret)
	if text = strings.TrimSpace(text); !ok || text == "" {
		return "", fmt.Errorf("%s: there is no secret %q", what, s.Name())
	}
	if err := check(text); err != nil {
		return "", fmt.Errorf("%s: %w", what, err)
	}
	return text, nil
}
