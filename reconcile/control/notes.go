package control

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/assayd/assayd/reconcile/note"
	"github.com/assayd/assayd/reconcile/request"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/fault"
)

// NoteOptions are what Notes are made of. All functions are called in the loop.
type NoteOptions struct {
	Store *store.Store
	// Change has f done in the loop.
	Change func(ctx context.Context, f func() error) error
	// Place says where records about a target go: a trial, a run, or a mining spec. Another is an error that names
	// what was probably meant.
	Place func(ctx context.Context, target string) (Place, error)
	Now   func() time.Time
}

// Notes adds notes and tags to what users look at. Any goroutine may use it.
type Notes struct{ o NoteOptions }

// NewNotes returns what adds notes and tags.
func NewNotes(o NoteOptions) *Notes { return &Notes{o} }

// Noted is a note, or a tag, that somebody asks for: one of both.
type Noted struct {
	Target string `json:"target"`
	Text   string `json:"text,omitempty"`
	Tag    string `json:"tag,omitempty"`
	Remove bool   `json:"remove,omitempty"` // the tag
	DryRun bool   `json:"dry_run,omitempty"`
}

// What was noted, as records and answers have it.
const (
	AddNote   = "note"
	AddTag    = "tag"
	RemoveTag = "untag"
)

// action is what is asked for.
func (a Noted) action() string {
	switch {
	case a.Tag == "":
		return AddNote
	case a.Remove:
		return RemoveTag
	}
	return AddTag
}

// check fails for what cannot be noted.
func (a Noted) check() error {
	switch {
	case (a.Text == "") == (a.Tag == ""):
		return request.Mistakef("note %s: give a text, or a tag", a.Target)
	case a.Tag != "" && !note.IsTag(a.Tag):
		return request.Mistakef("tag %s: a tag has letters, digits, and . _ : - behind the first one, 40 at most", a.Target)
	case a.Text != "" && (!printable(a.Text, note.MaxText) || strings.TrimSpace(a.Text) == ""):
		return request.Mistakef("note %s: a note is one line of printable text of at most %d bytes", a.Target, note.MaxText)
	case a.Remove && a.Tag == "":
		return request.Mistakef("note %s: notes stay; only a tag can be removed", a.Target)
	}
	return nil
}

// NoteRecord is what a record of type note says besides its envelope.
type NoteRecord struct {
	Action string `json:"action"` // note, tag, untag
	Target string `json:"target"`
	Text   string `json:"text"` // or the tag
	By     string `json:"by"`
	Via    Via    `json:"via"`
}

// Put adds a note or a tag, or removes one, with a record. What is so already stays as it is.
func (k *Notes) Put(ctx context.Context, a Noted) (c Changed, err error) {
	if err := a.check(); err != nil {
		return c, err
	}
	return c, k.o.Change(ctx, func() (err error) {
		c, err = k.put(ctx, a)
		return err
	})
}

func (k *Notes) put(ctx context.Context, a Noted) (c Changed, err error) {
	place, err := k.o.Place(ctx, a.Target)
	if err != nil {
		return c, err
	}
	c = Changed{Target: a.Target, State: a.action(), Says: a.Target + " bears no tag"}
	err = k.o.Store.Do(ctx, func(tx *store.Tx) error {
		set, err := note.Of(tx, a.Target)
		if err != nil {
			return err
		}
		if c.Changed, err = a.changes(ctx, set); err != nil {
			return err
		}
		set.Tags = a.tags(set.Tags)
		if len(set.Tags) > 0 {
			c.Says = a.Target + " bears " + strings.Join(set.Tags, ", ")
		}
		if a.Tag == "" {
			c.Says = a.Target + ": " + a.Text
		}
		if !c.Changed || a.DryRun {
			return nil
		}
		return k.write(ctx, tx, a, place)
	})
	if err != nil {
		return Changed{}, err
	}
	if c.Changed && !a.DryRun {
		fault.Reached(fault.NoteStored)
	}
	return c, nil
}

// changes reports whether a target that bears so much is to bear something else. More than it may is a mistake.
func (a Noted) changes(ctx context.Context, set note.Set) (bool, error) {
	has := slices.Contains(set.Tags, a.Tag)
	switch {
	case a.Remove:
		return has, nil
	case a.Tag != "" && !has && len(set.Tags) >= note.MaxTags:
		return false, request.Conflictf("tag %s: it has %d tags, which is as many as there may be; remove one with assayd untag", a.Target, len(set.Tags))
	case a.Tag != "":
		return !has, nil
	}
	by := Of(ctx).By
	if slices.ContainsFunc(set.Notes, func(n note.Note) bool { return n.Text == a.Text && n.By == by }) {
		return false, nil
	}
	if len(set.Notes) >= note.MaxNotes {
		return false, request.Conflictf("note %s: it has %d notes, which is as many as there may be", a.Target, len(set.Notes))
	}
	return true, nil
}

// tags are those of a target that has these when it is done.
func (a Noted) tags(before []string) []string {
	tags := slices.DeleteFunc(slices.Clone(before), func(tag string) bool { return tag == a.Tag })
	if a.Tag != "" && !a.Remove {
		tags = append(tags, a.Tag)
	}
	slices.Sort(tags)
	return tags
}

// write stores what is asked for, with its record.
func (k *Notes) write(ctx context.Context, tx *store.Tx, a Noted, p Place) (err error) {
	who := Of(ctx)
	r := NoteRecord{a.action(), a.Target, a.Text, who.By, who.Via}
	switch r.Action {
	case AddNote:
		err = tx.PutNote(store.NoteRow{Target: a.Target, Text: a.Text, By: who.By, Via: string(who.Via), At: k.o.Now().UTC()})
	case AddTag:
		r.Text, err = a.Tag, tx.PutTag(a.Target, a.Tag)
	default:
		r.Text, err = a.Tag, tx.DropTag(a.Target, a.Tag)
	}
	if err != nil {
		return err
	}
	if _, err := tx.AppendLine(p.Stream, store.Envelope{Type: "note", Spec: p.Stream.Spec, Generation: p.Generation, Execution: p.Execution}, r); err != nil {
		return fmt.Errorf("%s %s: %w", r.Action, a.Target, err)
	}
	fault.Reached(fault.NoteWritten)
	return nil
}
