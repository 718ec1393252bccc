package results

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/assayd/assayd/runtime/fault"
)

// differsError says that a file holds what this writer did not write.
type differsError struct {
	line int    // that is not as it was written; 0 when the file as a whole is not ours
	what string // in words
}

func (e *differsError) Error() string {
	if e.line == 0 {
		return e.what
	}
	return fmt.Sprintf("line %d %s", e.line, e.what)
}

// projection is a file being made equal to its lines: seq lines are in it, size bytes.
type projection struct {
	file  *os.File
	found int64 // bytes that were in the file when it was opened, without zeros at the end
	zeros int64 // how many zeros there were
	seq   int
	size  int64
}

// project makes s.File equal to the lines of s up to s.Last, and durable. Its error is a
// *differsError when the file holds something else, and then nothing was changed.
func (w *Writer) project(ctx context.Context, s Stream) (err error) {
	p := &projection{}
	made, err := p.open(s.File)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.file.Close()) }()
	if err := w.trust(ctx, p, s); err != nil {
		return err
	}
	if p.seq == s.Last && p.size == p.found && p.zeros == 0 {
		return nil // the cheap and usual end of a check
	}
	durable := p.size
	for p.seq < s.Last {
		lines, err := w.src.Lines(ctx, s.ID, p.seq+1)
		if err != nil {
			return err
		}
		if err := p.add(lines, s.Last); err != nil {
			return err
		}
	}
	if p.size < p.found {
		return &differsError{s.Last + 1, "is more than was written"}
	}
	if p.zeros > 0 {
		if err := p.file.Truncate(p.size); err != nil {
			return err
		}
	}
	if err := p.file.Sync(); err != nil {
		// The kernel may have dropped what it could not write and call it clean the next
		// time, so none of it may be there to be found.
		return errors.Join(fmt.Errorf("make durable: %w", err), p.file.Truncate(durable))
	}
	if made {
		return syncDir(filepath.Dir(s.File))
	}
	return nil
}

// open opens or makes the file and says whether it made it. Anything but a regular file
// is not ours.
func (p *projection) open(path string) (made bool, err error) {
	// Not blocking, because somebody may have put a named pipe there.
	const flags = os.O_RDWR | unix.O_NOFOLLOW | unix.O_NONBLOCK
	p.file, err = os.OpenFile(path, flags, 0)
	if errors.Is(err, fs.ErrNotExist) {
		made = true
		p.file, err = os.OpenFile(path, flags|os.O_CREATE|os.O_EXCL, 0o644)
	}
	switch {
	case errors.Is(err, unix.ELOOP):
		return false, &differsError{0, "the file is a symbolic link"}
	case errors.Is(err, unix.EISDIR), errors.Is(err, unix.ENXIO):
		return false, &differsError{0, "it is no regular file"}
	case err != nil:
		return false, err
	}
	if err := p.inspect(made); err != nil {
		return false, errors.Join(err, p.file.Close())
	}
	return made, nil
}

func (p *projection) inspect(made bool) error {
	if made { // readable by all, whatever the umask of the daemon
		if err := p.file.Chmod(0o644); err != nil {
			return err
		}
	}
	info, err := p.file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return &differsError{0, "it is no regular file"}
	}
	p.found = info.Size()
	return p.skipZeros()
}

// skipZeros overlooks the zeros that a power failure can leave where a tail was to be:
// JSON has none.
func (p *projection) skipZeros() error {
	buf := make([]byte, 4096)
	part := buf[:1] // there are hardly ever any, so the first look is a short one
	for p.found > 0 {
		part = part[:min(p.found, int64(len(part)))]
		if _, err := p.file.ReadAt(part, p.found-int64(len(part))); err != nil {
			return err
		}
		zeros := int64(len(part) - len(bytes.TrimRight(part, "\x00")))
		p.found -= zeros
		p.zeros += zeros
		if zeros < int64(len(part)) {
			break
		}
		part = buf
	}
	return nil
}

// trust takes the lines that are marked as written for granted if the last of them is
// where it must be; otherwise the file is compared from its beginning.
func (w *Writer) trust(ctx context.Context, p *projection, s Stream) error {
	if s.Written == 0 || p.found == 0 {
		return nil
	}
	lines, err := w.src.Lines(ctx, s.ID, s.Written)
	if err != nil {
		return err
	}
	if len(lines) == 0 || lines[0].Seq != s.Written {
		return fmt.Errorf("line %d is not stored", s.Written)
	}
	last := lines[0]
	if p.found < last.Ends {
		return nil
	}
	tail := make([]byte, len(last.Data)+1)
	if _, err := p.file.ReadAt(tail, last.Ends-int64(len(tail))); err != nil {
		return err
	}
	if string(tail) == string(last.Data)+"\n" {
		p.seq, p.size = last.Seq, last.Ends
	}
	return nil
}

// add compares lines, up to seq last, with what the file has in their place and writes
// what it has not, in one write.
func (p *projection) add(lines []Line, last int) error {
	var text []byte
	seq := p.seq
	for _, l := range lines {
		if l.Seq != seq+1 {
			return fmt.Errorf("line %d is stored after line %d", l.Seq, seq)
		}
		if l.Seq > last {
			break
		}
		seq++
		text = append(append(text, l.Data...), '\n')
	}
	if seq == p.seq {
		return fmt.Errorf("line %d is not stored", seq+1)
	}
	overlap := max(0, min(int64(len(text)), p.found-p.size))
	there := make([]byte, overlap)
	if _, err := p.file.ReadAt(there, p.size); err != nil && overlap > 0 {
		return err
	}
	if !bytes.Equal(there, text[:overlap]) {
		return &differsError{p.seq + 1 + firstDifference(there, text), "is not as it was written"}
	}
	if missing := text[overlap:]; len(missing) > 0 {
		if err := fault.Err(fault.WriteLine); err != nil {
			return err
		}
		if _, err := p.file.WriteAt(missing, p.size+overlap); err != nil {
			return err
		}
		fault.Reached(fault.LineAppended)
	}
	p.seq, p.size = seq, p.size+int64(len(text))
	return nil
}

// firstDifference is the number of whole lines that a and b begin with alike.
func firstDifference(a, b []byte) int {
	n := 0
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			break
		}
		if a[i] == '\n' {
			n++
		}
	}
	return n
}

// syncDir makes the names in dir durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
