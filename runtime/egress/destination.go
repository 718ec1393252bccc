package egress

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
)

// destination is where a request wants to go, in the one spelling that is compared, looked
// up and dialled. The zero value is none.
type destination struct {
	name string     // ASCII, lower case, no dot at the end; "" for an address
	addr netip.Addr // valid for an address only; IPv4 is never in its IPv6 form
	port uint16
}

// host is the name or the address, without brackets.
func (d destination) host() string {
	if d.addr.IsValid() {
		return d.addr.String()
	}
	return d.name
}

func (d destination) String() string {
	return net.JoinHostPort(d.host(), strconv.Itoa(int(d.port)))
}

// refusal is why a destination may not be reached.
type refusal struct{ why string }

func (r *refusal) Error() string { return r.why }

func refuse(format string, args ...any) error {
	return &refusal{fmt.Sprintf(format, args...)}
}

// requested reads where a request to a proxy wants to go. CONNECT is read as it was sent,
// because a parsed URL has lost what must be refused.
func requested(q *http.Request) (destination, error) {
	switch {
	case q.Method == http.MethodConnect:
		return parse(q.RequestURI, 0)
	case q.URL.Scheme == "https":
		return destination{}, refuse("https is reached with CONNECT, so that it cannot be read on the way")
	case q.URL.Scheme != "http":
		return destination{}, refuse("only CONNECT host:port and http://host/path are understood")
	case q.URL.User != nil:
		return destination{}, errUserinfo
	}
	return parse(q.URL.Host, 80)
}

var errUserinfo = refuse("a user name has no place before the host")

// parse reads host:port. The port standard stands for one that is left out; 0 = it may not
// be. Nothing is guessed: what has two readings has none.
func parse(s string, standard uint16) (destination, error) {
	d := destination{port: standard}
	if strings.Contains(s, "@") {
		return destination{}, errUserinfo
	}
	host, port, err := d.takeHost(s)
	if err != nil {
		return destination{}, fmt.Errorf("host %.80q: %w", host, err)
	}
	if port == "" && standard != 0 {
		return d, nil
	}
	n, err := strconv.ParseUint(strings.TrimPrefix(port, ":"), 10, 16)
	if err != nil || n == 0 || port[0] != ':' {
		return destination{}, refuse("the port is no number from 1 to 65535")
	}
	d.port = uint16(n)
	return d, nil
}

// takeHost reads the host of s and returns its text and what follows it.
func (d *destination) takeHost(s string) (host, rest string, err error) {
	if inner, ok := strings.CutPrefix(s, "["); ok {
		host, rest, closed := strings.Cut(inner, "]")
		if !closed {
			return host, "", refuse("the bracket is not closed")
		}
		d.addr, err = address6(host)
		return host, rest, err
	}
	host = s
	if i := strings.IndexByte(s, ':'); i >= 0 {
		host, rest = s[:i], s[i:]
	}
	return host, rest, d.setHost(host)
}

// address6 reads what stands in brackets.
func address6(s string) (netip.Addr, error) {
	a, err := netip.ParseAddr(s)
	switch {
	case err != nil || a.Is4():
		return netip.Addr{}, refuse("no IPv6 address stands in the brackets")
	case a.Zone() != "":
		return netip.Addr{}, refuse("an address with a zone is one of this machine's networks")
	}
	return a.Unmap(), nil
}

// setHost takes a name, or an IPv4 address in its usual form. What C's inet_aton and
// browsers take for an address besides ("127.1", "0x7f.1", "2130706433", "0177.0.0.1") is
// neither.
func (d *destination) setHost(s string) error {
	s, err := name(s)
	if err != nil {
		return err
	}
	if !numeric(s[strings.LastIndexByte(s, '.')+1:]) {
		d.name = s
		return nil
	}
	if d.addr, err = netip.ParseAddr(s); err != nil {
		return refuse("it is neither a name nor an address in its usual form")
	}
	return nil
}

// name returns a host name in lower case, without a dot at its end.
func name(s string) (string, error) {
	s = strings.TrimSuffix(s, ".")
	if s == "" {
		return "", refuse("it is empty")
	}
	for _, c := range []byte(s) {
		switch {
		case c >= 0x80:
			return "", refuse("names are written in their ASCII form, as in xn--bcher-kva.example")
		case !inName(c):
			return "", refuse("it has a %q in it", c)
		}
	}
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > 63 || len(s) > 253 {
			return "", refuse("a part of it is empty, or it is too long")
		}
	}
	return strings.ToLower(s), nil
}

func inName(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || digit(c) || c == '-' || c == '_' || c == '.'
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

// numeric tells whether a last label makes the whole an address to somebody, whatever
// stands before it.
func numeric(label string) bool {
	digits := "0123456789"
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		label, digits = hex, "0123456789abcdef"
	}
	return strings.Trim(label, digits) == ""
}
