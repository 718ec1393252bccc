package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestARefusalSaysWhatMayBeReached(t *testing.T) {
	s := newSite(t, "pypi.example:443", "*.files.example:443")
	s.place("pypi.example", "151.101.0.223", 443, &net.TCPAddr{})
	const list = "pypi.example:443, *.files.example:443"
	for line, want := range map[string]string{
		"CONNECT evil.example:443":           "evil.example:443 is not among what this task may reach: " + list,
		"CONNECT 151.101.0.223:443":          "151.101.0.223:443 is not among what this task may reach: " + list,
		"CONNECT pypi.example:80":            "pypi.example:80 is not among what this task may reach: " + list,
		"GET http://pypi.example/simple":     "pypi.example:80 is not among what this task may reach: " + list,
		"GET https://pypi.example/":          "refused: https is reached with CONNECT, so that it cannot be read on the way; this task may reach: " + list,
		"CONNECT me:word@pypi.example:443":   "refused: a user name has no place before the host; this task may reach: " + list,
		"CONNECT 0x7f.1:443":                 `refused: host "0x7f.1": it is neither a name nor an address in its usual form; this task may reach: ` + list,
		"CONNECT pypi.example:https":         "", // no request at all
		"GET /":                              "refused: only CONNECT host:port and http://host/path are understood; this task may reach: " + list,
		"POST http://me:word@pypi.example/x": "refused: a user name has no place before the host; this task may reach: " + list,
	} {
		code, text := s.ask(t, line+" HTTP/1.1\r\nHost: pypi.example:443\r\nContent-Length: 0\r\n\r\n")
		if want == "" {
			if code != http.StatusBadRequest {
				t.Errorf("%s: %d %q", line, code, text)
			}
		} else if code != http.StatusForbidden || text != want+"\n" {
			t.Errorf("%s: %d %q; want %q", line, code, text, want)
		}
	}
	if lookups, dials := s.asked(); lookups != nil || dials != nil {
		t.Errorf("refused requests had %q looked up and %q dialled", lookups, dials)
	}
	if log := s.log.String(); strings.Contains(log, "word") {
		t.Errorf("the log repeats a password: %s", log)
	}
}

// answers are a resolver and a dialler that always say the same.
type answers struct {
	found []netip.Addr
	err   error
	dial  error
}

func (a answers) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return a.found, a.err
}

func TestWhatDoesNotAnswerIsNoRefusal(t *testing.T) {
	there := []netip.Addr{netip.MustParseAddr("151.101.0.223"), netip.MustParseAddr("151.101.64.223")}
	for name, c := range map[string]struct {
		of   answers
		code int
		text string
	}{
		"no such name":     {answers{err: &net.DNSError{Err: "no such host", Server: "10.0.0.53:53", IsNotFound: true}}, 502, "pypi.example:80 cannot be resolved"},
		"no address":       {answers{}, 502, "pypi.example:80 cannot be resolved"},
		"a silent server":  {answers{err: &net.DNSError{Err: "i/o timeout", Server: "10.0.0.53:53", IsTimeout: true}}, 504, "pypi.example:80 cannot be resolved in time"},
		"nobody listens":   {answers{found: there, dial: errors.New("connect to 10.0.0.53: refused")}, 502, "pypi.example:80 cannot be reached"},
		"nobody's address": {answers{found: there, dial: context.DeadlineExceeded}, 504, "pypi.example:80 cannot be reached in time"},
	} {
		log := &lines{}
		p := newProxy(t, nil, Options{
			Allow: []string{"pypi.example:80"}, Log: slog.New(slog.NewTextHandler(log, nil)), Resolver: c.of,
			Dial: func(context.Context, netip.AddrPort) (net.Conn, error) { return nil, c.of.dial },
		})
		for range 3 {
			for _, line := range []string{"CONNECT pypi.example:80", "GET http://pypi.example/"} {
				if code, text := request(p, line); code != c.code || text != c.text {
					t.Errorf("%s, %s: %d %q; want %d %q", name, line, code, text, c.code, c.text)
				}
			}
		}
		p.Close()
		if diff := cmp.Diff([]Count{{Host: "pypi.example", Port: 80, Admitted: 6, Failed: 6}}, p.Counts()); diff != "" {
			t.Errorf("%s is counted (-want +got):\n%s", name, diff)
		}
		if n := strings.Count(log.String(), "did not answer"); n != 1 {
			t.Errorf("%s is told %d times in the log:\n%s", name, n, log)
		}
	}
}

