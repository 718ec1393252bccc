package egress

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must come.
const patience = 30 * time.Second

// fixture is the outside: names, and listeners of the test that stand in for addresses. It
// keeps what was asked of it.
type fixture struct {
	mu      sync.Mutex
	names   map[string][]netip.Addr
	at      map[netip.AddrPort]string
	lookups []string
	dials   []string
}

func newFixture() *fixture {
	return &fixture{names: map[string][]netip.Addr{}, at: map[netip.AddrPort]string{}}
}

func (w *fixture) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lookups = append(w.lookups, host)
	if addrs, ok := w.names[strings.TrimSuffix(host, ".")]; ok {
		return addrs, nil
	}
	return nil, &net.DNSError{Err: "no such host", Name: host, Server: "10.0.0.53:53", IsNotFound: true}
}

func (w *fixture) dial(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
	w.mu.Lock()
	w.dials = append(w.dials, addr.String())
	stand, ok := w.at[addr]
	w.mu.Unlock()
	if !ok {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: net.TCPAddrFromAddrPort(addr), Err: syscall.ECONNREFUSED}
	}
	var d net.Dialer
	return d.DialContext(ctx, "tcp", stand)
}

// place puts a listener behind a name.
func (w *fixture) place(name, addr string, port uint16, stand net.Addr) {
	w.mu.Lock()
	defer w.mu.Unlock()
	a := netip.MustParseAddr(addr)
	w.names[name] = append(w.names[name], a)
	w.at[netip.AddrPortFrom(a, port)] = stand.String()
}

func (w *fixture) asked() (lookups, dials []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.lookups), slices.Clone(w.dials)
}

// lines is a log that many write to.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// site is a proxy behind a Unix socket, as a trial has it.
type site struct {
	*fixture
	proxy  *Proxy
	socket string
	log    *lines
}

// fails is what tests and drawn cases have in common.
type fails interface {
	Helper()
	Fatal(args ...any)
}

func newProxy(t fails, w *fixture, o Options) *Proxy {
	t.Helper()
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Resolver == nil {
		o.Resolver = w
	}
	if o.Dial == nil {
		o.Dial = w.dial
	}
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func newSite(t *testing.T, allow ...string) *site {
	return newSiteWith(t, Options{Allow: allow})
}

func newSiteWith(t *testing.T, o Options) *site {
	t.Helper()
	dir, err := os.MkdirTemp("", "egress")
	if err != nil {
		t.Fatal(err)
	}
	s := &site{fixture: newFixture(), socket: filepath.Join(dir, "s"), log: &lines{}}
	o.Log = slog.New(slog.NewTextHandler(s.log, nil))
	s.proxy = newProxy(t, s.fixture, o)
	l, err := net.Listen("unix", s.socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: s.proxy}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(l)
	}()
	t.Cleanup(func() {
		s.proxy.Close()
		_ = server.Close()
		<-served
		_ = os.RemoveAll(dir)
	})
	return s
}

// client is a program that heeds HTTP_PROXY.
func (s *site) client(t *testing.T) *http.Client {
	transport := &http.Transport{
		Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: "127.0.0.1:7433"}),
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", s.socket)
		},
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{
		Transport: transport, Timeout: patience,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// say opens a connection to the proxy and writes text to it.
func (s *site) say(t *testing.T, text string) *net.UnixConn {
	t.Helper()
	c, err := net.Dial("unix", s.socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	return c.(*net.UnixConn)
}

// ask sends one request as it is written and returns status and body of the answer.
func (s *site) ask(t *testing.T, text string) (int, string) {
	t.Helper()
	c := s.say(t, text)
	defer c.Close()
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

func connectTo(target string) string {
	return fmt.Sprintf("CONNECT %s HTTP/1.1\r\nHost: any\r\n\r\n", target)
}

// tunnel opens one and returns the client's end, from which nothing was lost.
func (s *site) tunnel(t *testing.T, target string) *net.UnixConn {
	t.Helper()
	c := s.say(t, connectTo(target))
	if line := header(t, c); !strings.HasPrefix(line, "HTTP/1.1 200 ") {
		t.Fatalf("CONNECT %s: %s", target, line)
	}
	return c
}

// header reads an answer's header and not a byte more.
func header(t *testing.T, c net.Conn) string {
	t.Helper()
	var text []byte
	for b := make([]byte, 1); !bytes.HasSuffix(text, []byte("\r\n\r\n")); text = append(text, b...) {
		if _, err := io.ReadFull(c, b); err != nil {
			t.Fatalf("after %q: %v", text, err)
		}
	}
	return string(text)
}

func listen(t *testing.T) *net.TCPListener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	if err := l.(*net.TCPListener).SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return l.(*net.TCPListener)
}

func accept(t *testing.T, l *net.TCPListener) *net.TCPConn {
	t.Helper()
	c, err := l.AcceptTCP()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return c
}

func write(t *testing.T, w io.Writer, text string) {
	t.Helper()
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
}

func expect(t *testing.T, r io.Reader, text string) {
	t.Helper()
	got := make([]byte, len(text))
	if _, err := io.ReadFull(r, got); err != nil || string(got) != text {
		t.Fatalf("read %q, %v; want %q", got, err, text)
	}
}

func expectEnd(t *testing.T, r io.Reader) {
	t.Helper()
	if n, err := r.Read(make([]byte, 1)); n != 0 || err == nil || os.IsTimeout(err) {
		t.Fatalf("read %d bytes, %v; want the end", n, err)
	}
}

// within fails the test when done is not closed in time.
func within(t *testing.T, what string, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatalf("waited %s in vain for %s", patience, what)
	}
}
