package egress

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWhereANameMayLead(t *testing.T) {
	own := []netip.Addr{netip.MustParseAddr("203.0.113.9"), netip.MustParseAddr("2001:db8::9")}
	const (
		open     = ""
		loopback = "a loopback address"
		nowhere  = "an unspecified address"
		local    = "a link-local address"
		many     = "a multicast address"
		reserved = "a broadcast or reserved address"
		cloud    = "the metadata service of a cloud"
		private  = "a private address"
		machine  = "an address of the machine that assayd runs on"
	)
	for addr, want := range map[string]struct{ exact, wild string }{
		"151.101.0.223":      {open, open},
		"2a04:4e42::223":     {open, open},
		"127.0.0.1":          {loopback, loopback},
		"127.255.255.254":    {loopback, loopback},
		"::1":                {loopback, loopback},
		"0.0.0.0":            {nowhere, nowhere},
		"0.1.2.3":            {nowhere, nowhere},
		"::":                 {nowhere, nowhere},
		"169.254.169.254":    {local, local},
		"169.254.0.1":        {local, local},
		"fe80::1":            {local, local},
		"fe80::1%eth0":       {local, local},
		"febf::1":            {local, local},
		"224.0.0.1":          {many, many},
		"239.255.255.250":    {many, many},
		"ff02::1":            {many, many},
		"240.0.0.1":          {reserved, reserved},
		"255.255.255.255":    {reserved, reserved},
		"100.100.100.200":    {cloud, cloud},
		"168.63.129.16":      {cloud, cloud},
		"fd00:ec2::254":      {cloud, cloud},
		"10.1.2.3":           {open, private},
		"172.16.0.1":         {open, private},
		"172.31.255.255":     {open, private},
		"172.32.0.1":         {open, open},
		"192.168.1.1":        {open, private},
		"100.64.0.1":         {open, private},
		"100.127.255.255":    {open, private},
		"100.128.0.1":        {open, open},
		"fc00::1":            {open, private},
		"fd12:3456::1%wg0":   {open, private},
		"203.0.113.9":        {open, machine},
		"::ffff:203.0.113.9": {open, machine},
		"2001:db8::9":        {open, machine},

		"::ffff:127.0.0.1":         {loopback, loopback},
		"::ffff:169.254.169.254":   {local, local},
		"::ffff:10.0.0.1":          {open, private},
		"::127.0.0.1":              {"an address that stands for 127.0.0.1, " + loopback, "an address that stands for 127.0.0.1, " + loopback},
		"::ffff:0:127.0.0.1":       {"an address that stands for 127.0.0.1, " + loopback, "an address that stands for 127.0.0.1, " + loopback},
		"64:ff9b::127.0.0.1":       {"an address that stands for 127.0.0.1, " + loopback, "an address that stands for 127.0.0.1, " + loopback},
		"64:ff9b::169.254.169.254": {"an address that stands for 169.254.169.254, " + local, "an address that stands for 169.254.169.254, " + local},
		"64:ff9b::10.0.0.1":        {open, "an address that stands for 10.0.0.1, " + private},
		"64:ff9b::203.0.113.9":     {open, "an address that stands for 203.0.113.9, " + machine},
		"64:ff9b::151.101.0.223":   {open, open},
		"64:ff9b:1::1.1.1.1":       {"an address of a local translator", "an address of a local translator"},
		"2002:7f00:1::1":           {"an address that stands for 127.0.0.1, " + loopback, "an address that stands for 127.0.0.1, " + loopback},
		"2002:c0a8:101::1":         {open, "an address that stands for 192.168.1.1, " + private},
		"2001:0:1:2:3:4:80ff:fffe": {"an address that stands for 127.0.0.1, " + loopback, "an address that stands for 127.0.0.1, " + loopback},
	} {
		a := netip.MustParseAddr(addr)
		if got := barred(a, false, own); got != want.exact {
			t.Errorf("a listed name that leads to %s is barred by %q, want %q", addr, got, want.exact)
		}
		if got := barred(a, true, own); got != want.wild {
			t.Errorf("a name below a wildcard that leads to %s is barred by %q, want %q", addr, got, want.wild)
		}
	}
}

func TestTheMachinesOwnAddressesAreKnown(t *testing.T) {
	own, err := ownAddresses()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(own, netip.MustParseAddr("127.0.0.1")) {
		t.Errorf("127.0.0.1 is not among %v", own)
	}
}

// request asks the proxy itself, without a server before it.
func request(p *Proxy, line string) (int, string) {
	method, target, _ := strings.Cut(line, " ")
	w := httptest.NewRecorder()
	p.ServeHTTP(w, httptest.NewRequest(method, target, nil))
	return w.Code, strings.TrimSpace(w.Body.String())
}

