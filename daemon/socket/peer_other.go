//go:build !linux

package socket

import (
	"context"
	"net"
)

// WithPeer knows nobody: daemons run on Linux.
func WithPeer(ctx context.Context, _ net.Conn) context.Context { return ctx }
