package judge

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/judge/sandbox"
	"github.com/assayd/assayd/runtime/patch"
)

// errNoGuest: what is to be done in a container needs the guest, which is not there.
var errNoGuest = fmt.Errorf("there is no guest in judge containers: %w", container.ErrUnsupported)

// remove takes away what the cleaned archive says is gone, before the rest of it is laid
// over the image. Nothing submitted is in the container at this time.
func (g *grading) remove(ctx context.Context) error {
	names, err := g.removed()
	if err != nil || len(names) == 0 {
		return err
	}
	said, err := g.guest(ctx, strings.NewReader(strings.Join(names, "\x00")+"\x00"), "remove", g.session.Task.Workdir)
	if err != nil {
		return fmt.Errorf("remove %d paths of the judge image: %w", len(names), orSaid(err, said))
	}
	return nil
}

// removed lists what the cleaned archive says is gone.
func (g *grading) removed() (names []string, err error) {
	blob, err := g.judge.opts.Blobs.Open(g.archive)
	if err != nil {
		return nil, &sandbox.SourceError{Cause: fmt.Errorf("open archive %s: %w", g.archive, err)}
	}
	defer func() { _ = blob.Close() }() // only read
	for r := tar.NewReader(blob); ; {
		h, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return names, nil
		case err != nil:
			return nil, &sandbox.SourceError{Cause: fmt.Errorf("read archive %s: %w", g.archive, err)}
		case !patch.Removes(h): // they come first
			return names, nil
		}
		names = append(names, h.Name)
	}
}

// errGuest is how a command of the guest tells that it has failed.
var errGuest = errors.New("the guest in the judge container failed")

// guest runs a command of the guest as root in a folder and returns what it said.
func (g *grading) guest(ctx context.Context, in io.Reader, what, dir string) (said string, err error) {
	if g.judge.opts.Guest == "" {
		return "", errNoGuest
	}
	output := sandbox.NewCapture(4 << 10)
	code, err := g.judge.host.Execer.Exec(ctx, g.id, container.Command{
		Argv: []string{g.judge.opts.Guest, what}, User: "0:0", Workdir: dir, Stdin: in, Stdout: output, Stderr: output,
	})
	if err == nil && code != 0 {
		err = fmt.Errorf("%w (exit code %d)", errGuest, code)
	}
	return round.LastLine(output.Bytes()), err
}

// orSaid adds what a failed command printed to its error.
func orSaid(err error, said string) error {
	if said == "" {
		return err
	}
	return fmt.Errorf("%w: %s", err, said)
}
