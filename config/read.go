package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Read reads one file that was named rather than found; its own folder is its root.
func Read(path string) Input {
	abs, err := filepath.Abs(path)
	in := Input{Path: abs, Display: path, Root: filepath.Dir(abs), Named: true}
	if err == nil {
		in.Text, err = readNamed(abs)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		in.Gone = true
	case errors.Is(err, errTooLarge) || errors.Is(err, errNotRegular):
		in.Refused = sentence(err)
	case err != nil:
		in.Unknown = plain(err).Error()
	}
	return in
}

// readNamed reads a plain file up to the size of a spec. Opening does not wait, as it else
// would for the writer of a pipe.
func readNamed(path string) ([]byte, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errNotRegular
	}
	return readUpTo(file, maxSpec)
}

// readUpTo reads all there is, or fails with errTooLarge.
func readUpTo(r io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%w: more than %d MiB", errTooLarge, limit>>20)
	}
	return data, nil
}

// ReadAll reads files, and all spec files below folders. What was named and is not there,
// or cannot be read, is an error; all of them come at once.
func ReadAll(paths []string) ([]Input, error) {
	var inputs []Input
	var unread []error
	for _, path := range paths {
		some, err := readTree(path)
		inputs = append(inputs, some...)
		unread = append(unread, err)
	}
	return inputs, errors.Join(unread...)
}

func readTree(path string) ([]Input, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, plain(err))
	}
	if !info.IsDir() {
		in := Read(path)
		switch {
		case in.Gone:
			return nil, fmt.Errorf("%s: %w", path, fs.ErrNotExist)
		case in.Unknown != "":
			return nil, fmt.Errorf("%s: %s", path, in.Unknown)
		}
		return []Input{in}, nil
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	found := Scan(abs, nil, Options{})
	var unread []error
	for _, u := range found.Unknown {
		if !errors.Is(u.Err, ErrEmpty) {
			unread = append(unread, errors.New(u.String()))
		}
	}
	return found.Inputs, errors.Join(unread...)
}
