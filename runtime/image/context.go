package image

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/image/dockerfile"
)

// bring copies files of the build context, and such that the text holds, into the image.
func (s *buildStep) bring(ctx context.Context, t dockerfile.Transfer) error {
	files := dockerfile.Context{}
	walk := func(visit func(*tar.Header, io.Reader) error) error { return s.b.walk(s.recipe.Context, visit) }
	if s.recipe.Context != "" {
		var err error
		if files, err = dockerfile.ReadContext(walk); err != nil {
			return err
		}
	}
	picked, folder, err := files.Pick(t.SourcePaths)
	if err != nil {
		return err
	}
	dest := s.below(t.DestPath)
	into := folder || strings.HasSuffix(dest, "/") || path.Base(dest) == "." || len(t.SourcePaths)+len(t.SourceContents) > 1
	dest = path.Clean(dest)
	if !into {
		if into, err = s.isFolder(ctx, dest); err != nil {
			return err
		}
	}
	owner, err := s.owner(ctx, t.Chown)
	if err != nil {
		return err
	}
	mode, err := dockerfile.FileBits(t.Chmod)
	if err != nil {
		return err
	}
	dir, load := dest, &dockerfile.Load{Transfer: t, Owner: owner, Mode: mode, Picked: picked}
	if !into {
		dir, load.Only = path.Dir(dest), path.Base(dest)
	}
	if err := s.makeDirs(ctx, dir); err != nil {
		return err
	}
	return s.put(ctx, dir, func(tw *tar.Writer) error { return load.Write(tw, walk) })
}

// owner reads --chown; root where nothing is said.
func (s *buildStep) owner(ctx context.Context, chown string) (who [2]int, err error) {
	if chown == "" {
		return who, nil
	}
	if who[0], who[1], err = s.ids(ctx, chown); err != nil {
		return who, dockerfile.Mistakef("--chown=%s: %w", chown, err)
	}
	if !strings.Contains(chown, ":") && who[1] == 0 && who[0] != 0 { // a number without a line of its own
		if _, err := strconv.Atoi(chown); err == nil {
			who[1] = who[0]
		}
	}
	return who, nil
}

// isFolder reports whether a path of the image is a folder.
func (s *buildStep) isFolder(ctx context.Context, name string) (bool, error) {
	if name == "/" {
		return true, nil
	}
	rc, err := s.b.copier.CopyFrom(ctx, s.id, name)
	if errors.Is(err, container.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look at %s: %w", name, err)
	}
	defer rc.Close()
	h, err := tar.NewReader(rc).Next()
	return err == nil && h.Typeflag == tar.TypeDir, nil
}
