package containertest

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/assayd/assayd/runtime/container"
)

func runImages(test tester) {
	test("a commit makes an image that can be found, run and removed", commitAndRun)
	test("a second name is of the same image and goes by itself", tagImage)
	test("an image that is not there is not found, and removing it succeeds", imageMissing)
}

func commitAndRun(b *fixture) {
	images := b.engine.(container.Images)
	maker := b.start(b.workload("write", "/work/made.txt", "by the container"))
	equal(b, "exit code", b.wait(maker.ID).Code, 0)
	ref := "assayd-test/made:" + Unique()
	made, err := images.Commit(b.ctx, maker.ID, ref, container.ImageConfig{
		User: "1000:1000", Workdir: "/work", Env: map[string]string{"MADE": "yes"},
		Cmd:    []string{"/probe", "sleep", "1h"},
		Labels: map[string]string{container.LabelOwner: b.owner, container.LabelRole: container.RoleBase},
	})
	b.must(err)
	found, err := images.Image(b.ctx, ref)
	b.must(err)
	equal(b, "id", found.ID, made.ID)
	equal(b, "has its name", slices.Contains(found.Refs, ref), true)
	equal(b, "begins like an id", strings.HasPrefix(found.ID, "sha256:"), true)
	equal(b, "user", found.Config.User, "1000:1000")
	equal(b, "folder", found.Config.Workdir, "/work")
	equal(b, "environment", found.Config.Env["MADE"], "yes")
	equal(b, "command", strings.Join(found.Config.Cmd, " "), "/probe sleep 1h")
	equal(b, "label", found.Config.Labels[container.LabelRole], container.RoleBase)
	listed, err := images.ListImages(b.ctx, container.LabelOwner, b.owner)
	b.must(err)
	equal(b, "images of the owner", len(listed), 1)

	w := b.workload("cat", "/work/made.txt")
	w.Image = found.ID
	user := b.start(w)
	equal(b, "exit code", b.wait(user.ID).Code, 0)
	b.want(images.RemoveImage(b.ctx, ref), container.ErrConflict)
	b.must(b.engine.Remove(b.ctx, user.ID))
	for range 2 {
		b.must(images.RemoveImage(b.ctx, ref))
	}
	_, err = images.Image(b.ctx, ref)
	b.want(err, container.ErrNotFound)
}

func tagImage(b *fixture) {
	images := b.engine.(container.Images)
	old, err := images.Image(b.ctx, b.image)
	b.must(err)
	name := "assayd-test/tagged:" + Unique()
	for range 2 {
		b.must(images.Tag(b.ctx, b.image, name))
	}
	found, err := images.Image(b.ctx, name)
	b.must(err)
	equal(b, "id", found.ID, old.ID)
	equal(b, "has both names", slices.Contains(found.Refs, name) && len(found.Refs) == len(old.Refs)+1, true)
	names, err := images.Names(b.ctx)
	b.must(err)
	equal(b, "the new name means", names[name], old.ID)
	equal(b, "the old name means", names[b.image], old.ID)
	b.must(images.RemoveImage(b.ctx, name))
	names, err = images.Names(b.ctx)
	b.must(err)
	equal(b, "the removed name means", names[name], "")
	found, err = images.Image(b.ctx, b.image)
	b.must(err)
	equal(b, "names left", len(found.Refs), len(old.Refs))
}

func imageMissing(b *fixture) {
	images := b.engine.(container.Images)
	ref := "assayd-test/no-such-image:" + Unique()
	_, err := images.Image(b.ctx, ref)
	b.want(err, container.ErrNotFound)
	b.must(images.RemoveImage(b.ctx, ref))
	_, err = images.Commit(b.ctx, "assayd-test-nobody", ref, container.ImageConfig{})
	b.want(err, container.ErrNotFound)
	b.want(images.Tag(b.ctx, ref, ref+"-again"), container.ErrNotFound)
	_, err = images.Push(b.ctx, "127.0.0.1:1/"+ref)
	b.want(err, container.ErrNotFound)
	for _, bad := range []string{"", "../containers/x", "UPPER case"} {
		if _, err := images.Pull(b.ctx, bad, ""); err == nil {
			b.Errorf("pull of %q succeeded", bad)
		}
	}
}

func runReaders(test tester, e container.Engine) {
	if h, ok := e.(container.Hinter); ok {
		test("hints tell of the owner's containers until the context ends", func(b *fixture) { hintsTell(b, h) })
	}
	if m, ok := e.(container.Meter); ok {
		test("usage is what the container uses", func(b *fixture) { usageTells(b, m) })
	}
	if h, ok := e.(container.Host); ok {
		test("the host has a size", func(b *fixture) {
			info, err := h.HostInfo(b.ctx)
			b.must(err)
			if info.CPUs < 1 || info.Memory < 1<<20 || info.Version == "" || info.DataRoot == "" {
				b.Errorf("something is missing: %+v", info)
			}
			equal(b, "platform has an os", strings.HasPrefix(info.Platform, "linux/"), true)
		})
	}
}

func hintsTell(b *fixture, h container.Hinter) {
	ctx, cancel := context.WithCancel(b.ctx)
	hints := h.Hints(ctx, b.owner)
	other := newFixture(b.T, b.engine, b.image)
	stranger := other.start(other.workload("exit", "0"))

	inst := b.start(b.workload("sleep", "1h"))
	b.hinted(hints, inst.ID, stranger.ID)
	b.must(b.engine.Stop(b.ctx, inst.ID, 0))
	b.hinted(hints, inst.ID, stranger.ID)
	b.must(b.engine.Remove(b.ctx, inst.ID))
	b.hinted(hints, inst.ID, stranger.ID)
	cancel()
	for range hints { // ends when the channel is closed
	}
}

// hinted reads hints up to one of the container or of all; the stranger's never comes.
func (b *fixture) hinted(hints <-chan string, id, stranger string) {
	b.Helper()
	for {
		select {
		case got, open := <-hints:
			switch {
			case !open:
				b.Fatal("the hints ended")
			case got == stranger:
				b.Error("a hint for another owner's container")
			case got == id, got == "":
				return
			}
		case <-b.ctx.Done():
			b.Fatal(errors.New("no hint"))
		}
	}
}

func usageTells(b *fixture, m container.Meter) {
	inst := b.start(b.workload("sleep", "1h"))
	if copier, ok := b.engine.(container.Copier); ok {
		content := b.tar(map[string]string{"big": strings.Repeat("0123456789", 100_000)})
		b.must(copier.CopyTo(b.ctx, inst.ID, "/work", strings.NewReader(string(content))))
		b.eventually("a million bytes on disk", func() bool {
			u, err := m.Usage(b.ctx, inst.ID)
			b.must(err)
			return u.DiskBytes >= 1_000_000
		})
	}
	u, err := m.Usage(b.ctx, inst.ID)
	b.must(err)
	if u.MemoryBytes <= 0 || u.PIDs < 1 {
		b.Errorf("a running container uses nothing: %+v", u)
	}
	_, err = m.Usage(b.ctx, "assayd-test-nobody")
	b.want(err, container.ErrNotFound)
}
