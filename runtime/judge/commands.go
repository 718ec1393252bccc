package judge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/task"
)

// ByCommands reports whether a task is judged by the commands that its fail_to_pass and
// pass_to_pass hold: no other way of judging is given.
func ByCommands(t task.Task) bool {
	j := t.Judge
	return j.Command.Empty() && !j.Staged() && j.Game == "" && parserName(j.Parser) == "exit_code" &&
		len(t.FailToPass)+len(t.PassToPass) > 0
}

// commandsParser stands for the parsers of all runners that a task's commands start: it
// protects what they protect.
func commandsParser(t task.Task) parser.Parser {
	p, _ := parser.Lookup("exit_code")
	for _, command := range commandsOf(t) {
		for _, r := range parser.Runners(command) {
			p.Protect = append(p.Protect, r.Protect...)
		}
	}
	slices.Sort(p.Protect)
	p.Protect = slices.Compact(p.Protect)
	return p
}

// commandsOf are a task's commands in the order in which they are run, each once.
func commandsOf(t task.Task) (all []string) {
	for _, command := range slices.Concat(t.FailToPass, t.PassToPass) {
		if !slices.Contains(all, command) {
			all = append(all, command)
		}
	}
	return all
}

// commandRun is what was seen of one command of a task.
type commandRun struct {
	text     string
	runners  []parser.Runner
	wires    []parser.Tripwire // at most one
	exit     int
	timedOut bool
	noStart  string
	took     time.Duration
	output   []byte
	cut      bool                   // a part of it is missing
	expects  func(name string) bool // as in observation
}

// commands runs a task's commands, one after the other, in the container. What one leaves
// running is gone before the next begins; what it leaves in files is not, as in a shell.
func (g *grading) commands(ctx context.Context) (Report, error) {
	t := g.session.Task
	printed := &capture{half: outputHalf}
	var runs []commandRun
	overfull := ""
	for i, text := range commandsOf(t) {
		if i > 0 {
			if err := g.between(ctx, runs[i-1]); err != nil {
				return Report{}, err
			}
		}
		run, err := g.oneCommand(ctx, text)
		if full, ok := errors.AsType[*container.DiskError](err); ok {
			overfull = full.Error()
		} else if err != nil {
			return Report{}, err
		}
		_, _ = fmt.Fprintf(printed, "[assayd: command %d: %s]\n", i+1, clip(text, 1000)) // it never fails
		_, _ = printed.Write(run.output)
		_, _ = fmt.Fprintf(printed, "\n[assayd: %s]\n", run.ending())
		if runs = append(runs, run); overfull != "" {
			break
		}
	}
	r, err := g.compared(ctx, commandsVerdict(t, runs, overfull))
	if err != nil {
		return Report{}, err
	}
	r.Output, err = g.keep(printed.bytes())
	return r, err
}

// oneCommand runs a command, with the tripwire of its runner if that has one for it. An error
// is one of the machinery, or a *container.DiskError.
func (g *grading) oneCommand(ctx context.Context, text string) (run commandRun, err error) {
	run = commandRun{text: text, runners: parser.Runners(text)}
	env := g.session.Task.Judge.Env
	for _, r := range run.runners {
		env = r.Environment(text, env)
	}
	if env, err = g.armCommand(ctx, &run, env); err != nil {
		return run, err
	}
	output := &capture{half: outputHalf}
	err = g.attempt(ctx, &run, container.Command{
		Argv: task.Command{Shell: text, Bash: g.session.Task.Judge.Command.Bash}.Args(), Env: env, User: g.profile.User, Workdir: g.session.Task.Workdir, Stdout: output, Stderr: output,
	})
	run.output, run.cut = output.bytes(), output.cut()
	run.expects = func(name string) bool { return marked(g.profile.Expecting, name) }
	return run, err
}

// attempt executes a command within its time and fills in how it ended.
func (g *grading) attempt(ctx context.Context, run *commandRun, c container.Command) error {
	begun := time.Now()
	exit, why, err := g.timed(ctx, c)
	run.exit, run.took = exit, time.Since(begun)
	full, overfull := errors.AsType[*container.DiskError](why)
	switch {
	case err == nil && exit != 137:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, container.ErrCommandNotFound):
		run.noStart = "/bin/sh is not in the judge image, or cannot be executed"
		return nil
	case err != nil && errors.Is(why, errTimeout):
		run.timedOut = true
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
	case cause != nil && !machinery(cause):
		return fmt.Errorf("%w: %w", errNotRun, cause)
	case cause != nil:
		return fmt.Errorf("run a command of the judge: %w", cause)
	case !alone:
		return fmt.Errorf("run a command of the judge: %w", errStopped)
	}
	return nil
}
