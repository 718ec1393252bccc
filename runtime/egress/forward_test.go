package egress

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// behind80 is a site with a server behind pypi.example:80.
func behind80(t *testing.T, h http.HandlerFunc) *site {
	t.Helper()
	up := httptest.NewServer(h)
	t.Cleanup(up.Close)
	s := newSite(t, "pypi.example:80", "pypi.example:8080")
	s.place("pypi.example", "151.101.0.223", 80, up.Listener.Addr())
	s.at[netip.MustParseAddrPort("151.101.0.223:8080")] = up.Listener.Addr().String()
	return s
}

func TestOnlyWhatConcernsTheConnectionIsRemoved(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1") // the daemon's own is for the daemon
	t.Setenv("http_proxy", "http://127.0.0.1:1")
	var got *http.Request
	s := behind80(t, func(w http.ResponseWriter, q *http.Request) {
		got = q.Clone(q.Context())
		c, _, err := http.NewResponseController(w).Hijack() // Go's server would see to its headers itself
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		_, _ = io.WriteString(c, strings.Join([]string{
			"HTTP/1.1 418 Teapot", "Connection: X-Hop", "X-Hop: 1", "Keep-Alive: timeout=5", "Proxy-Authenticate: Basic", "Upgrade: h2c",
			"X-Stay: 1", "Date: then", "Content-Length: 10", "", "plain text",
		}, "\r\n"))
	})
	c := s.say(t, strings.Join([]string{
		"GET http://PYPI.example.:80/a%2Fb/?q=1;2&%zz HTTP/1.1", "Host: evil.example", "User-Agent: pip",
		"Connection: keep-alive, X-Mine, Upgrade", "X-Mine: 1", "Keep-Alive: timeout=5", "Proxy-Connection: keep-alive",
		"Proxy-Authorization: Basic c2VjcmV0", "Te: gzip", "Upgrade: websocket", "X-Kept: 1", "Authorization: Basic bWluZQ==", "Accept-Encoding: br", "", "",
	}, "\r\n"))
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(res.Body)
	if err != nil || string(body) != "plain text" || res.StatusCode != http.StatusTeapot {
		t.Errorf("answered with %s %q, %v", res.Status, body, err)
	}
	if got.RequestURI != "/a%2Fb/?q=1;2&%zz" || got.Host != "pypi.example" {
		t.Errorf("the server saw %q at %q", got.RequestURI, got.Host)
	}
	if diff := cmp.Diff(http.Header{
		"User-Agent": {"pip"}, "X-Kept": {"1"}, "Authorization": {"Basic bWluZQ=="}, "Accept-Encoding": {"br"}, "Connection": {"close"},
	}, got.Header); diff != "" {
		t.Errorf("the server saw the headers (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(http.Header{"X-Stay": {"1"}, "Date": {"then"}, "Content-Length": {"10"}}, res.Header); diff != "" {
		t.Errorf("the client saw the headers (-want +got):\n%s", diff)
	}
}

func TestTheHostHeaderNamesTheDestination(t *testing.T) {
	s := behind80(t, func(w http.ResponseWriter, q *http.Request) { _, _ = io.WriteString(w, q.Host) })
	for target, want := range map[string]string{
		"http://pypi.example/": "pypi.example", "http://pypi.example:80/": "pypi.example", "http://PYPI.example.:8080/": "pypi.example:8080",
	} {
		if code, text := s.ask(t, "GET "+target+" HTTP/1.1\r\nHost: evil.example\r\n\r\n"); code != http.StatusOK || text != want {
			t.Errorf("%s: %d %q, want %q", target, code, text, want)
		}
	}
}

// Each side says its next word only when it has heard the other's.
func TestBodiesAreStreamedBothWays(t *testing.T) {
	s := behind80(t, func(w http.ResponseWriter, q *http.Request) {
		control := http.NewResponseController(w)
		_ = control.EnableFullDuplex()
		for b := make([]byte, 1); ; {
			if _, err := q.Body.Read(b); err != nil {
				return
			}
			_, _ = w.Write([]byte(strings.ToUpper(string(b))))
			_ = control.Flush()
		}
	})
	hear, tell := io.Pipe()
	q, err := http.NewRequest(http.MethodPost, "http://pypi.example/", hear)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.WriteString(tell, "a") }()
	res, err := s.client(t).Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	expect(t, res.Body, "A")
	write(t, tell, "b")
	expect(t, res.Body, "B")
	write(t, tell, "c")
	expect(t, res.Body, "C")
	_ = tell.Close()
	if rest, err := io.ReadAll(res.Body); len(rest) != 0 || err != nil {
		t.Errorf("at the end: %q, %v", rest, err)
	}
}

