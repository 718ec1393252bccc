package layer

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/assayd/assayd/runtime/untar"
)

// Bounds of what is unpacked. A small package may be packed well; a large one of programs is
// not packed by more than the ratio.
const (
	packageBytes   = 4 << 30
	packageEntries = 20_000
	packageRatio   = 100
	smallPackage   = 64 << 20 // bytes, unpacked
	imageBytes     = 16 << 30
	imageEntries   = 500_000
	maxName        = 2048 // bytes of a path
	maxDepth       = 100  // folders in it
)

// unpacker lays out one archive below a folder, and nowhere else. Every file is readable by
// all, for those inside a container are strangers, and has no owner, time or special bit.
type unpacker struct {
	ctx     context.Context // of this one archive
	root    *os.Root
	image   bool   // the archive is of an image's files: links are kept, and devices left out
	under   string // what takes the place of the top folder of a package
	bytes   int64  // that files may still have
	entries int    // that may still come, with the folders that they take for granted
	known   map[string]bool
}

// unpackPackage lays out an npm package's archive: the one folder that it holds, whatever its
// name, becomes the folder name below dir.
func unpackPackage(ctx context.Context, archive, dir, name string) (err error) {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	in, err := gzip.NewReader(bufio.NewReader(f))
	if err != nil {
		return fmt.Errorf("it is no archive, or a broken one: %w", err)
	}
	u := &unpacker{ctx: ctx, under: name, bytes: mostBytes(info.Size()), entries: packageEntries}
	return u.unpack(in, dir)
}

// mostBytes is what the files of a package may have in all, whose archive has size bytes.
func mostBytes(size int64) int64 { return min(packageBytes, max(smallPackage, size*packageRatio)) }

// unpackImage lays out a tar of an image's files.
func unpackImage(ctx context.Context, in io.Reader, dir string) error {
	u := &unpacker{ctx: ctx, image: true, bytes: imageBytes, entries: imageEntries}
	return u.unpack(in, dir)
}

func (u *unpacker) unpack(in io.Reader, dir string) (err error) {
	if u.root, err = os.OpenRoot(dir); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, u.root.Close()) }()
	u.known = map[string]bool{".": true}
	// What the files do not take (names, holes) is bounded with the same measure.
	tr := tar.NewReader(&bounded{in, u.bytes + smallPackage})
	return untar.Each(tr, u.entries, func(h *tar.Header) error {
		if u.ctx.Err() != nil {
			return context.Cause(u.ctx)
		}
		if err := u.count(); err != nil {
			return err
		}
		if err := u.entry(h, tr); err != nil {
			return fmt.Errorf("%q: %w", h.Name, err)
		}
		return nil
	})
}

// count counts one more entry.
func (u *unpacker) count() error {
	if u.entries--; u.entries < 0 {
		return errors.New("it has more entries than a layer may have")
	}
	return nil
}

var errTooLarge = errors.New("it holds more than a layer of its size may hold")

// bounded is a reader that fails after so many bytes.
type bounded struct {
	io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, errTooLarge
	}
	return n, err
}

func (u *unpacker) entry(h *tar.Header, in io.Reader) error {
	name, err := u.place(h.Name)
	if err != nil || name == "." || u.image && ofTheMachine(name) {
		return err
	}
	if h.Typeflag == tar.TypeDir {
		return u.folder(name)
	}
	if err := u.folder(path.Dir(name)); err != nil {
		return err
	}
	switch {
	case h.Typeflag == tar.TypeReg:
		return u.file(name, h, in)
	case !u.image:
		return errors.New("it is neither a file nor a folder, and a package holds nothing else")
	case h.Typeflag == tar.TypeSymlink:
		return u.link(name, h.Linkname)
	case h.Typeflag == tar.TypeLink:
		return u.same(name, h.Linkname)
	case h.Typeflag == tar.TypeChar, h.Typeflag == tar.TypeBlock, h.Typeflag == tar.TypeFifo:
		return nil
	}
	return fmt.Errorf("it is of an unknown type %q", h.Typeflag)
}

// ofTheMachine reports whether an image's file lies where a running container has those of
// its machine.
func ofTheMachine(name string) bool {
	top, _, below := strings.Cut(name, "/")
	return below && (top == "dev" || top == "proc" || top == "sys")
}

// place is where an entry lies in the layer: a clean path with slashes.
func (u *unpacker) place(raw string) (string, error) {
	if u.image {
		return local("./" + raw) // engines call the root of an image's files "/", or "."
	}
	name, err := local(raw)
	if err != nil {
		return "", err
	}
	top, below, inside := strings.Cut(name, "/")
	if inside {
		return path.Join(u.under, below), nil
	}
	if strings.HasSuffix(raw, "/") || top == "." {
		return u.under, nil // the top folder itself
	}
	return "", errors.New("it lies beside the folder of the package")
}

// local cleans the name of an entry, and refuses one that leads out of the archive.
func local(raw string) (string, error) {
	name, err := untar.Local(raw)
	if err != nil {
		return "", err
	}
	if len(name) > maxName || strings.Count(name, "/") > maxDepth {
		return "", errors.New("its name is longer than any should be")
	}
	return name, nil
}

// folder makes a folder and those above it, and follows no link on the way.
func (u *unpacker) folder(name string) error {
	if u.known[name] {
		return nil
	}
	if err := errors.Join(u.count(), u.folder(path.Dir(name))); err != nil {
		return err
	}
	if err := u.root.Mkdir(name, 0o755); err != nil {
		return fmt.Errorf("it needs a folder where there is something else: %w", err)
	}
	u.known[name] = true
	return u.root.Chmod(name, 0o755) // whatever the umask says
}

func (u *unpacker) file(name string, h *tar.Header, in io.Reader) (err error) {
	if u.bytes -= h.Size; u.bytes < 0 {
		return errTooLarge
	}
	out, err := u.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	mode := fs.FileMode(0o644)
	if h.Mode&0o111 != 0 {
		mode = 0o755
	}
	if err := out.Chmod(mode); err != nil { // before the content, which may break off
		return err
	}
	_, err = io.Copy(out, in)
	return err
}

// link makes a symbolic link. One with an absolute target, or one that goes up beyond the
// root, where a container's files end, leads to the same place of the layer.
func (u *unpacker) link(name, target string) error {
	if target == "" || len(target) > maxName || strings.ContainsRune(target, 0) {
		return errors.New("it is a link to nothing")
	}
	if path.IsAbs(target) || !filepath.IsLocal(path.Join(path.Dir(name), target)) {
		if !path.IsAbs(target) {
			target = "/" + path.Dir(name) + "/" + target
		}
		below, err := filepath.Rel(path.Dir("/"+name), path.Clean(target)) // which does not go up from the root
		if err != nil {
			return err
		}
		target = below
	}
	return u.root.Symlink(target, name)
}

// same gives a file that has come before another name. What stands for something that was
// left out, or for a link, is left out.
func (u *unpacker) same(name, target string) error {
	target, err := local(strings.TrimPrefix(target, "/"))
	if err != nil {
		return err
	}
	info, err := u.root.Lstat(target)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return nil
	}
	if err != nil {
		return err
	}
	return u.root.Link(target, name)
}
