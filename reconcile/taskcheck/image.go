package taskcheck

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/vet"
)

// look goes through the finished work image, and through the instruction.
func (k *checking) look(ctx context.Context) error {
	hidden, err := k.hidden()
	if err != nil {
		return err
	}
	var solved []vet.Text
	if k.solution != nil {
		solved = k.within(k.solution.texts)
	}
	return k.r.o.Host.Images.Look(ctx, k.work.ID, k.labels, func(ctx context.Context, id string) error {
		there, err := k.untouched(ctx, id, slices.Concat(hidden, solved))
		if err != nil {
			return err
		}
		k.aim(solved, there)
		var only []string
		for _, h := range hidden {
			if _, public := there[h.Name]; !public {
				only = append(only, h.Name)
			}
		}
		k.out.Findings = append(k.out.Findings, vet.ReadInstruction(k.task, only)...)
		secrets := vet.NewSecrets(hidden, solved, k.task.FailToPass, func(name string) ([]byte, bool) {
			text, ok := there[name]
			return text, ok
		})
		return k.search(ctx, id, secrets)
	})
}

// within gives texts their paths in the container.
func (k *checking) within(texts []vet.Text) []vet.Text {
	out := slices.Clone(texts)
	for i, t := range out {
		if !path.IsAbs(t.Name) {
			out[i].Name = path.Join(k.task.Workdir, t.Name)
		}
	}
	return out
}

// hidden are the files that only the judge has, by their paths in its container.
func (k *checking) hidden() (texts []vet.Text, err error) {
	if texts, err = k.judged(); err != nil {
		return nil, err
	}
	if p := k.task.Private; p != nil && p.Context.Digest != "" {
		private, err := textsOf(func() (io.ReadCloser, error) { return k.r.o.Host.OpenBlob(p.Context.Digest) })
		if err != nil {
			return nil, err
		}
		texts = append(texts, private...)
	}
	return k.within(append(texts, vet.Added(k.task.Judge.Patch)...)), nil
}

// judged are the files that the open set is judged with, but for what a patch adds.
func (k *checking) judged() (texts []vet.Text, err error) {
	t := k.task
	trees := []task.Tree{t.Judge.Context}
	for _, stage := range []*task.Stage{t.Judge.Run, t.Judge.Grade} {
		if stage != nil {
			trees = append(trees, stage.Context)
		}
	}
	for _, tree := range trees {
		if tree.Digest == "" {
			continue
		}
		files, err := textsOf(func() (io.ReadCloser, error) { return k.r.o.Host.OpenBlob(tree.Digest) })
		if err != nil {
			return nil, err
		}
		texts = append(texts, files...)
	}
	for name, content := range t.Judge.Files {
		texts = append(texts, vet.Text{Name: name, Content: []byte(content)})
	}
	return texts, nil
}

// steering are the files at the top of a tree that adversaries edit.
var steering = []string{"package.json", "setup.cfg", "pyproject.toml", "tox.ini", "pytest.ini", "Makefile", "makefile", "GNUmakefile"}

// untouched reads what the work image has under the paths of texts and of what steers tests.
func (k *checking) untouched(ctx context.Context, id string, texts []vet.Text) (there map[string][]byte, err error) {
	wanted := map[string]bool{}
	for _, t := range texts {
		wanted[t.Name] = true
	}
	for _, name := range steering {
		wanted[path.Join(k.task.Workdir, name)] = true
	}
	there = map[string][]byte{}
	parent := path.Dir(path.Clean(k.task.Workdir)) // the engine's names begin with the last element
	err = k.copied(ctx, id, k.task.Workdir, func(name string, h *tar.Header, content io.Reader) error {
		name = path.Join(parent, name)
		if !wanted[name] || h.Size > vet.MaxText {
			return nil
		}
		text, err := io.ReadAll(content)
		there[name] = text
		return err
	})
	return there, err
}

// copied visits the regular files below a path of a container.
func (k *checking) copied(ctx context.Context, id, from string, visit func(name string, h *tar.Header, content io.Reader) error) (err error) {
	copier, ok := k.r.o.Host.Engine.(container.Copier)
	if !ok {
		return fmt.Errorf("look at an image with this engine: %w", container.ErrUnsupported)
	}
	stream, err := copier.CopyFrom(ctx, id, from)
	if errors.Is(err, container.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stream.Close()) }()
	return eachFile(stream, visit)
}

// aim makes what adversaries are made of: the files that the solution changes, as they are
// without it.
func (k *checking) aim(solved []vet.Text, there map[string][]byte) {
	k.target = vet.Target{Task: k.task, There: func(name string) ([]byte, bool) {
		text, ok := there[path.Join(k.task.Workdir, name)]
		return text, ok
	}}
	for _, s := range solved {
		if name, ok := strings.CutPrefix(s.Name, strings.TrimSuffix(k.task.Workdir, "/")+"/"); ok {
			k.target.Sources = append(k.target.Sources, vet.Text{Name: name, Content: there[s.Name]})
		}
	}
}

// elsewhere are the folders of a container that are not of its image.
var elsewhere = []string{"proc", "sys", "dev", ".assayd"}

// search looks through all files of the image, and takes Git's folders out of it for a look
// of their own.
func (k *checking) search(ctx context.Context, id string, secrets *vet.Secrets) (err error) {
	dir, err := k.r.o.Host.Images.Mirrors().AuditFolder()
	if err != nil {
		return fmt.Errorf("look through the work image: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	repositories := newRepositories(dir)
	err = k.copied(ctx, id, "/", func(name string, h *tar.Header, content io.Reader) error {
		top, _, _ := strings.Cut(name, "/")
		if slices.Contains(elsewhere, top) {
			return nil
		}
		if taken, err := repositories.take(name, h.Size, content); taken || err != nil {
			return err
		}
		if !secrets.Wants(h.Size) {
			return nil
		}
		var text bytes.Buffer
		if _, err := text.ReadFrom(content); err != nil {
			return err
		}
		secrets.Look("/"+name, text.Bytes())
		return nil
	})
	if err != nil {
		return fmt.Errorf("look through the work image: %w", err)
	}
	k.out.Findings = append(k.out.Findings, secrets.Found()...)
	return k.audit(ctx, repositories)
}
