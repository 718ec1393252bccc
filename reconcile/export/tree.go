package export

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"time"
)

// TakenError says that a folder holds something else than an export of this run.
type TakenError struct{ Dir, Why string }

func (e *TakenError) Error() string {
	return fmt.Sprintf("folder %s %s: name an empty or a new one, or one that holds exports", e.Dir, e.Why)
}

// tree writes files below a folder that it never leaves, whatever names and links say.
type tree struct {
	dir     string
	root    *os.Root
	marker  marker
	written []string
	at      time.Time // of the files that are written; zero = now
	dates   map[string]time.Time
}

// openTree takes a folder for the export of a run. Nothing is written before claim.
func openTree(dir, owner, run string) (*tree, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder of the export: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the folder of the export: %w", err)
	}
	t := &tree{dir: dir, root: root, marker: marker{Owner: owner, Run: run, Executions: map[string][]string{}}, dates: map[string]time.Time{}}
	if err := t.recall(); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return t, nil
}

// finish removes what an earlier export of the execution wrote and this one did not.
func (t *tree) finish(execution string) error {
	slices.Sort(t.written)
	var errs []error
	for _, name := range t.marker.Executions[execution] {
		if _, still := slices.BinarySearch(t.written, name); still {
			continue
		}
		if err := t.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("remove what an earlier export wrote: %w", err))
		}
		_ = t.root.Remove(path.Dir(name)) // unless something is in it
	}
	for dir, at := range t.dates {
		if err := t.root.Chtimes(dir, at, at); err != nil {
			errs = append(errs, fmt.Errorf("set the time of a folder of the export: %w", err))
		}
	}
	t.marker.Executions[execution] = t.written
	return errors.Join(append(errs, t.keep())...)
}

// date gives a folder a time once all is written; zero = that of the last change.
func (t *tree) date(dir string, at time.Time) {
	if !at.IsZero() {
		t.dates[dir] = at
	}
}

func (t *tree) close() error { return t.root.Close() }

// file writes one file of the export.
func (t *tree) file(name string, write func(io.Writer) error) error {
	if err := t.root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return fmt.Errorf("make a folder of the export: %w", err)
	}
	if err := t.put(name, write); err != nil {
		return err
	}
	t.written = append(t.written, name)
	return nil
}

// partialSuffix ends the name of a file that is not whole yet.
const partialSuffix = ".partial"

// put writes a file whole: who reads meanwhile sees the old one or the new one.
func (t *tree) put(name string, write func(io.Writer) error) (err error) {
	partial := name + partialSuffix
	f, err := t.root.Create(partial)
	if err != nil {
		return fmt.Errorf("write the export: %w", err)
	}
	err = errors.Join(write(f), f.Close())
	if err == nil && !t.at.IsZero() {
		err = t.root.Chtimes(partial, t.at, t.at)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write %s of the export: %w", name, err), t.root.Remove(partial))
	}
	if err := t.root.Rename(partial, name); err != nil {
		return fmt.Errorf("write the export: %w", err)
	}
	return nil
}

// json writes a value as existing scripts are used to find it, indented.
func (t *tree) json(name string, value any) error {
	return t.file(name, func(w io.Writer) error {
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(value)
	})
}
