package containertest_test

import (
	"errors"
	"net"
	"net/http"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newFake(t *testing.T) *containertest.Fake {
	f := containertest.NewFake()
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

func TestFakeKeepsTheContract(t *testing.T) {
	containertest.Run(t, func(t *testing.T) (container.Engine, string) {
		f := newFake(t)
		return f, containertest.ProbeImage(t, f, "test-"+containertest.Unique())
	})
}

// A fake in another process is an engine as any: here one over a socket.
func TestARemoteFakeKeepsTheContract(t *testing.T) {
	containertest.Run(t, func(t *testing.T) (container.Engine, string) {
		f := newFake(t)
		image := containertest.ProbeImage(t, f, "test-"+containertest.Unique())
		socket := filepath.Join(t.TempDir(), "e")
		l, err := net.Listen("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		s, served := &http.Server{Handler: containertest.Serve(f)}, make(chan error, 1)
		go func() { served <- s.Serve(l) }()
		remote := containertest.NewRemote(socket, "daemon")
		t.Cleanup(func() {
			if err := errors.Join(remote.Close(), s.Close()); err != nil {
				t.Error(err)
			}
			if err := <-served; !errors.Is(err, http.ErrServerClosed) {
				t.Error(err)
			}
		})
		return remote, image
	})
}
