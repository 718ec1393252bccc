package judge

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"time"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/fault"
	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/judge/sandbox"
	"github.com/assayd/assayd/runtime/judge/scoring"
)

const maxResultFiles = 32 << 20

// grading is one container of a judging and what is run in it.
type grading struct {
	judge    *Judge
	session  *session // the terms of this container
	sub      round.Submission
	archive  string // blob of what is laid over the image
	profile  *sandbox.Profile
	id       string             // of the container
	workload container.Workload // that it can be started with again; only its name may differ
	planted  int                // tripwires so far
	replaced map[string]string  // digests of hidden files that are not the image's, as profile.Sums: tripwires were added, or a mix has others
	mix      map[string][]byte  // what some hidden files hold in place of what the image has
	canary   *parser.Tripwire
}

// grade judges once. It returns a report, or an error of the machinery; done removes the
// containers and must be called in either case.
func (j *Judge) grade(ctx context.Context, s *session, sub round.Submission) (_ round.Report, done func(), err error) {
	terms := s.judgedIn(sub.Kind)
	last := &grading{judge: j, session: terms, sub: sub, archive: sub.Archive}
	done = func() { last.end(ctx) }
	if terms == nil || !s.known {
		problem := fmt.Sprintf("there is no parser named %q", s.Task.Judge.Parser)
		if terms == nil {
			problem = "the task has no private set any more"
		}
		return round.Report{Status: round.StatusInvalid, NotRun: true, Isolation: scoring.Isolation(s.Task), Problem: problem}, done, nil
	}
	if !s.Task.Judge.Staged() {
		r, err := last.do(ctx, nil)
		return r, done, err
	}
	run := &grading{judge: j, session: s, sub: sub, archive: sub.Archive}
	done = func() { run.clean(ctx); last.end(ctx) }
	r, err := run.before(ctx, last)
	return r, done, err
}

// do makes a container, lays what is judged over it and runs the judge command.
func (g *grading) do(ctx context.Context, before *handover) (round.Report, error) {
	if err := g.ready(ctx); err != nil {
		return round.Report{}, err
	}
	if scoring.ByCommands(g.session.Task) {
		return g.commands(ctx)
	}
	return g.run(ctx, before)
}

// ready makes a container with what is judged in it.
func (g *grading) ready(ctx context.Context) (err error) {
	if g.profile, err = g.judge.profile(ctx, g.session); err != nil {
		return err
	}
	if err := g.readMix(); err != nil {
		return err
	}
	if err := g.start(ctx); err != nil {
		return fmt.Errorf("start a judge container: %w", err)
	}
	fault.Reached(fault.JudgeStarted)
	if err := g.place(ctx); err != nil {
		return fmt.Errorf("place submission %s in a judge container: %w", g.sub.ID, err)
	}
	fault.Reached(fault.ArchivePlaced)
	return nil
}

// cached returns the report of an earlier submission of the same tree in the same try, if
// its verdict was a sound one. To judge it again could only draw another lot.
func (j *Judge) cached(ctx context.Context, sub round.Submission) (round.Report, bool, error) {
	all, err := j.opts.Ledger.Submissions(ctx, sub.Trial)
	if err != nil {
		return round.Report{}, false, fmt.Errorf("list submissions of trial %s: %w", sub.Trial, err)
	}
	for _, o := range all {
		if o.ID != sub.ID && treeOf(o) == treeOf(sub) && o.State == round.StateJudged && o.Report != nil && sound(*o.Report) && !o.Report.Cached {
			if o, err = j.opts.Ledger.Submission(ctx, o.ID); err != nil {
				return round.Report{}, false, fmt.Errorf("load submission %s: %w", o.ID, err)
			}
			r := *o.Report
			r.Cached, r.JudgeMS = true, 0
			return r, true, nil
		}
	}
	return round.Report{}, false, nil
}

// sound reports whether a verdict is the last word on its tree. What a run out of time has
// shown counts, so another run would be another lot. A verdict that counts for nothing may
// be a flaky test's doing, and is never held against the tree.
func sound(r round.Report) bool {
	return r.Status == round.StatusOK || r.Status == round.StatusTimeout && r.Valid
}

// environ is the command's environment before the tripwire's.
func (g *grading) environ() map[string]string {
	env := maps.Clone(g.session.Task.Judge.Env)
	if more := g.session.parser.Environ; more != nil {
		return more(env)
	}
	return env
}

