package judge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/assayd/assayd/runtime/fault"
	"github.com/assayd/assayd/runtime/task"
)

// transcript is a session move by move, one JSON object a line. It is a file while the
// session is open, so that a daemon which is killed does not take it along.
type transcript struct {
	file *os.File
	size int64  // of the lines that stay
	held []byte // lines that stay and found no room yet; they come at size
	last []byte // the line beyond the bound, after them
	cut  bool
	err  error // a line cannot be had any more
	line int
}

// transcribed is one line of a transcript; the first one is the opening, without an action.
type transcribed struct {
	Move        int     `json:"move"`
	Action      string  `json:"action"`
	Observation string  `json:"observation"`
	Score       float64 `json:"score"`
	PeakScore   float64 `json:"peak_score"`
	MaxScore    float64 `json:"max_score"`
	Done        bool    `json:"done"`
	Moves       int     `json:"moves"`         // by the server's count
	Cut         bool    `json:"cut,omitempty"` // lines before this one, and its texts, are left out
}

func newTranscript(name string) (*transcript, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("store the transcript of a game: %w", err)
	}
	return &transcript{file: f}, nil
}

// add writes a move. One beyond the bound takes the place of the last such, without its
// texts, so that the end is always told. What finds no room waits for the next move, or for
// commit: it is no reason to stop a game.
func (t *transcript) add(action string, n standing) {
	l := transcribed{t.line, action, n.observation, n.score, n.peak, n.max, n.done, n.moves, false}
	t.line++
	line, err := json.Marshal(l)
	if !t.cut && t.size+int64(len(t.held)+len(line)) >= maxTranscript {
		t.cut = true
	}
	if t.cut && err == nil {
		l.Action, l.Observation, l.Cut = "", "", true
		line, err = json.Marshal(l)
	}
	if err != nil {
		t.err = errors.Join(t.err, err)
		return
	}
	line = append(line, '\n')
	if t.cut {
		t.last = line
	} else {
		t.held = append(t.held, line...)
	}
	_ = t.flush() // commit asks again
}

// flush writes what found no room before.
func (t *transcript) flush() error {
	if err := fault.Err(fault.WriteGame); err != nil {
		return err
	}
	if len(t.held) > 0 {
		if _, err := t.file.WriteAt(t.held, t.size); err != nil {
			return err
		}
		t.size += int64(len(t.held))
		t.held = nil
	}
	if t.last == nil {
		return nil
	}
	if err := t.file.Truncate(t.size); err != nil {
		return err
	}
	_, err := t.file.WriteAt(t.last, t.size)
	return err
}

// commit stores the transcript as a blob.
func (t *transcript) commit(blobs Blobs) (string, error) {
	if err := errors.Join(t.err, t.flush()); err != nil {
		return "", fmt.Errorf("write the transcript of a game: %w", err)
	}
	return keepTranscript(blobs, io.NewSectionReader(t.file, 0, 2*maxTranscript))
}

func (t *transcript) drop() { _ = t.file.Close() } // what could not be written has been told

func keepTranscript(blobs Blobs, content io.Reader) (digest string, err error) {
	blob, err := blobs.Create()
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, blob.Close()) }()
	if _, err := io.Copy(blob, content); err != nil {
		return "", err
	}
	digest, _, err = blob.Commit()
	return digest, err
}

// transcriptFile is where the transcript of an open session is.
func (j *Judge) transcriptFile(id string) string {
	return filepath.Join(j.spoolDir(), j.transcriptPrefix()+id)
}

func (j *Judge) transcriptPrefix() string { return "game-" + filepath.Base(j.opts.Owner) + "-" }

func (j *Judge) spoolDir() string {
	if j.opts.Spool == "" {
		return os.TempDir()
	}
	return j.opts.Spool
}

func (j *Judge) removeTranscript(id string) {
	if err := os.Remove(j.transcriptFile(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		j.opts.Log.Warn("the file of a game's transcript is left over", "session", id, "error", err)
	}
}

// sweepTranscripts removes the files that a former daemon left of sessions which never
// began or have their verdicts. It must be over before a session begins. Those of the
// others are for orphaned.
func (j *Judge) sweepTranscripts(ctx context.Context) {
	all, err := os.ReadDir(j.spoolDir())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		j.opts.Log.Warn("the transcripts of former games cannot be listed", "error", err)
	}
	for _, f := range all {
		id, ours := strings.CutPrefix(f.Name(), j.transcriptPrefix())
		if !ours || !f.Type().IsRegular() || len(id) != len(newID()) {
			continue
		}
		sub, err := j.opts.Ledger.Submission(ctx, id)
		if errors.Is(err, fs.ErrNotExist) || err == nil && sub.State != StateRunning {
			j.removeTranscript(id)
		}
	}
}

// orphaned gives the verdict on a session that a former daemon had open: what it had
// stored, and what the transcript tells beyond that.
func (j *Judge) orphaned(ctx context.Context, sub Submission, why string) error {
	r := failed(why)
	if sub.Report != nil {
		var err error
		if r, err = j.lastStanding(sub); err != nil {
			return err
		}
		r.Problem = why
		r.Summary += ": " + why
	}
	begun := sub
	begun.AcceptedAt = sub.StartedAt
	if err := j.publish(ctx, begun, r); err != nil {
		return err
	}
	j.removeTranscript(sub.ID)
	return nil
}

// lastStanding is the report that the ledger has, with the transcript, brought up to its
// last line. It fails where a disk has no room for the transcript.
func (j *Judge) lastStanding(sub Submission) (Report, error) {
	r := *sub.Report
	content, last, err := readTranscript(j.transcriptFile(sub.ID))
	if err != nil {
		j.opts.Log.Warn("the transcript of a game is lost", "session", sub.ID, "error", err)
		return r, nil
	}
	if stored := r.Metrics[metricPeak]; last.PeakScore >= stored { // else the ledger knows of a later move
		var t task.Task
		if s := j.session(sub.Trial); s != nil {
			t = s.Task
		}
		n := standing{score: last.Score, peak: last.PeakScore, max: last.MaxScore, moves: last.Moves}
		scaled := r.Score100
		if r = n.report(t); n.peak == stored {
			r.Score100 = scaled
		}
	}
	if r.Output, err = keepTranscript(j.opts.Blobs, bytes.NewReader(content)); unwritable(err) {
		return r, fmt.Errorf("store the transcript of game %s: %w", sub.ID, err)
	} else if err != nil {
		j.opts.Log.Warn("the transcript of a game could not be stored", "session", sub.ID, "error", err)
	}
	return r, nil
}

// readTranscript returns the whole lines of a file whose writer may have been killed in the
// midst of one, and the last of them.
func readTranscript(name string) (content []byte, last transcribed, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, last, err
	}
	defer f.Close() //nolint:errcheck // only read
	content, err = io.ReadAll(io.LimitReader(f, 2*maxTranscript))
	if err != nil {
		return nil, last, fmt.Errorf("read the transcript of a game: %w", err)
	}
	for end := bytes.LastIndexByte(content, '\n'); end >= 0; end = bytes.LastIndexByte(content[:end], '\n') {
		begin := bytes.LastIndexByte(content[:end], '\n') + 1
		last = transcribed{}
		if json.Unmarshal(content[begin:end], &last) == nil {
			return content[:end+1], last, nil
		}
	}
	return nil, last, fmt.Errorf("read the transcript of a game: %w", io.ErrUnexpectedEOF)
}
