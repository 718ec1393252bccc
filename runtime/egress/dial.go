package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"
)

const (
	lookupTime = 10 * time.Second
	dialTime   = 20 * time.Second
	// maxAddresses of one name are tried.
	maxAddresses = 6
)

// Resolver looks names up; *net.Resolver does.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// DialFunc connects to one address over TCP.
type DialFunc func(ctx context.Context, addr netip.AddrPort) (net.Conn, error)

func dialTCP(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp", addr.String())
}

// addresses returns what may be dialled for d, which e admits: an address that the list
// names as it is, a name's addresses as far as they are not barred. They are looked up
// once; who dials looks nothing up.
func (p *Proxy) addresses(ctx context.Context, d destination, e entry) ([]netip.AddrPort, error) {
	if d.addr.IsValid() {
		return []netip.AddrPort{netip.AddrPortFrom(d.addr, d.port)}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	found, err := p.resolver.LookupNetIP(ctx, "ip", absolute(d.name))
	if err != nil {
		return nil, &failure{"cannot be resolved", err}
	}
	var own []netip.Addr
	if e.wild {
		if own, err = p.own(); err != nil {
			return nil, &failure{"cannot be checked", err}
		}
	}
	var open []netip.AddrPort
	err = &failure{"cannot be resolved", errors.New("the name has no address")}
	for _, a := range found {
		a = a.Unmap().WithZone("")
		if what := barred(a, e.wild, own); what != "" {
			err = refuse("the name leads to %s, %s", a, what)
		} else if len(open) < maxAddresses {
			open = append(open, netip.AddrPortFrom(a, d.port))
		}
	}
	if len(open) == 0 {
		return nil, err
	}
	return open, nil
}

// absolute keeps the search list of the machine's resolver out of it: with it, a name that
// does not exist would be another one. A name without a dot makes sense only with it.
func absolute(name string) string {
	if strings.Contains(name, ".") {
		return name + "."
	}
	return name
}

// connect tries the addresses in their order, each with an even share of the time left.
func (p *Proxy) connect(ctx context.Context, addrs []netip.AddrPort) (net.Conn, error) {
	end := time.Now().Add(dialTime)
	var errs []error
	for i, a := range addrs {
		bounded, cancel := context.WithTimeout(ctx, time.Until(end)/time.Duration(len(addrs)-i))
		conn, err := p.dial(bounded, a)
		cancel()
		if err == nil {
			return conn, nil
		}
		errs = append(errs, err)
	}
	return nil, &failure{"cannot be reached", errors.Join(errs...)}
}

// failure is what the outside did to an admitted request. The agent is told the text, the
// log the cause: it may name servers of this machine's network.
type failure struct {
	text  string
	cause error
}

func (f *failure) Error() string { return fmt.Sprintf("%s: %v", f.text, f.cause) }
func (f *failure) Unwrap() error { return f.cause }

// timedOut tells waiting in vain from a no.
func (f *failure) timedOut() bool {
	var slow interface{ Timeout() bool }
	return errors.As(f.cause, &slow) && slow.Timeout()
}
