package guest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/assayd/assayd/runtime/clock"
)

// relay passes connections to a Unix socket. It knows nothing of what flows through, so it
// may repeat a connect but never a request.
type relay struct {
	socket   string
	limit    int           // connections at the same time; more wait to be accepted
	patience time.Duration // how long a connect is tried while the other side is away
	linger   time.Duration // how long a client may go on sending to a side that is done
	log      *slog.Logger
}

func newRelay(socket string, log *slog.Logger) relay {
	return relay{socket: socket, limit: 256, patience: 5 * time.Minute, linger: 30 * time.Second, log: log}
}

// listenAndServe serves on addr until ctx ends.
func (r relay) listenAndServe(ctx context.Context, addr string) {
	var ln net.Listener
	if insist(ctx, r.log, "listen on "+addr, func(ctx context.Context) (err error) {
		var c net.ListenConfig
		ln, err = c.Listen(ctx, "tcp", addr)
		return err
	}) != nil {
		return
	}
	r.serve(ctx, ln)
}

// serve takes connections until ctx ends, then closes all and returns when none is left.
func (r relay) serve(ctx context.Context, ln net.Listener) {
	var wg sync.WaitGroup
	defer wg.Wait()
	defer context.AfterFunc(ctx, func() { _ = ln.Close() })()
	slots := make(chan struct{}, r.limit)
	for {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		var conn *net.TCPConn
		if insist(ctx, r.log, "accept a connection", func(context.Context) error {
			c, err := ln.Accept()
			conn, _ = c.(*net.TCPConn)
			return err
		}) != nil {
			return
		}
		wg.Go(func() {
			defer func() { <-slots }()
			if err := r.pass(ctx, conn); err != nil && ctx.Err() == nil {
				r.log.Debug("a relayed connection broke", "err", err)
			}
		})
	}
}

// pass connects and copies both ways until both are done.
func (r relay) pass(ctx context.Context, client *net.TCPConn) error {
	defer client.Close() //nolint:errcheck // both directions are done or broken
	judge, err := r.dial(ctx, client)
	if err != nil {
		return err
	}
	defer judge.Close() //nolint:errcheck // the same
	defer context.AfterFunc(ctx, func() { _, _ = client.Close(), judge.Close() })()

	up := make(chan error, 1)
	go func() { up <- passOn(judge, client) }()
	down := passOn(client, judge)
	if down != nil {
		_, _ = client.Close(), judge.Close()
	} else {
		// The judge has said all. A client that keeps its half open for nothing must not
		// keep a place.
		down = client.SetReadDeadline(time.Now().Add(r.linger))
	}
	return errors.Join(down, <-up)
}

// halves is a connection whose two directions end one by one.
type halves interface {
	net.Conn
	CloseWrite() error
}

// passOn copies from src until it ends and tells dst so. After an error nothing more can
// be said to dst, and src is told to stop.
func passOn(dst, src halves) error {
	_, err := io.Copy(dst, src)
	if err != nil {
		_, _ = dst.Close(), src.Close()
		return err
	}
	if err := dst.CloseWrite(); err != nil && !errors.Is(err, syscall.ENOTCONN) {
		return err
	}
	return nil
}

var errAbandoned = errors.New("the client went away before there was a connection")

// dial connects to the socket, whose path is looked up anew each time, because a daemon
// that starts again makes it anew. A client that leaves meanwhile is let go: what it sent
// must not arrive later.
func (r relay) dial(ctx context.Context, client *net.TCPConn) (halves, error) {
	ctx, cancel := context.WithTimeout(ctx, r.patience)
	defer cancel()
	wait := 10 * time.Millisecond
	for first := true; ; first = false {
		if !first && !established(client) {
			return nil, errAbandoned
		}
		var d net.Dialer
		conn, err := d.DialContext(ctx, "unix", r.socket)
		if err == nil {
			return conn.(*net.UnixConn), nil
		}
		if clock.Sleep(ctx, wait) != nil {
			return nil, fmt.Errorf("connect to the judge for %s: %w", r.patience, err)
		}
		wait = min(2*wait, time.Second)
	}
}

// established reports whether the peer has closed nothing, as far as the kernel knows,
// without reading what it sent.
func established(conn *net.TCPConn) bool {
	raw, err := conn.SyscallConn()
	if err != nil {
		return false
	}
	ok := false
	err = raw.Control(func(fd uintptr) { ok = isEstablished(int(fd)) })
	return err == nil && ok
}
