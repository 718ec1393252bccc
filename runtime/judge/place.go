package judge

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/judge/sandbox"
	"github.com/assayd/assayd/runtime/judge/scoring"
	"github.com/assayd/assayd/runtime/patch"
)

// place lays what is judged over the image, the task's own trees before and after it, and
// then the tripwire.
func (g *grading) place(ctx context.Context) error {
	if _, err := g.judge.host.Overlay(ctx, g.id, g.session.Task.Workdir, g.session.context, g.newest()); err != nil {
		return err
	}
	err := g.remove(ctx)
	if err == nil {
		err = g.layOver(ctx)
	}
	if sandbox.Rejected(ctx, err) {
		return fmt.Errorf("%w: %w", errNotPlaced, err)
	}
	return err
}

func (g *grading) layOver(ctx context.Context) error {
	blob, err := g.judge.opts.Blobs.Open(g.archive)
	if err != nil {
		return &sandbox.SourceError{Cause: fmt.Errorf("open archive %s: %w", g.archive, err)}
	}
	defer func() { _ = blob.Close() }() // only read
	workdir := g.session.Task.Workdir
	if err := g.judge.host.Pour(ctx, g.id, workdir, func(w *tar.Writer) error {
		if err := g.own(tar.NewReader(blob), w); err != nil {
			return err
		}
		return g.renew(w)
	}); err != nil {
		return err
	}
	if _, err := g.judge.host.Overlay(ctx, g.id, workdir, g.session.overlay, g.newest()); err != nil {
		return err
	}
	if err := g.makeFolders(ctx); err != nil {
		return err
	}
	return g.arm(ctx)
}

// newest is the time of hidden files, and a second more than that of what was submitted: what
// came ready-made with a submission counts as older than the tests that it would stand for.
func (g *grading) newest() time.Time { return g.submitted().Add(time.Second) }

// submitted is the time of what was submitted.
func (g *grading) submitted() time.Time { return g.sub.StartedAt.Truncate(time.Second) }

// renew lays hidden code again, as the image has it, with its new time.
func (g *grading) renew(w *tar.Writer) error {
	for _, name := range slices.Sorted(maps.Keys(g.profile.Heads)) {
		h, content := g.profile.Heads[name], g.content(name)
		h.Name, h.ModTime, h.Size = name, g.newest(), int64(len(content))
		if err := w.WriteHeader(&h); err != nil {
			return err
		}
		if _, err := w.Write(content); err != nil {
			return err
		}
	}
	return nil
}

// own gives the files to the judge's user and the present time, so that what the image
// holds ready-made counts as older.
func (g *grading) own(in *tar.Reader, out *tar.Writer) error {
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the cleaned archive: %w", err)
		}
		if patch.Removes(h) {
			continue
		}
		h.Uid, h.Gid, h.ModTime = g.profile.UID, g.profile.GID, g.submitted()
		if err := out.WriteHeader(h); err != nil {
			return err
		}
		if _, err := io.Copy(out, in); err != nil {
			return err
		}
	}
}

// arm adds the tripwire, where the parser's runner has one for this task. In stages nothing
// submitted shares a process with the tests: there it has nothing to show.
func (g *grading) arm(ctx context.Context) error {
	p, t := g.session.parser, g.session.Task
	if p.Tripwire == nil || t.Judge.Staged() {
		return nil
	}
	tests := t.Judge.Tests()
	canary, ok := p.Tripwire(parser.Site{
		Command: tests.Line(), Workdir: t.Workdir, Env: g.environ(),
		Hidden: g.profile.Files, Expect: scoring.DeclaredTests(t), Nonce: round.NewID(),
		Read: g.content,
	})
	if !ok {
		return nil
	}
	g.canary = &canary
	return g.plant(ctx, canary)
}

// makeFolders makes the folders outside of workdir that the parser's result files are to be
// in, where the image has none, and gives them to the judge's user.
func (g *grading) makeFolders(ctx context.Context) error {
	var missing []string
	for _, name := range g.session.parser.Files {
		dir := path.Dir(name)
		if !path.IsAbs(name) || dir == "/" || slices.Contains(missing, dir) {
			continue
		}
		there, err := g.exists(ctx, dir)
		if err != nil {
			return err
		}
		if !there {
			missing = append(missing, dir)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return g.judge.host.Pour(ctx, g.id, "/", func(w *tar.Writer) error {
		for _, dir := range missing {
			h := &tar.Header{
				Typeflag: tar.TypeDir, Name: strings.TrimPrefix(dir, "/") + "/", Mode: 0o755,
				Uid: g.profile.UID, Gid: g.profile.GID, ModTime: g.sub.StartedAt,
			}
			if err := w.WriteHeader(h); err != nil {
				return fmt.Errorf("make folder %s: %w", dir, err)
			}
		}
		return nil
	})
}

// exists reports whether there is anything at a path of the container.
func (g *grading) exists(ctx context.Context, name string) (bool, error) {
	stream, err := g.open(ctx, name)
	if err != nil || stream == nil {
		return false, err
	}
	return true, stream.Close()
}
