package image

import (
	"archive/tar"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"time"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/fault"
	"github.com/assayd/assayd/runtime/image/clone"
)

// cleanupTime is what removing a build container may take after its build is over.
const cleanupTime = time.Minute

// rootUser is whom builds run as.
const rootUser = "0:0"

// Bounds of a build container: what a repository runs while it is installed is as hostile as what it
// runs later.
const (
	buildPIDs   = 32768
	buildDisk   = 64 << 30
	buildMemory = 0.8 // of the machine's

	// scarceDisk is what a build may hold where the disk is about to be full.
	scarceDisk = 1 << 30
)

// mayHold is how many bytes a build container may hold now.
func (b *Builder) mayHold() int64 {
	most := cmp.Or(b.disk, buildDisk)
	if b.opts.Scarce != nil && b.opts.Scarce() {
		most = min(most, scarceDisk)
	}
	return most
}

// limits bounds a build container.
func (b *Builder) limits(ctx context.Context) container.Limits {
	l := container.Limits{PIDs: buildPIDs, Disk: cmp.Or(b.disk, buildDisk)}
	if host, ok := b.engine.(container.Host); ok {
		if info, err := host.HostInfo(ctx); err == nil {
			l.Memory = int64(buildMemory * float64(info.Memory))
		}
	}
	return l
}

// buildStep is one build: a running container that becomes an image.
type buildStep struct {
	b      *Builder
	recipe recipe
	id     string // of the container
	config container.ImageConfig
	from   container.ImageConfig // of the parent
	home   string                // the parent's own folder; "" = it has none

	// What instructions of a Dockerfile or a directive have said, known while building only.
	args, globals map[string]string // ARG, of the stage and before it
	shell         []string
}

