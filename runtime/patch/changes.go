package patch

import (
	"archive/tar"
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Changes are what a diff makes of a base.
type Changes struct {
	Files []string // that are changed, new or gone; sorted
	Gone  []string // those of Files that are gone
	How   string   // which way the diff applied: HowPlain, HowMerged, HowEndings or HowTolerant

	there   []there
	content *os.File // of what is there, in this order; it has no name any more
	size    int64
}

// there is a file that is changed or new.
type there struct{ name, mode, id string }

// Close gives back the room that the contents take. WriteTar fails after it.
func (c *Changes) Close() error {
	if c.content == nil {
		return nil
	}
	return c.content.Close()
}

// WriteTar writes the changes: first a Removal of each file that is gone, then the files that
// are changed or new. A folder that has lost its last file is not named: for Git it is gone,
// and a file may have come in its place. It does not close w.
func (c *Changes) WriteTar(w *tar.Writer) error {
	for _, name := range c.Gone {
		if err := w.WriteHeader(Removal(name)); err != nil {
			return fmt.Errorf("write the changes of a patch: %w", err)
		}
	}
	return c.WriteFiles(w)
}

// WriteFiles is WriteTar without what is gone.
func (c *Changes) WriteFiles(w *tar.Writer) error {
	return c.each(func(f there, size int64, content io.Reader) error {
		if err := f.write(w, size, content); err != nil {
			return fmt.Errorf("write %q of a patch: %w", f.name, err)
		}
		return nil
	})
}

// each reads the contents of all that is there.
func (c *Changes) each(see func(f there, size int64, content io.Reader) error) error {
	if len(c.there) == 0 {
		return nil
	}
	return eachContent(io.NewSectionReader(c.content, 0, c.size), len(c.there), func(i int, size int64, content io.Reader) error {
		return see(c.there[i], size, content)
	})
}

func (f there) write(w *tar.Writer, size int64, content io.Reader) error {
	h := &tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: 0o644, Size: size, ModTime: time.Unix(0, 0), Format: tar.FormatPAX}
	switch f.mode {
	case modeRun:
		h.Mode = 0o755
	case modeLink:
		target, err := io.ReadAll(content)
		if err != nil {
			return err
		}
		h.Typeflag, h.Mode, h.Size, h.Linkname = tar.TypeSymlink, 0o777, 0, string(target)
	}
	if err := w.WriteHeader(h); err != nil {
		return err
	}
	_, err := io.Copy(w, content)
	return err
}

// changes compares the tree that a diff made with the base. It refuses what no tree of ours
// can hold.
func (r *repository) changes(ctx context.Context, dir, tree, made string) (c *Changes, err error) {
	out, err := r.git.Run(ctx, "diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", tree, made)
	if err != nil {
		return nil, err
	}
	c = &Changes{}
	fields := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		f := strings.Fields(fields[i]) // :mode, mode, id, id, what
		name := fields[i+1]
		c.Files = append(c.Files, name)
		switch f[4] {
		case "D":
			c.Gone = append(c.Gone, name)
		default:
			c.there = append(c.there, there{name, f[1], f[3]})
		}
	}
	slices.Sort(c.Files)
	return c, r.fill(ctx, dir, c)
}

// fill brings the contents of all that is there into a file.
func (r *repository) fill(ctx context.Context, dir string, c *Changes) (err error) {
	if len(c.there) == 0 {
		return nil
	}
	if c.content, err = os.CreateTemp(dir, scratchPrefix); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.content.Close())
		}
	}()
	if err := os.Remove(c.content.Name()); err != nil {
		return err
	}
	var ids []string
	for _, f := range c.there {
		if f.mode == modeModule {
			return &NotApplied{fmt.Sprintf("%q is a submodule, which cannot be changed by a patch", f.name)}
		}
		ids = append(ids, f.id)
	}
	if err := r.contents(ctx, ids, c.content); err != nil {
		return err
	}
	if c.size, err = c.content.Seek(0, io.SeekEnd); err != nil {
		return err
	}
	return c.each(func(f there, size int64, content io.Reader) error {
		if f.mode != modeLink {
			return nil
		}
		target, err := io.ReadAll(io.LimitReader(content, maxTarget+1))
		if err != nil {
			return err
		}
		if len(target) == 0 || len(target) > maxTarget || slices.Contains(target, 0) {
			return &NotApplied{fmt.Sprintf("the link %q leads to nothing that is a path", f.name)}
		}
		return nil
	})
}

// eachContent reads what repository.contents wrote about so many objects.
func eachContent(r io.Reader, n int, see func(i int, size int64, content io.Reader) error) error {
	in := bufio.NewReaderSize(r, 64<<10)
	for i := range n {
		line, err := in.ReadString('\n')
		if err != nil {
			return err
		}
		size, err := strconv.ParseInt(strings.TrimSuffix(line, "\n"), 10, 64)
		if err != nil {
			return err
		}
		part := &io.LimitedReader{R: in, N: size}
		if err := see(i, size, part); err != nil {
			return err
		}
		if _, err := io.CopyN(io.Discard, in, part.N+1); err != nil { // what was not read, and the line break
			return err
		}
	}
	return nil
}
