package egress

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"
)

func TestATunnelCarriesTLS(t *testing.T) {
	up := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		_, _ = io.WriteString(w, q.Host+q.URL.Path+" "+string(body))
	}))
	defer up.Close()
	s := newSite(t, "*.com:443")
	s.place("example.com", "151.101.0.223", 443, up.Listener.Addr())
	client := s.client(t)
	client.Transport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: up.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}
	res, err := client.Get("https://example.com/simple/")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if body, err := io.ReadAll(res.Body); err != nil || string(body) != "example.com/simple/ " {
		t.Errorf("read %q, %v", body, err)
	}
}

// place443 is a site with one listener behind pypi.example:443.
func place443(t *testing.T) (*site, *net.TCPListener) {
	t.Helper()
	s, l := newSite(t, "pypi.example:443", "pypi.example:80"), listen(t)
	s.place("pypi.example", "151.101.0.223", 443, l.Addr())
	return s, l
}

func TestEachHalfOfATunnelEndsByItself(t *testing.T) {
	s, l := place443(t)
	t.Run("the client's first", func(t *testing.T) {
		client := s.tunnel(t, "pypi.example:443")
		server := accept(t, l)
		write(t, client, "ask")
		if err := client.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		expect(t, server, "ask")
		expectEnd(t, server)
		write(t, server, "answer")
		expect(t, client, "answer")
		_ = server.Close()
		expectEnd(t, client)
	})
	t.Run("the server's first", func(t *testing.T) {
		client := s.tunnel(t, "pypi.example:443")
		server := accept(t, l)
		write(t, server, "bye")
		if err := server.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		expect(t, client, "bye")
		expectEnd(t, client)
		write(t, client, "late")
		_ = client.CloseWrite()
		expect(t, server, "late")
		expectEnd(t, server)
	})
	t.Run("broken off by the server", func(t *testing.T) {
		client := s.tunnel(t, "pypi.example:443")
		server := accept(t, l)
		if err := server.SetLinger(0); err != nil { // close with a reset
			t.Fatal(err)
		}
		_ = server.Close()
		expectEnd(t, client)
	})
}

func TestWhatAClientSaysEarlyIsNotLost(t *testing.T) {
	s, l := place443(t)
	client := s.say(t, connectTo("pypi.example:443")+"early")
	server := accept(t, l)
	header(t, client)
	write(t, client, " and late")
	expect(t, server, "early and late")
	_ = client.Close()
	expectEnd(t, server)
	_ = server.Close()
	s.proxy.Close()
	if c := s.proxy.Counts()[0]; c.Sent != int64(len("early and late")) || c.Received != 0 {
		t.Errorf("counted %+v", c)
	}
}

func TestATrialHasSoManyTunnels(t *testing.T) {
	s, l := place443(t)
	var one struct{ client, server net.Conn }
	for range maxExchanges {
		one.client, one.server = s.tunnel(t, "pypi.example:443"), accept(t, l)
	}
	// What is refused needs no place.
	if code, text := s.ask(t, connectTo("evil.example:443")); code != http.StatusForbidden {
		t.Errorf("a refusal: %d %s", code, text)
	}
	next := s.say(t, connectTo("pypi.example:443"))
	if _, dials := s.asked(); len(dials) != maxExchanges {
		t.Errorf("%d connections were opened", len(dials))
	}
	_, _ = one.client.Close(), one.server.Close()
	header(t, next)
	accept(t, l)
}

func TestOneTooManyWaitsForAPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture()
		p := newProxy(t, w, Options{Allow: []string{"pypi.example:443"}})
		defer p.Close()
		for range maxExchanges {
			p.places <- struct{}{}
		}
		begin := time.Now()
		if code, text := request(p, "CONNECT pypi.example:443"); code != http.StatusServiceUnavailable || time.Since(begin) != placeTime {
			t.Errorf("after %s: %d %s", time.Since(begin), code, text)
		}
		time.AfterFunc(placeTime/2, func() { <-p.places })
		begin = time.Now()
		if code, text := request(p, "CONNECT pypi.example:443"); code != http.StatusBadGateway || time.Since(begin) != placeTime/2 {
			t.Errorf("with a place after %s: %d %s", time.Since(begin), code, text)
		}
	})
}

func TestCloseEndsAllTunnels(t *testing.T) {
	s, l := place443(t)
	var ends []net.Conn
	for range 5 {
		ends = append(ends, s.tunnel(t, "pypi.example:443"), accept(t, l))
	}
	half := s.tunnel(t, "pypi.example:443")
	_ = half.CloseWrite()
	server := accept(t, l)
	expectEnd(t, server)
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		s.proxy.Close()
	}()
	within(t, "Close", closed)
	for _, c := range append(ends, half) {
		expectEnd(t, c)
	}
}