// build makes the image of a recipe and gives it its shared name. Whatever happens, the build
// container is removed, save by a crash: then its label tells the daemon what it is.
func (b *Builder) build(ctx context.Context, r recipe, parent container.Image, labels map[string]string) (img container.Image, err error) {
	if b.exec == nil || b.copier == nil {
		return img, fmt.Errorf("build images with this engine: %w", container.ErrUnsupported)
	}
	select {
	case b.slots <- struct{}{}:
		defer func() { <-b.slots }()
	case <-ctx.Done():
		return img, context.Cause(ctx)
	}
	s := &buildStep{b: b, recipe: r, config: r.config(parent.Config), from: parent.Config, home: parent.Config.Workdir}
	w := s.workload(parent, labels)
	w.Limits = b.limits(ctx)
	// What a crash or a lost answer left behind has half of the work in it.
	if err := b.engine.Remove(ctx, w.Name); err != nil {
		return img, fmt.Errorf("remove an earlier build container: %w", err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
		defer cancel()
		if gone := b.engine.Remove(ctx, w.Name); gone != nil {
			b.opts.Log.Warn("a build container could not be removed yet", "container", w.Name, "error", gone)
			if s.id != "" && b.opts.RemoveLater != nil { // the name is that of the next attempt, too, which removes what has it
				b.opts.RemoveLater(s.id)
			}
		}
	}()
	instance, err := b.engine.Start(ctx, w)
	if err != nil {
		return img, fmt.Errorf("start build container: %w", err)
	}
	s.id = instance.ID
	fault.Reached(fault.BuildStarted)
	watched, unwatch := container.WatchDisk(ctx, b.engine, s.id, b.mayHold, b.opts.Log)
	err = s.fill(watched)
	unwatch()
	if full, ok := errors.AsType[*container.DiskError](context.Cause(watched)); ok && err != nil && !errors.Is(err, full) {
		err = errors.Join(full, err) // it ended something that does not tell why
	}
	if err != nil {
		return img, err
	}
	// Nothing may write while the layer is read.
	if err := b.engine.Stop(ctx, s.id, 0); err != nil {
		return img, fmt.Errorf("stop build container: %w", err)
	}
	if err := s.leaks(ctx); err != nil {
		return img, err
	}
	s.config.Labels = merge(s.config.Labels, r.labels(w.Labels))
	if s.config.User == "" {
		s.config.User = rootUser // an empty one would become the build container's
	}
	img, err = b.images.Commit(ctx, s.id, r.shared(), s.config)
	if err != nil {
		return img, fmt.Errorf("commit %s: %w", r.shared(), err)
	}
	fault.Reached(fault.ImageBuilt)
	img.Config = s.config
	return img, nil
}

// workload is the container in which the image is made. Its name comes from the recipe, so
// that there is never more than one.
func (s *buildStep) workload(parent container.Image, labels map[string]string) container.Workload {
	r, o := s.recipe, s.b.opts
	l := maps.Clone(labels)
	if l == nil {
		l = map[string]string{}
	}
	l[container.LabelOwner] = o.Owner
	l[container.LabelRole] = container.RoleBuild
	return container.Workload{
		Name:  fmt.Sprintf("assayd-build-%s-%s", o.Owner, r.hash()[:12]),
		Image: parent.ID, Argv: o.Hold, Mounts: o.GuestMount,
		User: rootUser, Workdir: "/",
		Network: container.NetworkOpen, Labels: l,
	}
}

// fill does the recipe, in its order.
func (s *buildStep) fill(ctx context.Context) error {
	steps := []func(context.Context) error{
		s.dockerfile, s.before, s.packages, s.pipPackages, s.after,
		s.workdir, s.clone, s.context, s.files, s.patch, s.setup, s.lateWorkdir, s.handOver,
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// workdir makes the folder in which all the rest happens, unless the setup commands find
// their own place: then they may want to make it themselves, as by git clone.
func (s *buildStep) workdir(ctx context.Context) error {
	if s.recipe.AtHome && s.recipe.Repo == nil && s.recipe.tree() == "" && len(s.recipe.Patch) == 0 {
		return nil
	}
	return s.lateWorkdir(ctx)
}

// lateWorkdir makes workdir when nobody else did.
func (s *buildStep) lateWorkdir(ctx context.Context) error {
	if s.recipe.Role == container.RoleBase {
		return nil
	}
	if !path.IsAbs(s.recipe.Workdir) {
		return fmt.Errorf("workdir %q is not an absolute path", s.recipe.Workdir)
	}
	return s.makeDirs(ctx, s.recipe.Workdir)
}

// put extracts what write produces into the folder dir of the container, which must exist.
func (s *buildStep) put(ctx context.Context, dir string, write func(*tar.Writer) error) error {
	pr, pw := io.Pipe()
	done := make(chan error, 1)
	go func() { // ends at the latest when the reading end is closed below
		tw := tar.NewWriter(pw)
		err := write(tw)
		if err == nil {
			err = tw.Close()
		}
		pw.CloseWithError(err)
		done <- err
	}()
	err := s.b.copier.CopyTo(ctx, s.id, dir, pr)
	pr.CloseWithError(io.ErrClosedPipe)
	written := <-done
	if written != nil && !errors.Is(written, io.ErrClosedPipe) {
		return written
	}
	if err != nil {
		return fmt.Errorf("copy into %s: %w", dir, err)
	}
	return nil
}

// exists reports whether name, an absolute path, is there in the container.
func (s *buildStep) exists(ctx context.Context, name string) (bool, error) {
	rc, err := s.b.copier.CopyFrom(ctx, s.id, name)
	if errors.Is(err, container.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look at %s: %w", name, err)
	}
	return true, rc.Close()
}

// makeDirs makes the folder dir, an absolute path, with those above it that are missing,
// and leaves the ones that are there as they are.
func (s *buildStep) makeDirs(ctx context.Context, dir string) error {
	var missing []string // relative to the first one that exists, deepest last
	at := path.Clean(dir)
	for at != "/" {
		ok, err := s.exists(ctx, at)
		if err != nil {
			return err
		}
		if ok {
			break
		}
		missing = append([]string{path.Base(at)}, missing...)
		at = path.Dir(at)
	}
	if len(missing) == 0 {
		return nil
	}
	return s.put(ctx, at, func(tw *tar.Writer) error {
		name := ""
		for _, m := range missing {
			name += m + "/"
			if err := tw.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: 0o755, ModTime: contentTime}); err != nil {
				return err
			}
		}
		return nil
	})
}

// clone puts a clone, cut at the commit, into workdir.
func (s *buildStep) clone(ctx context.Context) error {
	if s.recipe.Repo == nil {
		return nil
	}
	repo := *s.recipe.Repo
	dir, when, err := s.b.mirrors.Cut(ctx, repo)
	if dir != "" {
		defer os.RemoveAll(dir)
	}
	if err != nil {
		return err
	}
	return s.put(ctx, s.recipe.Workdir, func(tw *tar.Writer) error { return clone.TarFolder(tw, dir, when) })
}
