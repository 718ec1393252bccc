package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os/signal"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/assayd/assayd/daemon/api"
)

func (e *env) web() *cobra.Command {
	logout := false
	cmd := &cobra.Command{
		Use: "web [ADDRESS]", Short: "Show the pages of the daemon in a browser", Args: atMostOne("run, trial, or mining spec"),
		Long: `web prints an address that logs a browser in, once and within a minute, on the page of a run or trial if you name one.
Without an HTTP listener of the daemon it serves the pages at a port of this machine until you end it with Ctrl-C.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, done, err := e.connect(cmd.Context(), false)
			if err != nil {
				return err
			}
			defer done()
			if logout {
				return e.logout(cmd.Context(), c)
			}
			l, err := c.Login(cmd.Context())
			if err != nil {
				return err
			}
			page := ""
			if len(args) == 1 {
				page = args[0]
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

// carry serves the pages at a port of this machine, until a signal or the context ends that.
func (e *env) carry(ctx context.Context, l api.Login, page string) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	var config net.ListenConfig
	port, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("open a port for the browser: %w", err)
	}
	fmt.Fprintln(e.out, loginAddress(port.Addr().String(), page, l.Code))
	fmt.Fprintln(e.err, "The pages are served until you press Ctrl-C.")
	defer context.AfterFunc(ctx, func() { _ = port.Close() })() // Accept says so
	group := sync.WaitGroup{}
	defer group.Wait()
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
	daemon, err := dialer.DialContext(ctx, "unix", socket)
	if err != nil {
		_ = browser.Close() // it sees that nobody is there
		return
	}
	end := sync.OnceValue(func() error { return errors.Join(browser.Close(), daemon.Close()) })
	defer context.AfterFunc(ctx, func() { _ = end() })()
	group := sync.WaitGroup{}
	for _, way := range [][2]net.Conn{{browser, daemon}, {daemon, browser}} {
		group.Go(func() {
			_, _ = io.Copy(way[0], way[1]) // the end of either is the end of both
			_ = end()
		})
	}
	group.Wait()
}