// A client that asks whether it may go on is told so once, when the server has said it.
func TestAClientThatWaitsToGoOnIsToldTo(t *testing.T) {
	s := behind80(t, func(w http.ResponseWriter, q *http.Request) { _, _ = io.Copy(w, q.Body) })
	c := s.say(t, "POST http://pypi.example/ HTTP/1.1\r\nHost: pypi.example\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n")
	expect(t, c, "HTTP/1.1 100 Continue\r\n\r\n")
	write(t, c, "body")
	expect(t, c, "HTTP/1.1 200 OK\r\n")
	if rest := header(t, c); !strings.Contains(rest, "Content-Length: 4\r\n") {
		t.Errorf("the answer's header is %q", rest)
	}
	expect(t, c, "body")
}

func TestARedirectIsTheClientsToFollow(t *testing.T) {
	s := behind80(t, func(w http.ResponseWriter, q *http.Request) {
		http.Redirect(w, q, "http://169.254.169.254/latest/", http.StatusFound)
	})
	res, err := s.client(t).Get("http://pypi.example/")
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusFound || res.Header.Get("Location") != "http://169.254.169.254/latest/" {
		t.Errorf("answered with %s to %s", res.Status, res.Header.Get("Location"))
	}
	if _, dials := s.asked(); len(dials) != 1 {
		t.Errorf("dialled %q", dials)
	}
}

// With another protocol, nobody would know any more what is asked of whom.
func TestNoOtherProtocolIsAgreedOn(t *testing.T) {
	s := behind80(t, func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("Connection", "Upgrade")
		w.Header().Set("Upgrade", "websocket")
		w.WriteHeader(http.StatusSwitchingProtocols)
	})
	code, text := s.ask(t, "GET http://pypi.example/ HTTP/1.1\r\nHost: pypi.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	if code != http.StatusBadGateway || text != "pypi.example:80 does not answer\n" {
		t.Errorf("answered with %d %q", code, text)
	}
}

func TestABrokenAnswerIsNotMadeWhole(t *testing.T) {
	s := behind80(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "half")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	res, err := s.client(t).Get("http://pypi.example/")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if body, err := io.ReadAll(res.Body); string(body) != "half" || err == nil {
		t.Errorf("read %q, %v", body, err)
	}
}

// A client's connection to the proxy serves any number of requests.
func TestAClientKeepsItsConnection(t *testing.T) {
	s := behind80(t, func(w http.ResponseWriter, q *http.Request) {
		_, _ = io.WriteString(w, q.URL.Path+q.Header.Get("Accept-Encoding")) // which nobody asked for
	})
	c := s.say(t, "")
	answers := bufio.NewReader(c)
	for _, path := range []string{"/a", "/b", "/c"} {
		write(t, c, "GET http://pypi.example"+path+" HTTP/1.1\r\nHost: pypi.example\r\n\r\n")
		res, err := http.ReadResponse(answers, nil)
		if err != nil {
			t.Fatal(err)
		}
		if body, err := io.ReadAll(res.Body); err != nil || string(body) != path {
			t.Errorf("%s: %q, %v", path, body, err)
		}
	}
}

func TestCloseEndsAForwardedRequest(t *testing.T) {
	release := make(chan struct{})
	s := behind80(t, func(w http.ResponseWriter, q *http.Request) {
		_, _ = io.WriteString(w, "begin")
		_ = http.NewResponseController(w).Flush()
		select {
		case <-q.Context().Done():
		case <-release:
		}
	})
	defer close(release)
	res, err := s.client(t).Get("http://pypi.example/")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	expect(t, res.Body, "begin")
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		s.proxy.Close()
	}()
	within(t, "Close", closed)
	if rest, err := io.ReadAll(res.Body); len(rest) != 0 || err == nil {
		t.Errorf("after Close: %q, %v", rest, err)
	}
}

// slow is a connection whose Write is done and does not return until it is closed.
type slow struct {
	net.Conn
	closed chan struct{}
	close  func()
}

func (c slow) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	<-c.closed
	return n, err
}

func (c slow) Close() error {
	c.close()
	return c.Conn.Close()
}

func TestWhatPassedIsCountedWhenARequestHasEnded(t *testing.T) {
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	defer up.Close()
	w := newFixture()
	w.place("pypi.example", "151.101.0.223", 80, up.Listener.Addr())
	p := newProxy(t, w, Options{Allow: []string{"pypi.example:80"}, Dial: func(ctx context.Context, a netip.AddrPort) (net.Conn, error) {
		c, err := w.dial(ctx, a)
		closed := make(chan struct{})
		return slow{c, closed, sync.OnceFunc(func() { close(closed) })}, err
	}})
	defer p.Close()
	if code, text := request(p, "GET http://pypi.example/"); code != http.StatusNoContent {
		t.Fatalf("%d %s", code, text)
	}
	if c := p.Counts()[0]; c.Sent == 0 || c.Received == 0 {
		t.Errorf("counted %+v", c)
	}
}
