package layer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// wayOut ends what is said of a registry that cannot be reached.
const wayOut = `where this registry cannot be reached, name a mirror of it in the settings: build { mirrors = { npm = "https://…" } }`

// silence is how long nothing may come before a request is given up.
const silence = time.Minute

const maxRedirects = 10

// largestAnswer is the most that a description of a version may have, in bytes.
const largestAnswer = 4 << 20

// registry is one npm registry.
type registry struct {
	base   *url.URL
	client *http.Client
	notify func(err error, wait time.Duration) // of each new try
	first  time.Duration                       // before something is tried again
}

func newRegistry(o Options) (*registry, error) {
	raw := o.Registry
	if raw == "" {
		raw = DefaultRegistry
	}
	base, err := webURL(raw)
	if err != nil {
		return nil, fmt.Errorf("the npm registry: %w", err)
	}
	base.RawQuery, base.Fragment = "", ""
	client := o.Client
	if client == nil {
		if client, err = newClient(o.Proxy); err != nil {
			return nil, err
		}
	}
	return &registry{base: base, client: client, first: time.Second, notify: func(err error, wait time.Duration) {
		o.Log.Warn("asking the npm registry again", "registry", base.Host, "after", wait.Round(time.Millisecond), "error", err)
	}}, nil
}

// webURL reads the URL of a web server. The error shows nothing of it, for it may have a password.
func webURL(raw string) (*url.URL, error) {
	at, err := url.Parse(raw)
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
		return nil, errors.New("that is no URL of a web server: write https://HOST or http://HOST")
	}
	return at, nil
}

func newClient(proxy string) (*http.Client, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // it is documented to be one
	if proxy != "" {
		through, err := url.Parse(proxy)
		if err != nil || through.Host == "" {
			return nil, errors.New("the proxy: that is no URL")
		}
		transport.Proxy = http.ProxyURL(through)
	}
	return &http.Client{Transport: transport, CheckRedirect: func(q *http.Request, via []*http.Request) error {
		switch {
		case len(via) >= maxRedirects:
			return errors.New("it leads from one place to the next without an end")
		case via[0].URL.Scheme == "https" && q.URL.Scheme != "https":
			return fmt.Errorf("it leads to %s without encryption", q.URL.Host) // where checksums could be forged
		}
		return nil
	}}, nil
}

// release is one version of a package as a registry has it.
type release struct {
	Package
	sum     sum512
	archive *url.URL
}

// description is what a registry says of one version of a package: the part that matters of
// the JSON at REGISTRY/NAME/VERSION.
type description struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Dist    struct {
		Tarball   string `json:"tarball"`
		Integrity string `json:"integrity"`
	} `json:"dist"`
}

// release asks where a package's archive is, and what its checksum is if that is not known.
func (r *registry) release(ctx context.Context, p Package) (release, error) {
	at := r.base.JoinPath(url.PathEscape(p.Name), url.PathEscape(p.Version))
	var text []byte
	err := r.persist(ctx, func() (bool, error) {
		return false, r.get(ctx, at, http.Header{"Accept": {"application/json"}}, func(answer *http.Response) (err error) {
			text, err = io.ReadAll(io.LimitReader(answer.Body, largestAnswer))
			return err
		})
	})
	if err != nil {
		return release{}, err
	}
	var d description
	if err := json.Unmarshal(text, &d); err != nil || d.Name != p.Name || d.Version != p.Version {
		return release{}, fmt.Errorf("what %s answers is no description of it", r.base.Host)
	}
	return r.released(p, d)
}

func (r *registry) released(p Package, d description) (rel release, err error) {
	rel.Package = p
	if p.Integrity != "" {
		if rel.sum, err = parseIntegrity(p.Integrity); err != nil {
			return rel, err
		}
	}
	said, err := parseIntegrity(d.Dist.Integrity)
	switch {
	case p.Integrity == "" && err != nil:
		return rel, fmt.Errorf("%s gives no checksum that it could be compared with: %w", r.base.Host, err)
	case p.Integrity == "":
		rel.sum = said
	case err == nil && said != rel.sum:
		return rel, fmt.Errorf("%s has another package under this name: its checksum is %s instead of %s", r.base.Host, said, rel.sum)
	}
	rel.archive, err = r.locate(d.Dist.Tarball)
	return rel, err
}

