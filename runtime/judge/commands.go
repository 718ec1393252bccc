package judge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/judge/sandbox"
	"github.com/assayd/assayd/runtime/judge/scoring"
	"github.com/assayd/assayd/runtime/task"
)

// commandsParser stands for the parsers of all runners that a task's commands start: it
// protects what they protect.
func commandsParser(t task.Task) parser.Parser {
	p, _ := parser.Lookup("exit_code")
	for _, command := range scoring.CommandsOf(t) {
		for _, r := range parser.Runners(command) {
			p.Protect = append(p.Protect, r.Protect...)
		}
	}
	slices.Sort(p.Protect)
	p.Protect = slices.Compact(p.Protect)
	return p
}

// commands runs a task's commands, one after the other, in the container. What one leaves
// running is gone before the next begins; what it leaves in files is not, as in a shell.
func (g *grading) commands(ctx context.Context) (round.Report, error) {
	t := g.session.Task
	printed := sandbox.NewCapture(sandbox.OutputHalf)
	var runs []scoring.Command
	overfull := ""
	for i, text := range scoring.CommandsOf(t) {
		if i > 0 {
			if err := g.between(ctx, runs[i-1]); err != nil {
				return round.Report{}, err
			}
		}
		run, err := g.oneCommand(ctx, text)
		if full, ok := errors.AsType[*container.DiskError](err); ok {
			overfull = full.Error()
		} else if err != nil {
			return round.Report{}, err
		}
		_, _ = fmt.Fprintf(printed, "[assayd: command %d: %s]\n", i+1, round.Clip(text, 1000)) // it never fails
		_, _ = printed.Write(run.Output)
		_, _ = fmt.Fprintf(printed, "\n[assayd: %s]\n", run.Ending())
		if runs = append(runs, run); overfull != "" {
			break
		}
	}
	r, err := g.compared(ctx, scoring.CommandsVerdict(t, runs, overfull))
	if err != nil {
		return round.Report{}, err
	}
	r.Output, err = g.keep(printed.Bytes())
	return r, err
}

// oneCommand runs a command, with the tripwire of its runner if that has one for it. An error
// is one of the machinery, or a *container.DiskError.
func (g *grading) oneCommand(ctx context.Context, text string) (run scoring.Command, err error) {
	run = scoring.Command{Text: text, Runners: parser.Runners(text)}
	env := g.session.Task.Judge.Env
	for _, r := range run.Runners {
		env = r.Environment(text, env)
	}
	if env, err = g.armCommand(ctx, &run, env); err != nil {
		return run, err
	}
	output := sandbox.NewCapture(sandbox.OutputHalf)
	err = g.attempt(ctx, &run, container.Command{
		Argv: task.Command{Shell: text, Bash: g.session.Task.Judge.Command.Bash}.Args(), Env: env, User: g.profile.User, Workdir: g.session.Task.Workdir, Stdout: output, Stderr: output,
	})
	run.Output, run.Cut = output.Bytes(), output.Cut()
	run.Expects = func(name string) bool { return scoring.AllowsFailure(g.profile.Expecting, name) }
	return run, err
}

// attempt executes a command within its time and fills in how it ended.
func (g *grading) attempt(ctx context.Context, run *scoring.Command, c container.Command) error {
	begun := time.Now()
	exit, why, err := g.timed(ctx, c)
	run.Exit, run.Took = exit, time.Since(begun)
	full, overfull := errors.AsType[*container.DiskError](why)
	switch {
	case err == nil && exit != 137:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, container.ErrCommandNotFound):
		run.NoStart = "/bin/sh is not in the judge image, or cannot be executed"
		return nil
	case err != nil && errors.Is(why, errTimeout):
		run.TimedOut = true
		return nil
	case err != nil && overfull:
		return full
	}
	return g.stillThere(ctx, err)
}

// stillThere tells a command that was killed from one whose container was stopped, which is
// the machinery's failure, or was brought about by the submission each time.
func (g *grading) stillThere(ctx context.Context, cause error) error {
	inst, err := g.judge.opts.Engine.Inspect(ctx, g.id)
	alone := inst.Phase == container.PhaseRunning
	if err == nil && alone {
		alone, err = g.outlives(ctx)
	}
	switch {
	case err != nil:
		return errors.Join(cause, err)
	case cause != nil && !sandbox.Machinery(cause):
		return fmt.Errorf("%w: %w", errNotRun, cause)
	case cause != nil:
		return fmt.Errorf("run a command of the judge: %w", cause)
	case !alone:
		return fmt.Errorf("run a command of the judge: %w", errStopped)
	}
	return nil
}
