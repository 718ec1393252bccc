package archive

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzip"
)

// Bounds of what one hour may come to. Real hours have less than 2 GB, 500,000 events, and
// events of pull requests below 1 MB.
const (
	maxLine   = 8 << 20  // bytes of one line that may be a merge
	maxBytes  = 32 << 30 // unpacked
	maxMerges = 1 << 18
)

// window is how much is read at once, in bytes.
const window = 256 << 10

// Counts say what an hour held, or as much of it as could be read.
type Counts struct {
	Bytes             int64 // unpacked
	Lines             int   // events, one a line
	PullRequestEvents int   // merges among them
	Merged            int   // pull requests, each once
	Duplicates        int   // further events that tell of the same ones
	Malformed         int   // lines that are no JSON, or merges of nothing that could be named
	TooLong           int   // lines of more than 8 MB that may have told of a merge, not looked at
}

// Damaged is the error of an hour that broke off or does not unpack. All merges before the
// damage were told.
type Damaged struct {
	At  int64 // bytes that were unpacked before
	Err error
}

// Error says where the damage is.
func (d *Damaged) Error() string {
	return fmt.Sprintf("the file is damaged after %d bytes unpacked: %v", d.At, d.Err)
}

// Unwrap returns what was found.
func (d *Damaged) Unwrap() error { return d.Err }

// ErrTimeline is the error of hours before 2015: their events have another form, which tells
// too little of a pull request.
var ErrTimeline = errors.New("the file has the timeline's form of the years before 2015, which is not supported")

// Scan reads one hour, a gzip file of events, and tells each pull request that was merged in
// it once, in the order of the file. What it tells holds nothing of its buffers. It ends
// with an error of each, of the reader or of the context as it is, with a *Damaged, or with
// ErrTimeline.
func Scan(ctx context.Context, r io.Reader, each func(Merge) error) (Counts, error) {
	return scan(ctx, r, &told{}, each)
}

// told remembers what was told of an hour, also by an earlier pass that did not come to the
// end of it.
type told struct {
	pass int
	last map[string]int // the last pass that met it
}

// scan makes one pass over an hour.
func scan(ctx context.Context, r io.Reader, already *told, each func(Merge) error) (Counts, error) {
	already.pass++
	if already.last == nil {
		already.last = map[string]int{}
	}
	s := &scanner{each: each, told: already, first: true}
	from := &source{ctx: ctx, r: r}
	err := s.unpack(bufio.NewReaderSize(from, window))
	switch {
	case s.err != nil:
		err = s.err
	case from.err != nil:
		err = from.err
	case err != nil:
		err = &Damaged{At: s.counts.Bytes, Err: err}
	}
	return s.counts, err
}

// source tells the reader's errors from those of what was read.
type source struct {
	ctx context.Context
	r   io.Reader
	err error
}

// Read implements io.Reader.
func (s *source) Read(p []byte) (int, error) {
	if s.err = context.Cause(s.ctx); s.err != nil {
		return 0, s.err
	}
	n, err := s.r.Read(p)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// scanner takes what is unpacked as it comes, window after window of the decompressor, and
// copies of it only lines that may be merges and do not lie in one window.
type scanner struct {
	each   func(Merge) error
	counts Counts
	told   *told
	part   []byte // of a line that has not ended
	begun  bool   // a line has not ended
	skip   bool   // what is left of it is not wanted
	first  bool   // no line was looked at yet
	err    error
}

func (s *scanner) unpack(r *bufio.Reader) error {
	z, err := gzip.NewReader(r)
	if err == nil {
		_, err = z.WriteTo(s)
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF // an empty file
	}
	if err == nil {
		s.err = s.finish()
	}
	return err
}

// finish takes what was left without a newline.
func (s *scanner) finish() error {
	if !s.begun {
		return nil
	}
	return s.end(nil)
}

// Write implements io.Writer.
func (s *scanner) Write(p []byte) (int, error) {
	n := len(p)
	s.counts.Bytes += int64(n)
	if s.counts.Bytes > maxBytes {
		return 0, fmt.Errorf("it unpacks to more than %d bytes", int64(maxBytes))
	}
	for len(p) > 0 && s.err == nil {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			s.begun, s.err = true, s.more(p)
			break
		}
		s.err = s.end(p[:i])
		p = p[i+1:]
	}
	return n, s.err
}

// more takes a part of a line.
func (s *scanner) more(p []byte) error {
	switch {
	case s.skip:
	case len(s.part) == 0 && boring(p):
		s.skip = true
	case len(s.part)+len(p) > maxLine:
		s.skip = true
		s.counts.TooLong++
		return s.known(s.part)
	default:
		s.part = append(s.part, p...)
		s.skip = boring(s.part) // the first part may have been too short to tell
	}
	return nil
}

// end takes the last part of a line.
func (s *scanner) end(p []byte) (err error) {
	line := p
	if s.begun || len(p) > maxLine {
		err = s.more(p)
		line = s.part
	}
	if s.skip {
		s.counts.Lines++
		s.first = false
	} else if err == nil {
		err = s.line(line)
	}
	s.begun, s.skip, s.part = false, false, s.part[:0]
	if cap(s.part) > 4*window {
		s.part = nil // such lines are rare, and hours are read side by side
	}
	return err
}

// known sees from the first line, or its beginning, that the file's form is not the timeline's.
// That one has no newlines between its objects.
func (s *scanner) known(line []byte) error {
	if !s.first {
		return nil
	}
	s.first = false
	var e struct {
		Actor json.RawMessage `json:"actor"`
	}
	if json.NewDecoder(bytes.NewReader(line)).Decode(&e) == nil && bytes.HasPrefix(e.Actor, []byte(`"`)) {
		return ErrTimeline
	}
	return nil
}

// line takes a whole line.
func (s *scanner) line(line []byte) error {
	if boring(line) {
		s.counts.Lines++
		s.first = false
		return nil
	}
	what, m := read(line)
	switch what {
	case blank:
		return nil
	case malformed:
		s.counts.Malformed++
	case pullRequest, merge:
		s.counts.PullRequestEvents++
	}
	s.counts.Lines++
	if err := s.known(line); err != nil || what != merge {
		return err
	}
	return s.tell(m)
}

// tell tells of a merge if nobody was told of it yet.
func (s *scanner) tell(m Merge) error {
	key := strings.ToLower(m.Repo) + "#" + strconv.Itoa(m.Number)
	pass, before := s.told.last[key]
	if pass == s.told.pass {
		s.counts.Duplicates++
		return nil
	}
	if len(s.told.last) >= maxMerges && !before {
		return &Damaged{At: s.counts.Bytes, Err: fmt.Errorf("it tells of more than %d merges", maxMerges)}
	}
	if !before {
		if err := s.each(m); err != nil {
			return err
		}
	}
	s.told.last[key] = s.told.pass
	s.counts.Merged++
	return nil
}
