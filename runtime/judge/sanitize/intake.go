package sanitize

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"

	"github.com/assayd/assayd/runtime/fault"
	"github.com/assayd/assayd/runtime/judge/round"
)

// A stream may not grow by more than this factor, by packing, holes or copies, once what it
// grows to is longer than bombFloor.
const (
	bombRatio = 200
	bombFloor = 10 << 20
)

// intake reads a tar stream, compressed or not, within bounds.
type intake struct {
	tar    *tar.Reader
	raw    *meter
	packed bool
	begun  bool  // an entry was read
	limit  int64 // of the content that may be kept
	err    error // why the stream could not be opened
}

func newIntake(r io.Reader, book *Rulebook) *intake {
	// Entries that are left out are read too: the slack is room for them.
	slack := int64(book.slack)
	room := slack*min(book.maxBytes, 1<<56) + slack/2*int64(min(book.maxFiles, 1<<40))*2048 + 1<<20
	in := &intake{raw: &meter{r: r, max: room}, limit: book.maxBytes}
	buffered := bufio.NewReaderSize(in.raw, 64<<10)
	magic, err := buffered.Peek(2)
	if err != nil {
		in.err = err
		if errors.Is(err, io.EOF) { // one byte, or none, which broken tells
			in.err = errNoArchive
		}
		return in
	}
	plain := &meter{r: buffered, max: room}
	if magic[0] == 0x1f && magic[1] == 0x8b {
		zip, err := gzip.NewReader(buffered)
		if err != nil {
			in.err = err
			return in
		}
		plain.r, plain.packed, in.packed = zip, in.raw, true
	}
	in.tar = tar.NewReader(plain)
	return in
}

var errNoArchive = errors.New("it is no tar or tar.gz")

// next returns the next entry that is one, io.EOF at the end, or a *Refusal.
func (in *intake) next() (*tar.Header, error) {
	if in.err != nil {
		return nil, in.broken(in.err)
	}
	for {
		h, err := in.tar.Next()
		if errors.Is(err, io.EOF) && in.raw.n > 0 {
			return nil, io.EOF
		}
		if err != nil {
			if !in.begun && (errors.Is(err, tar.ErrHeader) || !in.packed && errors.Is(err, io.ErrUnexpectedEOF)) {
				err = errNoArchive
			}
			return nil, in.broken(err)
		}
		in.begun = true
		if h.Typeflag != tar.TypeXGlobalHeader {
			return h, nil
		}
	}
}

// drain reads what comes after the archive's end mark: a sender that waits to be read gets
// rid of it, and a form shows what follows.
func (in *intake) drain() error {
	if in.raw.failed == nil { // nobody has read so far yet
		if _, err := io.Copy(io.Discard, in.raw); err != nil {
			return in.broken(err)
		}
	}
	if err := in.raw.failed; err != nil && !errors.Is(err, io.EOF) {
		return in.broken(err)
	}
	return nil
}

// copyTo copies the present entry's content. An error of the spool is returned as it is.
func (in *intake) copyTo(s *spool) (int64, error) {
	// The holes of a sparse file are no bytes of the stream.
	r := &meter{r: io.LimitReader(in.tar, in.limit-s.size+1), packed: in.raw, n: s.size, max: math.MaxInt64}
	n, err := io.Copy(s, r)
	if s.err != nil {
		return n, s.err
	}
	if err != nil {
		return n, in.broken(err)
	}
	if s.size > in.limit {
		return n, tooLarge(in.limit)
	}
	return n, nil
}

// broken turns an error of reading into a refusal, but for those that say more.
func (in *intake) broken(err error) error {
	if r, ok := errors.AsType[*round.Refusal](err); ok {
		return r
	}
	if m, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return round.Refuse(413, "the upload is larger than %d bytes", m.Limit)
	}
	if in.raw.failed != nil && !errors.Is(in.raw.failed, io.EOF) {
		return fmt.Errorf("read the archive: %w", in.raw.failed)
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if in.raw.n == 0 {
		return round.Refuse(400, "the archive is empty: not even an end mark is in it")
	}
	return round.Refuse(400, "the archive cannot be read: %v", err)
}

func tooMany(limit int) error {
	return round.Refuse(413, "the archive holds more than %d entries", limit)
}

func tooLarge(limit int64) error {
	return round.Refuse(413, "the archive holds more than %d bytes", limit)
}

// meter counts what passes and stops at a bound or, when it knows the packed stream, at a
// ratio that only a bomb has.
type meter struct {
	r      io.Reader
	packed *meter
	n, max int64
	failed error // of r
}

func (m *meter) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	m.n += int64(n)
	if err != nil {
		m.failed = err
	}
	if m.n > m.max {
		return n, round.Refuse(413, "the archive unpacks to more than %d bytes", m.max)
	}
	if m.packed != nil {
		if bomb := m.packed.grown(m.n); bomb != nil {
			return n, bomb
		}
	}
	return n, err
}

// grown refuses a size to which what was read so far cannot honestly have grown.
func (m *meter) grown(size int64) error {
	if size > bombFloor && size/bombRatio > m.n {
		return round.Refuse(413, "the archive unpacks to more than %d times its size", bombRatio)
	}
	return nil
}

// spoolPrefix begins the name that a spool has for a moment.
const spoolPrefix = "assayd-clean-"

// TreePrefix begins the name that a copy of a tree in the same folder has for a moment. What a
// killed daemon left of either is removed when a judge is made.
const TreePrefix = "base-"

// SweepSpools removes what a daemon left that was killed in that moment. Nobody else may be
// using the folder.
func SweepSpools(dir string) error {
	var err error
	for _, prefix := range []string{spoolPrefix, TreePrefix} {
		left, bad := filepath.Glob(filepath.Join(dir, prefix+"*"))
		err = errors.Join(err, bad)
		for _, name := range left {
			err = errors.Join(err, os.Remove(name))
		}
	}
	return err
}

// spool is a temporary file without a name, so that hardly a crash leaves it behind.
type spool struct {
	f    *os.File
	size int64
	err  error
}

func newSpool(dir string) (*spool, error) {
	f, err := os.CreateTemp(dir, spoolPrefix+"*")
	if err != nil {
		return nil, fmt.Errorf("make a temporary file for an archive: %w", err)
	}
	fault.Reached(fault.SpoolMade)
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(fmt.Errorf("unlink a temporary file: %w", err), f.Close())
	}
	return &spool{f: f}, nil
}

func (s *spool) Write(p []byte) (int, error) {
	if err := fault.Err(fault.WriteSpool); err != nil {
		s.err = fmt.Errorf("store an archive for the time of its cleaning: %w", err)
		return 0, s.err
	}
	n, err := s.f.Write(p)
	s.size += int64(n)
	if err != nil {
		s.err = fmt.Errorf("store an archive for the time of its cleaning: %w", err)
	}
	return n, s.err
}

func (s *spool) section(offset, size int64) io.Reader { return io.NewSectionReader(s.f, offset, size) }

func (s *spool) close() { _ = s.f.Close() } // nothing in it is needed any more
