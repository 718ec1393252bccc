package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"golang.org/x/sys/unix"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
)

const (
	// fileCost is what a file takes at least, whatever is in it: a disk has so many files and
	// no more.
	fileCost = 4096
	// shallow is how deep a walk goes beside others; one at a time goes deeper, because each
	// level holds a file open.
	shallow = 64
	// deepest is deeper than any path can say. A tree beyond it is there to hide something.
	deepest = 2048
)

// upperDir is the folder of the container's own layer, where the storage driver has one.
func upperDir(c container.InspectResponse) string {
	if c.GraphDriver == nil {
		return ""
	}
	return c.GraphDriver.Data["UpperDir"]
}

// volumeDirs are the folders of the container's volumes: its image may ask for such, and what
// is written there is in no layer.
func volumeDirs(c container.InspectResponse) (dirs []string) {
	for _, m := range c.Mounts {
		if m.Type == mount.TypeVolume && m.Source != "" {
			dirs = append(dirs, m.Source)
		}
	}
	return dirs
}

// layer measures the files of a container that runs, and may do what it can not to be
// measured. The engine sums up sizes, for which empty files are nothing, and says nothing
// at all of a tree with a path that is too long.
type layer struct {
	deep  chan struct{} // held by the one that walks below shallow
	bytes int64
}

// layerBytes is what all below dir takes on the disk. One that is not on this machine, or
// not for us to read, is an error.
func (e *Engine) layerBytes(ctx context.Context, dir string) (int64, error) {
	fd, err := unix.Open(dir, folderFlags, 0)
	if err != nil {
		return 0, fmt.Errorf("measure %s: %w", dir, err)
	}
	l := layer{deep: e.deep}
	err = l.walk(ctx, fd, 0)
	switch {
	case errors.Is(err, errTooDeep):
		return math.MaxInt64, nil
	case err != nil:
		return 0, fmt.Errorf("measure %s: %w", dir, err)
	}
	return l.bytes, nil
}

var errTooDeep = errors.New("the tree is too deep")

const folderFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

// walk measures the folder and closes it.
func (l *layer) walk(ctx context.Context, fd, depth int) error {
	folder := os.NewFile(uintptr(fd), "layer")
	defer folder.Close() //nolint:errcheck // only read
	switch depth {
	case shallow:
		select {
		case l.deep <- struct{}{}:
			defer func() { <-l.deep }()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	case deepest:
		return errTooDeep
	}
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		names, err := folder.Readdirnames(256) // a folder may have millions
		if errors.Is(err, io.EOF) || errors.Is(err, unix.ENOENT) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := l.add(ctx, fd, name, depth); err != nil {
				return err
			}
		}
	}
}

// add measures one entry of a folder. What is gone meanwhile, or something else, is left to
// the next look.
func (l *layer) add(ctx context.Context, folder int, name string, depth int) error {
	var st unix.Stat_t
	if err := unix.Fstatat(folder, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return unlessGone(err)
	}
	isFolder := st.Mode&unix.S_IFMT == unix.S_IFDIR
	cost := max(st.Blocks*512, fileCost)
	if !isFolder && st.Nlink > 1 {
		cost /= int64(st.Nlink) // each of its names bears a part
	}
	l.bytes += cost
	if !isFolder {
		return nil
	}
	fd, err := unix.Openat(folder, name, folderFlags, 0)
	if err != nil {
		return unlessGone(err)
	}
	return l.walk(ctx, fd, depth+1)
}

func unlessGone(err error) error {
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return nil
	}
	return err
}
