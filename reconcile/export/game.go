package export

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"path"

	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/runtime/judge/round"
)

// game writes what is kept of one session with a game server: steps.jsonl, and the entry
// of the history with its steps. Of one that is still played only the standing is known.
func (x *sforge) game(dir, taskID string, sub round.Submission) error {
	if sub.Report == nil {
		return nil
	}
	if sub.Report.Output != "" {
		err := x.blob(path.Join(dir, "steps.jsonl"), sub.Report.Output, func(w io.Writer, r io.Reader) error {
			return eachStep(r, func(line []byte) error {
				_, err := w.Write(append(line, '\n'))
				return err
			})
		})
		if err != nil {
			return err
		}
	}
	entry, err := x.withSteps(gameEntry(taskID, sub), sub)
	if err != nil {
		return err
	}
	return x.tree.json(path.Join(dir, "game_result.json"), entry)
}

// withSteps reads the steps of a session, which the judge has bounded.
func (x *sforge) withSteps(e GameEntry, sub round.Submission) (_ GameEntry, err error) {
	if sub.Report == nil || sub.Report.Output == "" {
		return e, nil
	}
	r, err := x.store.Blobs().Open(sub.Report.Output)
	if errors.Is(err, fs.ErrNotExist) {
		return e, nil
	}
	if err != nil {
		return e, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	err = eachStep(r, func(line []byte) error {
		e.Steps = append(e.Steps, line)
		return nil
	})
	return e, err
}

// eachStep calls f with the moves of a transcript. The opening of the game, and the note
// that a transcript was cut, are none.
func eachStep(r io.Reader, f func(line []byte) error) error {
	for lines := bufio.NewReader(r); ; {
		line, err := lines.ReadBytes('\n')
		var step struct {
			Move int  `json:"move"`
			Cut  bool `json:"cut"`
		}
		if len(line) > 1 && json.Unmarshal(line, &step) == nil && step.Move > 0 && !step.Cut {
			if err := f(bytes.TrimSuffix(line, []byte("\n"))); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// gameHistory writes a history whose sessions have all their steps, one session at a time:
// together they may be more than fits into memory.
func (x *sforge) gameHistory(r history.TrialRecord) func(name string, value any) error {
	return func(name string, value any) error {
		h, _ := value.(History)
		entries := h.Entries
		h.Entries = []any{}
		head, err := json.Marshal(h)
		if err != nil {
			return err
		}
		const tail = "]}" // entries come last
		return x.tree.file(name, func(w io.Writer) error {
			if _, err := w.Write(head[:len(head)-len(tail)]); err != nil {
				return err
			}
			for i, sub := range rounds(r) {
				if err := x.writeEntry(w, i, entries[i], sub); err != nil {
					return err
				}
			}
			_, err := io.WriteString(w, tail+"\n")
			return err
		})
	}
}

func (x *sforge) writeEntry(w io.Writer, i int, e any, sub round.Submission) (err error) {
	if game, ok := e.(GameEntry); ok {
		if e, err = x.withSteps(game, sub); err != nil {
			return err
		}
	}
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if i > 0 {
		text = append([]byte(","), text...)
	}
	_, err = w.Write(text)
	return err
}
