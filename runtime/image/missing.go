package image

import (
	"fmt"
	"slices"
	"strings"
)

// MissingError says that an image is not on this machine and cannot be had: whoever was asked for
// it has answered, and asking again changes nothing. Its words are those of its cause.
type MissingError struct{ Err error }

func (e *MissingError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *MissingError) Unwrap() error { return e.Err }

// baseSpace begins the names of the images that contrib/images/base makes. No registry has them.
const baseSpace = "assayd-base/"

// bases are the images that contrib/images/base can make.
var bases = []string{"python", "go", "node", "jest", "rust", "java", "cpp", "systemd"}

// advice says how to come by an image that cannot be pulled.
func (b *Builder) advice(ref string) string {
	named, ours := strings.CutPrefix(ref, baseSpace)
	if !ours {
		return "build it here under that name, with docker build -t " + ref + ", or name another image"
	}
	base, tag, _ := strings.Cut(named, ":")
	near := base
	if !slices.Contains(bases, base) {
		near = ""
		if b.opts.Nearest != nil {
			near = b.opts.Nearest(base, bases)
		}
	}
	switch {
	case near == "":
		return fmt.Sprintf("contrib/images/base makes no %q, but these: %s", base, strings.Join(bases, ", "))
	case near != base || tag != "1":
		return fmt.Sprintf("name %s%s:1 in its place, which contrib/images/base %s makes", baseSpace, near, near)
	}
	return "make it with contrib/images/base " + base
}
