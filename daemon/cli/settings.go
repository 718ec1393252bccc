package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/daemon/engines"
)

const defaultSettings = "/etc/assayd/assayd.hcl"

// settings reads assayd.hcl; errors in it are shown and end the command.
func (e *env) settings() (*config.Settings, error) {
	path := e.config
	if path == "" {
		path = defaultSettings
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && e.config == "" {
		return config.DefaultSettings(os.LookupEnv), nil
	}
	if err != nil {
		return nil, usage{fmt.Errorf("read settings: %w", err)}
	}
	settings, ds := config.LoadSettings(path, text, config.Options{
		Env: os.LookupEnv, Secret: secretIn(os.Getenv("CREDENTIALS_DIRECTORY")), Engines: engines.All().Language(),
	})
	if ds.HasErrors() {
		return nil, e.rejected(ds)
	}
	if err := e.warn(ds); err != nil {
		return nil, err
	}
	return settings, nil
}

// secretIn looks secrets up as files of a folder; without a folder there are none.
func secretIn(dir string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		if dir == "" {
			return "", false
		}
		text, err := os.ReadFile(filepath.Join(dir, filepath.Base(name)))
		return strings.TrimRight(string(text), "\n"), err == nil
	}
}

// stateDir is the state directory that a command is about: the flag, the settings, the
// one that `assayd run` left here, or the user's.
func (e *env) stateDir(s *config.Settings) (string, error) {
	if e.state == "" && s.StateDir == "" && exists(localState) {
		return filepath.Abs(localState)
	}
	return e.ownState(s)
}

// ownState is the state directory of a daemon: the flag, the settings, or the user's.
func (e *env) ownState(s *config.Settings) (string, error) {
	if dir := cmp.Or(e.state, s.StateDir); dir != "" {
		return filepath.Abs(dir)
	}
	return userState()
}

// stateDirBeside is the same for a command about files: the one that `assayd run` left
// beside the first of them comes before the user's.
func (e *env) stateDirBeside(s *config.Settings, first string) (string, error) {
	beside := filepath.Join(filepath.Dir(first), localState)
	if e.state == "" && s.StateDir == "" && exists(beside) {
		return beside, nil
	}
	return e.stateDir(s)
}

// localState is what `assayd run` uses, beside its first file.
const localState = ".assayd"

// userState is /var/lib/assayd for root, else the user's state folder.
func userState() (string, error) {
	if os.Geteuid() == 0 {
		return "/var/lib/assayd", nil
	}
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "assayd"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", usage{fmt.Errorf("no place for a state directory; name one with --state: %w", err)}
	}
	return filepath.Join(home, ".local", "state", "assayd"), nil
}

// warn shows diagnostics that stop nothing.
func (e *env) warn(ds config.Diagnostics) error {
	return ds.WriteText(e.err)
}

// rejected shows diagnostics and ends the command.
func (e *env) rejected(ds config.Diagnostics) error {
	if e.json {
		if err := e.printJSON(map[string]any{"valid": false, "diagnostics": ds}); err != nil {
			return err
		}
		return exit{ExitSpecs}
	}
	if err := e.warn(ds); err != nil {
		return err
	}
	return exit{ExitSpecs}
}
