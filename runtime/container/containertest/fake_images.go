package containertest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/assayd/assayd/runtime/container"
)

type fakeImage struct {
	container.Image
	files tree
}

// AddImage makes an image present. Files are given by absolute path; without any the
// engine takes every program to be in the image, with some it looks for them.
func (f *Fake) AddImage(ref string, c container.ImageConfig, files map[string]string) container.Image {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.add(ref, c, treeOf(files)).Image
}

// AddRemote makes an image that a Pull will find.
func (f *Fake) AddRemote(ref string, c container.ImageConfig, files map[string]string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.remote = append(f.remote, &fakeImage{Image: container.Image{Refs: []string{tagged(ref)}, Config: c}, files: treeOf(files)})
}

func treeOf(files map[string]string) tree {
	t := tree{}
	for name, content := range files {
		t.write(name, []byte(content))
	}
	return t
}

// tagged adds the tag that a reference without tag or digest stands for.
func tagged(ref string) string {
	if strings.Contains(ref, "@") || strings.LastIndexByte(ref, ':') > strings.LastIndexByte(ref, '/') {
		return ref
	}
	return ref + ":latest"
}

// add makes an image and moves the reference to it. The lock is held.
func (f *Fake) add(ref string, c container.ImageConfig, files tree) *fakeImage {
	f.serial++
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", f.serial, ref))
	img := &fakeImage{files: files, Image: container.Image{
		ID: fmt.Sprintf("sha256:%x", sum), Created: time.Now(), Config: c, Size: files.written(nil),
	}}
	if ref != "" {
		f.untag(ref)
		img.Refs = []string{tagged(ref)}
	}
	f.images = append(f.images, img)
	f.touch()
	return img
}

// untag takes the reference from whatever image has it. The lock is held.
func (f *Fake) untag(ref string) {
	for _, img := range f.images {
		img.Refs = slices.DeleteFunc(img.Refs, func(r string) bool { return r == tagged(ref) })
	}
}

// image returns a present image by id or reference, or nil. The lock is held.
func (f *Fake) image(ref string) *fakeImage {
	for _, img := range f.images {
		if img.ID == ref || slices.Contains(img.Refs, tagged(ref)) || slices.Contains(img.Digests, ref) {
			return img
		}
	}
	return nil
}

func (img *fakeImage) snapshot() container.Image {
	out := img.Image
	out.Refs = slices.Clone(out.Refs)
	return out
}

// Image implements container.Images.
func (f *Fake) Image(ctx context.Context, ref string) (container.Image, error) {
	if err := f.begin(ctx, "Image", ref); err != nil {
		return container.Image{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	img := f.image(ref)
	if img == nil {
		return container.Image{}, fmt.Errorf("image %q: %w", ref, container.ErrNotFound)
	}
	return img.snapshot(), nil
}

// Pull implements container.Images.
func (f *Fake) Pull(ctx context.Context, ref, platform string) (container.Image, error) {
	if err := f.begin(ctx, "Pull", ref); err != nil {
		return container.Image{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if img := f.image(ref); img != nil {
		return img.snapshot(), nil
	}
	for _, r := range f.remote {
		if slices.Contains(r.Refs, tagged(ref)) {
			return f.add(ref, r.Config, maps.Clone(r.files)).snapshot(), nil
		}
	}
	return container.Image{}, fmt.Errorf("pull image %q: %w: its registry does not have it", ref, container.ErrNotFound)
}

// Tag implements container.Images.
func (f *Fake) Tag(ctx context.Context, ref, name string) error {
	if err := f.begin(ctx, "Tag", ref); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	img := f.image(ref)
	if img == nil {
		return fmt.Errorf("tag image %q: %w", ref, container.ErrNotFound)
	}
	f.untag(name)
	img.Refs = append(img.Refs, tagged(name))
	return nil
}

// Push implements container.Images: a Pull will find what was pushed, on a machine that
// has it no more.
func (f *Fake) Push(ctx context.Context, ref string) (string, error) {
	if err := f.begin(ctx, "Push", ref); err != nil {
		return "", err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	img := f.image(ref)
	if img == nil {
		return "", fmt.Errorf("push image %q: %w", ref, container.ErrNotFound)
	}
	repository, _, _ := strings.Cut(path.Base(tagged(ref)), ":")
	img.Digests = append(img.Digests, path.Join(path.Dir(ref), repository)+"@"+img.ID)
	f.remote = append(f.remote, &fakeImage{Image: container.Image{Refs: []string{tagged(ref)}, Config: img.Config}, files: img.files})
	return img.ID, nil
}

// Commit implements container.Images.
func (f *Fake) Commit(ctx context.Context, id, ref string, c container.ImageConfig) (container.Image, error) {
	if err := f.begin(ctx, "Commit", id); err != nil {
		return container.Image{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.find(id)
	if r == nil {
		return container.Image{}, fmt.Errorf("commit container %q: %w", id, container.ErrNotFound)
	}
	old := container.ImageConfig{}
	if img := f.image(r.inst.ImageID); img != nil {
		old = img.Config
	}
	if c.User == "" {
		c.User = firstOf(r.w.User, old.User)
	}
	if c.Workdir == "" {
		c.Workdir = firstOf(r.w.Workdir, old.Workdir)
	}
	c.Env = merged(old.Env, r.w.Env, c.Env)
	c.Labels = merged(old.Labels, r.w.Labels, c.Labels)
	return f.add(ref, c, maps.Clone(r.files)).snapshot(), nil
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func merged(all ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, m := range all {
		maps.Copy(out, m)
	}
	return out
}

// Names implements container.Images.
func (f *Fake) Names(ctx context.Context) (map[string]string, error) {
	if err := f.begin(ctx, "Names", ""); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	names := map[string]string{}
	for _, img := range f.images {
		for _, ref := range img.Refs {
			names[ref] = img.ID
		}
	}
	return names, nil
}

// ListImages implements container.Images.
func (f *Fake) ListImages(ctx context.Context, key, value string) ([]container.Image, error) {
	if err := f.begin(ctx, "ListImages", key); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []container.Image
	for _, img := range f.images {
		if v, ok := img.Config.Labels[key]; ok && v == value {
			all = append(all, img.snapshot())
		}
	}
	return all, nil
}

// RemoveImage implements container.Images.
func (f *Fake) RemoveImage(ctx context.Context, ref string) error {
	if err := f.begin(ctx, "RemoveImage", ref); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	img := f.image(ref)
	if img == nil {
		return nil
	}
	if len(img.Refs) <= 1 {
		for _, r := range f.containers {
			if r.inst.ImageID == img.ID {
				return fmt.Errorf("remove image %q: %w: container %q was made from it", ref, container.ErrConflict, r.inst.Name)
			}
		}
		f.images = slices.DeleteFunc(f.images, func(i *fakeImage) bool { return i == img })
		return nil
	}
	f.untag(ref)
	return nil
}

// Import makes an image out of the tar stream of a root file system: see Importer.
func (f *Fake) Import(ctx context.Context, ref string, rootfs io.Reader, c container.ImageConfig) (container.Image, error) {
	if err := f.begin(ctx, "Import", ref); err != nil {
		return container.Image{}, err
	}
	files := tree{}
	if err := files.extract("/", rootfs); err != nil {
		return container.Image{}, fmt.Errorf("import image %q: %w", ref, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.add(ref, c, files).snapshot(), nil
}
