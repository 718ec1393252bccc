package judgecmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/assayd/assayd/runtime/clock"
)

const (
	// dialPatience is how long a server that does not listen yet is waited for.
	dialPatience = 30 * time.Second
	dialPause    = 100 * time.Millisecond
)

// Dial makes of in and out one connection to a server in the same container: that is how
// the daemon reaches a server that no network leads to. It returns when either side has
// nothing more to say, so that the one who has goes on with a new connection.
func Dial(ctx context.Context, addr string, in io.Reader, out io.Writer) (err error) {
	conn, err := dialPatiently(ctx, addr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	sent, received := make(chan error, 1), make(chan error, 1)
	go func() { sent <- copied(conn, in) }()
	go func() { received <- copied(out, prompt{conn}) }()
	select {
	case err = <-sent:
	case err = <-received:
	}
	return err
}

func copied(to io.Writer, from io.Reader) error {
	_, err := io.Copy(to, from)
	return err
}

// prompt acknowledges at once what it reads. Many a server writes the head and the body of
// an answer apart, and its kernel then waits with the second for word of the first, which
// is otherwise held back for 40 ms.
type prompt struct{ conn *net.TCPConn }

func (p prompt) Read(b []byte) (int, error) {
	n, err := p.conn.Read(b)
	if raw, rerr := p.conn.SyscallConn(); rerr == nil {
		_ = raw.Control(func(fd uintptr) { acknowledge(int(fd)) })
	}
	return n, err
}

func dialPatiently(ctx context.Context, addr string) (*net.TCPConn, error) {
	bounded, cancel := context.WithTimeout(ctx, dialPatience)
	defer cancel()
	for {
		var d net.Dialer
		conn, err := d.DialContext(bounded, "tcp", addr)
		if tcp, ok := conn.(*net.TCPConn); ok {
			return tcp, nil
		}
		if clock.Sleep(bounded, dialPause) != nil {
			return nil, fmt.Errorf("nothing answers at %s: %w", addr, err)
		}
	}
}
