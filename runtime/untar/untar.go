package untar

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"strings"
)

// ErrEmpty is the error of a tar without any entry.
var ErrEmpty = errors.New("it holds nothing")

// ErrOutside is the error of a name that leads out of the archive.
var ErrOutside = errors.New("it leads out of the archive")

// Each calls visit with each entry of a tar, whose content can be read from r meanwhile. It ends with the error of
// visit, with ErrEmpty, or with an error that says what is wrong with the archive: it is none, it is broken, or
// it has more than most entries. Headers for the whole archive count, but visit does not get them.
func Each(r *tar.Reader, most int, visit func(*tar.Header) error) error {
	seen, visited := 0, 0
	for {
		h, err := r.Next()
		switch {
		case errors.Is(err, io.EOF) && visited == 0:
			return ErrEmpty
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("it is no archive, or a broken one: %w", err)
		}
		if seen++; seen > most {
			return fmt.Errorf("it has more than %d entries", most)
		}
		if h.Typeflag == tar.TypeXGlobalHeader {
			continue
		}
		visited++
		if err := visit(h); err != nil {
			return err
		}
	}
}

// Local returns the name of an entry as a clean path with slashes below the top of the archive, which is ".". A
// name that is absolute, leads out, or cannot be one of a file is ErrOutside.
func Local(name string) (string, error) {
	clean := path.Clean(name)
	if path.IsAbs(name) || !filepath.IsLocal(filepath.FromSlash(clean)) || strings.ContainsRune(name, 0) {
		return "", ErrOutside
	}
	return clean, nil
}
