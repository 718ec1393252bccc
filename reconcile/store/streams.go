package store

import (
	"errors"
	"fmt"
	"strings"

	"github.com/assayd/assayd/reconcile/store/change"
	"github.com/assayd/assayd/reconcile/store/record"
)

// StreamRef names a stream of lines and the file it is to be written to.
type StreamRef struct {
	// Spec is the stream: the address of a spec, or another name for lines that are no
	// spec's own, as those of a status file.
	Spec string
	Root string // the watched directory that Path is under
	Path string // absolute path of the file, "team/nightly.run.nightly.jsonl" under Root
}

// Stream is one file of a stream and how far it has been written. A stream that has moved
// has an older, closed one for each place it was at.
type Stream struct {
	ID   int64
	Spec string
	Root string
	Path string // where the file is wanted
	Open bool   // lines are still appended
	Last int    // seq of the last stored line

	// What follows belongs to the writer of the files and is kept by MarkWritten.

	Folder  string // real path of the folder of Path when it was first written to
	File    string // the file in use; "" before the first write
	Number  int    // 1 is Path itself, 2 is its <name>.2.jsonl, …
	Written int    // seq of the last line that is durable in File
	Why     string // why File is not beside the spec; "" when it is
}

// Line is one stored line.
type Line struct {
	Seq  int
	Ends int64  // bytes of a file that ends with this line and its newline
	Data []byte // without its newline
}

// batchBytes bounds what LinesFrom returns at once.
const batchBytes = 4 << 20

const streamColumns = "id, spec, root, path, closing IS NULL, last, folder, file, number, written, why"

func scanStream(r row) (s Stream, err error) {
	return s, r.Scan(&s.ID, &s.Spec, &s.Root, &s.Path, &s.Open, &s.Last,
		&s.Folder, &s.File, &s.Number, &s.Written, &s.Why)
}

// Envelope is what a line says before its own fields; version, seq and time are added.
type Envelope struct {
	Type       string // of the record, as "trial.started"
	Spec       string // address the record is about; "" is the stream's
	Generation string
	Execution  int // its number, written as "e1"; 0 leaves it out
}

// AppendLine gives a record the next seq of its stream and fixes its line: the envelope,
// then the members of fields, which is nil or encodes to a JSON object. Lists over 256 KiB
// become {file, sha256}, with a path relative to the state directory; a line has at most
// 1 MiB. The stream begins at ref when it is new; an existing one stays where it is,
// whatever ref says, until MoveStream.
func (t *Tx) AppendLine(ref StreamRef, e Envelope, fields any) (seq int, err error) {
	s, err := t.begun(ref)
	if err != nil {
		return 0, fmt.Errorf("append %s to %q: %w", e.Type, ref.Spec, err)
	}
	line, ends, err := t.lineAfter(s, e, fields)
	if err == nil {
		_, err = t.exec("INSERT INTO lines (spec, seq, ends, data, n) VALUES (?, ?, ?, ?, ?)", s.Spec, s.Last+1, ends, line, t.next())
	}
	if err == nil {
		_, err = t.exec("UPDATE streams SET last = last + 1, size = ? WHERE id = ?", ends, s.ID)
	}
	if err == nil {
		err = t.touchTopic(topicOf(ref.Spec), change.Records)
	}
	if err != nil {
		return 0, fmt.Errorf("append %s to %q: %w", e.Type, ref.Spec, err)
	}
	t.appended = true
	return s.Last + 1, nil
}

// topicOf is whom the lines of a stream are about: what becomes of a file is no spec's own.
func topicOf(stream string) string {
	if strings.HasPrefix(stream, "status:") {
		return change.SpecFiles
	}
	return stream
}

// lineAfter encodes the line after the last of s, and says where a file ends with it.
func (t *Tx) lineAfter(s Stream, e Envelope, fields any) (line []byte, ends int64, err error) {
	if e.Spec == "" {
		e.Spec = s.Spec
	}
	h := record.Head{
		V: 1, Seq: s.Last + 1, Time: t.store.clock().UTC().Format("2006-01-02T15:04:05.000000000Z07:00"), Type: e.Type, Spec: e.Spec, Generation: e.Generation,
	}
	if e.Execution > 0 {
		h.Execution = fmt.Sprintf("e%d", e.Execution)
	}
	if line, err = t.store.encoder.Line(h, fields); err != nil {
		return nil, 0, err
	}
	size, err := one(t, scanInt, "SELECT size FROM streams WHERE id = ?", s.ID)
	return line, int64(size + len(line) + 1), err
}

// begun returns the open stream of ref, which it begins if there is none.
func (t *Tx) begun(ref StreamRef) (Stream, error) {
	s, err := t.Stream(ref.Spec)
	if !errors.Is(err, ErrNotFound) {
		return s, err
	}
	return t.beginAt(ref, 0, 0)
}

// beginAt begins a file of a stream that has lines up to last, which take size bytes. A
// path that another stream had before is not written over: the next number is taken.
func (t *Tx) beginAt(ref StreamRef, last int, size int64) (Stream, error) {
	return one(t, scanStream, `INSERT INTO streams (spec, root, path, last, size, number)
		VALUES (?, ?, ?, ?, ?, (SELECT coalesce(max(number), 0) + 1 FROM streams WHERE path = ?))
		RETURNING `+streamColumns, ref.Spec, ref.Root, ref.Path, last, size, ref.Path)
}

