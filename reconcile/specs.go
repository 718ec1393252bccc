package reconcile

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/specfiles"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/clock"
	"github.com/assayd/assayd/runtime/fault"
)

// rescan reads the files, accepts what is valid, and has every run looked at that may be
// touched by it. Files for which fresh holds are compiled, and their contexts read, anew
// also when their text is unchanged; nil = none. It sets when to look again by itself. A look
// that fails changes nothing: no file counts as missed by it.
func (r *Reconciler) rescan(ctx context.Context, fresh func(path string) bool) {
	r.again = time.Now().Add(time.Second) // unless all goes well
	err := r.lookOnce(ctx, fresh)
	switch {
	case err == nil:
		r.blind = ""
	case ctx.Err() == nil:
		r.blind = err.Error()
		r.o.Log.Error("look at the specs", "error", err)
	}
}

func (r *Reconciler) lookOnce(ctx context.Context, fresh func(path string) bool) error {
	if r.previous == nil {
		if err := r.closeSubmissions(ctx); err != nil {
			return err
		}
	}
	previous := r.previous
	handedIn, err := r.submissions(ctx)
	if err != nil {
		return fmt.Errorf("read which files were handed in: %w", err)
	}
	release, known := r.holdCheckout()
	defer release()
	r.scanned = specfiles.ScanCache{}
	found, emptied, sights := r.scan(previous, handedIn, known)
	inputs, again := r.deletions.Settle(previous, found, emptied, time.Now())
	sum := fingerprint(inputs)
	if r.set != nil && sum == r.seen && fresh == nil && !r.set.Diagnostics.HasErrors() {
		r.again = again
		r.settled(sights)
		return nil // nothing to compile; a spec with an error may be missing what has come since
	}
	o := r.inLoop()
	o.Fresh = fresh
	set, settled := r.debounce.Load(inputs, previous, r.whole(fresh), o, time.Now())
	if !settled.IsZero() {
		sum = [sha256.Size]byte{} // what was held back is compiled when it has settled
		again = specfiles.Sooner(again, settled)
	}
	if r.set == nil || fresh != nil || !reflect.DeepEqual(r.set, set) {
		changed := changedFiles(previous, set.Accepted())
		if err := r.accept(ctx, set, changed); err != nil {
			return fmt.Errorf("accept specs: %w", err)
		}
		fault.Reached(fault.SpecsAccepted)
		r.contents.texts = byPath(inputs)
		if err := r.adopt(ctx, set, previous, changed); err != nil {
			return err
		}
		r.previous = set.Accepted()
	}
	r.seen, r.again = sum, again
	r.settled(sights)
	return nil
}

// all and among choose files to be read anew.
func all(string) bool { return true }

func among(paths []string) func(string) bool {
	return func(path string) bool { return slices.Contains(paths, path) }
}

// Fetched has files looked at whose datasets have come.
func (r *Reconciler) Fetched(ctx context.Context, paths []string) error {
	return r.do(ctx, func() { r.rescan(ctx, among(paths)) })
}

func byPath(inputs []config.Input) map[string]config.Input {
	all := make(map[string]config.Input, len(inputs))
	for _, in := range inputs {
		if !in.Kept && in.Unknown == "" && in.Refused == "" {
			all[in.Path] = in
		}
	}
	return all
}

