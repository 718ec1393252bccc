package egress

import (
	"bufio"
	"errors"
	"net/http"
	"net/netip"
	"strings"
	"testing"
)

func TestADestinationHasOneSpelling(t *testing.T) {
	for in, want := range map[string]string{
		"pypi.org:443":              "pypi.org:443",
		"PyPI.Org:443":              "pypi.org:443",
		"pypi.org.:443":             "pypi.org:443",
		"pypi.org":                  "pypi.org:80",
		"pypi.org:0443":             "pypi.org:443",
		"a_b.xn--bcher-kva.test:1":  "a_b.xn--bcher-kva.test:1",
		"XN--BCHER-KVA.test:1":      "xn--bcher-kva.test:1",
		"mirror:65535":              "mirror:65535",
		"1.2.3.4:80":                "1.2.3.4:80",
		"1.2.3.4.:80":               "1.2.3.4:80",
		"1.2.3.4.example:80":        "1.2.3.4.example:80",
		"0x7f.example:80":           "0x7f.example:80",
		"127.1a:80":                 "127.1a:80",
		"[::1]:443":                 "[::1]:443",
		"[0:0:0:0:0:0:0:1]:443":     "[::1]:443",
		"[2001:DB8::00A]":           "[2001:db8::a]:80",
		"[::ffff:10.0.0.1]:80":      "10.0.0.1:80",
		"[::FFFF:0a00:1]:80":        "10.0.0.1:80",
		"0:80":                      "",
		"3-com.example:80":          "3-com.example:80",
		"deep.er.and.deeper.x:8080": "deep.er.and.deeper.x:8080",
	} {
		d, err := parse(in, 80)
		if want == "" {
			if err == nil {
				t.Errorf("%q is read as %s", in, d)
			}
		} else if err != nil || d.String() != want {
			t.Errorf("%q is read as %q, %v; want %q", in, d, err, want)
		}
	}
}

func TestWhatCouldBeReadInTwoWaysIsNoDestination(t *testing.T) {
	long := strings.Repeat("a", 64)
	for in, why := range map[string]string{
		"":                        "it is empty",
		":443":                    "it is empty",
		".:443":                   "it is empty",
		"::1:443":                 "it is empty",
		"a..b:443":                "a part of it is empty",
		".a:443":                  "a part of it is empty",
		"a..:443":                 "a part of it is empty",
		long + ".org:443":         "too long",
		strings.Repeat("a.", 130): "too long",
		"a.org":                   "the port is no number",
		"a.org:":                  "the port is no number",
		"a.org:0":                 "the port is no number",
		"a.org:65536":             "the port is no number",
		"a.org:-1":                "the port is no number",
		"a.org:+443":              "the port is no number",
		"a.org:4_4":               "the port is no number",
		"a.org:0x50":              "the port is no number",
		"a.org:https":             "the port is no number",
		"a.org:443:443":           "the port is no number",
		"a.org:443/path":          "the port is no number",
		"[::1]443":                "the port is no number",
		"[::1]x:443":              "the port is no number",
		"[::1]":                   "the port is no number",
		"user@a.org:443":          "user name",
		"user:word@a.org:443":     "user name",
		"a.org:443@b.org:443":     "user name",
		"127.1:80":                "neither a name nor an address",
		"0x7f.1:80":               "neither a name nor an address",
		"127.0.0.0x1:80":          "neither a name nor an address",
		"0x7F000001:80":           "neither a name nor an address",
		"0x:80":                   "neither a name nor an address",
		"2130706433:80":           "neither a name nor an address",
		"0177.0.0.1:80":           "neither a name nor an address",
		"127.0.0.01:80":           "neither a name nor an address",
		"256.1.1.1:80":            "neither a name nor an address",
		"1.2.3.4.5:80":            "neither a name nor an address",
		"evil.org.1:80":           "neither a name nor an address",
		"[127.0.0.1]:80":          "no IPv6 address",
		"[a.org]:80":              "no IPv6 address",
		"[]:80":                   "no IPv6 address",
		"[::1:80":                 "not closed",
		"[fe80::1%eth0]:80":       "a zone",
		"[fe80::1%25eth0]:80":     "a zone",
		"fe80%eth0:80":            `it has a '%' in it`,
		"a b:443":                 `it has a ' ' in it`,
		"a\x00b:443":              `it has a '\x00' in it`,
		"*.a.org:443":             `it has a '*' in it`,
		"a.org/b:443":             `it has a '/' in it`,
		`a.org\b:443`:             `it has a '\\' in it`,
		"http://a.org:443":        "the port is no number",
		"bücher.example:443":      "ASCII",
		"１２７.0.0.1:80":            "ASCII",
		"pypi。org:443":            "ASCII",
		"pypi.org\u212a:443":      "ASCII", // a Kelvin sign, whose lower case is k
	} {
		d, err := parse(in, 0)
		var no *refusal
		if !errors.As(err, &no) || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v, %v; want a refusal with %q", in, d, err, why)
		}
	}
}

