package install

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"runtime"
	"sync"

	"github.com/assayd/assayd/runtime/agent"
	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/image"
	"github.com/assayd/assayd/runtime/layer"
	"github.com/assayd/assayd/runtime/task"
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

// Installed is what an agent has in its container. A trial stores it with its state.
type Installed struct {
	Equipped string    // id of the work image with what the agent needs; "" = the work image has it
	Layers   []Mounted // folders of the host with what the agent needs
	Program  string    // of the agent, in the container; "" = its command says
	Path     []string  // folders of programs that it calls
}

// Installer makes or finds what agents need installed.
type Installer struct {
	Engine container.Engine
	Images *image.Builder
	Layers *layer.Store
	Libcs  *Libcs
	// Pin returns the name by which an image is to be resolved.
	Pin func(ctx context.Context, ref string) (string, error)
	// At puts the place in a spec before an error: of the first of the agent's attributes that stands there.
	At func(err error, attributes ...string) error
}

// Install makes or finds what the agent needs, for a task with a work image. labels say whose the
// containers are that it is made in. With an error it returns how far it came.
func (i Installer) Install(ctx context.Context, a agent.Agent, t task.Task, work image.Built, labels map[string]string) (in Installed, err error) {
	if a.Program != "" && a.Layer != nil { // it is installed by steps of its own, into PATH or these folders
		in.Program, in.Path = layer.Executable(a.Program), []string{"/agent", "/agent/bin", layerDir, layerDir + "/bin", layerDir + "/usr/bin", layerDir + "/usr/local/bin"}
	}
	switch {
	case a.Program != "" && a.Layer == nil:
		return i.program(ctx, a, work.ID, labels)
	case a.Layer == nil:
		return in, nil
	case a.Layer.Image != "":
		in.Layers, err = i.imageLayer(ctx, a, t.Platform, labels)
		return in, err
	}
	equipped, err := i.Images.Equip(ctx, work, t, image.Equipment{Agent: a.Name, Dir: a.Dir, Setup: a.Layer.Setup}, labels)
	if err != nil {
		return in, i.At(err, "layer.setup", "install", "layer")
	}
	in.Equipped = equipped.ID
	return in, nil
}

// program has the program of a built-in agent, in the version for the C library of the work
// image.
func (i Installer) program(ctx context.Context, a agent.Agent, work string, labels map[string]string) (in Installed, err error) {
	libc, err := i.Libcs.of(ctx, i, work, labels)
	if err != nil {
		return in, err
	}
	p, err := layer.For(a.Program, a.Version, layer.Here(libc))
	if err != nil {
		return in, err
	}
	l, err := i.Layers.Packages(ctx, p.Packages)
	if err != nil {
		return in, err
	}
	name, err := p.Find(l)
	if err != nil {
		return in, err
	}
	in.Layers = []Mounted{{l.Dir, programDir}}
	in.Program = path.Join(programDir, name)
	for _, folder := range p.Folders {
		in.Path = append(in.Path, path.Join(programDir, folder))
	}
	return in, nil
}

// imageLayer has the files of the image that a declared agent names.
func (i Installer) imageLayer(ctx context.Context, a agent.Agent, platform string, labels map[string]string) ([]Mounted, error) {
	ref, err := i.Pin(ctx, a.Layer.Image)
	if err != nil {
		return nil, err
	}
	img, err := i.Images.Resolve(ctx, ref, platform)
	if err != nil {
		return nil, i.At(err, "layer.image")
	}
	l, err := i.Layers.Tree(ctx, img.ID, func(ctx context.Context) (io.ReadCloser, error) {
		return i.filesOf(ctx, img.ID, labels)
	})
	if err != nil {
		return nil, i.At(err, "layer.image")
	}
	return []Mounted{{l.Dir, layerDir}}, nil
}

// filesOf reads all files of an image. The container that they are read from is there until
// the reader is closed.
func (i Installer) filesOf(ctx context.Context, id string, labels map[string]string) (io.ReadCloser, error) {
	copier, ok := i.Engine.(container.Copier)
	if !ok {
		return nil, fmt.Errorf("read the files of an image: %w", container.ErrUnsupported)
	}
	r, w := io.Pipe()
	f := &imageFiles{PipeReader: r}
	f.reading.Go(func() {
		err := i.Images.Look(ctx, id, labels, func(ctx context.Context, box string) error {
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
func (l *Libcs) of(ctx context.Context, i Installer, id string, labels map[string]string) (layer.Libc, error) {
	if known, ok := l.known.Load(id); ok {
		return known.(layer.Libc), nil //nolint:forcetypeassert // only such are stored
	}
	copier, ok := i.Engine.(container.Copier)
	if !ok {
		return "", fmt.Errorf("look for the C library of an image: %w", container.ErrUnsupported)
	}
	var libc layer.Libc
	err := i.Images.Look(ctx, id, labels, func(ctx context.Context, box string) (err error) {
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
