package containertest

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/assayd/assayd/runtime/container"
)

// patience is how long anything in the suite may take that should take moments.
const patience = time.Minute

// Sweep removes all containers and images of the owner, until none is left: the engine may make
// one late, for somebody who has gone. It is for cleaning up, and does not depend on the test's
// context, which has ended by then.
func Sweep(t testing.TB, e container.Engine, owner string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	defer cancel()
	for {
		found, err := sweep(ctx, e, owner)
		switch {
		case err == nil && !found:
			return
		case err != nil && (!errors.Is(err, container.ErrConflict) || ctx.Err() != nil):
			t.Errorf("clean up: %v", err)
			return
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// sweep removes what there is now, and says whether there was anything.
func sweep(ctx context.Context, e container.Engine, owner string) (found bool, err error) {
	all, err := e.Observe(ctx, owner)
	for _, inst := range all {
		err = errors.Join(err, e.Remove(ctx, inst.ID))
	}
	images, ok := e.(container.Images)
	if !ok || err != nil {
		return len(all) > 0, err
	}
	left, err := images.ListImages(ctx, container.LabelOwner, owner)
	for _, img := range left {
		for _, ref := range append(img.Refs, img.ID) {
			err = errors.Join(err, images.RemoveImage(ctx, ref))
		}
	}
	return len(all)+len(left) > 0, err
}

// fixture is one test of the suite with an owner of its own.
type fixture struct {
	*testing.T
	engine container.Engine
	image  string
	owner  string
	ctx    context.Context // ends when the test took too long
}

func newFixture(t *testing.T, e container.Engine, image string) *fixture {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	b := &fixture{T: t, engine: e, image: image, owner: "test-" + Unique(), ctx: ctx}
	t.Cleanup(func() { Sweep(t, e, b.owner) })
	return b
}

// workload is a probe with the given arguments, without network.
func (b *fixture) workload(args ...string) container.Workload {
	return container.Workload{
		Name:    "assayd-" + b.owner + "-" + Unique(),
		Image:   b.image,
		Argv:    append([]string{"/probe"}, args...),
		Network: container.NetworkNone,
		Limits:  container.Limits{CPUs: 1, Memory: 64 << 20, PIDs: 64},
		Labels:  map[string]string{container.LabelOwner: b.owner, container.LabelRole: container.RoleWork},
	}
}

func (b *fixture) start(w container.Workload) container.Instance {
	b.Helper()
	inst, err := b.engine.Start(b.ctx, w)
	b.must(err)
	return inst
}

func (b *fixture) inspect(id string) container.Instance {
	b.Helper()
	inst, err := b.engine.Inspect(b.ctx, id)
	b.must(err)
	return inst
}

func (b *fixture) wait(id string) container.Exit {
	b.Helper()
	exit, err := b.engine.Wait(b.ctx, id)
	b.must(err)
	return exit
}

// run executes a probe command in a container and wants it to succeed.
func (b *fixture) run(id string, args ...string) string {
	b.Helper()
	var out bytes.Buffer
	code, err := b.engine.(container.Execer).Exec(b.ctx, id, container.Command{
		Argv: append([]string{"/probe"}, args...), Stdout: &out,
	})
	b.must(err)
	equal(b, "exit code", code, 0)
	return out.String()
}

func (b *fixture) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// want checks the kind of an error.
func (b *fixture) want(err, kind error) {
	b.Helper()
	if !errors.Is(err, kind) {
		b.Errorf("the error is %v, want %q", err, kind)
	}
}

// eventually looks until the condition is true.
func (b *fixture) eventually(what string, condition func() bool) {
	b.Helper()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for !condition() {
		select {
		case <-ticker.C:
		case <-b.ctx.Done():
			b.Fatalf("not within %s: %s", patience, what)
		}
	}
}

func equal[V comparable](b *fixture, what string, have, want V) {
	b.Helper()
	if have != want {
		b.Errorf("%s: %v, want %v", what, have, want)
	}
}
