package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/distribution/reference"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	contract "github.com/assayd/assayd/runtime/container"
)

// checkRef refuses what is neither a reference nor an image id: it could address another
// part of the API.
func checkRef(ref string) error {
	if _, err := reference.ParseAnyReference(ref); err != nil {
		return fmt.Errorf("image %q: %w", ref, err)
	}
	return nil
}

// Image implements container.Images.
func (e *Engine) Image(ctx context.Context, ref string) (contract.Image, error) {
	if err := checkRef(ref); err != nil {
		return contract.Image{}, err
	}
	found, err := e.calls.ImageInspect(ctx, ref)
	if err != nil {
		return contract.Image{}, failure(ctx, err, "image %q", ref)
	}
	return image(found), nil
}

func image(i client.ImageInspectResult) contract.Image {
	img := contract.Image{
		ID:      i.ID,
		Refs:    named(i.RepoTags),
		Digests: named(i.RepoDigests),
		Size:    i.Size,
		Created: instant(i.Created),
	}
	if c := i.Config; c != nil {
		img.Config = contract.ImageConfig{
			User:    c.User,
			Workdir: c.WorkingDir,
			Env:     environment(c.Env),
			Cmd:     slices.Concat(c.Entrypoint, c.Cmd),
			Labels:  c.Labels,
		}
	}
	return img
}

// named leaves out the engine's placeholders for "no name".
func named(refs []string) []string {
	return slices.DeleteFunc(slices.Clone(refs), func(r string) bool { return strings.HasPrefix(r, "<none>") })
}

// environment is the opposite of assignments.
func environment(all []string) map[string]string {
	env := make(map[string]string, len(all))
	for _, one := range all {
		key, value, _ := strings.Cut(one, "=")
		env[key] = value
	}
	return env
}

// Commit implements container.Images. Running processes are frozen for the moment of the
// commit. What c leaves empty is the container's; environment and labels of the
// container and its image stay where c has no such key: Docker cannot take them away.
func (e *Engine) Commit(ctx context.Context, id, ref string, c contract.ImageConfig) (contract.Image, error) {
	if err := checkName(id); err != nil {
		return contract.Image{}, fmt.Errorf("commit container: %w", err)
	}
	if err := checkRef(ref); err != nil {
		return contract.Image{}, fmt.Errorf("commit container %q: %w", id, err)
	}
	made, err := e.streams.ContainerCommit(ctx, id, client.ContainerCommitOptions{
		Reference: ref,
		Config: &container.Config{
			User: c.User, WorkingDir: c.Workdir, Env: assignments(c.Env), Labels: maps.Clone(c.Labels),
			// An empty list, unlike none, keeps the container's own program out.
			Entrypoint: []string{},
			Cmd:        c.Cmd,
		},
	})
	if err != nil {
		return contract.Image{}, failure(ctx, err, "commit container %q as image %q", id, ref)
	}
	return e.Image(ctx, made.ID)
}

// ListImages implements container.Images.
func (e *Engine) ListImages(ctx context.Context, key, value string) ([]contract.Image, error) {
	list, err := e.calls.ImageList(ctx, client.ImageListOptions{
		Filters: client.Filters{}.Add("label", key+"="+value),
	})
	if err != nil {
		return nil, failure(ctx, err, "list images with label %s=%s", key, value)
	}
	var all []contract.Image
	for _, item := range list.Items {
		img, err := e.Image(ctx, item.ID)
		if errors.Is(err, contract.ErrNotFound) {
			continue // removed since the list was made
		}
		if err != nil {
			return nil, err
		}
		all = append(all, img)
	}
	return all, nil
}

// Names implements container.Images.
func (e *Engine) Names(ctx context.Context) (map[string]string, error) {
	list, err := e.calls.ImageList(ctx, client.ImageListOptions{})
	if err != nil {
		return nil, failure(ctx, err, "list the names of images")
	}
	names := map[string]string{}
	for _, item := range list.Items {
		for _, tag := range item.RepoTags {
			names[tag] = item.ID
		}
	}
	return names, nil
}

// RemoveImage implements container.Images. Layers that nothing else uses go with it.
func (e *Engine) RemoveImage(ctx context.Context, ref string) error {
	if err := checkRef(ref); err != nil {
		return fmt.Errorf("remove: %w", err)
	}
	_, err := e.calls.ImageRemove(ctx, ref, client.ImageRemoveOptions{PruneChildren: true})
	if err = failure(ctx, err, "remove image %q", ref); errors.Is(err, contract.ErrNotFound) {
		return nil
	}
	return err
}

// Import makes an image named ref, with one layer, out of the tar stream of a root file
// system. It is no part of the contract: it is for images from scratch, without a
// registry.
func (e *Engine) Import(ctx context.Context, ref string, rootfs io.Reader, c contract.ImageConfig) (contract.Image, error) {
	changes, err := instructions(c)
	if err != nil {
		return contract.Image{}, fmt.Errorf("import image %q: %w", ref, err)
	}
	answer, err := e.streams.ImageImport(ctx, client.ImageImportSource{Source: rootfs, SourceName: "-"}, ref,
		client.ImageImportOptions{Changes: changes})
	if err != nil {
		return contract.Image{}, failure(ctx, err, "import image %q", ref)
	}
	defer answer.Close()
	if err := lastWord(answer); err != nil {
		return contract.Image{}, failure(ctx, err, "import image %q", ref)
	}
	return e.Image(ctx, ref)
}
