package judge

import (
	"archive/tar"
	"io"
	"path"
	"slices"

	"github.com/assayd/assayd/runtime/judge/steer"
)

// maxMixed is how many settings files of an image are kept. What is beyond it stays as the image
// has it.
const maxMixed = 2000

// settled is what a profile knows for Own, and for laying hidden code again.
type settled struct {
	Marks map[string]bool       // as in Own.Marks
	Mixed map[string][]byte     // as in Own.Settings
	Heads map[string]tar.Header // of small hidden files that hold code

	size int64 // of what is mixed
}

func newSettled() settled {
	return settled{Marks: map[string]bool{}, Mixed: map[string][]byte{}, Heads: map[string]tar.Header{}}
}

func (s *settled) mark(name string, h *tar.Header) {
	if h.Typeflag == tar.TypeReg && mark(name) {
		s.Marks[name] = true
	}
}

// see marks a file that is not hidden, and keeps a settings file in which something is the
// runner's.
func (s *settled) see(name string, h *tar.Header, r io.Reader) (err error) {
	s.mark(name, h)
	if !s.Marks[name] || h.Size > steer.MaxMerged || len(s.Mixed) >= maxMixed || s.size+h.Size > maxHiddenAll {
		return nil
	}
	if base := path.Base(name); slices.Contains(steer.Manifests(), base) || base == "pyproject.toml" {
		s.Mixed[name], err = io.ReadAll(r)
		s.size += h.Size
	}
	return err
}

// head keeps how a hidden file of code is laid.
func (s *settled) head(name string, h *tar.Header) {
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
