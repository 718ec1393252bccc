package kernel

import (
	"io/fs"
	"syscall"
)

// File tells whether a file or the list of a folder has changed. The change time is the
// kernel's: whoever writes moves it, and nobody can set it back.
type File struct {
	Device, Inode uint64
	Size          int64 // bytes
	Changed       syscall.Timespec
}

// Stat looks at the file that a path leads to; ok is false where there is none.
func Stat(path string) (f File, ok bool) {
	var stat syscall.Stat_t
	if syscall.Stat(path, &stat) != nil {
		return f, false
	}
	return file(&stat), true
}

// Of takes the same from what os.Lstat and os.Stat return; ok is false for what is of no
// file system of the kernel.
func Of(info fs.FileInfo) (f File, ok bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return f, false
	}
	return file(stat), true
}