// waiting answers when its context ends.
type waiting struct{}

func (waiting) LookupNetIP(ctx context.Context, _, _ string) ([]netip.Addr, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestWaitingForTheOutsideEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture()
		for _, a := range []string{"151.101.0.223", "151.101.64.223", "151.101.128.223"} {
			w.names["slow.example"] = append(w.names["slow.example"], netip.MustParseAddr(a))
		}
		var tried []time.Duration
		begin := time.Now()
		hang := func(ctx context.Context, _ netip.AddrPort) (net.Conn, error) {
			<-ctx.Done()
			tried = append(tried, time.Since(begin))
			return nil, ctx.Err()
		}
		p := newProxy(t, w, Options{Allow: []string{"slow.example:80"}, Dial: hang})
		if code, text := request(p, "CONNECT slow.example:80"); code != http.StatusGatewayTimeout || time.Since(begin) != dialTime {
			t.Errorf("after %s: %d %s", time.Since(begin), code, text)
		}
		// Each address has its share.
		if len(tried) != 3 || tried[0] > dialTime/2 || tried[1] > dialTime*3/4 {
			t.Errorf("addresses were given up after %v", tried)
		}
		p.Close()

		begin = time.Now()
		p = newProxy(t, w, Options{Allow: []string{"slow.example:80"}, Resolver: waiting{}})
		if code, text := request(p, "GET http://slow.example/"); code != http.StatusGatewayTimeout || time.Since(begin) != lookupTime {
			t.Errorf("after %s: %d %s", time.Since(begin), code, text)
		}
		p.Close()
	})
}

func TestCloseEndsWaitingForTheOutside(t *testing.T) {
	for name, o := range map[string]Options{
		"a lookup": {Resolver: waiting{}},
		"a dial": {Dial: func(ctx context.Context, _ netip.AddrPort) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newFixture()
			w.names["slow.example"] = []netip.Addr{netip.MustParseAddr("151.101.0.223")}
			o.Allow = []string{"slow.example:80"}
			p := newProxy(t, w, o)
			begin, code := time.Now(), make(chan int)
			go func() {
				got, _ := request(p, "CONNECT slow.example:80")
				code <- got
			}()
			synctest.Wait()
			go p.Close()
			if got := <-code; got < 500 || time.Since(begin) != 0 {
				t.Errorf("%s ended with %d after %s", name, got, time.Since(begin))
			}
			// Nobody's fault is counted.
			if diff := cmp.Diff([]Count{{Host: "slow.example", Port: 80, Admitted: 1}}, p.Counts()); diff != "" {
				t.Errorf("%s is counted (-want +got):\n%s", name, diff)
			}
		})
	}
}

func TestAClosedProxyAsksToComeBack(t *testing.T) {
	s := newSite(t, "pypi.example:443")
	s.proxy.Close()
	s.proxy.Close()
	for _, line := range []string{"CONNECT pypi.example:443", "GET http://evil.example/"} {
		if code, text := request(s.proxy, line); code != http.StatusServiceUnavailable {
			t.Errorf("%s: %d %s", line, code, text)
		}
	}
}

