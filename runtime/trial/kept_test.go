package trial

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/guest/protocol"
	"github.com/assayd/assayd/runtime/judge/sandbox"
	"github.com/assayd/assayd/runtime/trial/trydir"
)

// TestAKeptContainerCanBeStartedAgain: what it has mounted is there, and its guest reads that it
// has nothing to do; the token of the trial is nowhere in it.
func TestAKeptContainerCanBeStartedAgain(t *testing.T) {
	b := newFixture(t)
	b.play(work(solved))
	s := b.fresh()
	s.Keep = "always"
	s, _ = b.until(b.machine(s), s, Done)
	for _, m := range s.Workload.Mounts {
		if _, err := os.Stat(m.Source); err != nil && m.Source != filepath.Join(b.host.GuestDir, filepath.Base(m.Source)) { // the bench has no guest
			t.Errorf("what is mounted at %s: %v", m.Target, err)
		}
	}
	folder := trydir.Of(b.host.StateDir, s.ID, s.Try).Sockets()
	var config protocol.Config
	text, err := os.ReadFile(filepath.Join(folder, filepath.Base(protocol.ConfigFile)))
	if err = errors.Join(err, json.Unmarshal(text, &config)); err != nil || !config.Kept || config.Command != nil {
		t.Errorf("its guest reads %s, %v", text, err)
	}
	for _, socket := range []string{protocol.JudgeSocket, protocol.GuestSocket} {
		if _, err := os.Lstat(filepath.Join(folder, filepath.Base(socket))); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is there: %v", socket, err)
		}
	}
	files, err := os.ReadDir(folder)
	for _, f := range files {
		if text, err := os.ReadFile(filepath.Join(folder, f.Name())); err != nil || bytes.Contains(text, []byte(s.Token)) {
			t.Errorf("%s has the token, or %v", f.Name(), err)
		}
	}
	if err != nil {
		t.Error(err)
	}
	if err := trydir.Of(b.host.StateDir, s.ID, s.Try).Remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder of a container that is gone: %v", err)
	}
}

// TestAKilledDaemonLeavesWhatIsKept: the next one does its last step again, whatever came of it.
func TestAKilledDaemonLeavesWhatIsKept(t *testing.T) {
	b := newFixture(t)
	b.play(work(solved))
	s := b.fresh()
	s.Keep = "always"
	s, _ = b.until(b.machine(s), s, Cleanup)
	for range 2 {
		b.host.Judge.Open(Session("owner", s)) // as a daemon does that starts
		if done, _ := b.until(b.machine(s), s, Done); done.Phase != Done {
			t.Fatalf("it ends as %s", done.Phase)
		}
		all, err := b.fake.Observe(t.Context(), "owner")
		all = slices.DeleteFunc(all, func(c container.Instance) bool { // the judge may still look at an image
			return c.Labels[container.LabelRole] == container.RoleJudge && c.Labels[sandbox.LabelSubmission] == ""
		})
		for _, c := range all {
			if c.Phase != container.PhaseExited {
				t.Errorf("container %s is %s", c.Name, c.Phase)
			}
		}
		if err != nil || len(all) != 2 {
			t.Errorf("%d containers are kept, %v", len(all), err)
		}
		if _, err := os.Stat(trydir.Of(b.host.StateDir, s.ID, s.Try).Sockets()); err != nil {
			t.Errorf("what they have mounted: %v", err)
		}
	}
}
