package statedir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// systemdMode lets the members of the folder's group through to the control socket in it. The unit
// of the daemon asks for it.
const systemdMode fs.FileMode = 0o710

// MakePrivate closes a state directory, and the database of that name in it, to other users of the host, and makes the
// database where it is missing. Either may have been made by an earlier version or by somebody else.
func MakePrivate(dir, database string) error {
	info, err := os.Stat(dir)
	if err == nil && info.Mode().Perm() != systemdMode && info.Mode().Perm()&0o077 != 0 {
		err = os.Chmod(dir, 0o700)
	}
	if err != nil {
		return fmt.Errorf("close the state directory to other users: %w", Explain(err))
	}
	path := filepath.Join(dir, database)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) // before SQLite makes it with the mode of the umask
	if err != nil {
		return fmt.Errorf("make the database: %w", Explain(err))
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("make the database: %w", Explain(err))
	}
	for _, file := range []string{path, path + "-wal", path + "-shm"} {
		if err := os.Chmod(file, 0o600); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("close the database to other users: %w", Explain(err))
		}
	}
	return nil
}
