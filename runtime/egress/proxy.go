package egress

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

const (
	// maxExchanges is how many tunnels and forwarded requests one trial has at a time. Package
	// managers open dozens.
	maxExchanges = 48
	// placeTime is how long a request waits until another one has ended.
	placeTime = 10 * time.Second
	// idleTime is how long an exchange may go on without a byte either way.
	idleTime = 10 * time.Minute
)

// Options say what a Proxy lets through and whom it tells.
type Options struct {
	// Allow holds entries "host:port"; the host may begin with "*.", which stands for every
	// name below the rest, at any depth. IPv6 addresses are in brackets.
	Allow []string
	Log   *slog.Logger
	// Decided is told the first decision about each destination, by the request's goroutine;
	// nil = nobody is.
	Decided func(Decision)
	// Resolver and Dial are the outside world for tests; nil = this machine's.
	Resolver Resolver
	Dial     DialFunc
}

// Proxy is the way out of one trial's container. Close it at the trial's end.
type Proxy struct {
	allow    allowList
	book     *book
	resolver Resolver
	dial     DialFunc
	own      func() ([]netip.Addr, error)
	places   chan struct{} // one taken by each exchange

	ctx    context.Context // ends with Close
	cancel context.CancelFunc

	mu     sync.Mutex
	closed bool           // guarded by mu, so that nothing begins once Close waits
	under  sync.WaitGroup // requests under way
}

// New checks the list. It starts nothing: a Proxy that was made only for the check needs no
// Close.
func New(o Options) (*Proxy, error) {
	allow, err := parseList(o.Allow)
	if err != nil {
		return nil, err
	}
	p := &Proxy{
		allow: allow, book: newBook(o.Log, o.Decided), resolver: o.Resolver, dial: o.Dial, own: ownAddresses,
		places: make(chan struct{}, maxExchanges),
	}
	if p.resolver == nil {
		p.resolver = net.DefaultResolver
	}
	if p.dial == nil {
		p.dial = dialTCP
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p, nil
}

// Close ends all that is under way and returns when nothing is any more. What comes after
// it is answered with 503.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.cancel()
	p.under.Wait()
}

// Counts tells of every destination that was asked for, by host and port. It may be called
// at any time, also after Close.
func (p *Proxy) Counts() []Count { return p.book.counts() }

// begin counts a request in, unless the proxy is closed.
func (p *Proxy) begin() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.under.Add(1)
	return true
}

var (
	errClosed = errors.New("the trial is over, or its daemon starts again: try again later")
	errBusy   = fmt.Errorf("%d connections are open, and a trial has no more: close some and try again", maxExchanges)
)

// ServeHTTP answers a request to a proxy: CONNECT, or one whose URL is absolute
// (http.Request.URL.IsAbs). No ServeMux may stand before it: that would redirect what it
// takes for an unclean path. It returns when the exchange has ended, tunnels included.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	if !p.begin() {
		answer(w, http.StatusServiceUnavailable, errClosed.Error())
		return
	}
	defer p.under.Done()
	ctx, cancel := context.WithCancel(q.Context())
	defer cancel()
	defer context.AfterFunc(p.ctx, cancel)()

	d, err := requested(q)
	if err != nil {
		p.refuse(w, destination{}, err)
		return
	}
	e, listed := p.allow.find(d)
	if !listed {
		p.refuse(w, d, errNotListed)
		return
	}
	if !p.takePlace(ctx) {
		answer(w, http.StatusServiceUnavailable, errBusy.Error())
		return
	}
	defer func() { <-p.places }()
	p.exchange(w, q.WithContext(ctx), d, e)
}

// exchange serves a request whose destination the list names.
func (p *Proxy) exchange(w http.ResponseWriter, q *http.Request, d destination, e entry) {
	addrs, err := p.addresses(q.Context(), d, e)
	var no *refusal
	if errors.As(err, &no) {
		p.refuse(w, d, no)
		return
	}
	t := p.book.admit(d, e)
	var conn net.Conn
	if err == nil {
		conn, err = p.connect(q.Context(), addrs)
	}
	if err != nil {
		p.fail(q.Context(), w, t, d, err)
		return
	}
	up := &upstream{Conn: conn, tally: t}
	defer up.settle()
	if q.Method == http.MethodConnect {
		p.tunnel(w, up)
	} else {
		p.forward(w, q, d, up)
	}
}

// takePlace waits for a place for a while.
func (p *Proxy) takePlace(ctx context.Context) bool {
	select {
	case p.places <- struct{}{}:
		return true
	default:
	}
	ctx, cancel := context.WithTimeout(ctx, placeTime)
	defer cancel()
	select {
	case p.places <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

var errNotListed = refuse("it is not listed")

// refuse says no, why, and what may be reached instead. Of a destination that cannot be
// read only the host is repeated: there may be a password in the rest.
func (p *Proxy) refuse(w http.ResponseWriter, d destination, why error) {
	p.book.refuse(d, why.Error())
	text := fmt.Sprintf("refused: %v; this task may reach: %s", why, p.allow)
	switch {
	case errors.Is(why, errNotListed):
		text = fmt.Sprintf("%s is not among what this task may reach: %s", d, p.allow)
	case d != destination{}:
		text = fmt.Sprintf("%s is %s", d, text)
	}
	answer(w, http.StatusForbidden, text)
}

// fail says that an admitted destination does not answer. Where it is the client that went
// away, or the proxy that was closed, nothing is to be said of the destination.
func (p *Proxy) fail(ctx context.Context, w http.ResponseWriter, t *tally, d destination, err error) {
	if ctx.Err() == nil {
		p.book.fail(t, d, err)
	}
	f := &failure{"does not answer", err}
	errors.As(err, &f)
	if f.timedOut() {
		answer(w, http.StatusGatewayTimeout, fmt.Sprintf("%s %s in time", d, f.text))
		return
	}
	answer(w, http.StatusBadGateway, fmt.Sprintf("%s %s", d, f.text))
}

func answer(w http.ResponseWriter, status int, text string) {
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "5")
	}
	http.Error(w, text, status)
}
