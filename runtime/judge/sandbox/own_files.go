package sandbox

import (
	"archive/tar"
	"io"
	"path"
	"slices"

	"github.com/assayd/assayd/runtime/judge/sanitize"
	"github.com/assayd/assayd/runtime/judge/steer"
)

// imageFiles is what a profile knows for Own, and for laying hidden code again.
type imageFiles struct {
	Marks map[string]bool       // as in Own.Marks
	Mixed map[string][]byte     // as in Own.Settings
	Heads map[string]tar.Header // of small hidden files that hold code

	size int64 // of what is mixed
}

func newSettled() imageFiles {
	return imageFiles{Marks: map[string]bool{}, Mixed: map[string][]byte{}, Heads: map[string]tar.Header{}}
}

func (s *imageFiles) mark(name string, h *tar.Header) {
	if h.Typeflag == tar.TypeReg && sanitize.Mark(name) {
		s.Marks[name] = true
	}
}

// see marks a file that is not hidden, and keeps a settings file in which something is the
// runner's.
func (s *imageFiles) see(name string, h *tar.Header, r io.Reader) (err error) {
	s.mark(name, h)
	if !s.Marks[name] || h.Size > steer.MaxMerged || len(s.Mixed) >= sanitize.MaxMixed || s.size+h.Size > MaxHiddenAll {
		return nil
	}
	if base := path.Base(name); slices.Contains(steer.Manifests(), base) || base == "pyproject.toml" {
		s.Mixed[name], err = io.ReadAll(r)
		s.size += h.Size
	}
	return err
}

// head keeps how a hidden file of code is laid.
func (s *imageFiles) head(name string, h *tar.Header) {
	if slices.Contains(code(), path.Ext(name)) {
		s.Heads[name] = *h
	}
}

// code are endings of what a compiler reads: in place of files that are older it takes what was
// made of them.
func code() []string {
	return []string{
		".c", ".cc", ".cpp", ".cxx", ".m", ".mm", ".h", ".hh", ".hpp", ".hxx", ".inc", ".rs", ".java", ".kt", ".scala", ".groovy", ".go", ".py",
		".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".swift", ".cs",
	}
}
