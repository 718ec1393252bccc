package export

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// A file of this name, with the run's in the middle, says what of a folder is the export
// of that run. A folder may hold exports of several.
const (
	markerPrefix = ".assayd-export-"
	markerSuffix = ".json"
)

func markerName(run string) string { return markerPrefix + safe(run) + markerSuffix }

// marker lists what was written, so that a later export removes what is no more, and keeps
// off everything else.
type marker struct {
	Owner      string              `json:"owner"` // id of the state directory
	Run        string              `json:"run"`
	Folders    []string            `json:"folders"` // that are this run's alone
	Executions map[string][]string `json:"executions"`
}

// recall reads the marker of the run, if there is one, and refuses a folder that is not
// one of exports.
func (t *tree) recall() error {
	names, err := t.names()
	if err != nil {
		return err
	}
	if len(names) > 0 && !slices.ContainsFunc(names, isMarker) {
		return t.taken("holds other files")
	}
	name := markerName(t.marker.Run)
	if !slices.Contains(names, name) {
		return nil
	}
	found, err := t.marked(name)
	if err != nil {
		return err
	}
	if found.Owner != t.marker.Owner || found.Run != t.marker.Run {
		return t.taken(fmt.Sprintf("holds an export of %s of another state directory or run", found.Run))
	}
	t.marker.Folders = found.Folders
	if found.Executions != nil {
		t.marker.Executions = found.Executions
	}
	return nil
}

// claim takes folders for the run, before anything is written to them. One that is there
// and that no earlier export of the run has claimed is somebody else's, and so is one that
// another run has.
func (t *tree) claim(folders []string) error {
	others, err := t.others()
	if err != nil {
		return err
	}
	for _, folder := range folders {
		if run, has := others[folder]; has {
			return t.taken(fmt.Sprintf("holds %s of an export of %s", folder, run))
		}
		info, err := t.root.Lstat(folder)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("look at a folder of the export: %w", err)
		}
		mine := slices.Contains(t.marker.Folders, folder)
		if err == nil && (!mine || !info.IsDir()) {
			return t.taken(fmt.Sprintf("holds a %s that no export of the run has made", folder))
		}
		if !mine {
			t.marker.Folders = append(t.marker.Folders, folder)
		}
	}
	return t.keep()
}

// others are the folders of other runs, with the run.
func (t *tree) others() (map[string]string, error) {
	names, err := t.names()
	if err != nil {
		return nil, err
	}
	folders := map[string]string{}
	for _, name := range names {
		if !isMarker(name) || !strings.HasSuffix(name, markerSuffix) || name == markerName(t.marker.Run) {
			continue
		}
		other, err := t.marked(name)
		if err != nil {
			return nil, err
		}
		for _, folder := range other.Folders {
			folders[path.Clean(folder)] = other.Run
		}
	}
	return folders, nil
}

func (t *tree) names() (names []string, err error) {
	entries, err := fs.ReadDir(t.root.FS(), ".")
	if err != nil {
		return nil, fmt.Errorf("read the folder of the export: %w", err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, nil
}

// isMarker is also true of one that is being written.
func isMarker(name string) bool { return strings.HasPrefix(name, markerPrefix) }

// marked reads a marker.
func (t *tree) marked(name string) (m marker, err error) {
	text, err := t.root.ReadFile(name)
	if err != nil {
		return m, fmt.Errorf("read what the folder is an export of: %w", err)
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return m, t.taken("has a " + name + " that cannot be read")
	}
	return m, nil
}

// keep writes the marker.
func (t *tree) keep() error {
	text, err := json.Marshal(t.marker)
	if err != nil {
		return err
	}
	return t.put(markerName(t.marker.Run), func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	})
}

func (t *tree) taken(why string) error { return &TakenError{t.dir, why} }
