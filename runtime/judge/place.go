package judge

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/assayd/assayd/runtime/judge/parser"
)

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
