package taskcheck

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/assayd/assayd/reconcile/evaluate"
	"github.com/assayd/assayd/runtime/trial/worktree"
	"github.com/assayd/assayd/runtime/vet"
)

// solution is the solution of a task as an agent would have handed it in.
type solution struct {
	ask   evaluate.Ask
	texts []vet.Text // what it writes, by path relative to workdir: files, or what a diff adds to them
	diff  []byte     // what a script changed
	close func() error
}

// solve makes the solution ready to be judged. One that cannot be has lost already.
func (k *checking) solve(ctx context.Context) (err error) {
	s := k.task.Solution
	switch {
	case s == nil:
	case s.Patch != nil:
		k.solution = &solution{texts: vet.Added(s.Patch), close: func() error { return nil }}
		k.solution.ask = func() (evaluate.Evaluation, func() error, error) {
			return evaluate.Evaluation{Patch: s.Patch}, func() error { return nil }, nil
		}
	case s.Context.Digest != "":
		open := func() (io.ReadCloser, error) { return k.r.o.Host.OpenBlob(s.Context.Digest) }
		k.solution = &solution{ask: evaluate.Opened(open), close: func() error { return nil }}
		k.solution.texts, err = textsOf(open)
	default:
		k.solution, err = k.scripted(ctx)
		if unsolved, ok := errors.AsType[*worktree.Unsolved](err); ok {
			k.runs.Oracle, k.solution, err = []vet.Run{{Lost: unsolved.Words}}, nil, nil
		}
	}
	return err
}

// scripted runs the script of the solution once; what it leaves is judged as often as asked
// for.
func (k *checking) scripted(ctx context.Context) (*solution, error) {
	tree, err := k.r.o.Host.Trees().Solve(ctx, k.task, k.work, k.labels)
	if err != nil {
		return nil, err
	}
	info, err := tree.Stat()
	if err != nil {
		return nil, errors.Join(err, tree.Close())
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(io.NewSectionReader(tree, 0, info.Size())), nil }
	s := &solution{ask: evaluate.Opened(open), close: tree.Close}
	if s.diff, err = k.changed(ctx, open); err != nil {
		return nil, errors.Join(err, tree.Close())
	}
	s.texts = append(vet.Added(s.diff), vet.Text{Name: "solution.sh", Content: []byte(k.task.Solution.Script)})
	return s, nil
}

// changed is the difference that the script made to the tree that it began with.
func (k *checking) changed(ctx context.Context, open func() (io.ReadCloser, error)) ([]byte, error) {
	base, err := k.r.o.Host.Trees().Base(ctx, k.task, k.work.Ref, k.work.ID, k.labels)
	if err != nil {
		return nil, err
	}
	tree, err := open()
	if err != nil {
		return nil, err
	}
	diff, err := base.Diff(ctx, tree, k.task.Submit.Paths)
	if err != nil {
		return nil, fmt.Errorf("compare the solution with the untouched tree: %w", err)
	}
	return diff, nil
}

// maxTexts bounds the files of a tree that are looked for in an image.
const maxTexts = 5000

// textsOf reads the small files of a tree.
func textsOf(open func() (io.ReadCloser, error)) (texts []vet.Text, err error) {
	tree, err := open()
	if err != nil {
		return nil, fmt.Errorf("read a tree of the task: %w", err)
	}
	defer func() { err = errors.Join(err, tree.Close()) }()
	err = eachFile(tree, func(name string, h *tar.Header, content io.Reader) error {
		if h.Size > vet.MaxText || len(texts) >= maxTexts {
			return nil
		}
		text, err := io.ReadAll(content)
		texts = append(texts, vet.Text{Name: name, Content: text})
		return err
	})
	return texts, err
}

// eachFile visits the regular files of a tar by their clean names.
func eachFile(tree io.Reader, visit func(name string, h *tar.Header, content io.Reader) error) error {
	tr := tar.NewReader(tree)
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read a tree: %w", err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		if err := visit(strings.TrimPrefix(path.Clean("/"+h.Name), "/"), h, tr); err != nil {
			return err
		}
	}
}

// archiveOf packs files, each behind the folders that it is in.
func archiveOf(files []vet.Text) (io.Reader, error) {
	var b bytes.Buffer
	tw := tar.NewWriter(&b)
	for _, f := range slices.SortedFunc(slices.Values(files), func(a, b vet.Text) int { return strings.Compare(a.Name, b.Name) }) {
		err := tw.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: f.Name, Mode: 0o644, Size: int64(len(f.Content))})
		if err == nil {
			_, err = tw.Write(f.Content)
		}
		if err != nil {
			return nil, fmt.Errorf("pack %s: %w", f.Name, err)
		}
	}
	return &b, tw.Close()
}
