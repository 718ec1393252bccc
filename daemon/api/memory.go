package api

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// InProcess returns a client of a handler in this process. No other process can reach it.
// Close ends the serving.
func InProcess(h http.Handler) *Client {
	l := &memory{conns: make(chan net.Conn), closed: make(chan struct{})}
	server := &http.Server{Handler: h} //nolint:gosec // nobody but the client below can be slow
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(l) // ends with the client, which is no error
	}()
	c := newClient("this process", func(ctx context.Context, _, _ string) (net.Conn, error) { return l.dial(ctx) })
	c.stop = func() {
		_ = server.Close() // the listener's Close does not fail
		<-served
	}
	return c
}

// memory is a listener to which only this process can connect.
type memory struct {
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func (m *memory) dial(ctx context.Context) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case m.conns <- there:
		return here, nil
	case <-m.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept implements net.Listener.
func (m *memory) Accept() (net.Conn, error) {
	select {
	case c := <-m.conns:
		return c, nil
	case <-m.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (m *memory) Close() error {
	m.once.Do(func() { close(m.closed) })
	return nil
}

// Addr implements net.Listener: it has none.
func (m *memory) Addr() net.Addr { return &net.UnixAddr{Net: "unix"} }
