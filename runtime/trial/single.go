package trial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/fault"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/patch"
	"github.com/assayd/assayd/runtime/trial/trydir"
	"github.com/assayd/assayd/runtime/trial/worktree"
)

// Single is the mode in which an agent works once and without feedback: what it changed is
// taken as a patch, and that patch alone is judged, on a clean tree.
const Single = "single"

// single reports whether the trial is in that mode.
func single(s State) bool { return s.Cell.Mode == Single }

// handIn takes the patch, unless a crash came after that, and has it judged. The key makes a
// repeated call spend nothing.
func (m *Machine) handIn(ctx context.Context, s State) (sub round.Submission, err error) {
	base, err := m.host.Trees().Base(ctx, s.Cell.Task, s.WorkImage.Ref, s.WorkImage.ID, labels(m.host.Owner, s, container.RoleBuild))
	if err != nil {
		return sub, err
	}
	diff, err := m.patched(ctx, s, base)
	if err != nil {
		return sub, err
	}
	changes, err := base.Apply(ctx, diff)
	if errors.Is(err, patch.ErrEmpty) {
		changes, err = &patch.Changes{}, nil
	}
	if err != nil {
		return sub, fmt.Errorf("lay the patch of trial %s over a clean tree: %w", s.ID, err)
	}
	defer func() { err = errors.Join(err, changes.Close()) }()
	err = worktree.Packed(changes, func(archive io.Reader) error {
		sub, err = m.host.Judge.Submit(ctx, s.ID, round.SubmitRequest{Kind: round.KindFinal, Key: "final-1", Archive: archive, SkipKnown: true})
		return err
	})
	return sub, err
}

// patched is what the agent changed, kept from then on.
func (m *Machine) patched(ctx context.Context, s State, base *patch.Base) (diff []byte, err error) {
	file := m.host.dir(s).Patch()
	if diff, err = os.ReadFile(file); !errors.Is(err, fs.ErrNotExist) {
		return diff, err
	}
	err = m.still(ctx, s, func(ctx context.Context, tree io.Reader) error {
		return m.host.Trees().Clean(s.Cell.Task, tree, func(clean io.Reader) error {
			diff, err = base.Diff(ctx, clean, s.Cell.Task.Submit.Paths)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	fault.Reached(fault.PatchTaken)
	if err := errors.Join(fault.Err(fault.WriteFolder), os.MkdirAll(filepath.Dir(file), 0o755)); err != nil {
		return nil, fmt.Errorf("keep the patch of trial %s: %w", s.ID, err)
	}
	if err := renameio.WriteFile(file, diff, 0o644); err != nil {
		return nil, fmt.Errorf("keep the patch of trial %s: %w", s.ID, err)
	}
	fault.Reached(fault.PatchKept)
	return diff, nil
}

// patchRecord names the patch of a trial in single mode; nil when there is none.
func patchRecord(stateDir string, s State) *FileRecord {
	if !single(s) {
		return nil
	}
	return fileRecord(stateDir, trydir.Of(stateDir, s.ID, s.Try).Patch())
}
