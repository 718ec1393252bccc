package docker_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
	"github.com/assayd/assayd/runtime/container/docker/dockertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestDockerKeepsTheContract(t *testing.T) {
	containertest.Run(t, func(t *testing.T) (container.Engine, string) {
		e, _, image := dockertest.Probe(t)
		return e, image
	})
}
