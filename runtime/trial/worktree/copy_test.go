package worktree

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
	"github.com/assayd/assayd/runtime/judge/sanitize"
	"github.com/assayd/assayd/runtime/task"
)

// An agent that moves its work directory away and puts a link in its place has submitted what
// it made all the same.
func TestASnapshotFollowsALinkInPlaceOfTheWorkDirectory(t *testing.T) {
	fake := containertest.NewFake()
	t.Cleanup(func() {
		if err := fake.Close(); err != nil {
			t.Error(err)
		}
	})
	fake.AddImage("work:1", container.ImageConfig{}, nil)
	inst, err := fake.Start(t.Context(), container.Workload{Name: "w", Image: "work:1", Argv: []string{"/probe", "sleep", "1h"}})
	if err != nil {
		t.Fatal(err)
	}
	fake.Container("w").WriteFile("/moved/answer", []byte("42"))
	var link bytes.Buffer
	tw := tar.NewWriter(&link)
	err = errors.Join(tw.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: "work", Linkname: "/moved", Mode: 0o777}), tw.Close(),
		fake.CopyTo(t.Context(), inst.ID, "/", &link))
	if err != nil {
		t.Fatal(err)
	}
	var tree bytes.Buffer
	all := task.Task{Workdir: "/work", Submit: task.Submit{Paths: []string{"."}, MaxBytes: 1 << 20, MaxFiles: 10}}
	if err := copyPaths(t.Context(), fake, inst.ID, all, tar.NewWriter(&tree)); err != nil {
		t.Fatal(err)
	}
	var names []string
	r := tar.NewReader(&tree)
	for h, err := r.Next(); !errors.Is(err, io.EOF); h, err = r.Next() {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, h.Name)
	}
	if got := strings.Join(names, " "); !strings.Contains(got, "answer") {
		t.Errorf("the snapshot holds %q", got)
	}
}

// A daemon may be killed while it copies a tree out of an image, which can take minutes.
func TestACopyOfATreeHasNoNameWhileItIsMade(t *testing.T) {
	fake := containertest.NewFake()
	t.Cleanup(func() {
		if err := fake.Close(); err != nil {
			t.Error(err)
		}
	})
	fake.AddImage("work:1", container.ImageConfig{}, map[string]string{"/probe": "", "/work/src/a": "text"})
	spool := t.TempDir()
	inst, err := fake.Start(t.Context(), container.Workload{Name: "w", Image: "work:1", Argv: []string{"/probe", "sleep", "1h"}})
	if err != nil {
		t.Fatal(err)
	}
	copies := 0
	fake.Intercept(func(call, _ string) error {
		if call != "CopyFrom" {
			return nil
		}
		copies++
		left, err := filepath.Glob(filepath.Join(spool, sanitize.TreePrefix+"*"))
		if len(left) > 0 {
			t.Errorf("%s lies in the spool", left[0])
		}
		return err
	})
	all := task.Task{Workdir: "/work", Submit: task.Submit{Paths: []string{"src"}, MaxBytes: 1 << 20, MaxFiles: 10}}
	tree, err := (Reader{Engine: fake, Spool: spool}).spooled(t.Context(), all, inst.ID)
	if err != nil || copies == 0 {
		t.Fatalf("after %d copies: %v", copies, err)
	}
	if err := tree.Close(); err != nil {
		t.Error(err)
	}
}
