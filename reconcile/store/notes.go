package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/assayd/assayd/reconcile/store/change"
)

// notesSchema has what users note of runs, mining specs and trials.
const notesSchema = `
CREATE TABLE notes (
	n      INTEGER PRIMARY KEY AUTOINCREMENT,
	target TEXT NOT NULL,
	text   TEXT NOT NULL,
	by     TEXT NOT NULL,
	via    TEXT NOT NULL,
	at     INTEGER NOT NULL
) STRICT;
CREATE INDEX notes_target ON notes (target, n);

CREATE TABLE tags (
	target TEXT NOT NULL,
	tag    TEXT NOT NULL,
	PRIMARY KEY (target, tag)
) STRICT, WITHOUT ROWID;
`

// NoteRow is a line of text that a user has left at a target.
type NoteRow struct {
	Target string // a trial, or the address of a run or a mining spec
	Text   string
	By     string
	Via    string
	At     time.Time
}

// PutNote adds a note.
func (t *Tx) PutNote(n NoteRow) error {
	_, err := t.exec("INSERT INTO notes (target, text, by, via, at) VALUES (?, ?, ?, ?, ?)",
		n.Target, string(t.store.encoder.Text([]byte(n.Text))), n.By, n.Via, nanos(n.At))
	if err = errors.Join(err, t.noted(n.Target)); err != nil {
		return fmt.Errorf("store a note of %s: %w", n.Target, err)
	}
	return nil
}

// PutTag adds a tag; one that is there is fine.
func (t *Tx) PutTag(target, tag string) error {
	_, err := t.exec("INSERT INTO tags (target, tag) VALUES (?, ?) ON CONFLICT DO NOTHING", target, string(t.store.encoder.Text([]byte(tag))))
	if err = errors.Join(err, t.noted(target)); err != nil {
		return fmt.Errorf("store a tag of %s: %w", target, err)
	}
	return nil
}

// DropTag removes a tag; one that is not there is fine.
func (t *Tx) DropTag(target, tag string) error {
	_, err := t.exec("DELETE FROM tags WHERE target = ? AND tag = ?", target, tag)
	if err = errors.Join(err, t.noted(target)); err != nil {
		return fmt.Errorf("remove a tag of %s: %w", target, err)
	}
	return nil
}

// noted makes what a target bears a change of it, for who looks.
func (t *Tx) noted(target string) error {
	n := t.next()
	t.touch(target, change.Cells)
	_, err := t.exec("UPDATE cells SET n = ? WHERE trial = ?", n, target)
	return err
}

// Notes returns the notes of a target, the oldest first.
func (t *Tx) Notes(target string) ([]NoteRow, error) {
	rows, err := list(t, func(r row) (n NoteRow, err error) {
		return n, r.Scan(&n.Target, &n.Text, &n.By, &n.Via, moment{&n.At})
	}, "SELECT target, text, by, via, at FROM notes WHERE target = ? ORDER BY n", target)
	if err != nil {
		return nil, fmt.Errorf("read the notes of %s: %w", target, err)
	}
	return rows, nil
}

// TagsOf returns the tags of several targets by target, those of each in their order.
func (t *Tx) TagsOf(targets []string) (map[string][]string, error) {
	text, err := json.Marshal(targets)
	if err != nil {
		return nil, fmt.Errorf("read tags: %w", err)
	}
	type tagged struct{ target, tag string }
	rows, err := list(t, func(r row) (x tagged, err error) { return x, r.Scan(&x.target, &x.tag) },
		"SELECT t.target, t.tag FROM json_each(?) AS j CROSS JOIN tags AS t ON t.target = j.value ORDER BY t.target, t.tag", string(text))
	if err != nil {
		return nil, fmt.Errorf("read the tags of %d targets: %w", len(targets), err)
	}
	tags := map[string][]string{}
	for _, x := range rows {
		tags[x.target] = append(tags[x.target], x.tag)
	}
	return tags, nil
}

// Tags returns the tags of a target, in their order.
func (t *Tx) Tags(target string) ([]string, error) {
	tags, err := list(t, func(r row) (tag string, err error) { return tag, r.Scan(&tag) }, "SELECT tag FROM tags WHERE target = ? ORDER BY tag", target)
	if err != nil {
		return nil, fmt.Errorf("read the tags of %s: %w", target, err)
	}
	return tags, nil
}
