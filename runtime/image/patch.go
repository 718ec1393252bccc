package image

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/patch"
)

// patch lays the diff over workdir. It applies on this machine, to the files that it names,
// so that the image needs no program for it. One that does not fit is a *SetupError.
func (s *buildStep) patch(ctx context.Context) error {
	if len(bytes.TrimSpace(s.recipe.Patch)) == 0 {
		return nil
	}
	changes, err := s.changes(ctx)
	if _, ok := errors.AsType[*patch.NotApplied](err); ok {
		return &SetupError{Role: s.recipe.Role, Attribute: "patch", Reason: err}
	}
	if err != nil {
		return err
	}
	defer changes.Close()
	if err := s.remove(ctx, changes.Gone); err != nil {
		return err
	}
	if err := s.put(ctx, s.recipe.Workdir, changes.WriteFiles); err != nil {
		return fmt.Errorf("apply the patch to %s: %w", s.recipe.Workdir, err)
	}
	return nil
}

// changes are what the diff makes of the files in workdir.
func (s *buildStep) changes(ctx context.Context) (*patch.Changes, error) {
	names, err := patch.Paths(s.recipe.Patch)
	if err != nil {
		return nil, err
	}
	base, err := s.b.patches.Base(ctx, s.recipe.hash(), func() (io.ReadCloser, error) {
		read, write := io.Pipe()
		go func() { // ends at the latest when the reading end is closed
			tw := tar.NewWriter(write)
			err := s.take(ctx, names, tw)
			if err == nil {
				err = tw.Close()
			}
			write.CloseWithError(err)
		}()
		return read, nil
	})
	if err != nil {
		return nil, err
	}
	return base.Apply(ctx, s.recipe.Patch)
}

// take writes those of the names below workdir that are there, each with all below it.
func (s *buildStep) take(ctx context.Context, names []string, tw *tar.Writer) error {
	for _, name := range names {
		rc, err := s.b.copier.CopyFrom(ctx, s.id, path.Join(s.recipe.Workdir, name))
		if errors.Is(err, container.ErrNotFound) {
			continue
		}
		if err != nil {
			return fmt.Errorf("read what the patch changes: %w", err)
		}
		err = renamed(tar.NewReader(rc), name, tw)
		if err = errors.Join(err, rc.Close()); err != nil {
			return fmt.Errorf("read %q, which the patch changes: %w", name, err)
		}
	}
	return nil
}

// renamed copies entries whose names begin with the last element of name, as name.
func renamed(tr *tar.Reader, name string, tw *tar.Writer) error {
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		below := func(of string) string { return name + strings.TrimPrefix(of, path.Base(name)) }
		h.Name, h.Format = below(h.Name), tar.FormatPAX
		if h.Typeflag == tar.TypeLink {
			h.Linkname = below(h.Linkname)
		}
		if err := tw.WriteHeader(h); err != nil {
			return err
		}
		if _, err := io.Copy(tw, tr); err != nil {
			return err
		}
	}
}

// remove has the guest take files below workdir away; it needs no program of the image.
func (s *buildStep) remove(ctx context.Context, names []string) error {
	if len(names) == 0 {
		return nil
	}
	if s.b.opts.Guest == "" {
		return fmt.Errorf("remove what the patch takes away, without a guest in build containers: %w", container.ErrUnsupported)
	}
	out := &tail{heard: func() {}}
	code, err := s.b.exec.Exec(ctx, s.id, container.Command{
		Argv: []string{s.b.opts.Guest, "remove"}, User: rootUser, Workdir: s.recipe.Workdir,
		Stdin: strings.NewReader(strings.Join(names, "\x00") + "\x00"), Stdout: out, Stderr: out,
	})
	if err == nil && code != 0 {
		err = errors.New(out.lines())
	}
	if err != nil {
		return fmt.Errorf("remove what the patch takes away: %w", err)
	}
	return nil
}
