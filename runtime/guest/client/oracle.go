package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/assayd/assayd/runtime/guest/protocol"
)

// Oracle is the built-in agent that knows the answer: it applies the known solution in the agent's
// folder to the current directory and submits it. It says on standard error what goes wrong, and
// gives the exit code.
func Oracle(ctx context.Context) int {
	if err := oracle(ctx, protocol.AgentDir, newSubmitter(os.Getenv, os.Stdout, os.Stderr)); err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		return exitFailure
	}
	return 0
}

// oracle applies the known solution in dir to the current directory and submits it: first
// tree/ is laid over, then solution.patch applied, then solution.sh run, whichever exist.
// In a game the solution plays, and in single mode the files are taken as they are: then there
// is nothing to submit.
func oracle(ctx context.Context, dir string, s *submitter) error {
	work, err := os.Getwd()
	if err != nil {
		return err
	}
	applied := false
	for _, part := range []struct {
		name  string
		apply func(ctx context.Context, path, work string) error
	}{{"tree", layOver}, {"solution.patch", applyPatch}, {"solution.sh", runScript}} {
		path := filepath.Join(dir, part.name)
		_, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if err := part.apply(ctx, path, work); err != nil {
			return fmt.Errorf("apply %s: %w", path, err)
		}
		applied = true
	}
	if !applied {
		return fmt.Errorf("there is no solution in %s: no tree, no solution.patch, no solution.sh", dir)
	}
	if s.getenv(gameServer) != "" || s.getenv("ASSAYD_MODE") == "single" {
		return nil
	}
	return s.submit(ctx, true)
}

// layOver copies folders, regular files and symbolic links with their modes. What is in
// the way of one is removed, so that nothing is written through a link.
func layOver(ctx context.Context, from, work string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil || name == "." {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		to := filepath.Join(work, name)
		switch {
		case info.IsDir():
			if there, err := os.Lstat(to); err == nil && !there.IsDir() {
				if err := os.Remove(to); err != nil {
					return err
				}
			}
			return os.MkdirAll(to, info.Mode().Perm())
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return errors.Join(os.RemoveAll(to), os.Symlink(target, to))
		case info.Mode().IsRegular():
			return copyFile(path, to, info.Mode().Perm())
		}
		return fmt.Errorf("%s is neither file, folder nor link", name)
	})
}

func copyFile(from, to string, mode fs.FileMode) (err error) {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close() //nolint:errcheck // only read
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	return errors.Join(err, dst.Chmod(mode), dst.Close())
}

// applyPatch uses git, which knows renames, modes and binary files, or patch.
func applyPatch(ctx context.Context, file, work string) error {
	if git, err := exec.LookPath("git"); err == nil {
		// Below the root of a repository git would leave out, without a word, all that it
		// takes for outside; so it must not see one above.
		return execute(ctx, work, []string{"GIT_CEILING_DIRECTORIES=" + filepath.Dir(work)},
			git, "apply", "--whitespace=nowarn", "-p1", file)
	}
	patch, err := exec.LookPath("patch")
	if err != nil {
		return errors.New("the image has neither git nor patch")
	}
	return execute(ctx, work, nil, patch, "-p1", "-N", "-i", file)
}

func runScript(ctx context.Context, file, work string) error {
	if _, err := os.Stat("/bin/sh"); err != nil {
		return errors.New("the image has no /bin/sh")
	}
	return execute(ctx, work, nil, "/bin/sh", file)
}

func execute(ctx context.Context, work string, env []string, argv ...string) error {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = work, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), env...)
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(argv[0]), err)
	}
	return nil
}
