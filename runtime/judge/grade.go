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
	"github.com/assayd/assayd/runtime/judge/parser"
)

const (
	defaultTimeout = 10 * time.Minute
	maxResultFiles = 32 << 20
)

// grading is one submission in one container.
type grading struct {
	judge   *Judge
	session *session
	sub     Submission
	profile *profile
	id      string // of the container
	wire    *parser.Tripwire
}

// grade judges once. It returns a report, or an error of the machinery; done removes the
// container and must be called in either case.
func (j *Judge) grade(ctx context.Context, s *session, sub Submission) (_ Report, done func(), err error) {
	g := &grading{judge: j, session: s, sub: sub}
	done = func() { g.clean(ctx) }
	if !s.known {
		return Report{
			Status: StatusInvalid, NotRun: true, Isolation: "shared",
			Problem: fmt.Sprintf("there is no parser named %q", s.Task.Judge.Parser),
		}, done, nil
	}
	if r, ok, err := j.cached(ctx, sub); err != nil || ok {
		return r, done, err
	}
	if g.profile, err = j.profile(ctx, s); err != nil {
		return Report{}, done, err
	}
	if err := g.start(ctx); err != nil {
		return Report{}, done, fmt.Errorf("start a judge container: %w", err)
	}
	if err := g.place(ctx); err != nil {
		return Report{}, done, fmt.Errorf("place submission %s in a judge container: %w", sub.ID, err)
	}
	r, err := g.run(ctx)
	return r, done, err
}

// cached returns the report of an earlier submission of the same tree in the same try, if
// its verdict was a sound one. To judge it again could only draw another lot.
func (j *Judge) cached(ctx context.Context, sub Submission) (Report, bool, error) {
	all, err := j.opts.Ledger.Submissions(ctx, sub.Trial)
	if err != nil {
		return Report{}, false, fmt.Errorf("list submissions of trial %s: %w", sub.Trial, err)
	}
	for _, o := range all {
		if o.ID != sub.ID && o.Try == sub.Try && o.Archive == sub.Archive && o.State == StateJudged &&
			o.Report != nil && o.Report.Status == StatusOK && !o.Report.Cached {
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

// run executes the judge command and makes a report of what it left.
func (g *grading) run(ctx context.Context) (Report, error) {
	t := g.session.Task
	output := &capture{half: outputHalf}
	env := g.environ()
	if g.wire != nil {
		if env == nil {
			env = map[string]string{}
		}
		maps.Copy(env, g.wire.Env)
	}
	o := observation{parser: g.session.parser, wire: g.wire}
	begun := g.judge.opts.Clock()
	err := g.execute(ctx, &o, container.Command{
		Argv: t.Judge.Command.Args(), Env: env, User: g.profile.User, Workdir: t.Workdir, Stdout: output, Stderr: output,
	})
	judged := g.judge.opts.Clock().Sub(begun)
	if err != nil {
		return Report{}, err
	}
	out := output.bytes()
	files, err := g.results(ctx)
	if err != nil {
		return Report{}, err
	}
	o.lastLine = lastLine(out)
	o.result = parse(g.session.parser, parser.Input{Output: out, Files: files, ExitCode: o.exit, TimedOut: o.timedOut})
	r := verdict(t, o)
	r.JudgeMS = judged.Milliseconds()
	r.Output, err = g.keep(out)
	return r, err
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

// results fetches the parser's result files from workdir. What the submission made of them
// so that they cannot be fetched is absent.
func (g *grading) results(ctx context.Context) (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, name := range g.session.parser.Files {
		found, err := g.judge.fetch(ctx, g.id, path.Join(g.session.Task.Workdir, name), maxResultFiles)
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