// run executes the judge command and makes a report of what it left, and of what came
// before it, if anything did.
func (g *grading) run(ctx context.Context, before *handover) (round.Report, error) {
	o := scoring.Observation{Parser: g.session.parser, Canary: g.canary, Starts: scoring.StartsOf(g.session.Task)}
	if g.session.parser.Name == "gotest" {
		o.Elsewhere = scoring.GoElsewhere(scoring.HiddenFiles{Names: g.profile.Files, Content: g.profile.Content, Present: g.profile.Present})
	}
	if !g.session.Task.Judge.Staged() {
		o.Expects = g.mayFail
	}
	var printed []byte
	if before != nil {
		o.Run, printed = &before.seen, before.printed
	}
	out, took, err := g.command(ctx, &o)
	if err != nil {
		return round.Report{}, err
	}
	files, err := g.results(ctx)
	if err != nil {
		return round.Report{}, err
	}
	if seen, problem := scoring.WithinWindow(g.session.Task.Judge.Window, out); problem != "" {
		o.Result.Problem = problem
	} else {
		o.Cut = o.Cut && scoring.ReadsOutput(g.session.parser, files)
		in := parser.Input{Output: seen, Files: files, ExitCode: o.Exit, TimedOut: o.TimedOut, Cut: o.Cut}
		o.Result, o.Running = scoring.Parse(g.session.parser, in)
	}
	r, err := g.compared(ctx, scoring.Verdict(g.session.Task, o))
	if err != nil {
		return round.Report{}, err
	}
	fault.Reached(fault.VerdictParsed)
	r.JudgeMS = took.Milliseconds()
	if before != nil {
		r.JudgeMS, r.Outputs = r.JudgeMS+before.took.Milliseconds(), before.outputs
	}
	r.Output, err = g.keep(append(printed, out...))
	return r, err
}

// command runs the container's command and returns what it printed, bounded, and its time.
func (g *grading) command(ctx context.Context, o *scoring.Observation) (printed []byte, took time.Duration, err error) {
	t := g.session.Task
	output := sandbox.NewCapture(sandbox.OutputHalf)
	env := g.environ()
	if g.canary != nil {
		if env == nil {
			env = map[string]string{}
		}
		maps.Copy(env, g.canary.Env)
	}
	begun := time.Now()
	err = g.execute(ctx, o, container.Command{
		Argv: t.Judge.Command.Args(), Env: env, User: g.profile.User, Workdir: t.Workdir, Stdout: output, Stderr: output,
	})
	took = time.Since(begun)
	printed = output.Bytes()
	o.Cut = output.Cut()
	o.LastLine = round.LastLine(printed)
	return printed, took, err
}

// results fetches the parser's result files, from workdir or, with an absolute path, from
// anywhere. What the submission made of them so that they cannot be fetched is absent.
func (g *grading) results(ctx context.Context) (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, name := range g.session.parser.Files {
		place := name
		if !path.IsAbs(name) {
			place = path.Join(g.session.Task.Workdir, name)
		}
		found, err := g.judge.host.Fetch(ctx, g.id, place, maxResultFiles)
		if err != nil && (ctx.Err() != nil || sandbox.Machinery(err)) {
			return nil, fmt.Errorf("fetch result file %s: %w", name, err)
		}
		if err != nil {
			g.judge.opts.Log.Debug("a result file cannot be fetched", "submission", g.sub.ID, "file", name, "error", err)
			continue
		}
		for inner, content := range found {
			files[path.Join(path.Dir(name), inner)] = content
		}
	}
	return files, nil
}

// keep stores the bounded output.
func (g *grading) keep(out []byte) (digest string, err error) {
	blob, err := g.judge.opts.Blobs.Create()
	if err != nil {
		return "", fmt.Errorf("store the output of submission %s: %w", g.sub.ID, err)
	}
	defer func() { err = errors.Join(err, blob.Close()) }()
	if _, err := blob.Write(out); err != nil {
		return "", fmt.Errorf("store the output of submission %s: %w", g.sub.ID, err)
	}
	if digest, _, err = blob.Commit(); err != nil {
		return "", fmt.Errorf("store the output of submission %s: %w", g.sub.ID, err)
	}
	return digest, nil
}
