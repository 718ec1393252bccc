package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"time"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/daemon/engines"
	"github.com/assayd/assayd/reconcile/retention"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/trial/trydir"
)

// Shell is a look into a container that a run kept.
type Shell struct {
	Trial          string
	Judge          bool // into the judge's container, which holds the hidden files
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Terminal       <-chan container.Size // sizes of the terminal; nil = commands come from Stdin
	Term           string                // kind of the terminal; "" = not known
}

// stopTime bounds how long it takes to stop a container that was entered.
const stopTime = time.Minute

// Enter runs a shell in a container that a run kept, whether a daemon runs or not, and stops the
// container when the shell has ended. exit is that of the shell.
func Enter(ctx context.Context, settings *config.Settings, dir string, s Shell) (exit int, err error) {
	state, err := store.Open(ctx, dir, store.Options{ReadOnly: true})
	if errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("there is no state of a daemon in %s; name the state directory with --state", dir)
	}
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, state.Close()) }()
	engine, err := engines.Default(ctx, settings)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	kept, err := retention.FindKeptOf(ctx, state, engine, s.Trial, s.role())
	if err != nil {
		return 0, err
	}
	leave, err := kept.Enter(state.Dir())
	if errors.Is(err, trydir.ErrEntered) {
		return 0, fmt.Errorf("another shell is in the container of trial %s: end that one first", s.Trial)
	}
	if err != nil {
		return 0, err
	}
	defer leave()
	return s.run(ctx, engine, kept)
}

func (s Shell) role() string {
	if s.Judge {
		return container.RoleJudge
	}
	return container.RoleWork
}

// run starts the container, runs the shell, and stops the container.
func (s Shell) run(ctx context.Context, engine container.Engine, kept retention.Kept) (exit int, err error) {
	restarter, ok := engine.(container.Restarter)
	execer, able := engine.(container.Execer)
	if !ok || !able {
		return 0, fmt.Errorf("enter a container of trial %s: %w", s.Trial, container.ErrUnsupported)
	}
	defer func() { // also one whose start was broken off
		after, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
		defer cancel()
		err = errors.Join(err, engine.Stop(after, kept.ID, 0))
	}()
	if _, err := restarter.Restart(ctx, kept.ID); err != nil {
		return 0, fmt.Errorf("start the container that trial %s left: %w", s.Trial, err)
	}
	watched, unwatch := container.WatchDisk(ctx, engine, kept.ID, func() int64 { return s.disk(kept) }, slog.New(slog.DiscardHandler))
	defer unwatch()
	exit, err = execer.Exec(watched, kept.ID, s.command())
	if full, is := errors.AsType[*container.DiskError](context.Cause(watched)); is {
		return 0, fmt.Errorf("the shell in a container of trial %s was ended: %w", s.Trial, full)
	}
	if errors.Is(err, container.ErrCommandNotFound) {
		return 0, fmt.Errorf("the image of trial %s has no /bin/sh, so no shell can be opened in its container", s.Trial)
	}
	return exit, err
}

// disk is what the container may hold, in bytes; 0 = no limit.
func (s Shell) disk(kept retention.Kept) int64 {
	if s.Judge {
		return kept.Trial.Cell.Task.Judge.Disk
	}
	return kept.Trial.Cell.Task.Work.Disk
}

// command is bash where the image has it and there is a terminal, else sh. It reads no start-up file:
// the agent may have written some.
func (s Shell) command() container.Command {
	c := container.Command{Argv: []string{"/bin/sh"}, Stdin: s.Stdin, Stdout: s.Stdout, Stderr: s.Stderr, Terminal: s.Terminal}
	if s.Terminal != nil {
		c.Argv = append(c.Argv, "-c", "command -v bash >/dev/null && exec bash --norc --noprofile; exec sh")
	}
	c.Env = map[string]string{"ENV": "", "BASH_ENV": ""}
	if s.Term != "" {
		c.Env["TERM"] = s.Term
	}
	return c
}