// LastLine returns the last line of a spec that is a record of a type about a task, among its last looked lines, or ErrNotFound.
func (t *Tx) LastLine(spec, kind, task string, looked int) (l Line, err error) {
	l, err = one(t, func(r row) (l Line, err error) { return l, r.Scan(&l.Seq, &l.Ends, &l.Data) },
		`SELECT seq, ends, data FROM (SELECT seq, ends, data, CAST(data AS TEXT) AS text FROM lines WHERE spec = ?1 ORDER BY seq DESC LIMIT ?4)
		WHERE text ->> '$.type' = ?2 AND text ->> '$.task' = ?3 ORDER BY seq DESC LIMIT 1`, spec, kind, task, looked)
	if err != nil {
		return l, fmt.Errorf("the last %s of %s about %q: %w", kind, spec, task, err)
	}
	return l, nil
}

// MoveStream makes the lines of to.Spec go to to.Path: that file is written whole, and the
// old one ends with a line of type spec.moved, which is in no other file. A stream that is
// there already, or that has no line yet, is left alone.
func (t *Tx) MoveStream(to StreamRef, e Envelope, fields any) error {
	s, err := t.Stream(to.Spec)
	if errors.Is(err, ErrNotFound) || err == nil && s.Path == to.Path {
		return nil
	}
	if err == nil {
		err = t.move(s, to, e, fields)
	}
	if err != nil {
		return fmt.Errorf("move stream %q to %q: %w", to.Spec, to.Path, err)
	}
	t.appended = true
	return t.touchTopic(topicOf(to.Spec), change.Records)
}

func (t *Tx) move(s Stream, to StreamRef, e Envelope, fields any) error {
	e.Type = "spec.moved"
	closing, ends, err := t.lineAfter(s, e, fields)
	if err != nil {
		return err
	}
	if _, err := t.exec("UPDATE streams SET last = last + 1, size = ?, closing = ? WHERE id = ?",
		ends, closing, s.ID); err != nil {
		return err
	}
	_, err = t.beginAt(to, s.Last, ends-int64(len(closing)+1))
	return err
}

// Stream returns the open stream of spec, or ErrNotFound.
func (t *Tx) Stream(spec string) (Stream, error) {
	s, err := one(t, scanStream, "SELECT "+streamColumns+" FROM streams WHERE spec = ? AND closing IS NULL", spec)
	if err != nil {
		return s, fmt.Errorf("stream %q: %w", spec, err)
	}
	return s, nil
}

// Streams returns all streams, closed ones too, in order of their beginning.
func (t *Tx) Streams() ([]Stream, error) {
	return t.streams("")
}

// Unwritten are lines of a stream that are not durable in its file.
type Unwritten struct {
	Spec, Path string
	Missing    int
	Data       []byte // the first of them
}

// UnwrittenLines returns at most limit streams with lines that are not durable in their file.
func (t *Tx) UnwrittenLines(limit int) ([]Unwritten, error) {
	all, err := list(t, func(r row) (u Unwritten, err error) { return u, r.Scan(&u.Spec, &u.Path, &u.Missing, &u.Data) },
		`SELECT s.spec, s.path, s.last - s.written, l.data FROM streams s JOIN lines l ON l.spec = s.spec AND l.seq = s.written + 1
		WHERE s.written < s.last ORDER BY s.id LIMIT ?`, limit)
	if err != nil {
		return nil, fmt.Errorf("read the lines of streams that are not written: %w", err)
	}
	return all, nil
}

// DirtyStreams returns the streams with lines that are not durable in their file.
func (t *Tx) DirtyStreams() ([]Stream, error) {
	return t.streams("WHERE written < last")
}

func (t *Tx) streams(where string) ([]Stream, error) {
	rows, err := list(t, scanStream, "SELECT "+streamColumns+" FROM streams "+where+" ORDER BY id")
	if err != nil {
		return nil, fmt.Errorf("read streams: %w", err)
	}
	return rows, nil
}

// LinesFrom returns the lines of a stream from seq on: at most limit, and no more than
// about 4 MiB, but at least one where there is one.
func (t *Tx) LinesFrom(stream int64, seq, limit int) ([]Line, error) {
	rows, err := t.tx.QueryContext(t.ctx, `
		SELECT l.seq, l.ends, l.data FROM streams s JOIN lines l ON l.spec = s.spec
			WHERE s.id = ?1 AND l.seq >= ?2 AND l.seq <= s.last - (s.closing IS NOT NULL)
		UNION ALL
		SELECT last, size, closing FROM streams WHERE id = ?1 AND last >= ?2 AND closing IS NOT NULL
		ORDER BY 1 LIMIT ?3`, stream, seq, limit)
	if err != nil {
		return nil, fmt.Errorf("read lines of stream %d: %w", stream, explain(err))
	}
	defer rows.Close()
	var lines []Line
	for bytes := 0; bytes < batchBytes && rows.Next(); {
		var l Line
		if err := rows.Scan(&l.Seq, &l.Ends, &l.Data); err != nil {
			return nil, fmt.Errorf("read lines of stream %d: %w", stream, explain(err))
		}
		lines = append(lines, l)
		bytes += len(l.Data)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read lines of stream %d: %w", stream, explain(err))
	}
	return lines, nil
}

// MarkWritten keeps what the writer of the files says of s: Folder, File, Number, Written
// and Why.
func (t *Tx) MarkWritten(s Stream) error {
	n, err := t.exec("UPDATE streams SET folder = ?, file = ?, number = ?, written = ?, why = ? WHERE id = ?",
		s.Folder, s.File, s.Number, s.Written, s.Why, s.ID)
	if err == nil && n == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("mark stream %d written: %w", s.ID, err)
	}
	return nil
}