// locate returns the URL of an archive. Mirrors pass on what the default registry says of
// itself; what it has is asked of the mirror.
func (r *registry) locate(raw string) (*url.URL, error) {
	at, err := webURL(raw)
	if err != nil {
		return nil, fmt.Errorf("where the archive is, says %s: %w", r.base.Host, err)
	}
	usual, err := url.Parse(DefaultRegistry)
	if err != nil {
		return nil, err
	}
	if at.Host == usual.Host && r.base.Host != usual.Host {
		return r.base.JoinPath(at.EscapedPath()), nil
	}
	if at.Host == r.base.Host && at.Scheme == r.base.Scheme {
		at.User = r.base.User
	}
	return at, nil
}

// get asks for something and has read deal with the answer. It gives up when nothing comes
// for a while.
func (r *registry) get(ctx context.Context, at *url.URL, header http.Header, read func(*http.Response) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(silence, func() { cancel(errSilent) })
	defer timer.Stop()
	answer, err := r.ask(ctx, at, header)
	if err == nil {
		defer answer.Body.Close() //nolint:errcheck // only read
		answer.Body = &lively{answer.Body, timer}
		err = read(answer)
	}
	if err != nil && errors.Is(context.Cause(ctx), errSilent) {
		return &passing{error: fmt.Errorf("%s: %w; %s", at.Host, errSilent, wayOut)}
	}
	return err
}

var errSilent = fmt.Errorf("nothing has come for %s", silence)

// lively is a body whose timer begins anew whenever something comes.
type lively struct {
	io.ReadCloser
	timer *time.Timer
}

func (l *lively) Read(p []byte) (int, error) {
	n, err := l.ReadCloser.Read(p)
	l.timer.Reset(silence)
	if err != nil && !errors.Is(err, io.EOF) {
		err = &passing{error: fmt.Errorf("the connection broke: %w", bare(err))}
	}
	return n, err
}

// ask sends a request. An answer that is returned is one that can be used.
func (r *registry) ask(ctx context.Context, at *url.URL, header http.Header) (*http.Response, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", at.Host, bare(err))
	}
	q.Header = header.Clone()
	q.Header.Set("User-Agent", "assayd")
	q.Header.Set("Accept-Encoding", "identity") // bytes are counted, and asked for by number
	answer, err := r.client.Do(q)
	if err != nil {
		return nil, &passing{error: fmt.Errorf("ask %s: %w; %s", at.Host, bare(err), wayOut)}
	}
	code, ranged := answer.StatusCode, header.Get("Range") != ""
	if code == http.StatusOK || ranged && (code == http.StatusPartialContent || code == http.StatusRequestedRangeNotSatisfiable) {
		return answer, nil
	}
	defer answer.Body.Close() //nolint:errcheck // not read
	err = fmt.Errorf("%s answers %d %s", at.Host, code, http.StatusText(code))
	switch {
	case code == http.StatusTooManyRequests || code == http.StatusRequestTimeout || code >= 500:
		return nil, &passing{error: fmt.Errorf("%w; %s", err, wayOut), after: retryAfter(answer.Header, time.Now())}
	case code == http.StatusNotFound:
		return nil, fmt.Errorf("%w: it has no such version", err)
	}
	return nil, fmt.Errorf("%w; %s", err, wayOut)
}

// longestAsked is how long a server may ask to be left alone; more than there is time for.
const longestAsked = 2 * longest

// retryAfter is how long a server asks to be left alone, in either of the forms of the header.
func retryAfter(h http.Header, now time.Time) time.Duration {
	text := h.Get("Retry-After")
	if seconds, err := strconv.Atoi(text); err == nil {
		return time.Duration(min(max(seconds, 0), int(longestAsked/time.Second))) * time.Second
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), longestAsked)
}

// bare is an error without the URL, which may have a password.
func bare(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}
