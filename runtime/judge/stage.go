package judge

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"time"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/fault"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/judge/sandbox"
	"github.com/assayd/assayd/runtime/judge/sanitize"
	"github.com/assayd/assayd/runtime/judge/scoring"
)

// handover is what a run stage leaves to the grade stage.
type handover struct {
	seen    scoring.Observation
	printed []byte
	took    time.Duration
	outputs string // blob, a cleaned tar
}

// stageLine is between the outputs of the two stages.
const stageLine = "\n[assayd: the run stage ends here, the grade stage begins]\n"

// before runs a submission's stage, takes the outputs out, and has the last stage grade
// them. The two containers are never there at once.
func (g *grading) before(ctx context.Context, last *grading) (round.Report, error) {
	if err := g.ready(ctx); err != nil {
		return round.Report{}, err
	}
	h := &handover{seen: scoring.Observation{Parser: g.session.parser}}
	var err error
	if h.printed, h.took, err = g.command(ctx, &h.seen); err != nil {
		return round.Report{}, err
	}
	if h.seen.NoStart != "" {
		return g.unstarted(h)
	}
	// Nothing moves any more while the outputs are read.
	if err := g.kill(ctx); err != nil {
		return round.Report{}, err
	}
	if last.profile, err = g.judge.profile(ctx, last.session); err != nil {
		return round.Report{}, err
	}
	taken, err := g.take(ctx, h, last)
	if refusal, ok := errors.AsType[*round.Refusal](err); ok {
		return g.unusable(h, refusal)
	}
	if err != nil {
		return round.Report{}, fmt.Errorf("take the outputs of submission %s: %w", g.sub.ID, err)
	}
	fault.Reached(fault.OutputsTaken)
	if err := g.judge.opts.Engine.Remove(ctx, g.id); err != nil {
		return round.Report{}, fmt.Errorf("remove the container of a run stage: %w", err)
	}
	fault.Reached(fault.StageRemoved)
	g.id = ""
	last.archive, h.printed = h.outputs, append(h.printed, stageLine...)
	r, err := last.do(ctx, h)
	if code := h.seen.Exit; err == nil && taken == 0 && (code == 126 || code == 127) {
		r.NotRun = true // a shell's words for a program that is not there
	}
	return r, err
}

// unstarted is the report on a run that could not begin.
func (g *grading) unstarted(h *handover) (round.Report, error) {
	r := scoring.Verdict(g.session.Task, h.seen)
	r.JudgeMS = h.took.Milliseconds()
	var err error
	r.Output, err = g.keep(h.printed)
	return r, err
}

// unusable is the report on outputs that cannot be honest, or are too many.
func (g *grading) unusable(h *handover, why *round.Refusal) (round.Report, error) {
	r := round.Report{
		Status: round.StatusInvalid, ExitCode: h.seen.Exit, Isolation: scoring.Isolation(g.session.Task), Summary: "nothing was graded",
		JudgeMS: h.took.Milliseconds(), Problem: round.Clip("the outputs of the run were not taken: "+why.Detail, 1000),
	}
	var err error
	r.Output, err = g.keep(h.printed)
	return r, err
}

// take copies the declared outputs into a blob, cleaned by the rules of the container that
// they go to, and says how many entries there are.
func (g *grading) take(ctx context.Context, h *handover, last *grading) (taken int, err error) {
	blob, err := g.judge.opts.Blobs.Create()
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, blob.Close()) }()
	r, w := io.Pipe()
	copied := make(chan error, 1)
	go func() {
		tw := tar.NewWriter(w)
		err := g.collect(ctx, tw)
		if err == nil {
			err = tw.Close()
		}
		w.CloseWithError(err)
		copied <- err
	}()
	rules := g.judge.rulesFor(last.session, last.profile)
	rules.Protect = slices.Concat(rules.Protect, loadedUnasked())
	stats, err := sanitize.Clean(r, blob, rules)
	r.CloseWithError(sandbox.ErrCopied)
	if cerr := <-copied; cerr != nil && !errors.Is(cerr, sandbox.ErrCopied) {
		return 0, cerr
	}
	if err != nil {
		return 0, err
	}
	h.outputs, _, err = blob.Commit()
	return stats.Entries, err
}

// loadedUnasked are globs of what interpreters and runners load wherever it lies on their way,
// whoever asks for it: no output of a run is that.
func loadedUnasked() []string {
	return []string{
		"sitecustomize*", "usercustomize*", "*.pth", "__pycache__", "*.pyc", "conftest.py", "pytest.ini", ".pytest.ini", "node_modules", ".npmrc", ".mocharc*", "jest.config.*",
	}
}

// collect writes all outputs as one tar with names relative to workdir. What cannot be
// read, because of what the submission made of it, is absent.
func (g *grading) collect(ctx context.Context, w *tar.Writer) error {
	t := g.session.Task
	for _, output := range t.Judge.Run.Outputs {
		output = path.Clean(output)
		err := g.collectOne(ctx, w, output)
		switch {
		case err == nil:
		case ctx.Err() != nil || errors.Is(err, sandbox.ErrCopied) || errors.Is(err, errNotTaken) || sandbox.Machinery(err):
			return err
		default:
			g.judge.opts.Log.Debug("an output cannot be fetched", "submission", g.sub.ID, "output", output, "error", err)
		}
	}
	return nil
}

func (g *grading) collectOne(ctx context.Context, w *tar.Writer, output string) (err error) {
	workdir := g.session.Task.Workdir
	for dir := range sanitize.Upwards(path.Dir(output)) {
		// An engine follows links on the way, and they may lead where the code itself could
		// not read.
		if plain, err := g.isFolder(ctx, path.Join(workdir, dir)); err != nil || !plain {
			return err
		}
	}
	whole := path.Join(workdir, output)
	stream, err := g.open(ctx, whole)
	if err != nil || stream == nil {
		return err
	}
	defer func() { err = errors.Join(err, stream.Close()) }()
	if err = sanitize.Renamed(tar.NewReader(stream), w, path.Base(whole), output, outputKind); err != nil && ctx.Err() == nil && !sandbox.Machinery(err) {
		err = fmt.Errorf("%w: %w", errNotTaken, err)
	}
	return err
}

// outputKind keeps links, devices and pipes where they are. A hard link is a file that Clean
// copies, if it is of the same tree.
func outputKind(h *tar.Header) bool {
	return h.Typeflag == tar.TypeReg || h.Typeflag == tar.TypeDir || h.Typeflag == tar.TypeLink
}

// isFolder reports whether there is a folder at a path, and not a link to one.
func (g *grading) isFolder(ctx context.Context, name string) (_ bool, err error) {
	stream, err := g.open(ctx, name)
	if err != nil || stream == nil {
		return false, err
	}
	defer func() { err = errors.Join(err, stream.Close()) }()
	h, err := tar.NewReader(stream).Next()
	if err != nil {
		return false, err
	}
	return h.Typeflag == tar.TypeDir, nil
}

// open returns a path of the container as a tar stream, nil where there is nothing.
func (g *grading) open(ctx context.Context, name string) (io.ReadCloser, error) {
	stream, err := g.judge.host.Copier.CopyFrom(ctx, g.id, name)
	if errors.Is(err, container.ErrNotFound) {
		_, gone := g.judge.opts.Engine.Inspect(ctx, g.id)
		return nil, gone
	}
	return stream, err
}
