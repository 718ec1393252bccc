package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"reflect"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/daemon"
	"github.com/assayd/assayd/daemon/gitsync"
	"github.com/assayd/assayd/daemon/notify"
)

func (e *env) serve() *cobra.Command {
	var roots []string
	var drain bool
	var http string
	cmd := &cobra.Command{
		Use: "serve", Short: "Watch folders of specs and make them true", Args: nothing,
		RunE: func(cmd *cobra.Command, _ []string) error { return e.serveUntil(cmd.Context(), roots, http, drain) },
	}
	cmd.Flags().StringArrayVar(&roots, "watch", nil, "folder of specs; may be given more than once")
	cmd.Flags().BoolVar(&drain, "drain", false, "on SIGTERM, let the open runs finish first (a second one stops at once); end when assayd drain was called and nothing works any more")
	cmd.Flags().StringVar(&http, "http", "", "address of the HTTP listener, as 127.0.0.1:8733; it needs http { token = … } in the settings")
	return cmd
}

func (e *env) serveUntil(ctx context.Context, roots []string, http string, drain bool) error {
	// Signals first of all: a SIGHUP before the handler would end the process.
	v := server{env: e, roots: roots, http: http, drain: drain, hup: make(chan os.Signal, 1), ends: make(chan os.Signal, 2)}
	signal.Notify(v.hup, syscall.SIGHUP)
	defer signal.Stop(v.hup)
	signal.Notify(v.ends, syscall.SIGTERM, syscall.SIGINT)
	defer signal.Stop(v.ends)
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGINT)
	defer stop()

	settings, err := e.settings()
	if err != nil {
		return err
	}
	if v.control, v.network, err = notify.Kept(); err != nil {
		return err
	}
	for {
		next, err := v.serve(ctx, settings)
		if !errors.Is(err, daemon.ErrReplaced) {
			return err
		}
		settings = next
	}
}

// server is what stays the same while settings change.
type server struct {
	*env
	roots     []string // of the command line
	http      string
	drain     bool
	hup, ends chan os.Signal
	control   []net.Listener // of systemd
	network   []net.Listener // of systemd, too
}

// options are those of a daemon with the settings.
func (v *server) options(settings *config.Settings) (o daemon.Options, err error) {
	listen := cmp.Or(v.http, settings.HTTP.Listen)
	if _, _, err := net.SplitHostPort(listen); listen != "" && err != nil {
		return o, usage{fmt.Errorf("--http %q: write host:port, as in 127.0.0.1:8733", listen)}
	}
	if err := daemon.CheckHTTP(settings, listen != "" || len(v.network) > 0); err != nil {
		return o, usage{err}
	}
	roots := v.roots
	if len(roots) == 0 {
		roots = settings.Watch
	}
	if len(roots) == 0 && settings.Git == nil {
		return o, usage{errors.New("name the folder of specs with --watch DIR, or in the settings with watch = [\"DIR\"] or git { url = \"…\" }")}
	}
	if settings.Git != nil {
		if err := gitsync.Check(*settings.Git, daemon.ConfigOptions(settings).Secret); err != nil {
			return o, usage{err}
		}
	}
	if roots, err = watchable(roots); err != nil {
		return o, err
	}
	dir, err := v.ownState(settings)
	if err != nil {
		return o, err
	}
	log, err := logger(v.err, settings.Log)
	if err != nil {
		return o, usage{err}
	}
	return daemon.Options{
		Settings: settings, Roots: roots, StateDir: dir, Version: v.version, Drain: v.drain, Log: log, Control: v.control,
		Listen: listen, HTTP: v.network, Follow: true,
	}, nil
}

// serve is the daemon with these settings, until it is told to stop or, with
// daemon.ErrReplaced, a reload brought other ones.
func (v *server) serve(ctx context.Context, settings *config.Settings) (next *config.Settings, err error) {
	o, err := v.options(settings)
	if err != nil {
		return nil, err
	}
	d, err := daemon.Open(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("start: %w", err)
	}
	over, finished := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(finished)
		next = v.heed(ctx, d, o, over)
	}()
	err = d.Run(ctx)
	close(over)
	<-finished
	return next, err
}

// heed does what signals ask of a running daemon, until it is over or to be replaced by
// one with the settings that it returns. The first of the signals that end the daemon ends
// the context, too; the second ends the wait for open runs.
func (v *server) heed(ctx context.Context, d *daemon.Daemon, o daemon.Options, over <-chan struct{}) (next *config.Settings) {
	for stopping := false; ; {
		select {
		case <-v.hup:
			next, err := v.settings()
			if err == nil && !reflect.DeepEqual(next, o.Settings) {
				if _, err = v.options(next); err == nil {
					o.Log.Info("the settings have changed; the daemon starts again with them, containers go on")
					d.Replace()
					return next
				}
			}
			if err != nil {
				o.Log.Error("the settings cannot be used; those in force stay", "error", err)
			}
			if err := d.Reload(ctx); err != nil && ctx.Err() == nil {
				o.Log.Error("reload", "error", err)
			}
		case <-v.ends:
			if stopping {
				d.ForceStop()
			}
			stopping = true
		case <-over:
			return nil
		}
	}
}

// watchable returns the folders by absolute path. One that is not there may come, as with
// a file system that is mounted later; a file never becomes one.
func watchable(roots []string) (absolute []string, err error) {
	for _, root := range roots {
		if root == "" {
			return nil, usage{errors.New("an empty --watch names no folder")}
		}
		abs, err := filepath.Abs(root)
		if err != nil {
			return nil, err
		}
		if info, err := os.Stat(abs); err == nil && !info.IsDir() {
			return nil, usage{fmt.Errorf("watch %s: it is not a folder; to do one file, use: assayd run %s", root, root)}
		}
		absolute = append(absolute, abs)
	}
	return absolute, nil
}
