package trydir

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/google/renameio/v2"

	"github.com/assayd/assayd/runtime/agent"
	"github.com/assayd/assayd/runtime/fault"
	"github.com/assayd/assayd/runtime/gateway"
	"github.com/assayd/assayd/runtime/guest/protocol"
)

// MaxStateDir is the longest path a state directory may have, in bytes: the address of a
// Unix socket holds 107 of them.
const MaxStateDir = 107 - len("/t/0123456789ab/judge.sock")

// Files of a try beside its log.
const (
	TranscriptFile = gateway.TranscriptFile
	TrajectoryFile = "trajectory.json"
)

// partial is added to the name of a folder that is being filled.
const partial = ".partial"

// Dir is what one try of a trial has on the host.
type Dir struct {
	state string
	trial string
	try   int
}

// Of is the Dir of a try, from 1, of the trial with an id, in a state directory.
func Of(stateDir, trial string, try int) Dir { return Dir{stateDir, trial, try} }

// Sockets is the folder mounted into the trial's container. It is short because it holds
// sockets, and its parent is closed to other users of the host: having the folder is
// having the identity.
func (d Dir) Sockets() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d", d.trial, d.try))
	return filepath.Join(d.state, "t", hex.EncodeToString(sum[:6]))
}

// Path keeps what outlives the container: the agent's log.
func (d Dir) Path() string {
	return filepath.Join(d.state, "trials", d.trial, fmt.Sprintf("try-%d", d.try))
}

// Agent is mounted at /agent.
func (d Dir) Agent() string { return filepath.Join(d.Path(), "agent") }

// Hook holds the settings that have the agent's program ask before it stops.
func (d Dir) Hook() string { return filepath.Join(d.Path(), "hook") }

// Log is where the beginning of the agent's log is kept. What is beyond the first 512 MiB is beside
// it, in parts; agentlog.Read reads all of it.
func (d Dir) Log() string { return filepath.Join(d.Path(), "agent.log") }

// Patch is where the patch of a try in single mode is kept.
func (d Dir) Patch() string { return filepath.Join(d.Path(), "model.patch") }

// Transcript is where the exchanges between the agent and its models are kept.
func (d Dir) Transcript() string { return filepath.Join(d.Path(), TranscriptFile) }

// Trajectory is where the same lies as an ATIF document.
func (d Dir) Trajectory() string { return filepath.Join(d.Path(), TrajectoryFile) }

// Prepare makes the folders and writes into them what the container reads before its agent begins:
// the prompt, the guest's configuration and the settings of the hook, where there is one. It may be
// repeated.
func (d Dir) Prepare(prompt string, guest protocol.Config, hook agent.Hook) error {
	dir := d.Sockets()
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	config, err := json.MarshalIndent(guest, "", "  ")
	if err != nil {
		return err
	}
	return errors.Join(
		fault.Err(fault.WriteFolder),
		os.WriteFile(filepath.Join(dir, filepath.Base(protocol.PromptFile)), []byte(prompt), 0o644),
		os.WriteFile(filepath.Join(dir, filepath.Base(protocol.ConfigFile)), config, 0o644),
		os.MkdirAll(d.Path(), 0o755),
		d.writeHook(hook),
	)
}

// writeHook fills the folder of the hook.
func (d Dir) writeHook(hook agent.Hook) error {
	if hook.Dir == "" {
		return nil
	}
	return errors.Join(os.MkdirAll(d.Hook(), 0o755), os.WriteFile(filepath.Join(d.Hook(), hook.Name), []byte(hook.Text), 0o644))
}

// Stage has fill make what is mounted at /agent, in an empty folder. A folder that is there is whole,
// and a container that a former daemon made may have it mounted: it is never made anew.
func (d Dir) Stage(fill func(dir string) error) error {
	whole := d.Agent()
	if _, err := os.Stat(whole); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	begun := whole + partial
	if err := errors.Join(os.RemoveAll(begun), os.MkdirAll(begun, 0o755)); err != nil {
		return err
	}
	if err := fill(begun); err != nil {
		return err
	}
	fault.Reached(fault.AgentStaged)
	return os.Rename(begun, whole)
}

// Quiet leaves in the folder of an ended trial what its guest needs to do nothing. The
// token of the trial, which opens nothing any more, goes with the rest.
func (d Dir) Quiet() error {
	dir := d.Sockets()
	text, err := json.Marshal(protocol.Config{Version: protocol.Version, Trial: d.trial, Kept: true})
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

// Enter takes the container of an ended trial that has a role for a look, until leave is called or the
// process ends. Who is to stop or remove the container takes it first. Where another has it, the error
// is ErrEntered.
func (d Dir) Enter(role string) (leave func(), err error) {
	f, err := os.OpenFile(filepath.Join(d.Path(), role+".lock"), os.O_RDONLY|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("take the container of trial %s: %w", d.trial, err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = ErrEntered
		}
		return nil, errors.Join(fmt.Errorf("take the container of trial %s: %w", d.trial, err), f.Close())
	}
	return func() { _ = f.Close() }, nil // it was opened for its lock alone
}

// Remove removes from the host what the container of a try, which is gone, had mounted of
// the trial.
func (d Dir) Remove() error {
	agents := d.Agent()
	err := errors.Join(os.RemoveAll(d.Sockets()), os.RemoveAll(agents), os.RemoveAll(agents+partial))
	if err != nil {
		return fmt.Errorf("remove the folder of trial %s: %w", d.trial, err)
	}
	return nil
}