func TestADecisionIsToldOnceAndCounted(t *testing.T) {
	var mu sync.Mutex
	var told []Decision
	s := newSiteWith(t, Options{Allow: []string{"pypi.example:80", "*.wild.example:80"}, Decided: func(d Decision) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, d)
	}})
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		_, _ = io.Copy(io.Discard, q.Body)
		_, _ = io.WriteString(w, strings.Repeat("y", 5000))
	}))
	defer up.Close()
	s.place("pypi.example", "151.101.0.223", 80, up.Listener.Addr())
	s.names["a.wild.example"] = []netip.Addr{netip.MustParseAddr("127.0.0.1")}
	client := s.client(t)
	for _, u := range []string{"http://pypi.example/", "http://a.wild.example/", "http://evil.example/", "http://PYPI.example:80/again", "http://evil.example./", "http://u@evil.example/"} {
		res, err := client.Post(u, "text/plain", strings.NewReader(strings.Repeat("x", 3000)))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
	}
	s.ask(t, connectTo("evil.example:443"))
	s.proxy.Close()

	if diff := cmp.Diff([]Decision{
		{"pypi.example", 80, true, "listed as pypi.example:80"},
		{"a.wild.example", 80, false, "the name leads to 127.0.0.1, a loopback address"},
		{"evil.example", 80, false, "it is not listed"},
		{"evil.example", 443, false, "it is not listed"},
	}, told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	counts := s.proxy.Counts()
	for i, c := range counts { // headers are counted, too
		if c.Sent > 6000 && c.Sent < 8000 {
			counts[i].Sent = 6000
		}
		if c.Received > 10000 && c.Received < 12000 {
			counts[i].Received = 10000
		}
	}
	if diff := cmp.Diff([]Count{
		{Host: "a.wild.example", Port: 80, Refused: 1},
		{Host: "evil.example", Port: 80, Refused: 3},
		{Host: "evil.example", Port: 443, Refused: 1},
		{Host: "pypi.example", Port: 80, Admitted: 2, Sent: 6000, Received: 10000},
	}, counts); diff != "" {
		t.Errorf("counted (-want +got):\n%s", diff)
	}
	if n := strings.Count(s.log.String(), "\n"); n != 4 {
		t.Errorf("the log has %d lines:\n%s", n, s.log)
	}
}

// An agent may ask for as many destinations as it likes. Each is answered and counted, and
// neither the log nor the memory grows with them, nor does an admitted one get lost among
// them.
func TestTenThousandRefusedRequestsCostLittle(t *testing.T) {
	const requests = 10_000
	told := 0 // by one connection's goroutine
	s := newSiteWith(t, Options{Allow: []string{"*.wild.example:80"}, Decided: func(Decision) { told++ }})
	client := s.client(t)
	before := heap()
	for i := range requests {
		res, err := client.Get(fmt.Sprintf("http://h%d.evil.example/%s", i, strings.Repeat("x", 500)))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
		if res.StatusCode != http.StatusForbidden {
			t.Fatalf("request %d: %s", i, res.Status)
		}
	}
	if grown := heap() - before; grown > 2<<20 {
		t.Errorf("the heap grew by %d KiB", grown>>10)
	}
	if code, _ := request(s.proxy, "CONNECT a.wild.example:80"); code != http.StatusBadGateway {
		t.Errorf("an admitted request is answered with %d", code)
	}
	var refused int64
	counts := s.proxy.Counts()
	for _, c := range counts {
		refused += c.Refused
	}
	if refused != requests || len(counts) != maxDestinations+2 {
		t.Errorf("%d requests are counted in %d lines", refused, len(counts))
	}
	if diff := cmp.Diff(Count{Refused: requests - maxDestinations}, counts[0]); diff != "" {
		t.Errorf("those that are not kept apart are counted (-want +got):\n%s", diff)
	}
	if lines := strings.Count(s.log.String(), "\n"); told != maxDestinations+2 || lines != maxDestinations+3 {
		t.Errorf("%d decisions were told, and the log has %d lines", told, lines)
	}
	if lookups, dials := s.asked(); len(lookups) != 1 || dials != nil {
		t.Errorf("looked up %q, dialled %q", lookups, dials)
	}
}

func heap() int64 {
	runtime.GC()
	runtime.GC() // what finalizers held
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// BenchmarkRefusal is what an agent can make the daemon do for nothing.
func BenchmarkRefusal(b *testing.B) {
	p := newProxy(b, newFixture(), Options{Allow: []string{"pypi.example:443", "*.files.example:443"}})
	defer p.Close()
	b.ReportAllocs()
	for b.Loop() {
		request(p, "CONNECT evil.example:443")
	}
}
