package egress

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestTheListAdmitsWhatItNames(t *testing.T) {
	l, err := parseList([]string{
		"pypi.org:443", "*.PythonHosted.org.:443", "files.pythonhosted.org:443", "Mirror:80", "10.0.0.1:80", "[2001:db8:0::1]:443", "[::ffff:10.0.0.2]:80", "*.org:8443",
	})
	if err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{
		"pypi.org:443":                   "pypi.org:443",
		"PYPI.org.:443":                  "pypi.org:443",
		"pypi.org:80":                    "",
		"www.pypi.org:443":               "",
		"pypi.org.evil.example:443":      "",
		"evilpypi.org:443":               "",
		"org:443":                        "",
		"a.pythonhosted.org:443":         "*.PythonHosted.org.:443",
		"a.b.c.pythonhosted.org:443":     "*.PythonHosted.org.:443",
		"files.pythonhosted.org:443":     "files.pythonhosted.org:443", // the one that names it exactly
		"pythonhosted.org:443":           "",
		"evilpythonhosted.org:443":       "",
		"a.pythonhosted.org.evil.io:443": "",
		"a.pythonhosted.org:80":          "",
		"mirror:80":                      "Mirror:80",
		"10.0.0.1:80":                    "10.0.0.1:80",
		"[::ffff:10.0.0.1]:80":           "10.0.0.1:80",
		"10.0.0.2:80":                    "[::ffff:10.0.0.2]:80",
		"10.0.0.3:80":                    "",
		"[2001:DB8::1]:443":              "[2001:db8:0::1]:443",
		"[2001:db8::2]:443":              "",
		"x.org:8443":                     "*.org:8443",
		"org:8443":                       "",
		"1.2.3.4:8443":                   "",
	} {
		d, err := parse(in, 0)
		if err != nil {
			t.Fatal(err)
		}
		e, ok := l.find(d)
		if e.text != want || ok != (want != "") || e.wild != strings.HasPrefix(want, "*.") {
			t.Errorf("%s is admitted by %+v, %t; want %q", in, e, ok, want)
		}
	}
}

func TestAListWithAFaultIsRefusedAsAWhole(t *testing.T) {
	for _, bad := range []string{
		"", "*", "*:443", "*.:443", "pypi.org", "pypi.org:0", "pypi.org:https", "*.10.0.0.1:80", "*.[::1]:80", "*.1:80", "**.a.org:1", "a.*.org:1",
		"*.*.org:443", "http://pypi.org:443", "pypi.org:443/simple", "10.0.0.0/8:80", "127.1:80", "0x7f.1:80", "u@pypi.org:443", "[fe80::1%eth0]:80", "bücher.example:443",
	} {
		_, err := New(Options{Allow: []string{"good.example:443", bad}})
		if err == nil || !strings.Contains(err.Error(), strconv.Quote(bad)) {
			t.Errorf("%q: %v; want an error that names it", bad, err)
		}
	}
}

func TestALongListIsNotRepeatedWhole(t *testing.T) {
	entries := make([]string, 1000)
	for i := range entries {
		entries[i] = fmt.Sprintf("h%d.example:443", i)
	}
	l, err := parseList(entries)
	if err != nil {
		t.Fatal(err)
	}
	if got := l.String(); !strings.HasPrefix(got, "h0.example:443, h1.example:443, ") || !strings.HasSuffix(got, ", h19.example:443 and 980 more") {
		t.Errorf("the list reads %q", got)
	}
	if none, _ := parseList(nil); none.String() != "nothing" {
		t.Errorf("the empty list reads %q", none)
	}
}

// target is what a drawn request is after, and how it spells that.
type target struct {
	host, port string
	line       string
	plain      bool // spelled as everybody would
}

func drawName(t *rapid.T) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "org", "x-1"}), 1, 4).Draw(t, "name"), ".")
}

func drawHost(t *rapid.T) string {
	if rapid.Bool().Draw(t, "is an address") {
		return rapid.SampledFrom([]string{"10.0.0.1", "10.0.0.2", "127.0.0.1", "[::1]", "[2001:db8::1]"}).Draw(t, "address")
	}
	return drawName(t)
}

