package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/assayd/assayd/daemon"
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
	cmd.Flags().BoolVar(&drain, "drain", false, "on SIGTERM, let the open runs finish first; a second one stops at once")
	cmd.Flags().StringVar(&http, "http", "", "address of the HTTP listener")
	return cmd
}

func (e *env) serveUntil(ctx context.Context, roots []string, http string, drain bool) error {
	// Signals first of all: a SIGHUP before the handler would end the process.
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	ends := make(chan os.Signal, 2)
	signal.Notify(ends, syscall.SIGTERM, syscall.SIGINT)
	defer signal.Stop(ends)
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGINT)
	defer stop()

	settings, err := e.settings()
	if err != nil {
		return err
	}
	if http != "" || settings.HTTP.Listen != "" {
		return usage{errors.New("this version has no HTTP listener; leave out --http and the http block of the settings")}
	}
	if len(roots) == 0 {
		roots = settings.Watch
	}
	if len(roots) == 0 {
		return usage{errors.New("name the folder of specs with --watch DIR, or in the settings with watch = [\"DIR\"]")}
	}
	if roots, err = watchable(roots); err != nil {
		return err
	}
	dir, err := e.ownState(settings)
	if err != nil {
		return err
	}
	log, err := logger(e.err, settings.Log)
	if err != nil {
		return usage{err}
	}
	d, err := daemon.Open(ctx, daemon.Options{
		Settings: settings, Roots: roots, StateDir: dir, Version: e.version, Drain: drain, Log: log,
	})
	if err != nil {
		return fmt.Errorf("start: %w", err)
	}
	over, finished := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(finished)
		heed(ctx, d, log, hup, ends, over)
	}()
	err = d.Run(ctx)
	close(over)
	<-finished
	return err
}

// heed does what signals ask of a running daemon, until it is over. The first of those
// that end it ends the context, too; the second ends the wait for open runs.
func heed(ctx context.Context, d *daemon.Daemon, log *slog.Logger, hup, ends <-chan os.Signal, over <-chan struct{}) {
	for stopping := false; ; {
		select {
		case <-hup:
			if err := d.Reload(ctx); err != nil && ctx.Err() == nil {
				log.Error("reload", "error", err)
			}
		case <-ends:
			if stopping {
				d.Hurry()
			}
			stopping = true
		case <-over:
			return
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
