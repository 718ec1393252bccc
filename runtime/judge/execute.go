package judge

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/judge/sandbox"
	"github.com/assayd/assayd/runtime/judge/scoring"
)

// errStopped: the judge's container ended while the command ran in it. Once that may be the
// engine's doing; a submission that does it each time does it itself.
var errStopped = errors.New("the container was stopped while the submission ran in it")

// Failures of an engine that is there otherwise. They are judged like errStopped.
var (
	errNotPlaced = errors.New("could not be written into the image")
	errNotRun    = errors.New("the judge command could not be run")
	errNotTaken  = errors.New("an output of the run could not be read")
)

// ownDoing reports whether an error that comes in every try is the submission's doing.
func ownDoing(err error) bool {
	return errors.Is(err, errStopped) || errors.Is(err, errNotPlaced) || errors.Is(err, errNotRun) || errors.Is(err, errNotTaken)
}

// errTimeout is why a judge command's context ended.
var errTimeout = errors.New("the judge command's time is over")

// timed executes a command within the judge's time, and while the disk has room for it. Where
// that cut it short, why says so: errTimeout, or a *container.DiskError.
func (g *grading) timed(ctx context.Context, c container.Command) (exit int, why, err error) {
	timeout := g.session.Task.Judge.Timeout
	if timeout <= 0 {
		timeout = scoring.DefaultTimeout
	}
	within, cancel := context.WithTimeoutCause(ctx, timeout, errTimeout)
	defer cancel()
	limited, unwatch := container.WatchDisk(within, g.judge.opts.Engine, g.id, g.session.diskLimit, g.judge.opts.Log)
	exit, err = g.judge.host.Execer.Exec(limited, g.id, c)
	unwatch()
	return exit, context.Cause(limited), err
}

// execute fills in how the command ended. An error is one of the machinery.
func (g *grading) execute(ctx context.Context, o *scoring.Observation, c container.Command) error {
	exit, why, err := g.timed(ctx, c)
	o.Exit = exit
	full, overfull := errors.AsType[*container.DiskError](why)
	switch {
	case err == nil && exit != 137:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, container.ErrCommandNotFound):
		o.NoStart = fmt.Sprintf("%q is not in the judge image, or cannot be executed", c.Argv[0])
		return nil
	case err != nil && errors.Is(why, errTimeout):
		o.TimedOut, o.Exit = true, 137
		return g.kill(ctx)
	case err != nil && overfull:
		o.Overfull, o.Exit = full.Error(), 137
		return g.kill(ctx)
	}
	return g.killed(ctx, o, err)
}

// kill ends all that runs in the container, and the container with it.
func (g *grading) kill(ctx context.Context) error {
	if err := g.judge.opts.Engine.Stop(ctx, g.id, 0); err != nil {
		return blamed(ctx, fmt.Errorf("kill a judge container: %w", err))
	}
	return nil
}

// blamed holds an engine's failure at a container in which the submission has run against the
// submission, if that comes in every try, unless nothing that runs there can be its cause.
func blamed(ctx context.Context, err error) error {
	if ctx.Err() != nil || sandbox.Machinery(err) {
		return err
	}
	return fmt.Errorf("%w: %w", errNotRun, err)
}

// endTime is how long an engine may take to tell that a container has ended of which all
// processes were killed.
const endTime = time.Second

// outlives reports whether the container goes on without its command.
func (g *grading) outlives(ctx context.Context) (bool, error) {
	short, cancel := context.WithTimeout(ctx, endTime)
	defer cancel()
	_, err := g.judge.opts.Engine.Wait(short, g.id)
	switch {
	case err == nil:
		return false, nil
	case ctx.Err() == nil && short.Err() != nil:
		return true, nil
	}
	return false, err
}

// killed looks at why a command did not end by itself: the kernel's out-of-memory killer,
// its own doing, or somebody who stopped the whole container, which is the machinery's
// failure.
func (g *grading) killed(ctx context.Context, o *scoring.Observation, cause error) error {
	engine := g.judge.opts.Engine
	inst, err := engine.Inspect(ctx, g.id)
	if err != nil {
		return errors.Join(cause, err)
	}
	alone := inst.Phase == container.PhaseRunning
	if alone {
		if alone, err = g.outlives(ctx); err != nil {
			return errors.Join(cause, err)
		}
	}
	if alone {
		// What the kernel killed is told of a container only when that has ended, too.
		if err := g.kill(ctx); err != nil {
			return errors.Join(cause, err)
		}
		if inst, err = engine.Inspect(ctx, g.id); err != nil {
			return errors.Join(cause, err)
		}
	}
	if !alone {
		if inst, err = engine.Inspect(ctx, g.id); err != nil {
			return errors.Join(cause, err)
		}
	}
	switch o.OOM = inst.Exit.OOM; {
	case o.OOM:
		o.Exit = 137
	case cause != nil && !sandbox.Machinery(cause):
		return fmt.Errorf("%w: %w", errNotRun, cause)
	case cause != nil:
		return fmt.Errorf("run the judge command: %w", cause)
	case !alone:
		return fmt.Errorf("run the judge command: %w", errStopped)
	}
	return nil
}
