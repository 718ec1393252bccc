package socket

import (
	"context"
	"fmt"
	"net"
	"os/user"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/assayd/assayd/reconcile/control"
)

// WithPeer notes for all requests of a connection to the control socket which user is at its other end.
func WithPeer(ctx context.Context, c net.Conn) context.Context {
	by, err := peerOf(c)
	if err != nil {
		by = "unknown"
	}
	return control.As(ctx, control.Actor{By: by, Via: control.Socket})
}

// peerOf is the name of the user at the other end of a Unix socket; one without a name is a number.
func peerOf(c net.Conn) (string, error) {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return "", fmt.Errorf("%T has no user at its other end", c)
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return "", err
	}
	var peer *unix.Ucred
	var inner error
	if err := raw.Control(func(fd uintptr) { peer, inner = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); err != nil {
		return "", err
	}
	if inner != nil {
		return "", fmt.Errorf("ask who is at the other end: %w", inner)
	}
	id := strconv.FormatUint(uint64(peer.Uid), 10)
	if known, err := user.LookupId(id); err == nil {
		return known.Username, nil
	}
	return "uid " + id, nil
}
