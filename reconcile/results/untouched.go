package results

import (
	"os"
	"path/filepath"

	"github.com/assayd/assayd/runtime/kernel"
)

// trace is how a file looked when it was last made equal to its lines. Its change time is
// the kernel's: whoever writes to the file moves it, and nobody can set it back.
type trace = kernel.File

func traceOf(path string) (t trace, ok bool) {
	info, err := os.Lstat(path)
	if err != nil {
		return t, false
	}
	return kernel.Of(info)
}

// untouched reports whether nobody has changed the file of s, or led its folder elsewhere,
// since it was found or made equal to its lines by this writer: of twenty thousand files
// that are compared every minute none needs to be read. folders are those that were
// followed in this pass.
func (w *Writer) untouched(s Stream, folders map[string]string) bool {
	before, ok := w.traces[s.ID]
	if !ok || s.Written != s.Last || s.Why != "" {
		return false
	}
	folder := filepath.Dir(s.Path)
	real, followed := folders[folder]
	if !followed {
		real, _ = filepath.EvalSymlinks(folder) // "" is no folder of a file
		folders[folder] = real
	}
	now, ok := traceOf(s.File)
	return ok && now == before && real == s.Folder
}

// note remembers how the file of s looks.
func (w *Writer) note(s Stream) {
	if t, ok := traceOf(s.File); ok {
		w.traces[s.ID] = t
	} else {
		delete(w.traces, s.ID)
	}
}
