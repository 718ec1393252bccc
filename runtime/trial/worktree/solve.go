package worktree

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"time"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/image"
	"github.com/assayd/assayd/runtime/task"
)

// solveTime is what the script of a solution may take.
const solveTime = time.Hour

// Where the script lies in the container.
const (
	solveFolder = ".assayd-solution"
	solveFile   = "solution.sh"
)

// Unsolved says that a task's own solution does nothing: its author has to mend it.
type Unsolved struct{ Words string }

// Error says why.
func (e *Unsolved) Error() string { return e.Words }

// Solve runs the script of a task's solution in a fresh container of its work image, as the
// agent oracle does, and returns what it leaves in submit.paths as an archive, a file
// without a name. A script that fails is an *Unsolved. labels say whose the container is.
func (r Reader) Solve(ctx context.Context, t task.Task, work image.Built, labels map[string]string) (archive *os.File, err error) {
	w := container.Workload{
		Image: work.ID, Env: t.Work.Env, Workdir: t.Workdir, Network: container.NetworkNone, Labels: labels,
		Limits: container.Limits{CPUs: t.Work.CPUs, Memory: t.Work.Memory, PIDs: t.Work.PIDs, Disk: t.Work.Disk},
	}
	if t.Network.Mode == "open" {
		w.Network = container.NetworkOpen
	}
	err = r.Images.Within(ctx, w, func(ctx context.Context, id string) (err error) {
		if err := r.script(ctx, t, work, id); err != nil {
			return err
		}
		archive, err = r.spooled(ctx, t, id)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("run the solution of %s/%s: %w", t.Benchmark, t.Name, err)
	}
	return archive, nil
}

// script runs the solution's script in the container.
func (r Reader) script(ctx context.Context, t task.Task, work image.Built, id string) error {
	execer, ok := r.Engine.(container.Execer)
	copier, also := r.Engine.(container.Copier)
	if !ok || !also {
		return fmt.Errorf("run a script with this engine: %w", container.ErrUnsupported)
	}
	var packed bytes.Buffer
	tw := tar.NewWriter(&packed)
	_ = tw.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: solveFolder + "/", Mode: 0o755}) // memory takes all
	_ = tw.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: path.Join(solveFolder, solveFile), Mode: 0o755, Size: int64(len(t.Solution.Script))})
	_, _ = io.WriteString(tw, t.Solution.Script)
	if err := tw.Close(); err != nil {
		return err
	}
	if err := copier.CopyTo(ctx, id, "/", &packed); err != nil {
		return err
	}
	timed, cancel := context.WithTimeoutCause(ctx, solveTime, &Unsolved{fmt.Sprintf("its script takes longer than %s", solveTime)})
	defer cancel()
	var said ending
	code, err := execer.Exec(timed, id, container.Command{
		Argv: []string{"/bin/sh", path.Join("/", solveFolder, solveFile)}, Workdir: t.Workdir,
		User: cmp.Or(t.Work.User, work.Config.User), Stdout: &said, Stderr: &said,
	})
	switch {
	case err != nil && timed.Err() != nil:
		return context.Cause(timed)
	case err != nil:
		return err
	case code != 0:
		return &Unsolved{fmt.Sprintf("its script ends with code %d: %s", code, bytes.TrimSpace(said.kept))}
	}
	return nil
}

// ending keeps the last of what is written to it.
type ending struct{ kept []byte }

const endingBytes = 500

// Write implements io.Writer.
func (e *ending) Write(p []byte) (int, error) {
	e.kept = append(e.kept, p...)
	e.kept = e.kept[max(0, len(e.kept)-endingBytes):]
	return len(p), nil
}
