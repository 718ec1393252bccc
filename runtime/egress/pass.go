package egress

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// answerTime is how long a server may think before it begins to answer plain HTTP.
	answerTime = 5 * time.Minute
	// maxHeader bounds the header of an answer, in bytes.
	maxHeader = 256 << 10
)

// upstream is the connection to a destination: it counts what passes, and tells the watch
// that something does.
type upstream struct {
	net.Conn
	tally *tally
	watch *watch
	calls sync.RWMutex // held for reading by each Read and Write
}

func (u *upstream) Read(b []byte) (int, error) {
	u.calls.RLock()
	defer u.calls.RUnlock()
	n, err := u.Conn.Read(b)
	u.passed(&u.tally.received, n)
	return n, err
}

func (u *upstream) Write(b []byte) (int, error) {
	u.calls.RLock()
	defer u.calls.RUnlock()
	n, err := u.Conn.Write(b)
	u.passed(&u.tally.sent, n)
	return n, err
}

func (u *upstream) passed(sum *atomic.Int64, n int) {
	if n > 0 {
		sum.Add(int64(n))
		u.watch.moved()
	}
}

// CloseWrite ends one direction.
func (u *upstream) CloseWrite() error { return closeWrite(u.Conn) }

// settle closes the connection and returns when all that passed is counted: http.Transport
// may still be writing when the answer is there.
func (u *upstream) settle() {
	_ = u.Close()
	u.calls.Lock()
	u.calls.Unlock() //nolint:staticcheck // there is nothing to do, only to wait for
}

var errWhole = errors.New("the connection can only be closed as a whole")

func closeWrite(c net.Conn) error {
	half, ok := c.(interface{ CloseWrite() error })
	if !ok {
		return errWhole
	}
	if err := half.CloseWrite(); err != nil && !errors.Is(err, syscall.ENOTCONN) {
		return err
	}
	return nil
}

// tunnel passes bytes between the client and the destination until both have said all.
func (p *Proxy) tunnel(w http.ResponseWriter, up *upstream) {
	client, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		answer(w, http.StatusInternalServerError, "this connection cannot become a tunnel")
		return
	}
	defer client.Close() //nolint:errcheck // both directions are done or broken
	cut := func() { _, _ = client.Close(), up.Close() }
	up.watch = p.watch(cut)
	defer up.watch.stop()
	if _, err := io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	// A client need not wait for the answer before it goes on.
	early, _ := buffered.Reader.Peek(buffered.Reader.Buffered())
	var sending sync.WaitGroup
	sending.Go(func() { passOn(up, io.MultiReader(bytes.NewReader(early), client), cut) })
	passOn(client, up, cut)
	sending.Wait()
}

// passOn copies until src ends, and tells dst so. After an error nothing more can be said
// in either direction.
func passOn(dst net.Conn, src io.Reader, cut func()) {
	_, err := io.Copy(dst, src)
	if err == nil {
		err = closeWrite(dst)
	}
	if err != nil {
		cut()
	}
}

// forward sends a plain request on and its answer back, without what concerns only the
// connections in between. The connection serves this one request, so that what passes over
// it is this request's and ends with it.
func (p *Proxy) forward(w http.ResponseWriter, q *http.Request, d destination, up *upstream) {
	client := http.NewResponseController(w)
	up.watch = p.watch(func() {
		past := time.Unix(1, 0) // both what the client still says and what it does not take
		_, _, _ = up.Close(), client.SetReadDeadline(past), client.SetWriteDeadline(past)
	})
	defer up.watch.stop()
	_ = client.EnableFullDuplex()    // a server may answer while the client still speaks
	w.Header()["Content-Type"] = nil // what the server does not say is not guessed
	(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { rewrite(r, d) },
		Transport: &http.Transport{
			DialContext:       func(context.Context, string, string) (net.Conn, error) { return up, nil },
			DisableKeepAlives: true, DisableCompression: true,
			ResponseHeaderTimeout: answerTime, MaxResponseHeaderBytes: maxHeader,
			ExpectContinueTimeout: time.Second, // as long as curl waits for a server that does not know what is meant
		},
		FlushInterval: -1, // an answer may come in parts that are waited for
		ErrorLog:      slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug),
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			p.fail(q.Context(), w, up.tally, d, err)
		},
	}).ServeHTTP(withoutContinue{w}, q)
	if up.watch.stop() {
		panic(http.ErrAbortHandler) // the deadlines must not meet the client's next request
	}
}

// withoutContinue leaves "100 Continue" to Go's server, which says it when the body is first
// read, and that is when the server behind has said it. ReverseProxy would pass that on in
// addition: the client would be told twice, or not at all, by which of the two is faster.
type withoutContinue struct{ http.ResponseWriter }

func (w withoutContinue) WriteHeader(code int) {
	if code != http.StatusContinue {
		w.ResponseWriter.WriteHeader(code)
	}
}

// Unwrap is for http.ResponseController.
func (w withoutContinue) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// rewrite makes of a request to a proxy one to the server. ReverseProxy has removed the
// headers that belong to the connection; it would keep the wish for another protocol.
func rewrite(r *httputil.ProxyRequest, d destination) {
	r.Out.Header.Del("Connection")
	r.Out.Header.Del("Upgrade")
	r.Out.URL.Host, r.Out.Host = d.String(), d.String()
	if d.port == 80 {
		r.Out.Host = d.String()[:len(d.String())-len(":80")]
	}
	r.Out.URL.RawQuery = r.In.URL.RawQuery // as it was sent: it is the server's to judge
}

// watch cuts an exchange when nothing has passed for idleTime, or when the proxy is closed.
// Once stopped it does nothing.
type watch struct {
	cut    func()
	timer  *time.Timer
	unhook func() bool

	mu        sync.Mutex
	over      bool // cut or stopped
	didTheCut bool
}

func (p *Proxy) watch(cut func()) *watch {
	w := &watch{cut: cut}
	w.timer = time.AfterFunc(idleTime, w.end)
	w.unhook = context.AfterFunc(p.ctx, w.end)
	return w
}

func (w *watch) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.over {
		w.over, w.didTheCut = true, true
		w.cut()
	}
}

// moved gives the exchange another idleTime.
func (w *watch) moved() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.over {
		w.timer.Reset(idleTime)
	}
}

// stop ends the watch and tells whether it has cut the exchange.
func (w *watch) stop() bool {
	w.unhook()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer.Stop()
	w.over = true
	return w.didTheCut
}
