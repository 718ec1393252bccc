package guest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/assayd/assayd/runtime/guest/protocol"
)

// Install copies the static program at self into dir/<SHA-256 of it> under the guest's
// three names and returns that folder, which is to be mounted at BinDir. It does nothing
// if the program is already there and whole, so that guests which run keep the program
// they have when the daemon's own is replaced.
func Install(dir, self string) (folder string, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("install the guest: %w", err)
	}
	left, err := filepath.Glob(filepath.Join(dir, partialPrefix+"*"))
	if err != nil {
		return "", fmt.Errorf("install the guest: %w", err)
	}
	if digest, err := digestOf(self); err == nil && len(left) == 0 && installed(filepath.Join(dir, digest), digest) {
		return filepath.Join(dir, digest), nil
	}
	// One at a time, across processes: otherwise the second takes away for a moment what
	// the first has just put there. The kernel lets go of the lock when the file is closed.
	lock, err := os.Open(dir)
	if err != nil {
		return "", fmt.Errorf("install the guest: %w", err)
	}
	defer lock.Close() //nolint:errcheck // only read
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", fmt.Errorf("install the guest: lock %s: %w", dir, err)
	}
	if err := sweepPartial(dir); err != nil {
		return "", fmt.Errorf("install the guest: %w", err)
	}
	work, err := os.MkdirTemp(dir, partialPrefix)
	if err != nil {
		return "", fmt.Errorf("install the guest: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	digest, err := stageProgram(work, self)
	if err != nil {
		return "", fmt.Errorf("install the guest from %s: %w", self, err)
	}
	folder = filepath.Join(dir, digest)
	if installed(folder, digest) {
		return folder, nil
	}
	old := work + ".old"
	if err := os.Rename(folder, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("install the guest: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(old)) }()
	if err := os.Rename(work, folder); err != nil {
		return "", fmt.Errorf("install the guest: %w", err)
	}
	return folder, nil
}

// partialPrefix begins the name of a folder that is not whole yet, or not needed any more.
const partialPrefix = ".new-"

// sweepPartial removes what an installation left that was killed; the caller has the lock,
// so that no other is under way.
func sweepPartial(dir string) error {
	left, err := filepath.Glob(filepath.Join(dir, partialPrefix+"*"))
	for _, path := range left {
		err = errors.Join(err, os.RemoveAll(path))
	}
	return err
}

// stageProgram copies the program into an empty folder under all names.
func stageProgram(dir, self string) (digest string, err error) {
	src, err := os.Open(self)
	if err != nil {
		return "", err
	}
	defer src.Close() //nolint:errcheck // only read
	first := filepath.Join(dir, protocol.NameGuest)
	dst, err := os.OpenFile(first, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	_, err = io.Copy(io.MultiWriter(dst, sum), src)
	if err == nil {
		err = dst.Sync()
	}
	err = errors.Join(err, dst.Close(), os.Chmod(first, 0o755), os.Chmod(dir, 0o755))
	for _, name := range []string{protocol.NameSubmit, protocol.NameSubmitSForge} {
		err = errors.Join(err, os.Link(first, filepath.Join(dir, name)))
	}
	return hex.EncodeToString(sum.Sum(nil)), err
}

// installed reports whether the folder holds the program with that digest under all names.
func installed(folder, digest string) bool {
	first, err := os.Stat(filepath.Join(folder, protocol.NameGuest))
	if err != nil || first.Mode().Perm() != 0o755 {
		return false
	}
	for _, name := range []string{protocol.NameSubmit, protocol.NameSubmitSForge} {
		if other, err := os.Lstat(filepath.Join(folder, name)); err != nil || !os.SameFile(first, other) {
			return false
		}
	}
	found, err := digestOf(filepath.Join(folder, protocol.NameGuest))
	return err == nil && found == digest
}

// digestOf is the SHA-256 of a file, in lower-case hex.
func digestOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close() //nolint:errcheck // only read
	sum := sha256.New()
	_, err = io.Copy(sum, f)
	return hex.EncodeToString(sum.Sum(nil)), err
}
