package containertest_test

import (
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
