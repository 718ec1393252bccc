package link

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/assayd/assayd/runtime/fault"
	"github.com/assayd/assayd/runtime/guest/protocol"
)

// sockets serves a trial's two sockets: one for the agent's requests to the judge, one for
// the guest.
type sockets struct {
	servers  []*http.Server
	wg       sync.WaitGroup
	requests sync.RWMutex // held for reading by each request under way
	closed   bool         // guarded by requests
}

func openSockets(dir string, judge, guests http.Handler) (*sockets, error) {
	d := &sockets{}
	for _, s := range []struct {
		path    string
		mode    os.FileMode
		handler http.Handler
	}{{protocol.JudgeSocket, 0o666, judge}, {protocol.GuestSocket, 0o600, guests}} {
		if err := d.serve(filepath.Join(dir, filepath.Base(s.path)), s.mode, s.handler); err != nil {
			d.close()
			return nil, err
		}
	}
	return d, nil
}

// serve replaces the socket file: the folder is mounted, not the socket, so that the
// guest finds the new one.
func (d *sockets) serve(path string, mode os.FileMode, h http.Handler) error {
	if err := fault.Err(fault.WriteDoor); err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return fmt.Errorf("listen on the trial's socket: %w", err)
	}
	if err := os.Chmod(path, mode); err != nil {
		return errors.Join(err, l.Close())
	}
	s := &http.Server{
		Handler: d.admit(h), ReadHeaderTimeout: headerTime, IdleTimeout: 5 * time.Minute, MaxHeaderBytes: maxHeader,
		DisableGeneralOptionsHandler: true,                                                    // it has a body to read, and all the time of the world for it
		ErrorLog:                     slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug), // an agent decides how often there would be something to say
	}
	d.servers = append(d.servers, s)
	d.wg.Go(func() { _ = s.Serve(&boundedListener{Listener: l, slots: make(chan struct{}, maxConns)}) })
	return nil
}

// admit passes requests on until the door is closed.
func (d *sockets) admit(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		d.requests.RLock()
		defer d.requests.RUnlock()
		if !d.closed {
			h.ServeHTTP(w, q)
		}
	})
}

// close ends all connections at once: clients retry against the next daemon. It returns
// when no request is under way any more: one may have a container to remove.
func (d *sockets) close() {
	for _, s := range d.servers {
		_ = s.Close()
	}
	d.wg.Wait()
	d.requests.Lock()
	d.closed = true
	d.requests.Unlock()
}

// Bounds on what one trial can take of its door. Headers are parsed to many times their
// size, on each connection.
const (
	maxConns   = 128
	maxHeader  = 16 << 10
	headerTime = 30 * time.Second
	// fullPause is how long a connection that finds all places taken waits for one before it
	// is refused. To refuse costs the daemon as much as to try costs an agent: without a
	// pause, one that tries all the time would have the daemon do the same.
	fullPause = 20 * time.Millisecond
)

// boundedListener accepts a new connection only when an old one has ended.
type boundedListener struct {
	net.Listener
	slots chan struct{}
}

func (l *boundedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.place() {
			return &boundedConn{Conn: c, release: sync.OnceFunc(func() { <-l.slots })}, nil
		}
		_ = c.Close() // refused: the client sees a reset and backs off
	}
}

// place takes a place, if there is one soon.
func (l *boundedListener) place() bool {
	select {
	case l.slots <- struct{}{}:
		return true
	default:
	}
	pause := time.NewTimer(fullPause)
	defer pause.Stop()
	select {
	case l.slots <- struct{}{}:
		return true
	case <-pause.C:
		return false
	}
}

type boundedConn struct {
	net.Conn
	release func()
}

func (c *boundedConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}

// CloseWrite ends what is sent and leaves what is received: a tunnel's two directions end one
// by one.
func (c *boundedConn) CloseWrite() error {
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok {
		return errors.ErrUnsupported
	}
	return half.CloseWrite()
}
