package game

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/assayd/assayd/runtime/fault"
	"github.com/assayd/assayd/runtime/judge/round"
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
func (t *transcript) commit(blobs round.Blobs) (string, error) {
	if err := errors.Join(t.err, t.flush()); err != nil {
		return "", fmt.Errorf("write the transcript of a game: %w", err)
	}
	return keepTranscript(blobs, io.NewSectionReader(t.file, 0, 2*maxTranscript))
}

func (t *transcript) drop() { _ = t.file.Close() } // what could not be written has been told

func keepTranscript(blobs round.Blobs, content io.Reader) (digest string, err error) {
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
