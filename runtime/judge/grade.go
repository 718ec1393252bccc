package judge

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/judge/parser"
)

// LabelSubmission is on every judge container: the submission's id.
const LabelSubmission = "assayd.submission"

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

// name makes a container's name out of what is unique for this owner.
func (j *Judge) name(what string) string {
	return "assayd-j-" + j.opts.Owner[:min(8, len(j.opts.Owner))] + "-" + what
}

// workload is a judge container of the session's task. Its first process is root's, out
// of reach of what is run as the image's user.
func (j *Judge) workload(s *session, name, submission string) container.Workload {
	p := s.Task.Judge.Part
	w := container.Workload{
		Name: name, Image: s.JudgeImage, Argv: j.opts.Hold, Mounts: j.opts.Mounts,
		User: "0:0", Workdir: s.Task.Workdir, Network: container.NetworkNone,
		Limits: container.Limits{CPUs: p.CPUs, Memory: p.Memory, PIDs: p.PIDs, Disk: p.Disk},
	}
	if s.Task.Judge.Network {
		w.Network = container.NetworkOpen
	}
	w = w.WithLabels(s.Labels).WithLabels(map[string]string{
		container.LabelOwner: j.opts.Owner, container.LabelTrial: s.Trial, container.LabelRole: container.RoleJudge,
	})
	if submission != "" {
		w = w.WithLabels(map[string]string{LabelSubmission: submission})
	}
	return w
}

// start makes a fresh container. One of the same name is what an interrupted judging left
// behind: it is removed, never used.
func (g *grading) start(ctx context.Context) error {
	engine := g.judge.opts.Engine
	w := g.judge.workload(g.session, g.judge.name(fmt.Sprintf("%s-%d", g.sub.ID, g.sub.Refunds)), g.sub.ID)
	left, err := engine.Inspect(ctx, w.Name)
	if err == nil {
		err = engine.Remove(ctx, left.ID)
	}
	if err != nil && !errors.Is(err, container.ErrNotFound) {
		return err
	}
	g.id = w.Name // a start that fails half-way leaves that behind
	inst, err := g.judge.launch(ctx, w)
	if err != nil {
		return err
	}
	g.id = inst.ID
	return nil
}

// startTime bounds the start of a container, and with it how long the judge may take to
// stop.
const startTime = 30 * time.Second

// launch makes a container run. The end of the context does not break it off, for then
// nobody would know whether there is a container to remove.
func (j *Judge) launch(ctx context.Context, w container.Workload) (container.Instance, error) {
	if ctx.Err() != nil {
		return container.Instance{}, context.Cause(ctx)
	}
	whole, cancel := context.WithTimeout(context.WithoutCancel(ctx), startTime)
	defer cancel()
	return j.opts.Engine.Start(whole, w)
}

// place lays the submission over the image, and then the tripwire.
func (g *grading) place(ctx context.Context) error {
	blob, err := g.judge.opts.Blobs.Open(g.sub.Archive)
	if err != nil {
		return fmt.Errorf("open its archive: %w", err)
	}
	defer func() { _ = blob.Close() }() // only read
	r, w := io.Pipe()
	owned := make(chan error, 1)
	go func() {
		err := g.own(blob, w)
		w.CloseWithError(err)
		owned <- err
	}()
	err = g.judge.copier.CopyTo(ctx, g.id, g.session.Task.Workdir, r)
	r.CloseWithError(errCopied)
	if oerr := <-owned; oerr != nil && !errors.Is(oerr, errCopied) {
		return oerr
	}
	if err == nil {
		err = g.arm(ctx)
	}
	if err != nil && ctx.Err() == nil && !machinery(err) {
		return fmt.Errorf("%w: %w", errNotPlaced, err)
	}
	return err
}

// errCopied is what the writer of a copy sees when the engine has had enough of it.
var errCopied = errors.New("the copy ended")

// own gives the files to the judge's user and the present time, so that what the image
// holds ready-made counts as older.
func (g *grading) own(r io.Reader, w io.Writer) error {
	in, out := tar.NewReader(r), tar.NewWriter(w)
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return out.Close()
		}
		if err != nil {
			return fmt.Errorf("read the cleaned archive: %w", err)
		}
		h.Uid, h.Gid, h.ModTime = g.profile.UID, g.profile.GID, g.sub.StartedAt.Truncate(time.Second)
		if err := out.WriteHeader(h); err != nil {
			return err
		}
		if _, err := io.Copy(out, in); err != nil {
			return err
		}
	}
}

// arm adds the tripwire, where the parser's runner has one for this task.
func (g *grading) arm(ctx context.Context) error {
	p, t := g.session.parser, g.session.Task
	if p.Tripwire == nil {
		return nil
	}
	wire, ok := p.Tripwire(parser.Site{
		Command: commandText(t.Judge.Command.Shell, t.Judge.Command.Argv), Workdir: t.Workdir, Env: g.environ(),
		Hidden: g.profile.Files, Nonce: newID(),
		Read: func(name string) []byte { return g.profile.Content[name] },
	})
	if !ok {
		return nil
	}
	g.wire = &wire
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, name := range slices.Sorted(maps.Keys(wire.Files)) {
		content := wire.Files[name]
		h := &tar.Header{
			Typeflag: tar.TypeReg, Name: strings.TrimPrefix(name, "/"), Mode: 0o644,
			Size: int64(len(content)), ModTime: g.sub.StartedAt.Truncate(time.Second),
		}
		if err := w.WriteHeader(h); err != nil {
			return fmt.Errorf("pack tripwire %s: %w", name, err)
		}
		if _, err := io.WriteString(w, content); err != nil {
			return fmt.Errorf("pack tripwire %s: %w", name, err)
		}
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("pack the tripwire: %w", err)
	}
	return g.judge.copier.CopyTo(ctx, g.id, "/", &buf)
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

// clean removes the container. What cannot be removed now carries our labels and is swept
// later.
func (g *grading) clean(ctx context.Context) {
	if g.id == "" {
		return
	}
	after, cancel := cleanupContext(ctx)
	defer cancel()
	if err := g.judge.opts.Engine.Remove(after, g.id); err != nil {
		g.judge.opts.Log.Warn("a judge container is left over", "container", g.id, "error", err)
	}
}