// A client that takes nothing and a server that sends all the same must not hold up Close.
func TestCloseDoesNotWaitForWhoDoesNotRead(t *testing.T) {
	s, l := place443(t)
	s.tunnel(t, "pypi.example:443")
	server := accept(t, l)
	full := make(chan struct{})
	go func() {
		defer close(full)
		for {
			if _, err := server.Write(make([]byte, 64<<10)); err != nil {
				return
			}
		}
	}()
	waitFor(t, "bytes on their way", func() bool {
		c := s.proxy.Counts()
		return len(c) == 1 && c[0].Received > 64<<10
	})
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		s.proxy.Close()
	}()
	within(t, "Close", closed)
	within(t, "the server's error", full)
}

// What wraps the client's connection may have no halves. Then the server's end is the end,
// and not a tunnel that nobody can leave.
func TestATunnelToAConnectionWithoutHalvesEndsWhole(t *testing.T) {
	l, ends := idleSite(t)
	client := l.dial()
	defer client.Close()
	write(t, client, connectTo("pypi.example:443"))
	header(t, client)
	server := <-ends
	_ = server.Close()
	_ = client.SetDeadline(time.Now().Add(patience))
	expectEnd(t, client)
}

func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited %s in vain for %s", patience, what)
		}
	}
}

// pipes is a listener in memory, for tests in which time is not real.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (l pipes) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l pipes) Close() error {
	close(l.closed)
	return nil
}

func (l pipes) Addr() net.Addr { return &net.UnixAddr{} }

func (l pipes) dial() net.Conn {
	near, far := net.Pipe()
	l.conns <- far
	return near
}

// idleSite is a server, a way to it, and where its destinations' ends arrive.
func idleSite(t *testing.T) (l pipes, ends chan net.Conn) {
	l, ends = pipes{make(chan net.Conn), make(chan struct{})}, make(chan net.Conn, 1)
	w := newFixture()
	w.names["pypi.example"] = []netip.Addr{netip.MustParseAddr("151.101.0.223")}
	p := newProxy(t, w, Options{Allow: []string{"pypi.example:443", "pypi.example:80"}, Dial: func(context.Context, netip.AddrPort) (net.Conn, error) {
		near, far := net.Pipe()
		ends <- far
		return near, nil
	}})
	server := &http.Server{Handler: p}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() {
		p.Close()
		_ = server.Close()
	})
	return l, ends
}

func TestATunnelThatIsIdleIsEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, ends := idleSite(t)
		client := l.dial()
		defer client.Close()
		go func() { _, _ = io.WriteString(client, connectTo("pypi.example:443")) }()
		header(t, client)
		server := <-ends
		defer server.Close()
		for range 3 { // whichever side moves, both live on
			time.Sleep(idleTime - time.Second)
			go func() { _, _ = io.WriteString(client, "x") }()
			expect(t, server, "x")
			time.Sleep(idleTime - time.Second)
			go func() { _, _ = io.WriteString(server, "y") }()
			expect(t, client, "y")
		}
		begin := time.Now()
		expectEnd(t, client)
		expectEnd(t, server)
		if since := time.Since(begin); since != idleTime {
			t.Errorf("it was ended after %s", since)
		}
	})
}

func TestARequestThatIsIdleIsEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, ends := idleSite(t)

		// A server that never begins to answer.
		client := l.dial()
		defer client.Close()
		go func() {
			_, _ = io.WriteString(client, "GET http://pypi.example/ HTTP/1.1\r\nHost: pypi.example\r\n\r\n")
		}()
		server := <-ends
		defer server.Close()
		if _, err := http.ReadRequest(bufio.NewReader(server)); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		res, err := http.ReadResponse(bufio.NewReader(client), nil)
		if err != nil || res.StatusCode != http.StatusGatewayTimeout || time.Since(begin) != answerTime {
			t.Fatalf("after %s: %+v, %v", time.Since(begin), res, err)
		}

		// One that stops in the middle.
		client = l.dial()
		defer client.Close()
		go func() {
			_, _ = io.WriteString(client, "GET http://pypi.example/ HTTP/1.1\r\nHost: pypi.example\r\n\r\n")
		}()
		server = <-ends
		defer server.Close()
		if _, err := http.ReadRequest(bufio.NewReader(server)); err != nil {
			t.Fatal(err)
		}
		go func() { _, _ = io.WriteString(server, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc") }()
		res, err = http.ReadResponse(bufio.NewReader(client), nil)
		if err != nil {
			t.Fatal(err)
		}
		begin = time.Now()
		body, err := io.ReadAll(res.Body)
		if string(body) != "abc" || err == nil || time.Since(begin) != idleTime {
			t.Errorf("after %s: %q, %v", time.Since(begin), body, err)
		}

		// A client that stops in the middle of what it says.
		client = l.dial()
		defer client.Close()
		go func() {
			_, _ = io.WriteString(client, "POST http://pypi.example/ HTTP/1.1\r\nHost: pypi.example\r\nContent-Length: 9\r\n\r\nabc")
		}()
		server = <-ends
		defer server.Close()
		q, err := http.ReadRequest(bufio.NewReader(server))
		if err != nil {
			t.Fatal(err)
		}
		expect(t, q.Body, "abc")
		begin = time.Now()
		expectEnd(t, client)
		if since := time.Since(begin); since != idleTime {
			t.Errorf("a stalled upload was ended after %s", since)
		}
	})
}