// fingerprint identifies inputs by what they say.
func fingerprint(inputs []config.Input) [sha256.Size]byte {
	h := sha256.New()
	for _, i := range inputs {
		fmt.Fprintf(h, "%q %q %q %d\n", i.Path, i.Unknown, i.Refused, len(i.Text))
		h.Write(i.Text)
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// accepted is what was last accepted, by path.
func (r *Reconciler) accepted(ctx context.Context) (config.Previous, error) {
	previous := config.Previous{}
	err := r.o.Store.View(ctx, func(tx *store.Tx) error {
		rows, err := tx.Files()
		if err != nil {
			return err
		}
		for _, row := range rows {
			var c config.Compiled
			if err := json.Unmarshal(row.Compiled, &c); err != nil {
				return fmt.Errorf("read what was accepted of %s: %w", row.Path, err)
			}
			previous[row.Path] = c
		}
		return nil
	})
	return previous, err
}

// scan lists the spec files under the watched roots and those that were handed in, and
// the roots that hold nothing at all. The checkout is only looked at where it is known.
func (r *Reconciler) scan(previous config.Previous, handedIn []submission, known bool) (inputs []config.Input, emptied []string, sights []config.StatSnapshot) {
	inputs, emptied, sights = r.scanRoots(previous, known)
	if slices.ContainsFunc(handedIn, func(s submission) bool { return !s.Over }) {
		sights = nil // they lie anywhere, and are read at each look
	}
	return withSubmissions(inputs, handedIn), emptied, sights
}

// scanRoots lists the spec files under the watched roots, and the roots that hold nothing
// at all: a mount point whose file system is not there looks like that. With them comes how
// each root lay in the file system, none where not all was looked at.
func (r *Reconciler) scanRoots(previous config.Previous, known bool) (inputs []config.Input, emptied []string, sights []config.StatSnapshot) {
	var trouble []string
	for _, root := range r.o.Roots {
		if !known && root == r.o.Checkout.Root {
			inputs = append(inputs, unknown(root, previous)...)
			sights = append(sights, config.StatSnapshot{})
			continue
		}
		found := config.Scan(root, previous, r.o.Config)
		empty := slices.ContainsFunc(found.Unknown, func(u config.Unknown) bool { return errors.Is(u.Err, config.ErrEmpty) })
		if empty {
			emptied, sights = append(emptied, root), append(sights, config.StatSnapshot{})
			continue
		}
		inputs, sights = append(inputs, found.Inputs...), append(sights, found.Snapshot)
		for _, u := range found.Unknown {
			place := u.String()
			if u.Path == root && errors.Is(u.Err, fs.ErrNotExist) {
				place += "; make the folder, or name another one"
			}
			trouble = append(trouble, place)
		}
	}
	if !slices.Equal(trouble, r.trouble) {
		r.trouble = trouble
		for _, place := range trouble {
			r.o.Log.Warn("a place for specs cannot be looked at; what was accepted there stays", "place", place)
		}
	}
	return inputs, emptied, sights
}

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
func (r *Reconciler) accept(ctx context.Context, set *config.Set, changed map[string]bool) error {
	now := clock.Now().UTC()
	accepted := set.Accepted()
	return r.o.Store.Do(ctx, func(tx *store.Tx) error {
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
		for _, f := range r.otherFiles(set) {
			if err := r.tellFile(ctx, tx, f, blocks[f.Path]); err != nil {
				return err
			}
		}
		moved := func(b config.Block) bool { return r.set == nil || changed[b.Path] }
		return errors.Join(settleSchedules(tx, set, moved, now), r.settleHomes(tx, set, moved))
	})
}

// otherFiles are the files of a set of which something else is known than of the set in force.
func (r *Reconciler) otherFiles(set *config.Set) (other []config.FileState) {
	before := map[string]config.FileState{}
	if r.set != nil {
		for _, f := range r.set.Files {
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
		return fmt.Errorf("encode what was accepted of %s: %w", c.Path, err)
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
func (r *Reconciler) tellFile(ctx context.Context, tx *store.Tx, f config.FileState, blocks []config.Block) error {
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
		if slices.Contains(r.answered, f.Path) {
			break
		}
		r.o.Log.Log(ctx, level(d), d.Summary, "file", d.File, "line", d.Line, "column", d.Column, "in", d.Context, "detail", d.Detail)
	}
	stream, commit := r.statusStream(f.Path, cmp.Or(f.Root, filepath.Dir(f.Path))), r.commitOf(f.Path)
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

// Roots are the watched folders.
func (r *Reconciler) Roots() []string { return slices.Clone(r.o.Roots) }

// roots are the folders that files are under, by the path of the file.
type roots map[string]string

func rootsOf(set *config.Set) roots {
	all := roots{}
	for _, f := range set.Files {
		all[f.Path] = f.Root
	}
	return all
}

// of is the root of a file; one that is under none has its own folder for one.
func (r roots) of(path string) string { return cmp.Or(r[path], filepath.Dir(path)) }

// adopt makes the set the desired state. Before is what was accepted until now, and changed are the
// files of which something else is in force now; nil = all runs are to be compiled again.
func (r *Reconciler) adopt(ctx context.Context, set *config.Set, before config.Previous, changed map[string]bool) error {
	last := r.set
	r.set, r.roots = set, rootsOf(set)
	r.inForce.Store(set)
	r.shown.showAll()
	now := r.now()
	r.adoptMinings(ctx, set, now)
	desired, err := r.pinRuns(ctx, set, before, plan.Unchanged{Last: last, Changed: changed})
	if err != nil { // the next look adopts the set: without its runs nothing may be taken for gone
		if r.set = last; last != nil {
			r.roots = rootsOf(last)
			r.inForce.Store(last)
		}
		return fmt.Errorf("pin the content of executions: %w", err)
	}
	for address, d := range desired {
		if _, gone := r.gone[address]; gone || d != r.desired[address] {
			delete(r.gone, address)
			r.queue.add(address, now)
		}
	}
	for address := range r.desired {
		if desired[address] == nil {
			r.miss(address, now)
		}
	}
	r.desired = desired
	r.Desk.Nudge() // a file may hold a mining spec back, or not any more
	return nil
}

// where is trial.Host.Where: the place in the spec files as they are now.
func (r *Reconciler) where(kind, name, task string, attributes ...string) string {
	set := r.inForce.Load()
	if set == nil {
		return ""
	}
	var place config.Place
	switch kind {
	case "agent":
		if a := set.Agent(name); a != nil {
			place = a.Place
		}
	case "benchmark":
		if b := set.Benchmark(name); b != nil {
			place = b.Place // of what is imported
			for _, t := range b.Tasks {
				if t.Name == task {
					place = t.Place
				}
			}
		}
	}
	for _, attribute := range attributes {
		if at, ok := place.At[attribute]; ok {
			return at.String()
		}
	}
	return place.Pos.String()
}

// miss notes that no file declares a spec any more.
func (r *Reconciler) miss(address string, now time.Time) {
	if _, ok := r.gone[address]; !ok {
		r.gone[address] = now
	}
	r.shown.show(address)
	r.queue.add(address, now)
}

// whole tells which files nobody can be writing: those that somebody asks for, and those of a
// checkout, which is looked at only when it is complete.
func (r *Reconciler) whole(fresh func(path string) bool) func(path string) bool {
	return func(path string) bool {
		return fresh != nil && fresh(path) || r.o.Checkout != nil && below(path, r.o.Checkout.Root)
	}
}

// settled lets the files rest after a look that took all of them in: a file that is missed or
// held back, or one with an error, is looked at again without having changed.
func (r *Reconciler) settled(sights []config.StatSnapshot) {
	if r.again.IsZero() && !r.set.Diagnostics.HasErrors() {
		r.scanned = specfiles.NewScanCache(sights, time.Now())
	}
}
