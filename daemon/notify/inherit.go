package notify

import (
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/coreos/go-systemd/v22/activation"
)

// Listeners returns the stream sockets that systemd opened for this process: the Unix
// ones, for control, and the TCP ones, for HTTP. Without socket activation there are
// none. To be called once, since the descriptors are taken over. Closing a listener
// leaves the socket's file alone: it belongs to systemd.
func Listeners() (control, http []net.Listener, err error) {
	for _, file := range activation.Files(false) {
		listener, fault := net.FileListener(file)
		// The listener has a descriptor of its own.
		if err = errors.Join(err, fault, file.Close()); fault != nil {
			continue
		}
		if listener.Addr().Network() == "unix" {
			control = append(control, listener)
		} else {
			http = append(http, listener)
		}
	}
	if err != nil {
		for _, listener := range append(control, http...) {
			err = errors.Join(err, listener.Close())
		}
		return nil, nil, fmt.Errorf("take over the sockets of systemd: %w", err)
	}
	return control, http, nil
}

// Kept returns the sockets of Listeners in a form that outlives a server: closing one only
// wakes who waits in Accept, and it can be given to the next server.
func Kept() (control, http []net.Listener, err error) {
	control, http, err = Listeners()
	for _, all := range [][]net.Listener{control, http} {
		for i, l := range all {
			if timed, ok := l.(deadliner); ok {
				all[i] = kept{timed}
			}
		}
	}
	return control, http, err
}

// deadliner is what the listeners of Unix and of TCP sockets are.
type deadliner interface {
	net.Listener
	SetDeadline(t time.Time) error
}

// kept is a listener whose Close keeps the socket.
type kept struct{ deadliner }

func (k kept) Accept() (net.Conn, error) {
	c, err := k.deadliner.Accept()
	if errors.Is(err, os.ErrDeadlineExceeded) {
		// The server that gave it up is gone; the next one begins with a fresh deadline.
		return nil, errors.Join(net.ErrClosed, k.SetDeadline(time.Time{}))
	}
	return c, err
}

func (k kept) Close() error { return k.SetDeadline(time.Unix(1, 0)) }
