package judge

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"strings"
	"time"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/fault"
	"github.com/assayd/assayd/runtime/judge/parser"
)

const (
	defaultTimeout = 10 * time.Minute
	maxResultFiles = 32 << 20
)

// grading is one container of a judging and what is run in it.
type grading struct {
	judge    *Judge
	session  *session // the terms of this container
	sub      Submission
	archive  string // blob of what is laid over the image
	profile  *profile
	id       string             // of the container
	workload container.Workload // that it can be started with again; only its name may differ
	planted  int                // tripwires so far
	replaced map[string]string  // digests of hidden files that are not the image's, as profile.Sums: tripwires were added, or a mix has others
	mix      map[string][]byte  // what some hidden files hold in place of what the image has
	wire     *parser.Tripwire
}

// grade judges once. It returns a report, or an error of the machinery; done removes the
// containers and must be called in either case.
func (j *Judge) grade(ctx context.Context, s *session, sub Submission) (_ Report, done func(), err error) {
	terms := s.judgedIn(sub.Kind)
	last := &grading{judge: j, session: terms, sub: sub, archive: sub.Archive}
	done = func() { last.end(ctx) }
	if terms == nil || !s.known {
		problem := fmt.Sprintf("there is no parser named %q", s.Task.Judge.Parser)
		if terms == nil {
			problem = "the task has no private set any more"
		}
		return Report{Status: StatusInvalid, NotRun: true, Isolation: isolation(s.Task), Problem: problem}, done, nil
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
func (g *grading) do(ctx context.Context, before *handover) (Report, error) {
	if err := g.ready(ctx); err != nil {
		return Report{}, err
	}
	if ByCommands(g.session.Task) {
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
func (j *Judge) cached(ctx context.Context, sub Submission) (Report, bool, error) {
	all, err := j.opts.Ledger.Submissions(ctx, sub.Trial)
	if err != nil {
		return Report{}, false, fmt.Errorf("list submissions of trial %s: %w", sub.Trial, err)
	}
	for _, o := range all {
		if o.ID != sub.ID && treeOf(o) == treeOf(sub) && o.State == StateJudged && o.Report != nil && sound(*o.Report) && !o.Report.Cached {
			if o, err = j.opts.Ledger.Submission(ctx, o.ID); err != nil {
				return Report{}, false, fmt.Errorf("load submission %s: %w", o.ID, err)
			}
			r := *o.Report
			r.Cached, r.JudgeMS = true, 0
			return r, true, nil
		}
	}
	return Report{}, false, nil
}

// sound reports whether a verdict is the last word on its tree. What a run out of time has
// shown counts, so another run would be another lot. A verdict that counts for nothing may
// be a flaky test's doing, and is never held against the tree.
func sound(r Report) bool {
	return r.Status == StatusOK || r.Status == StatusTimeout && r.Valid
}

// commandText is a command as one line of shell.
func commandText(shell string, argv []string) string {
	if shell != "" {
		return shell
	}
	quoted := make([]string, len(argv))
	for i, a := range argv {
		quoted[i] = a
		if a == "" || strings.ContainsAny(a, " \t\n'\"\\$`;&|<>()*?[]#~!{}") {
			quoted[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
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
func (g *grading) run(ctx context.Context, before *handover) (Report, error) {
	o := observation{parser: g.session.parser, wire: g.wire, starts: startsOf(g.session.Task)}
	if g.session.parser.Name == "gotest" {
		o.elsewhere = goElsewhere(g.profile)
	}
	if !g.session.Task.Judge.Staged() {
		o.expects = g.mayFail
	}
	var printed []byte
	if before != nil {
		o.run, printed = &before.seen, before.printed
	}
	out, took, err := g.command(ctx, &o)
	if err != nil {
		return Report{}, err
	}
	files, err := g.results(ctx)
	if err != nil {
		return Report{}, err
	}
	if seen, problem := within(g.session.Task.Judge.Window, out); problem != "" {
		o.result.Problem = problem
	} else {
		o.cut = o.cut && readsOutput(g.session.parser, files)
		in := parser.Input{Output: seen, Files: files, ExitCode: o.exit, TimedOut: o.timedOut, Cut: o.cut}
		o.result, o.running = explained(g.session.parser, in)
	}
	r, err := g.compared(ctx, verdict(g.session.Task, o))
	if err != nil {
		return Report{}, err
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
func (g *grading) command(ctx context.Context, o *observation) (printed []byte, took time.Duration, err error) {
	t := g.session.Task
	output := &capture{half: outputHalf}
	env := g.environ()
	if g.wire != nil {
		if env == nil {
			env = map[string]string{}
		}
		maps.Copy(env, g.wire.Env)
	}
	begun := time.Now()
	err = g.execute(ctx, o, container.Command{
		Argv: t.Judge.Command.Args(), Env: env, User: g.profile.User, Workdir: t.Workdir, Stdout: output, Stderr: output,
	})
	took = time.Since(begun)
	printed = output.bytes()
	o.cut = output.cut()
	o.lastLine = lastLine(printed)
	return printed, took, err
}

// parse guards the daemon: an output that a parser stumbles over must not stop it, and
// again at every restart.
func parse(p parser.Parser, in parser.Input) (r parser.Result) {
	defer func() {
		if bug := recover(); bug != nil {
			r = parser.Result{Problem: fmt.Sprintf("parser %s stumbled over the output: %v", p.Name, bug)}
		}
	}()
	return p.Parse(in)
}

// explained is parse, and of an output that tells nothing the result says what may be wrong. running
// is the test that had begun when the time was over; "" = not known. A hint is looked for by other
// parsers: where one stumbles there is none.
func explained(p parser.Parser, in parser.Input) (r parser.Result, running string) {
	r = parse(p, in)
	defer func() { _ = recover() }()
	switch {
	case in.TimedOut:
		running = parser.Unfinished(p, in.Output)
	case len(r.Tests) == 0 && r.Score == nil && r.PassRate == nil:
		if hint := parser.Hint(p, in); hint != "" {
			r.Problem = strings.TrimPrefix(r.Problem+"; "+hint, "; ")
		}
	}
	return r, running
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
		found, err := g.judge.fetch(ctx, g.id, place, maxResultFiles)
		if err != nil && (ctx.Err() != nil || machinery(err)) {
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
