//go:build linux

package daemon_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
	"github.com/assayd/assayd/runtime/image"
	"github.com/assayd/assayd/runtime/trial"
)

// vigil watches what no end of a daemon may change, through any number of them.
type vigil struct {
	*fixture
	agents    map[string]body      // by trial, as first seen
	deadlines map[string]time.Time // by trial and try
	lines     map[string][]byte    // what result files were seen to hold, by name
	networks  []string             // that the engine had before
	launched  time.Time            // of the daemon that runs
}

func (w *fixture) vigil() *vigil {
	w.Helper()
	networks, err := w.listed("network", "{{.Name}}")
	if err != nil {
		w.Fatal(err)
	}
	return &vigil{fixture: w, agents: map[string]body{}, deadlines: map[string]time.Time{}, lines: map[string][]byte{}, networks: networks}
}

// start starts a daemon that is not expected to die.
func (v *vigil) start() {
	v.Helper()
	v.launched = time.Now()
	v.serve()
}

// look compares with what was seen before; it may be called at any moment.
func (v *vigil) look() {
	v.Helper()
	for id, b := range v.bodies() {
		switch old, known := v.agents[id]; {
		case b.Agent == "":
		case !known:
			v.agents[id] = b
		case b != old:
			v.Errorf("trial %s is another process than before:\nbefore %+v\nnow    %+v", id, old, b)
		}
	}
	for _, name := range v.files() {
		v.grown(name)
	}
}

// files are the names of the result files.
func (v *vigil) files() (names []string) {
	v.Helper()
	found, err := filepath.Glob(filepath.Join(v.specs, "*.jsonl"))
	if err != nil {
		v.Fatal(err)
	}
	for _, path := range found {
		names = append(names, filepath.Base(path))
	}
	return names
}

// grown checks that a result file still begins with what it held, that its seq has no gap,
// and that no deadline in it has moved.
func (v *vigil) grown(name string) {
	v.Helper()
	text, err := os.ReadFile(filepath.Join(v.specs, name))
	if err != nil {
		v.Fatal(err)
	}
	text = text[:bytes.LastIndexByte(text, '\n')+1]
	if old := v.lines[name]; !bytes.HasPrefix(text, old) {
		v.Errorf("%s held\n%s\nand holds now\n%s", name, old, text)
	}
	v.lines[name] = text
	for _, r := range ofType("trial.started", v.records(name)) {
		key := fmt.Sprintf("%s/%d", r.Trial, r.Try)
		if old, known := v.deadlines[key]; known && !old.Equal(r.Deadline) {
			v.Errorf("trial %s has the deadline %s and had %s", key, r.Deadline, old)
		}
		v.deadlines[key] = r.Deadline
	}
}

// tidy waits until nothing is left that a former daemon made and this one has no use for:
// no container, no file, no folder, and every result file whole again.
func (v *vigil) tidy() {
	v.Helper()
	v.until("nothing of former daemons is left", func() error {
		open, err := v.open()
		return errors.Join(err, v.strayContainers(open), v.strayFiles(open), v.torn())
	})
}

