package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/assayd/assayd/daemon"
	"github.com/assayd/assayd/daemon/api"
	"github.com/assayd/assayd/daemon/web"
)

func (e *env) web() *cobra.Command {
	logout := false
	cmd := &cobra.Command{
		Use: "web [ADDRESS]", Short: "Show the pages of the daemon in a browser", Args: atMostOne("run, trial, or mining spec"),
		Long: `web prints an address that logs a browser in, once and within a minute, on the page of a run or trial if you name one.
Without an HTTP listener of the daemon, it serves the pages at a port of this machine until you end it with Ctrl-C. It does
so without a daemon, too: then they show how the last one left the state directory.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			page := ""
			if len(args) == 1 {
				page = args[0]
			}
			c, done, err := e.connect(cmd.Context(), !logout)
			if err != nil {
				return err
			}
			defer done()
			if logout {
				return e.logout(cmd.Context(), c)
			}
			if !c.Live() {
				return e.serveRead(cmd.Context(), page)
			}
			l, err := c.Login(cmd.Context())
			if err != nil {
				return err
			}
			if e.json {
				return e.printJSON(l)
			}
			if len(l.Addresses) > 0 {
				fmt.Fprintln(e.out, loginAddress(l.Addresses[0], page, l.Code))
				return nil
			}
			return e.carry(cmd.Context(), l, page)
		},
	}
	cmd.Flags().BoolVar(&logout, "logout", false, "end all sessions of browsers")
	return cmd
}

func (e *env) logout(ctx context.Context, c *api.Client) error {
	l, err := c.Logout(ctx)
	if err != nil {
		return err
	}
	if e.json {
		return e.printJSON(l)
	}
	_, err = fmt.Fprintf(e.out, "%s ended\n", counted(l.Sessions, "session"))
	return err
}

// loginAddress is where a browser logs in. What stands behind the # is sent to no server.
func loginAddress(at, page, code string) string {
	u := url.URL{Scheme: "http", Host: at, Path: "/login", Fragment: code}
	if page != "" {
		u.RawQuery = url.Values{"to": {"/go?" + url.Values{"to": {page}}.Encode()}}.Encode()
	}
	return u.String()
}

// serveRead serves the pages of a state directory on which no daemon runs, until a signal or the context ends that.
func (e *env) serveRead(ctx context.Context, page string) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	settings, dir, err := e.place()
	if err != nil {
		return err
	}
	pages, sessions, done, err := daemon.ReadPages(ctx, settings, dir, e.version)
	if err != nil {
		return err
	}
	port, err := browserPort(ctx)
	if err != nil {
		return errors.Join(err, done())
	}
	code, _ := sessions.Code(web.Viewer)
	fmt.Fprintln(e.out, loginAddress(port.Addr().String(), page, code))
	fmt.Fprintln(e.err, "No daemon runs on this state directory: the pages show how the last one left it, until you press Ctrl-C.")
	server := &http.Server{Handler: pages.Handler(), ReadHeaderTimeout: headerTime}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })() // Serve says so
	if err := server.Serve(port); !errors.Is(err, http.ErrServerClosed) {
		return errors.Join(fmt.Errorf("serve the pages: %w", err), done())
	}
	return done()
}

// browserPort opens a port of this machine.
func browserPort(ctx context.Context) (net.Listener, error) {
	var config net.ListenConfig
	port, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("open a port for the browser: %w", err)
	}
	return port, nil
}

// headerTime is in which the head of a request must be there.
const headerTime = 10 * time.Second

// carry serves the pages at a port of this machine, until a signal or the context ends that.
func (e *env) carry(ctx context.Context, l api.Login, page string) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	port, err := browserPort(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintln(e.out, loginAddress(port.Addr().String(), page, l.Code))
	fmt.Fprintln(e.err, "The pages are served until you press Ctrl-C.")
	defer context.AfterFunc(ctx, func() { _ = port.Close() })() // Accept says so
	ctx, end := context.WithCancel(ctx)
	group := sync.WaitGroup{}
	defer group.Wait()
	defer end()
	for {
		browser, err := port.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("take a connection of the browser: %w", err)
		}
		group.Go(func() { join(ctx, browser, l.Socket) })
	}
}

// join passes on what a browser and the daemon send each other. Either end of it ends the other.
func join(ctx context.Context, browser net.Conn, socket string) {
	var dialer net.Dialer
	served, err := dialer.DialContext(ctx, "unix", socket)
	if err != nil {
		_ = browser.Close() // it sees that nobody is there
		return
	}
	end := sync.OnceValue(func() error { return errors.Join(browser.Close(), served.Close()) })
	defer context.AfterFunc(ctx, func() { _ = end() })()
	group := sync.WaitGroup{}
	for _, way := range [][2]net.Conn{{browser, served}, {served, browser}} {
		group.Go(func() {
			_, _ = io.Copy(way[0], way[1]) // the end of either is the end of both
			_ = end()
		})
	}
	group.Wait()
}
