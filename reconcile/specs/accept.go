package specs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/clock"
)

// changedFiles are the paths of which something else is in force now.
func changedFiles(before, now config.Previous) map[string]bool {
	changed := map[string]bool{}
	for path, c := range now {
		if old, ok := before[path]; !ok || !reflect.DeepEqual(old, c) {
			changed[path] = true
		}
	}
	for path := range before {
		if _, still := now[path]; !still {
			changed[path] = true
		}
	}
	return changed
}

// accept stores what is new and reports it in the status files, in one transaction.
func (s *Source) accept(ctx context.Context, set *config.Set, changed map[string]bool) error {
	now := clock.Now().UTC()
	accepted := set.Accepted()
	return s.o.Store.Do(ctx, func(tx *store.Tx) error {
		for path := range changed {
			c, still := accepted[path]
			if !still {
				if err := errors.Join(tx.DeleteFile(path), tx.PutMeta(toldKey(path), "")); err != nil {
					return err
				}
				continue
			}
			if err := keepFile(tx, c, now); err != nil {
				return err
			}
		}
		blocks := map[string][]config.Block{}
		for _, b := range set.All() {
			blocks[b.Path] = append(blocks[b.Path], b)
		}
		for _, f := range s.otherFiles(set) {
			if err := s.tellFile(ctx, tx, f, blocks[f.Path]); err != nil {
				return err
			}
		}
		moved := func(b config.Block) bool { return s.set == nil || changed[b.Path] }
		return errors.Join(settleSchedules(tx, set, moved, now), s.settleHomes(tx, set, moved))
	})
}

// otherFiles are the files of a set of which something else is known than of the set in force.
func (s *Source) otherFiles(set *config.Set) (other []config.FileState) {
	before := map[string]config.FileState{}
	if s.set != nil {
		for _, f := range s.set.Files {
			before[f.Path] = f
		}
	}
	for _, f := range set.Files {
		if was, known := before[f.Path]; !known || !reflect.DeepEqual(was, f) {
			other = append(other, f)
		}
	}
	return other
}

// keepFile stores what is in force of a file, which is what a later daemon falls back on.
func keepFile(tx *store.Tx, c config.Compiled, now time.Time) error {
	compiled, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("encode the accepted spec of %s: %w", c.Path, err)
	}
	return tx.PutFile(store.FileRow{Path: c.Path, Root: c.Root, Hash: c.Hash, Compiled: compiled, AcceptedAt: now})
}

type specAccepted struct {
	Commit      string             `json:"commit,omitempty"` // of the repository that the file is from
	Diagnostics config.Diagnostics `json:"diagnostics"`
}

func toldKey(path string) string { return "told/" + path }

// tellFile reports in the file's status file what became of it, unless it was said before.
// Of a file that cannot be read nothing is known, so nothing is said. blocks are those in
// force of the file.
func (s *Source) tellFile(ctx context.Context, tx *store.Tx, f config.FileState, blocks []config.Block) error {
	if f.Status == config.Unread {
		return nil
	}
	told, err := json.Marshal(f)
	if err != nil {
		return fmt.Errorf("encode the state of %s: %w", f.Path, err)
	}
	before, err := tx.Meta(toldKey(f.Path))
	if err != nil || before == string(told) {
		return err
	}
	if err := tx.PutMeta(toldKey(f.Path), string(told)); err != nil {
		return err
	}
	for _, d := range f.Diagnostics {
		if slices.Contains(s.answered, f.Path) {
			break
		}
		s.o.Log.Log(ctx, level(d), d.Summary, "file", d.File, "line", d.Line, "column", d.Column, "in", d.Context, "detail", d.Detail)
	}
	stream, commit := s.StatusStream(f.Path, cmp.Or(f.Root, filepath.Dir(f.Path))), s.CommitOf(f.Path)
	if f.Status != config.OK {
		_, err := tx.AppendLine(stream, store.Envelope{Type: "spec.rejected", Spec: contextAddress(f.Diagnostics), Generation: f.Generation}, specAccepted{commit, f.Diagnostics})
		return err
	}
	for _, b := range blocks {
		record := specAccepted{commit, within(f.Diagnostics, b)}
		if _, err := tx.AppendLine(stream, store.Envelope{Type: "spec.accepted", Spec: b.Address(), Generation: b.Generation}, record); err != nil {
			return err
		}
	}
	return nil
}

// contextAddress is the spec that the first diagnostic is about, "run.nightly"; "" when
// it is about the file.
func contextAddress(ds config.Diagnostics) string {
	for _, d := range ds {
		if kind, name, ok := strings.Cut(d.Context, " "); ok {
			return kind + "." + strings.Trim(name, `"`)
		}
	}
	return ""
}

func within(ds config.Diagnostics, b config.Block) config.Diagnostics {
	of := config.Diagnostics{}
	for _, d := range ds {
		if d.Context == fmt.Sprintf("%s %q", b.Kind, b.Name) {
			of = append(of, d)
		}
	}
	return of
}

func level(d config.Diagnostic) slog.Level {
	if d.Severity == config.Error {
		return slog.LevelError
	}
	return slog.LevelWarn
}
