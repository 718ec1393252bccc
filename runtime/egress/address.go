package egress

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
)

// kind is a sort of addresses, from the registries of special-purpose addresses (RFC 6890
// and what came after it).
type kind struct {
	what string
	nets []netip.Prefix
}

func kindOf(what string, nets ...string) kind {
	k := kind{what: what}
	for _, n := range nets {
		k.nets = append(k.nets, netip.MustParsePrefix(n))
	}
	return k
}

// never is where no name leads, whoever named it: names are given out by others, and what
// is here belongs to the machine itself or to nobody.
var never = []kind{
	kindOf("a loopback address", "127.0.0.0/8", "::1/128"),
	kindOf("an unspecified address", "0.0.0.0/8", "::/128"),
	kindOf("a link-local address", "169.254.0.0/16", "fe80::/10"),
	kindOf("a multicast address", "224.0.0.0/4", "ff00::/8"),
	kindOf("a broadcast or reserved address", "240.0.0.0/4"),
	// Services that hand out the machine's credentials, where they are not link-local: of
	// Alibaba, Azure, Oracle, Amazon and Google.
	kindOf("the metadata service of a cloud", "100.100.100.200/32", "168.63.129.16/32", "192.0.0.192/32", "fd00:ec2::254/128", "fd20:ce::254/128"),
	// RFC 8215: which IPv4 address one of these stands for is for the network's owner to say.
	kindOf("an address of a local translator", "64:ff9b:1::/48"),
}

// inside is where a name that a wildcard admits does not lead either: whoever owns the
// domain could point a new name at the network of this machine.
var inside = []kind{
	kindOf("a private address", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "192.0.0.0/24", "198.18.0.0/15", "fc00::/7", "fec0::/10"),
}

func among(kinds []kind, a netip.Addr) string {
	for _, k := range kinds {
		for _, n := range k.nets {
			if n.Contains(a) {
				return k.what
			}
		}
	}
	return ""
}

// barred says what forbids that a name leads to an address; "" = nothing does. The
// machine's own addresses matter to names that a wildcard admits.
func barred(a netip.Addr, wild bool, own []netip.Addr) string {
	a = a.Unmap().WithZone("") // no network contains an address with a zone
	if what := among(never, a); what != "" {
		return what
	}
	if wild {
		if slices.Contains(own, a) {
			return "an address of the machine that assayd runs on"
		}
		if what := among(inside, a); what != "" {
			return what
		}
	}
	if inner, ok := embedded(a); ok {
		if what := barred(inner, wild, own); what != "" {
			return fmt.Sprintf("an address that stands for %s, %s", inner, what)
		}
	}
	return ""
}

// carriers are the IPv6 addresses that a router may turn into the IPv4 address they hold.
var carriers = []struct {
	net     netip.Prefix
	at      int  // of the first of four bytes
	flipped bool // each bit is the opposite
}{
	{netip.MustParsePrefix("::/96"), 12, false},           // IPv4-compatible, RFC 4291
	{netip.MustParsePrefix("::ffff:0:0:0/96"), 12, false}, // IPv4-translated, RFC 2765
	{netip.MustParsePrefix("64:ff9b::/96"), 12, false},    // NAT64, RFC 6052
	{netip.MustParsePrefix("2002::/16"), 2, false},        // 6to4, RFC 3056
	{netip.MustParsePrefix("2001::/32"), 12, true},        // Teredo, RFC 4380
}

// embedded returns the IPv4 address that an IPv6 address holds. Mapped ones are
// unmapped before.
func embedded(a netip.Addr) (netip.Addr, bool) {
	for _, c := range carriers {
		if !c.net.Contains(a) {
			continue
		}
		whole := a.As16()
		inner := [4]byte(whole[c.at : c.at+4])
		if c.flipped {
			for i := range inner {
				inner[i] = ^inner[i]
			}
		}
		return netip.AddrFrom4(inner), true
	}
	return netip.Addr{}, false
}

// ownAddresses are those of the machine's interfaces at this moment.
func ownAddresses() ([]netip.Addr, error) {
	nets, err := net.InterfaceAddrs()
	if err != nil {
		return nil, fmt.Errorf("list the addresses of this machine: %w", err)
	}
	var own []netip.Addr
	for _, n := range nets {
		if p, err := netip.ParsePrefix(n.String()); err == nil {
			own = append(own, p.Addr().Unmap().WithZone(""))
		}
	}
	return own, nil
}
