package control_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/reconcile/control"
	"github.com/assayd/assayd/reconcile/note"
	"github.com/assayd/assayd/reconcile/request"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/reconcile/store/storetest"
)

// newNotes are notes over a store, of which it returns what a target bears, and its records in short.
func newNotes(t *testing.T) (k *control.Notes, bears func() note.Set, records func() []string) {
	t.Helper()
	s, dir := storetest.Open(t), t.TempDir()
	ref := store.StreamRef{Spec: "run.r", Root: dir, Path: filepath.Join(dir, "r.jsonl")}
	k = control.NewNotes(control.NoteOptions{
		Store: s, Change: func(_ context.Context, do func() error) error { return do() }, Now: func() time.Time { return time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC) },
		Place: func(_ context.Context, target string) (control.Place, error) {
			if target != "run.r" {
				return control.Place{}, errors.New("no such target")
			}
			return control.Place{Stream: ref, Execution: 3}, nil
		},
	})
	bears = func() (set note.Set) {
		if err := s.View(t.Context(), func(tx *store.Tx) (err error) {
			set, err = note.Of(tx, "run.r")
			return err
		}); err != nil {
			t.Error(err)
		}
		return set
	}
	records = func() (all []string) {
		if err := s.View(t.Context(), func(tx *store.Tx) error {
			stream, err := tx.Stream("run.r")
			if errors.Is(err, store.ErrNotFound) {
				return nil
			}
			if err != nil {
				return err
			}
			lines, err := tx.LinesFrom(stream.ID, 1, 1000)
			for _, l := range lines {
				var r struct {
					Type, Execution string
					control.NoteRecord
				}
				err = errors.Join(err, json.Unmarshal(l.Data, &r))
				all = append(all, fmt.Sprintf("%s %s %s %s %q by %s via %s", r.Type, r.Execution, r.Action, r.Target, r.Text, r.By, r.Via))
			}
			return err
		}); err != nil {
			t.Error(err)
		}
		return all
	}
	return k, bears, records
}

// Each note and tag is there once, with one record; what is hostile or too much is refused.
func TestNotes(t *testing.T) {
	k, bears, records := newNotes(t)
	anna := control.As(t.Context(), control.Actor{By: "anna", Via: control.Page})
	const hostile = `"><script>alert(1)</script> {{.}}`
	for _, tt := range []struct {
		asked   control.Noted
		changed bool
		state   string
		problem string
	}{
		{asked: control.Noted{Target: "run.r", Text: hostile, DryRun: true}, changed: true, state: "note"},
		{asked: control.Noted{Target: "run.r", Text: hostile}, changed: true, state: "note"},
		{asked: control.Noted{Target: "run.r", Text: hostile}, state: "note"},
		{asked: control.Noted{Target: "run.r", Tag: "b"}, changed: true, state: "tag"},
		{asked: control.Noted{Target: "run.r", Tag: "a:1"}, changed: true, state: "tag"},
		{asked: control.Noted{Target: "run.r", Tag: "b"}, state: "tag"},
		{asked: control.Noted{Target: "run.r", Tag: "b", Remove: true, DryRun: true}, changed: true, state: "untag"},
		{asked: control.Noted{Target: "run.r", Tag: "b", Remove: true}, changed: true, state: "untag"},
		{asked: control.Noted{Target: "run.r", Tag: "b", Remove: true}, state: "untag"},
		{asked: control.Noted{Target: "run.s", Tag: "b"}, problem: "no such target"},
		{asked: control.Noted{Target: "run.r"}, problem: "a text, or a tag"},
		{asked: control.Noted{Target: "run.r", Text: "x", Tag: "x"}, problem: "a text, or a tag"},
		{asked: control.Noted{Target: "run.r", Text: "x", Remove: true}, problem: "notes stay"},
		{asked: control.Noted{Target: "run.r", Text: " "}, problem: "one line"},
		{asked: control.Noted{Target: "run.r", Text: "a\nb"}, problem: "one line"},
		{asked: control.Noted{Target: "run.r", Text: "\x1b[2J"}, problem: "one line"},
		{asked: control.Noted{Target: "run.r", Text: "\u202egnp"}, problem: "one line"},
		{asked: control.Noted{Target: "run.r", Text: strings.Repeat("x", note.MaxText+1)}, problem: "one line"},
		{asked: control.Noted{Target: "run.r", Tag: "-x"}, problem: "letters"},
		{asked: control.Noted{Target: "run.r", Tag: strings.Repeat("x", 41)}, problem: "letters"},
	} {
		c, err := k.Put(anna, tt.asked)
		if tt.problem != "" {
			if err == nil || !strings.Contains(err.Error(), tt.problem) {
				t.Errorf("%+v: %v, want a problem with %q", tt.asked, err, tt.problem)
			}
			continue
		}
		if err != nil || c.Changed != tt.changed || c.State != tt.state {
			t.Errorf("%+v is answered with %+v, %v", tt.asked, c, err)
		}
	}
	if set := bears(); len(set.Notes) != 1 || set.Notes[0].Text != hostile || set.Notes[0].By != "anna" || !cmp.Equal(set.Tags, []string{"a:1"}) {
		t.Errorf("it bears %+v", set)
	}
	if diff := cmp.Diff([]string{
		fmt.Sprintf("note e3 note run.r %q by anna via page", hostile),
		`note e3 tag run.r "b" by anna via page`, `note e3 tag run.r "a:1" by anna via page`, `note e3 untag run.r "b" by anna via page`,
	}, records()); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

// A target bears so many notes and tags, and no more.
func TestNotesAreBounded(t *testing.T) {
	k, bears, _ := newNotes(t)
	var conflict *request.Conflict
	for i := range note.MaxNotes + 1 {
		_, err := k.Put(t.Context(), control.Noted{Target: "run.r", Text: fmt.Sprint("note ", i)})
		if full := i == note.MaxNotes; full != errors.As(err, &conflict) {
			t.Fatalf("note %d: %v", i, err)
		}
	}
	for i := range note.MaxTags + 1 {
		_, err := k.Put(t.Context(), control.Noted{Target: "run.r", Tag: fmt.Sprint("tag", i)})
		if full := i == note.MaxTags; full != errors.As(err, &conflict) {
			t.Fatalf("tag %d: %v", i, err)
		}
	}
	if set := bears(); len(set.Notes) != note.MaxNotes || len(set.Tags) != note.MaxTags {
		t.Errorf("it bears %d notes and %d tags", len(set.Notes), len(set.Tags))
	}
}