// open are the states of the trials that are not done.
func (w *fixture) open() (states []trial.State, err error) {
	s, err := store.Open(w.Context(), w.state, store.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	err = s.View(w.Context(), func(tx *store.Tx) error {
		rows, err := tx.OpenTrials()
		for _, row := range rows {
			var one trial.State
			if err := json.Unmarshal(row.Data, &one); err != nil {
				return err
			}
			states = append(states, one)
		}
		return err
	})
	return states, errors.Join(err, s.Close())
}

func (v *vigil) strayContainers(open []trial.State) error {
	all, err := v.engine.Observe(v.Context(), v.owner)
	if err != nil {
		return err
	}
	var stray []error
	for _, c := range all {
		wanted := slices.ContainsFunc(open, func(s trial.State) bool { return s.Workload.Name == c.Name })
		if !wanted && c.CreatedAt.Before(v.launched) {
			stray = append(stray, fmt.Errorf("container %s (%s) is %s", c.Name, c.Labels[container.LabelRole], c.Phase))
		}
	}
	return errors.Join(stray...)
}

// strayResources are volumes and networks: assayd makes none of its own, and takes with a
// container what the engine made for it.
func (v *vigil) strayResources() error {
	volumes, err := v.volumes()
	stray := []error{err}
	for _, name := range volumes {
		stray = append(stray, fmt.Errorf("volume %s is left", name))
	}
	networks, err := v.listed("network", "{{.Name}}")
	stray = append(stray, err)
	for _, name := range networks {
		if !slices.Contains(v.networks, name) {
			stray = append(stray, fmt.Errorf("network %s is left", name))
		}
	}
	return errors.Join(stray...)
}

// listed are the engine's volumes or networks. No test makes a network, and so those of
// parallel ones are equal.
func (w *fixture) listed(kind, format string) ([]string, error) {
	out, err := exec.CommandContext(w.Context(), "docker", kind, "ls", "--format", format).Output()
	if err != nil {
		return nil, fmt.Errorf("docker %s ls: %w", kind, err)
	}
	return strings.Fields(string(out)), nil
}

// declaresVolume has the tasks of the world begin with an image that declares a volume: the
// engine makes one for each container, under a name that tells nothing, and puts the image's
// file into it, by which it is known among those of parallel tests.
func (v *vigil) declaresVolume() {
	v.Helper()
	ref := "assayd-test/volume:" + strings.ToLower(containertest.Unique())
	build := exec.CommandContext(v.Context(), "sh", "-ec", `
		c=$(docker create "$BASE" true)
		trap 'docker rm "$c"' EXIT
		mkdir kept && touch "kept/$OWNER"
		docker cp kept "$c:/kept"
		docker commit --change 'VOLUME /kept' --change "LABEL $LABEL=$OWNER" "$c" "$REF"
	`)
	build.Dir = v.TempDir()
	build.Env = append(os.Environ(), "BASE="+v.image, "OWNER="+v.owner, "LABEL="+image.LabelImageOwner, "REF="+ref)
	if out, err := build.CombinedOutput(); err != nil {
		v.Fatalf("make an image that declares a volume: %v\n%s", err, out)
	}
	v.image = ref
}

// volumes are those that the engine made for containers of the world.
func (w *fixture) volumes() (names []string, err error) {
	places, err := w.listed("volume", "{{.Mountpoint}}")
	for _, place := range places {
		if _, err := os.Stat(filepath.Join(place, w.owner)); err == nil {
			names = append(names, filepath.Base(filepath.Dir(place)))
		} else if !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("look into the volumes, which takes root: %w", err)
		}
	}
	return names, err
}

// temporary are the patterns of what is only there while a daemon is at it, below the
// state directory.
var temporary = []string{
	"blobs/tmp/*", "lists/tmp/*", "spool/*", "git/cut-*", "git/spool-*", "guest/.new-*", "trials/*/*/*.partial",
}

// strayFiles are temporary files from before the present daemon, and what is mounted into
// containers of trials that are over.
func (v *vigil) strayFiles(open []trial.State) error {
	var stray []error
	for _, pattern := range temporary {
		for _, path := range v.found(pattern) {
			if info, err := os.Lstat(path); err == nil && info.ModTime().Before(v.launched) {
				stray = append(stray, fmt.Errorf("%s was left", path))
			}
		}
	}
	for _, pattern := range []string{"t/*", "trials/*/*/agent"} {
		for _, path := range v.found(pattern) {
			mounted := slices.ContainsFunc(open, func(s trial.State) bool {
				return slices.ContainsFunc(s.Workload.Mounts, func(m container.Mount) bool { return m.Source == path })
			})
			if !mounted {
				stray = append(stray, fmt.Errorf("%s is mounted nowhere", path))
			}
		}
	}
	return errors.Join(stray...)
}

func (w *fixture) found(pattern string) []string {
	w.Helper()
	paths, err := filepath.Glob(filepath.Join(w.state, pattern))
	if err != nil {
		w.Fatal(err)
	}
	return paths
}

// torn tells of result files that do not hold all that they were seen to hold, or end in
// the midst of a line.
func (v *vigil) torn() error {
	for _, name := range v.files() {
		text, err := os.ReadFile(filepath.Join(v.specs, name))
		if err != nil {
			return err
		}
		if !bytes.HasPrefix(text, v.lines[name]) || !bytes.HasSuffix(text, []byte("\n")) {
			return fmt.Errorf("%s has %d bytes, and had %d", name, len(text), len(v.lines[name]))
		}
	}
	return nil
}

// cells compares what lists and counts show of trials with these.
func (w *fixture) cells() error {
	s, err := store.Open(w.Context(), w.state, store.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	return errors.Join(history.CheckCells(w.Context(), s), s.Close())
}

// over stops the daemon, when everything has come to its end, and checks that it leaves
// only what it keeps.
func (v *vigil) over() {
	v.Helper()
	v.look()
	v.terminate()
	v.noContainerIsLeft()
	v.launched = time.Now().Add(time.Hour) // everything is from before
	if err := errors.Join(v.strayFiles(nil), v.strayResources(), v.torn(), v.cells()); err != nil {
		v.Error(err)
	}
	for _, path := range v.found("*.sock") {
		v.Errorf("%s was left", path)
	}
}
