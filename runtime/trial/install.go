package trial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"runtime"
	"sync"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/image"
	"github.com/assayd/assayd/runtime/layer"
)

// Where layers are found in a container.
const (
	programDir = "/.assayd/program" // of a built-in agent's program
	layerDir   = "/layer"           // of a declared agent's image
)

// Mounted is a layer in a trial's container.
type Mounted struct {
	Source string // on the host
	Target string
}

// installAgent makes or finds what the agent needs installed.
func (m *Machine) installAgent(ctx context.Context, s *State, work image.Built, labels map[string]string) error {
	a := s.Cell.Agent
	if a.Program != "" && a.Layer != nil { // it is installed by steps of its own, into PATH or these folders
		s.Program, s.Path = layer.Executable(a.Program), []string{"/agent", "/agent/bin", layerDir, layerDir + "/bin", layerDir + "/usr/bin", layerDir + "/usr/local/bin"}
	}
	switch {
	case a.Program != "" && a.Layer == nil:
		return m.program(ctx, s, work.ID, labels)
	case a.Layer == nil:
		return nil
	case a.Layer.Image != "":
		return m.imageLayer(ctx, s, labels)
	}
	equipped, err := m.host.Images.Equip(ctx, work, s.Cell.Task, image.Equipment{Agent: a.Name, Dir: a.Dir, Setup: a.Layer.Setup}, labels)
	if err != nil {
		return m.host.at(err, "agent", a.Name, "", "layer.setup", "install", "layer")
	}
	s.Equipped = equipped.ID
	return nil
}

// program has the program of a built-in agent, in the version for the C library of the work
// image.
func (m *Machine) program(ctx context.Context, s *State, work string, labels map[string]string) error {
	a := s.Cell.Agent
	libc, err := m.host.Libcs.of(ctx, m.host, work, labels)
	if err != nil {
		return err
	}
	p, err := layer.For(a.Program, a.Version, layer.Here(libc))
	if err != nil {
		return err
	}
	l, err := m.host.Layers.Packages(ctx, p.Packages)
	if err != nil {
		return err
	}
	name, err := p.Find(l)
	if err != nil {
		return err
	}
	s.Layers = []Mounted{{l.Dir, programDir}}
	s.Program, s.Path = path.Join(programDir, name), nil
	for _, folder := range p.Folders {
		s.Path = append(s.Path, path.Join(programDir, folder))
	}
	return nil
}

// imageLayer has the files of the image that a declared agent names.
func (m *Machine) imageLayer(ctx context.Context, s *State, labels map[string]string) error {
	a := s.Cell.Agent
	ref, err := m.pin(ctx, *s, a.Layer.Image)
	if err != nil {
		return err
	}
	img, err := m.host.Images.Resolve(ctx, ref, s.Cell.Task.Platform)
	if err != nil {
		return m.host.at(err, "agent", a.Name, "", "layer.image")
	}
	l, err := m.host.Layers.Tree(ctx, img.ID, func(ctx context.Context) (io.ReadCloser, error) {
		return m.host.filesOf(ctx, img.ID, labels)
	})
	if err != nil {
		return m.host.at(err, "agent", a.Name, "", "layer.image")
	}
	s.Layers = []Mounted{{l.Dir, layerDir}}
	return nil
}

// filesOf reads all files of an image. The container that they are read from is there until
// the reader is closed.
func (h Host) filesOf(ctx context.Context, id string, labels map[string]string) (io.ReadCloser, error) {
	copier, ok := h.Engine.(container.Copier)
	if !ok {
		return nil, fmt.Errorf("read the files of an image: %w", container.ErrUnsupported)
	}
	r, w := io.Pipe()
	f := &imageFiles{PipeReader: r}
	f.reading.Go(func() {
		err := h.Images.Look(ctx, id, labels, func(ctx context.Context, box string) error {
			files, err := copier.CopyFrom(ctx, box, "/")
			if err != nil {
				return err
			}
			_, err = io.Copy(w, files)
			return errors.Join(err, files.Close())
		})
		_ = w.CloseWithError(err) // nil is the end of the files
	})
	return f, nil
}

// imageFiles are the files of an image while they are read.
type imageFiles struct {
	*io.PipeReader
	reading sync.WaitGroup
}

// Close implements io.Closer.
func (f *imageFiles) Close() error {
	err := f.PipeReader.Close()
	f.reading.Wait()
	return err
}

// Libcs remembers which C library images have. The zero value knows none.
type Libcs struct{ known sync.Map }

// of looks once for the C library of an image.
func (l *Libcs) of(ctx context.Context, h Host, id string, labels map[string]string) (layer.Libc, error) {
	if known, ok := l.known.Load(id); ok {
		return known.(layer.Libc), nil //nolint:forcetypeassert // only such are stored
	}
	copier, ok := h.Engine.(container.Copier)
	if !ok {
		return "", fmt.Errorf("look for the C library of an image: %w", container.ErrUnsupported)
	}
	var libc layer.Libc
	err := h.Images.Look(ctx, id, labels, func(ctx context.Context, box string) (err error) {
		libc, err = layer.LibcOf(runtime.GOARCH, func(path string) (bool, error) {
			found, err := copier.CopyFrom(ctx, box, path)
			if errors.Is(err, container.ErrNotFound) {
				return false, nil
			}
			if err != nil {
				return false, err
			}
			return true, found.Close()
		})
		return err
	})
	if err != nil {
		return "", err
	}
	l.known.Store(id, libc)
	return libc, nil
}