func TestANameThatLeadsInsideIsRefusedWithTheReason(t *testing.T) {
	w := newFixture()
	for name, addrs := range map[string][]string{
		"home.example":       {"127.0.0.1"},
		"meta.example":       {"169.254.169.254"},
		"intra.example":      {"10.0.0.7"},
		"a.wild.example":     {"10.0.0.7"},
		"self.wild.example":  {"203.0.113.9"},
		"mixed.wild.example": {"10.0.0.7", "::1", "151.101.0.223", "fe80::1%eth0", "2a04:4e42::223"},
	} {
		for _, a := range addrs {
			w.names[name] = append(w.names[name], netip.MustParseAddr(a))
		}
	}
	p := newProxy(t, w, Options{Allow: []string{"home.example:443", "meta.example:80", "intra.example:443", "*.wild.example:443", "127.0.0.1:443", "[::1]:443"}})
	defer p.Close()
	p.own = func() ([]netip.Addr, error) { return []netip.Addr{netip.MustParseAddr("203.0.113.9")}, nil }
	for line, want := range map[string]struct {
		code  int
		text  string
		dials []string
	}{
		"CONNECT home.example:443":      {403, "home.example:443 is refused: the name leads to 127.0.0.1, a loopback address;", nil},
		"GET http://meta.example/":      {403, "meta.example:80 is refused: the name leads to 169.254.169.254, a link-local address;", nil},
		"CONNECT a.wild.example:443":    {403, "a.wild.example:443 is refused: the name leads to 10.0.0.7, a private address;", nil},
		"CONNECT self.wild.example:443": {403, "the name leads to 203.0.113.9, an address of the machine that assayd runs on;", nil},
		// The others are addresses all the same. Nobody answers there, but it was tried.
		"CONNECT mixed.wild.example:443": {502, "mixed.wild.example:443 cannot be reached", []string{"151.101.0.223:443", "[2a04:4e42::223]:443"}},
		"CONNECT intra.example:443":      {502, "intra.example:443 cannot be reached", []string{"10.0.0.7:443"}},
		// Addresses that the list names are its author's own wish.
		"CONNECT 127.0.0.1:443": {502, "127.0.0.1:443 cannot be reached", []string{"127.0.0.1:443"}},
		"CONNECT [::1]:443":     {502, "[::1]:443 cannot be reached", []string{"[::1]:443"}},
	} {
		w.dials = nil
		code, text := request(p, line)
		if code != want.code || !strings.Contains(text, want.text) {
			t.Errorf("%s: %d %q; want %d with %q", line, code, text, want.code, want.text)
		}
		if diff := cmp.Diff(want.dials, w.dials); diff != "" {
			t.Errorf("%s dialled (-want +got):\n%s", line, diff)
		}
	}
}

// turning answers each lookup with the next address.
type turning struct{ addrs []string }

func (r *turning) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	a := netip.MustParseAddr(r.addrs[0])
	r.addrs = r.addrs[1:]
	return []netip.Addr{a}, nil
}

// A name server that says something else the second time has nobody who asks twice.
func TestTheAddressThatWasCheckedIsTheOneThatIsDialled(t *testing.T) {
	for _, line := range []string{"CONNECT pypi.example:80", "GET http://pypi.example/"} {
		r, w := &turning{[]string{"151.101.0.223", "127.0.0.1", "127.0.0.1"}}, newFixture()
		p := newProxy(t, w, Options{Allow: []string{"pypi.example:80"}, Resolver: r})
		if code, text := request(p, line); code != http.StatusBadGateway {
			t.Errorf("%s: %d %s", line, code, text)
		}
		p.Close()
		if diff := cmp.Diff([]string{"151.101.0.223:80"}, w.dials); diff != "" || len(r.addrs) != 2 {
			t.Errorf("%s: %d answers were not asked for; dialled (-want +got):\n%s", line, len(r.addrs), diff)
		}
	}
}

// A name with a dot is whole: the search list of this machine's resolver would make another
// one of it.
func TestNamesAreLookedUpAsTheyAre(t *testing.T) {
	w := newFixture()
	p := newProxy(t, w, Options{Allow: []string{"pypi.example:443", "mirror:443"}})
	defer p.Close()
	request(p, "CONNECT PyPI.example:443")
	request(p, "CONNECT mirror.:443")
	if diff := cmp.Diff([]string{"pypi.example.", "mirror"}, w.lookups); diff != "" {
		t.Errorf("looked up (-want +got):\n%s", diff)
	}
}

// Without any stand-in: what the list names by its address is reached, though it is this
// machine itself, and the same by a name is not.
func TestThisMachineIsReachedOnlyByAnAddressThatIsListed(t *testing.T) {
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("inside")) }))
	defer up.Close()
	port := netip.MustParseAddrPort(up.Listener.Addr().String()).Port()
	p, err := New(Options{
		Allow: []string{fmt.Sprintf("127.0.0.1:%d", port), fmt.Sprintf("localhost:%d", port)}, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for host, want := range map[string]struct {
		code int
		text string
	}{
		"127.0.0.1":          {200, "inside"},
		"[::ffff:127.0.0.1]": {200, "inside"},
		"localhost":          {403, "a loopback address"},
	} {
		if code, text := request(p, fmt.Sprintf("GET http://%s:%d/", host, port)); code != want.code || !strings.Contains(text, want.text) {
			t.Errorf("%s: %d %q; want %d with %q", host, code, text, want.code, want.text)
		}
	}
}
