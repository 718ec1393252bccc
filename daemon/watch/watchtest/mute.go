package watchtest

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// Mute is a real file system (FUSE) that shows a folder and never tells of what changes in it:
// whoever changes the folder itself does so behind the back of everybody who looks at Path.
type Mute struct {
	Path   string
	server *fuse.Server // nil = not mounted
	t      testing.TB
	behind string
}

// NewMute mounts the folder behind at a new path, for reading alone, until the test is over.
func NewMute(t testing.TB, behind string) *Mute {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "m") // not of t.TempDir, whose end does not wait for ours
	must(t, err)
	m := &Mute{Path: filepath.Join(dir, "specs"), t: t, behind: behind}
	must(t, os.Mkdir(m.Path, 0o755))
	m.Mount()
	t.Cleanup(func() {
		m.Unmount()
		must(t, os.RemoveAll(dir)) // somebody may have written to the mount point
	})
	return m
}

// Mount shows the folder.
func (m *Mute) Mount() {
	m.t.Helper()
	root, err := fs.NewLoopbackRoot(m.behind)
	must(m.t, err)
	nothing := time.Duration(0) // is kept by the kernel: each look asks
	m.server, err = fs.Mount(m.Path, root, &fs.Options{
		EntryTimeout: &nothing, AttrTimeout: &nothing, NegativeTimeout: &nothing,
		MountOptions: fuse.MountOptions{Name: "mute", DirectMount: true, Options: []string{"ro"}},
	})
	if err != nil {
		m.t.Fatalf("mount a file system of our own (it needs /dev/fuse, and root or fusermount3): %v", err)
	}
}

// Unmount takes the folder away: the mount point is empty, as that of a lost file server.
func (m *Mute) Unmount() {
	m.t.Helper()
	if m.server == nil {
		return
	}
	deadline := time.Now().Add(30 * time.Second)
	err := m.server.Unmount()
	for ; err != nil && time.Now().Before(deadline); <-time.After(20 * time.Millisecond) { // somebody looks just now
		err = m.server.Unmount()
	}
	must(m.t, err)
	m.server.Wait()
	m.server = nil
}
