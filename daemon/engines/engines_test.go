package engines

import (
	"context"
	"strings"
	"testing"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
)

// second is another engine: a package of its own would have its contents.
type second struct {
	*containertest.Fake
	host, daemon string
}

func (second) Close() error { return nil }

func (second) HostInfo(context.Context) (container.HostInfo, error) {
	return container.HostInfo{Version: "2"}, nil
}

// An engine is added by a line of the table, and is told what its block of the settings says.
func TestAnEngineIsALineOfTheTable(t *testing.T) {
	kinds := All()
	kinds["second"] = func(_ context.Context, settings config.Engine, o Options) (Engine, error) {
		return second{containertest.NewFake(), settings.Host, o.Daemon}, nil
	}
	settings := &config.Settings{Engines: map[string]config.Engine{"second": {Host: "tcp://elsewhere"}}}
	engine, err := kinds.Open(t.Context(), "second", settings, Options{Daemon: "d"})
	if err != nil {
		t.Fatal(err)
	}
	if got := engine.(second); got.host != "tcp://elsewhere" || got.daemon != "d" {
		t.Errorf("it is told of %q and %q", got.host, got.daemon)
	}
	if _, err := kinds.Open(t.Context(), "third", settings, Options{}); err == nil || !strings.Contains(err.Error(), "docker, second") {
		t.Errorf("an engine that is not there: %v", err)
	}
}

// What could not be opened is nil, so that nobody closes it.
func TestAnEngineThatCannotBeOpenedIsNil(t *testing.T) {
	settings := &config.Settings{Engines: map[string]config.Engine{Docker: {Host: "nonsense"}}}
	if engine, err := All().Open(t.Context(), Docker, settings, Options{}); err == nil || engine != nil {
		t.Errorf("%v, %v", engine, err)
	}
}
