package judge

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/patch"
)

// place lays what is judged over the image, the task's own trees before and after it, and
// then the tripwire.
func (g *grading) place(ctx context.Context) error {
	if _, err := g.judge.lay(ctx, g.id, g.session.Task.Workdir, g.session.context, g.newest()); err != nil {
		return err
	}
	err := g.remove(ctx)
	if err == nil {
		err = g.layOver(ctx)
	}
	if rejected(ctx, err) {
		return fmt.Errorf("%w: %w", errNotPlaced, err)
	}
	return err
}

func (g *grading) layOver(ctx context.Context) error {
	blob, err := g.judge.opts.Blobs.Open(g.archive)
	if err != nil {
		return &sourceError{fmt.Errorf("open archive %s: %w", g.archive, err)}
	}
	defer func() { _ = blob.Close() }() // only read
	workdir := g.session.Task.Workdir
	if err := g.judge.pour(ctx, g.id, workdir, func(w *tar.Writer) error {
		if err := g.own(tar.NewReader(blob), w); err != nil {
			return err
		}
		return g.renew(w)
	}); err != nil {
		return err
	}
	if _, err := g.judge.lay(ctx, g.id, workdir, g.session.overlay, g.newest()); err != nil {
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
	wire, ok := p.Tripwire(parser.Site{
		Command: commandText(tests.Shell, tests.Argv), Workdir: t.Workdir, Env: g.environ(),
		Hidden: g.profile.Files, Expect: manifest(t), Nonce: newID(),
		Read: g.content,
	})
	if !ok {
		return nil
	}
	g.wire = &wire
	return g.plant(ctx, wire)
}