func TestADestinationIsReadFromBothForms(t *testing.T) {
	for in, want := range map[string]string{
		"CONNECT a.org:443":              "a.org:443",
		"CONNECT [::1]:443":              "[::1]:443",
		"CONNECT a.org":                  "",
		"CONNECT u@a.org:443":            "",
		"CONNECT a.org:443/x":            "",
		"CONNECT http://a.org:443":       "",
		"CONNECT /a.org:443":             "",
		"GET http://a.org/x?y=z":         "a.org:80",
		"GET HTTP://a.org:8080":          "a.org:8080",
		"GET http://[::1]/":              "[::1]:80",
		"GET http://u:p@a.org/":          "",
		"GET https://a.org/":             "",
		"GET ftp://a.org/":               "",
		"GET ws://a.org/":                "",
		"GET http:a.org":                 "",
		"GET http:///a.org":              "",
		"GET /http://a.org":              "",
		"GET //a.org/":                   "",
		"GET http://a.org:/":             "",
		"GET http://b%C3%BCcher.test/":   "",
		"GET http://[fe80::1%25eth0]/":   "",
		"OPTIONS *":                      "",
		"CONNECT a.org:443 ?http://b.c/": "-", // no request at all
	} {
		q, err := http.ReadRequest(bufio.NewReader(strings.NewReader(in + " HTTP/1.1\r\nHost: other.example:443\r\n\r\n")))
		if want == "-" {
			if err == nil {
				t.Errorf("%q is a request", in)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", in, err)
			continue
		}
		d, err := requested(q)
		if want == "" {
			if err == nil {
				t.Errorf("%q goes to %s", in, d)
			}
		} else if err != nil || d.String() != want {
			t.Errorf("%q goes to %q, %v; want %q", in, d, err, want)
		}
	}
}

// Whatever is read is in the one spelling: what is compared with the list is what is looked
// up, and nobody takes it for an address that is not compared as one.
func FuzzDestination(f *testing.F) {
	for _, seed := range []string{"pypi.org:443", "PYPI.org.", "[::ffff:1.2.3.4]:80", "0x7f.1:80", "u@h:1", "127.1", "[fe80::1%25lo]:1", "a\u212a:1", "::1", ".:1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := parse(s, 80)
		if err != nil {
			var no *refusal
			if !errors.As(err, &no) {
				t.Fatalf("%q: %v is no refusal", s, err)
			}
			return
		}
		if again, err := parse(d.String(), 0); err != nil || again != d {
			t.Fatalf("%q is %v, and that is %v, %v", s, d, again, err)
		}
		if d.port == 0 || (d.name == "") != d.addr.IsValid() {
			t.Fatalf("%q is half a destination: %+v", s, d)
		}
		if d.addr.Is4In6() || d.addr.Zone() != "" {
			t.Fatalf("%q is an address with another spelling: %s", s, d)
		}
		if _, err := netip.ParseAddr(d.name); err == nil {
			t.Fatalf("%q is compared as a name and is an address", d.name)
		}
		if d.name != strings.ToLower(d.name) || strings.HasSuffix(d.name, ".") || strings.Trim(d.name, "abcdefghijklmnopqrstuvwxyz0123456789-_.") != "" {
			t.Fatalf("%q is a name in another spelling", d.name)
		}
	})
}
