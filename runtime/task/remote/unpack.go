package remote

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
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

	"github.com/klauspost/compress/zstd"

	"github.com/assayd/assayd/runtime/untar"
)

// Bounds of an archive. A small one may be packed well; a large one of text is not packed by
// more than the ratio.
const (
	maxEntries = 500_000
	maxRatio   = 200
	smallOne   = 1 << 30
	maxWindow  = 128 << 20 // of zstd, in memory
	maxLeftOut = 100       // that are named
)

var (
	gzipMagic = []byte{0x1f, 0x8b}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
	zipMagic  = []byte("PK\x03\x04")
)

// IsArchive reports whether a file is a tar, a tar that is packed by gzip or zstd, or a zip,
// by what it begins with.
func IsArchive(name string) bool {
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 512)
	n, _ := io.ReadFull(f, head)
	head = head[:n]
	return bytes.HasPrefix(head, gzipMagic) || bytes.HasPrefix(head, zstdMagic) || bytes.HasPrefix(head, zipMagic) ||
		n == 512 && bytes.Equal(head[257:262], []byte("ustar"))
}

// Unpack returns the folder that an archive of this machine is unpacked into. It is kept by the
// content of the archive.
func (s *Store) Unpack(ctx context.Context, name string, use func(Copy) error) error {
	sum, err := sumOfFile(name)
	if err != nil {
		return err
	}
	key := "archive-" + sum[:24]
	leave, err := s.busy.Lock(ctx, key)
	if err != nil {
		return err
	}
	defer leave()
	home := filepath.Join(s.o.Dir, key)
	r, err := s.record(key)
	if errors.Is(err, ErrAbsent) {
		r, err = s.unpackInto(ctx, home, name, sum)
	}
	if err != nil {
		return fmt.Errorf("unpack %s: %w", name, err)
	}
	s.use.RLock()
	defer s.use.RUnlock()
	return use(s.copyOf(key, r))
}

func (s *Store) unpackInto(ctx context.Context, home, name, sum string) (r record, err error) {
	partial := filepath.Join(home, partialName)
	data := filepath.Join(partial, "data")
	if err := errors.Join(os.RemoveAll(partial), os.MkdirAll(data, 0o755)); err != nil {
		return r, err
	}
	r = record{Source: name, Revision: "sha256:" + sum}
	if r.LeftOut, err = unpack(ctx, name, data, &room{left: s.o.Most, full: s.o.Full}); err != nil {
		return r, errors.Join(err, os.RemoveAll(home))
	}
	return s.commit(home, partial, r)
}

func sumOfFile(name string) (string, error) {
	sum, err := (&file{}).sumOf(name)
	if err != nil {
		return "", fmt.Errorf("read an archive: %w", err)
	}
	return sum, nil
}

// unpacker lays out one archive below a folder and nowhere else.
type unpacker struct {
	ctx     context.Context
	root    *os.Root
	room    *room
	left    int64 // bytes that the archive may still give
	out     []string
	dropped int
}

// unpack lays out an archive below dir. It returns what is left out: devices, and links that
// lead out of the archive. A name that does so makes it one that is not taken.
func unpack(ctx context.Context, name, dir string, room *room) (leftOut []string, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	u := &unpacker{ctx: ctx, root: root, room: room, left: max(smallOne, info.Size()*maxRatio)}
	head := bufio.NewReader(f)
	magic, _ := head.Peek(4) // a shorter one is no archive
	switch {
	case bytes.HasPrefix(magic, zipMagic):
		err = u.zip(f, info.Size())
	case bytes.HasPrefix(magic, gzipMagic):
		var in *gzip.Reader
		if in, err = gzip.NewReader(head); err == nil {
			err = u.tar(in)
		}
	case bytes.HasPrefix(magic, zstdMagic):
		var in *zstd.Decoder
		if in, err = zstd.NewReader(head, zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderConcurrency(1)); err == nil {
			defer in.Close()
			err = u.tar(in)
		}
	default:
		err = u.tar(head)
	}
	if u.dropped > len(u.out) {
		u.out = append(u.out, fmt.Sprintf("%d more", u.dropped-len(u.out)))
	}
	return u.out, err
}

func (u *unpacker) tar(in io.Reader) error {
	tr := tar.NewReader(in)
	return untar.Each(tr, maxEntries, func(h *tar.Header) error {
		return u.entry(h.Name, h.FileInfo().Mode(), h, tr)
	})
}

func (u *unpacker) zip(f io.ReaderAt, size int64) error {
	all, err := zip.NewReader(f, size)
	if err != nil {
		return fmt.Errorf("it is no archive, or a broken one: %w", err)
	}
	if len(all.File) > maxEntries {
		return fmt.Errorf("it has more than %d entries", maxEntries)
	}
	for _, entry := range all.File {
		if err := u.zipped(entry); err != nil {
			return err
		}
	}
	return nil
}

