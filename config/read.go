package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Read reads one file that was named rather than found; its own folder is its root.
func Read(path string) Input {
	abs, err := filepath.Abs(path)
	in := Input{Path: abs, Display: path, Root: filepath.Dir(abs)}
	if err == nil {
		in.Text, err = os.ReadFile(abs)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		in.Gone = true
	case err != nil:
		in.Unknown = plain(err).Error()
	case len(in.Text) > maxSpec:
		in.Text, in.Refused = nil, sentence(errTooLarge)
	}
	return in
}

// ReadAll reads files, and all spec files below folders.
func ReadAll(paths []string) []Input {
	var inputs []Input
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			abs, err := filepath.Abs(path)
			if err != nil {
				abs = path
			}
			inputs = append(inputs, Scan(abs, nil, Options{}).Inputs...)
			continue
		}
		if in := Read(path); !in.Gone {
			inputs = append(inputs, in)
		}
	}
	return inputs
}
