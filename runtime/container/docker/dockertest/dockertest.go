package dockertest

import (
	"context"
	"testing"

	"github.com/assayd/assayd/runtime/container/containertest"
	"github.com/assayd/assayd/runtime/container/docker"
)

// New returns an engine and an owner label that nobody else has. When the test is over,
// all containers and images with that label are removed and the engine is closed.
// With -short the test is left out: see NotInShort.
func New(t testing.TB) (e *docker.Engine, owner string) {
	t.Helper()
	NotInShort(t)
	e, err := docker.New(context.Background(), docker.Options{})
	if err != nil {
		t.Fatalf("this test needs Docker: %v", err)
	}
	if _, err := e.HostInfo(t.Context()); err != nil {
		t.Fatalf("this test needs a running Docker engine that this user may use (its address is $DOCKER_HOST or the default socket): %v", err)
	}
	owner = "test-" + containertest.Unique()
	t.Cleanup(func() {
		containertest.Sweep(t, e, owner)
		if err := e.Close(); err != nil {
			t.Errorf("close the Docker engine: %v", err)
		}
	})
	return e, owner
}

// NotInShort leaves the test out where the tests run with -short, as make test-fast does,
// which is for a machine without an engine. make test runs all of them.
func NotInShort(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("it needs containers, and these are left out with -short")
	}
}

// Probe returns an engine, an owner label and the reference of a probe image with that
// owner: see New and containertest.ProbeImage.
func Probe(t testing.TB) (e *docker.Engine, owner, image string) {
	t.Helper()
	e, owner = New(t)
	return e, owner, containertest.ProbeImage(t, e, owner)
}

var _ containertest.Importer = (*docker.Engine)(nil)