func drawPort(t *rapid.T) string { return rapid.SampledFrom([]string{"80", "443"}).Draw(t, "port") }

func drawTarget(t *rapid.T) target {
	x := target{host: drawHost(t), port: drawPort(t)}
	other := drawName(t)
	spell := rapid.SampledFrom([]string{"%s", "%s", "%s", "u@%s", "%s.", "evil%s", "%s.evil", "%s@" + other, other + ":443@%s", "%s%%2e" + other, "%s\t", "%s#" + other, "0x%s", "%s:80"}).Draw(t, "spelling")
	x.plain = spell == "%s"
	authority := fmt.Sprintf(spell, x.host) + ":" + x.port
	x.line = rapid.SampledFrom([]string{"CONNECT %s", "GET http://%s/", "GET HTTP://%s", "POST http://%s?http://b.org"}).Draw(t, "form")
	x.line = fmt.Sprintf(x.line, authority)
	return x
}

// namedBy is what the list means, written down a second time.
func namedBy(entries []string, host, port string) bool {
	return slices.ContainsFunc(entries, func(e string) bool {
		suffix, wild := strings.CutPrefix(e, "*")
		if wild {
			return !strings.HasPrefix(host, "[") && strings.HasSuffix(host+":"+port, suffix)
		}
		return e == host+":"+port
	})
}

// recorder gives each name an address of its own and keeps which were dialled, as
// host:port.
type recorder struct {
	byName  map[string]netip.Addr
	lookups []string
	dials   []string
}

func (r *recorder) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	host = strings.TrimSuffix(host, ".")
	r.lookups = append(r.lookups, host)
	if _, ok := r.byName[host]; !ok {
		n := len(r.byName) + 1
		r.byName[host] = netip.AddrFrom4([4]byte{11, 0, byte(n >> 8), byte(n)})
	}
	return []netip.Addr{r.byName[host]}, nil
}

func (r *recorder) dial(_ context.Context, a netip.AddrPort) (net.Conn, error) {
	port := strconv.Itoa(int(a.Port()))
	for name, addr := range r.byName {
		if addr == a.Addr() {
			r.dials = append(r.dials, name+":"+port)
			return nil, errors.New("nobody is there")
		}
	}
	r.dials = append(r.dials, a.String())
	return nil, errors.New("nobody is there")
}

// Whatever is asked for, in whatever spelling: only what the list names is looked up and
// dialled, and what it names is.
func TestNothingOutsideTheListIsEverDialled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var entries []string
		for range rapid.IntRange(0, 4).Draw(t, "entries") {
			if rapid.Bool().Draw(t, "wild") {
				entries = append(entries, "*."+drawName(t)+":"+drawPort(t))
			} else {
				entries = append(entries, drawHost(t)+":"+drawPort(t))
			}
		}
		r := &recorder{byName: map[string]netip.Addr{}}
		p := newProxy(t, nil, Options{Allow: entries, Resolver: r, Dial: r.dial})
		defer p.Close()
		for range rapid.IntRange(1, 8).Draw(t, "requests") {
			x := drawTarget(t)
			q, err := http.ReadRequest(bufio.NewReader(strings.NewReader(x.line + " HTTP/1.1\r\nHost: " + x.host + "\r\n\r\n")))
			if err != nil {
				continue // the server answers it
			}
			r.lookups, r.dials = nil, nil
			p.ServeHTTP(httptest.NewRecorder(), q)
			for _, d := range r.dials {
				i := strings.LastIndexByte(d, ':')
				if !namedBy(entries, d[:i], d[i+1:]) {
					t.Fatalf("%q: dialled %s; the list is %q", x.line, d, entries)
				}
			}
			if len(r.lookups) > 0 && len(r.dials) == 0 {
				t.Fatalf("%q: looked %q up for nothing", x.line, r.lookups)
			}
			if x.plain && namedBy(entries, x.host, x.port) && !slices.Equal(r.dials, []string{x.host + ":" + x.port}) {
				t.Fatalf("%q: dialled %q; the list is %q", x.line, r.dials, entries)
			}
		}
	})
}