func (u *unpacker) zipped(entry *zip.File) (err error) {
	in, err := entry.Open()
	if err != nil {
		return fmt.Errorf("%q: %w", entry.Name, err)
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	h := &tar.Header{Typeflag: tar.TypeReg}
	mode := entry.Mode()
	switch {
	case mode&fs.ModeSymlink != 0:
		target, err := io.ReadAll(io.LimitReader(in, 4<<10))
		if err != nil {
			return fmt.Errorf("%q: %w", entry.Name, err)
		}
		h.Typeflag, h.Linkname = tar.TypeSymlink, string(target)
	case mode.IsDir():
		h.Typeflag = tar.TypeDir
	case !mode.IsRegular():
		h.Typeflag = tar.TypeChar
	}
	return u.entry(entry.Name, mode, h, in)
}

// entry lays out one entry; of h only its type and link count.
func (u *unpacker) entry(raw string, mode fs.FileMode, h *tar.Header, in io.Reader) error {
	if err := u.ctx.Err(); err != nil {
		return err
	}
	name, err := untar.Local(raw)
	if err != nil {
		return fmt.Errorf("%q: %w", raw, err)
	}
	if name == "." {
		return nil
	}
	local := filepath.FromSlash(name)
	if u.underLink(local) {
		u.leave(name, "lies under a link")
		return nil
	}
	switch h.Typeflag {
	case tar.TypeDir:
		err = u.root.MkdirAll(local, 0o755)
	case tar.TypeReg:
		err = u.file(local, mode, in)
	case tar.TypeSymlink:
		err = u.link(name, h.Linkname)
	case tar.TypeLink:
		err = u.same(name, h.Linkname)
	default:
		u.leave(name, "is neither a file nor a folder nor a link")
	}
	if err != nil {
		return fmt.Errorf("%q: %w", raw, err)
	}
	return nil
}

// underLink reports whether a folder on the way to a name is a link: where its links lead to
// could not be told from their names.
func (u *unpacker) underLink(local string) bool {
	for dir := filepath.Dir(local); dir != "."; dir = filepath.Dir(dir) {
		if info, err := u.root.Lstat(dir); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return true
		}
	}
	return false
}

func (u *unpacker) leave(name, why string) {
	if u.dropped++; u.dropped <= maxLeftOut {
		u.out = append(u.out, name+" "+why)
	}
}

// clear makes room for what has a name now; the last entry of a name counts.
func (u *unpacker) clear(local string) error {
	if err := u.root.MkdirAll(filepath.Dir(local), 0o755); err != nil {
		return err
	}
	if err := u.root.Remove(local); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (u *unpacker) file(local string, mode fs.FileMode, in io.Reader) (err error) {
	if err := u.clear(local); err != nil {
		return err
	}
	perm := fs.FileMode(0o644)
	if mode&0o111 != 0 {
		perm = 0o755
	}
	out, err := u.root.OpenFile(local, os.O_CREATE|os.O_EXCL|os.O_WRONLY, perm)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	_, err = io.Copy(&metered{out, u}, in)
	return err
}

// metered counts what is written.
type metered struct {
	io.Writer
	u *unpacker
}

func (m *metered) Write(p []byte) (int, error) {
	if m.u.left -= int64(len(p)); m.u.left < 0 {
		return 0, errors.New("the archive holds far more than archives of its size do")
	}
	if err := m.u.room.take(int64(len(p))); err != nil {
		return 0, err
	}
	return m.Writer.Write(p)
}

// link makes a symbolic link that stays in the archive.
func (u *unpacker) link(name, target string) error {
	leads := path.Join(path.Dir(name), target)
	if target == "" || path.IsAbs(target) || !filepath.IsLocal(filepath.FromSlash(leads)) {
		u.leave(name, "is a link that leads out of the archive")
		return nil
	}
	local := filepath.FromSlash(name)
	if err := u.clear(local); err != nil {
		return err
	}
	return u.root.Symlink(target, local)
}

// same copies what a hard link stands for, which has come before.
func (u *unpacker) same(name, target string) (err error) {
	target = path.Clean(strings.TrimPrefix(target, "./"))
	local := filepath.FromSlash(target)
	if !filepath.IsLocal(local) {
		u.leave(name, "is a link that leads out of the archive")
		return nil
	}
	info, err := u.root.Lstat(local)
	if err != nil || !info.Mode().IsRegular() {
		u.leave(name, "is a link to nothing in the archive")
		return nil
	}
	if target == name {
		return nil
	}
	in, err := u.root.Open(local)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	return u.file(filepath.FromSlash(name), info.Mode(), in)
}
