package trydir

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assayd/assayd/runtime/guest/protocol"
)

// TestOnePersonAtATimeEnters: who is in keeps others out, and those who would remove it.
func TestOnePersonAtATimeEnters(t *testing.T) {
	d := Of(t.TempDir(), "r.e1.aaaaaaaa", 1)
	if err := os.MkdirAll(d.Path(), 0o755); err != nil {
		t.Fatal(err)
	}
	leave, err := d.Enter("work")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Enter("work"); !errors.Is(err, ErrEntered) {
		t.Errorf("a second one: %v", err)
	}
	other, err := d.Enter("judge")
	if err != nil {
		t.Errorf("the other container: %v", err)
	}
	other()
	leave()
	if leave, err = d.Enter("work"); err != nil {
		t.Errorf("after it: %v", err)
	}
	leave()
}

// What the agent has mounted is whole or not there, and is not made anew under a container.
func TestAnAgentsFolderIsMadeOnceAndWhole(t *testing.T) {
	d := Of(t.TempDir(), "r.e1.aaaaaaaa", 1)
	torn := errors.New("torn")
	if err := d.Stage(func(dir string) error {
		return errors.Join(os.WriteFile(filepath.Join(dir, "half"), nil, 0o600), torn)
	}); !errors.Is(err, torn) {
		t.Error(err)
	}
	if _, err := os.Stat(d.Agent()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("half of it is there: %v", err)
	}
	for range 2 {
		if err := d.Stage(func(dir string) error { return os.Mkdir(filepath.Join(dir, "once"), 0o700) }); err != nil {
			t.Error(err)
		}
	}
	files, err := os.ReadDir(d.Agent())
	if err != nil || len(files) != 1 || files[0].Name() != "once" {
		t.Errorf("it holds %v, %v", files, err)
	}
	if err := d.Remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(d.Agent()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is removed, and there: %v", err)
	}
}

func TestSocketsHaveShortPathsOfTheirOwn(t *testing.T) {
	state := strings.Repeat("s", MaxStateDir)
	one, two := Of(state, "r.e1.aaaaaaaa", 1).Sockets(), Of(state, "r.e1.aaaaaaaa", 2).Sockets()
	if one == two {
		t.Error("two tries share a folder")
	}
	if n := len(filepath.Join(one, filepath.Base(protocol.GuestSocket))); n > 107 {
		t.Errorf("a socket's path has %d bytes, 107 are possible", n)
	}
}
