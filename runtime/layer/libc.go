package layer

import "fmt"

// Libc is the C library that an image has for its programs.
type Libc string

// What an image has. In one without any, only static programs run.
const (
	Glibc  Libc = "glibc"
	Musl   Libc = "musl"
	NoLibc Libc = "none"
)

// loaders are the files that the kernel starts a linked program by: a program names one of
// them, and cannot run where it is not.
var loaders = map[string]struct{ glibc, musl, ofMuslAlone string }{
	"amd64": {"/lib64/ld-linux-x86-64.so.2", "/lib/ld-musl-x86_64.so.1", "/lib/libc.musl-x86_64.so.1"},
	"arm64": {"/lib/ld-linux-aarch64.so.1", "/lib/ld-musl-aarch64.so.1", "/lib/libc.musl-aarch64.so.1"},
}

// LibcOf looks for the C library of an image. has tells whether a path exists in it, links
// followed.
func LibcOf(arch string, has func(path string) (bool, error)) (Libc, error) {
	of, ok := loaders[arch]
	if !ok {
		return "", fmt.Errorf("no agent layer is made for the architecture %q", arch)
	}
	var found [3]bool
	for i, path := range []string{of.glibc, of.musl, of.ofMuslAlone} {
		var err error
		if found[i], err = has(path); err != nil {
			return "", fmt.Errorf("look for the C library of an image: %w", err)
		}
	}
	glibc, musl, muslAlone := found[0], found[1], found[2]
	switch {
	// With both, one is the image's own and the other a guest: Alpine can have glibc's loader
	// as a shim, and Debian musl's as a package, but only Alpine has musl under this name.
	case glibc && musl && muslAlone, musl && !glibc:
		return Musl, nil
	case glibc:
		return Glibc, nil
	}
	return NoLibc, nil
}
