package image

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/assayd/assayd/runtime/container"
)

// lookLimits bound a container in which nothing of the image is run.
var lookLimits = container.Limits{CPUs: 1, Memory: 1 << 30, PIDs: 64}

// Look has a container of the image for as long as see looks at it: without a network, with
// nothing running in it but the guest, and removed in any case. labels say whose it is.
func (b *Builder) Look(ctx context.Context, id string, labels map[string]string, see func(ctx context.Context, container string) error) error {
	return b.Within(ctx, container.Workload{Image: id, Workdir: "/", Network: container.NetworkNone, Limits: lookLimits, Labels: labels}, see)
}

// Within has a container of the workload's image, network, limits, environment and labels, in
// which nothing runs but the guest, for as long as use uses it. It is removed in any case.
func (b *Builder) Within(ctx context.Context, w container.Workload, use func(ctx context.Context, container string) error) error {
	w = w.WithLabels(map[string]string{container.LabelOwner: b.opts.Owner, container.LabelRole: container.RoleBuild})
	w.Name = fmt.Sprintf("assayd-look-%.8s-%.12s", b.opts.Owner, rand.Text())
	w.Argv, w.Mounts, w.User = b.opts.Hold, b.opts.GuestMount, rootUser
	defer func() {
		after, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
		defer cancel()
		if gone := b.engine.Remove(after, w.Name); gone != nil {
			b.opts.Log.Warn("a container could not be removed yet", "container", w.Name, "error", gone)
			if b.opts.RemoveLater != nil {
				b.opts.RemoveLater(w.Name)
			}
		}
	}()
	c, err := b.engine.Start(ctx, w)
	if err != nil {
		return fmt.Errorf("start a container of image %s to look at it: %w", w.Image, err)
	}
	if err := use(ctx, c.ID); err != nil {
		return errors.Join(err, context.Cause(ctx))
	}
	return nil
}
