package trial

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/google/renameio/v2"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/fault"
	"github.com/assayd/assayd/runtime/guest/protocol"
)

// MayKeep reports whether containers of the trial may stay after its end.
func (s State) MayKeep() bool { return s.Keep == "always" || s.Keep == "failed" }

// Keeps reports whether the containers of the ended trial stay for a look.
func (s State) Keeps() bool {
	failed := s.Result == nil || s.Result.Status != Resolved
	return s.Keep == "always" || s.Keep == "failed" && failed
}

// retain stops the container and leaves it so that it can be started again: with what it has
// mounted, and with a guest that starts no agent then and asks no daemon.
func (m *Machine) retain(ctx context.Context, s State) error {
	if err := m.host.Engine.Stop(ctx, s.Workload.Name, 0); err != nil {
		return err
	}
	fault.Reached(fault.ContainerRemoved)
	_, err := m.host.Engine.Inspect(ctx, s.Workload.Name)
	switch {
	case errors.Is(err, container.ErrNotFound): // it was never made, or is gone
		return RemoveFolder(m.host.StateDir, s.ID, s.Try)
	case err != nil:
		return err
	}
	if err := quietFolder(socketDir(m.host.StateDir, s.ID, s.Try), s.ID); err != nil {
		return fmt.Errorf("leave the folder of trial %s for a look: %w", s.ID, err)
	}
	return nil
}

// quietFolder leaves in the folder of an ended trial what its guest needs to do nothing. The
// token of the trial, which opens nothing any more, goes with the rest.
func quietFolder(dir, id string) error {
	text, err := json.Marshal(protocol.Config{Version: protocol.Version, Trial: id, Kept: true})
	if err != nil {
		return err
	}
	name := filepath.Join(dir, filepath.Base(protocol.ConfigFile))
	if err := fault.Err(fault.WriteFolder); err != nil {
		return err
	}
	if err := renameio.WriteFile(name, text, 0o644); err != nil { // on a full disk what was there stays
		return err
	}
	return errors.Join(
		os.RemoveAll(filepath.Join(dir, filepath.Base(protocol.JudgeSocket))),
		os.RemoveAll(filepath.Join(dir, filepath.Base(protocol.GuestSocket))),
	)
}

// ErrEntered says that somebody looks into a container of a trial.
var ErrEntered = errors.New("somebody is in the container already")

// Enter takes a container of an ended trial for a look, until leave is called or the process
// ends. Who is to stop or remove the container takes it first.
func Enter(stateDir string, s State, role string) (leave func(), err error) {
	f, err := os.OpenFile(filepath.Join(tryDir(stateDir, s.ID, s.Try), role+".lock"), os.O_RDONLY|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("take the container of trial %s: %w", s.ID, err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = ErrEntered
		}
		return nil, errors.Join(fmt.Errorf("take the container of trial %s: %w", s.ID, err), f.Close())
	}
	return func() { _ = f.Close() }, nil // it was opened for its lock alone
}
