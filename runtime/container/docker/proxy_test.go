package docker_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"strings"
	"sync"
	"testing"
)

// proxy passes connections from a socket to the real engine. What it returns shuts the
// door, breaking what is under way, and returns what opens it again.
func proxy(t *testing.T, socket string) (shut func() (open func())) {
	t.Helper()
	p := &door{t: t, socket: socket, live: map[net.Conn]bool{}}
	p.open()
	t.Cleanup(func() {
		p.shut()
		p.work.Wait()
	})
	return func() func() {
		p.shut()
		return p.open
	}
}

type door struct {
	t      *testing.T
	socket string
	work   sync.WaitGroup

	mu       sync.Mutex
	listener net.Listener
	live     map[net.Conn]bool
}

func (d *door) open() {
	l, err := net.Listen("unix", d.socket)
	if err != nil {
		d.t.Error(err)
		return
	}
	d.mu.Lock()
	d.listener = l
	d.mu.Unlock()
	d.work.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return // shut
			}
			d.work.Go(func() { d.serve(conn) })
		}
	})
}

func (d *door) shut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	_ = d.listener.Close()
	for conn := range d.live {
		_ = conn.Close()
	}
}

func (d *door) serve(in net.Conn) {
	out, err := net.Dial("unix", realSocket())
	if err != nil {
		d.t.Error(err)
		_ = in.Close()
		return
	}
	d.mu.Lock()
	d.live[in], d.live[out] = true, true
	d.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { pass(out, in) })
	both.Go(func() { pass(in, out) })
	both.Wait()
	d.mu.Lock()
	delete(d.live, in)
	delete(d.live, out)
	d.mu.Unlock()
}

// pass copies until one side is done and then closes both.
func pass(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	_ = to.Close()
	_ = from.Close()
}

// afterKills is the address of the real engine behind a door at which f is done between
// a kill and its answer.
func afterKills(t *testing.T, f func()) string {
	t.Helper()
	server := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = "http", "docker" },
		Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", realSocket())
		}},
		ModifyResponse: func(r *http.Response) error {
			if strings.HasSuffix(r.Request.URL.Path, "/kill") {
				f()
			}
			return nil
		},
	})
	t.Cleanup(server.Close)
	return "tcp://" + server.Listener.Addr().String()
}

func realSocket() string {
	if host, ok := strings.CutPrefix(os.Getenv("DOCKER_HOST"), "unix://"); ok {
		return host
	}
	return "/var/run/docker.sock"
}
