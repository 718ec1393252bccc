package engines

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

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
	kinds["second"] = Kind{Open: func(_ context.Context, settings config.Engine, o Options) (Engine, error) {
		return second{containertest.NewFake(), settings.Texts["host"], o.Daemon}, nil
	}}
	settings := &config.Settings{Engine: "second", Engines: map[string]config.Engine{"second": {Texts: map[string]string{"host": "tcp://elsewhere"}}}}
	engine, err := kinds.Open(t.Context(), settings, Options{Daemon: "d"})
	if err != nil {
		t.Fatal(err)
	}
	if got := engine.(second); got.host != "tcp://elsewhere" || got.daemon != "d" {
		t.Errorf("it is told of %q and %q", got.host, got.daemon)
	}
	settings.Engine = "third"
	if _, err := kinds.Open(t.Context(), settings, Options{}); err == nil || !strings.Contains(err.Error(), "docker, second") {
		t.Errorf("an engine that is not there: %v", err)
	}
}

// What could not be opened is nil, so that nobody closes it.
func TestAnEngineThatCannotBeOpenedIsNil(t *testing.T) {
	settings := &config.Settings{Engines: map[string]config.Engine{Docker: {Texts: map[string]string{"host": "nonsense"}}}}
	if engine, err := All().Open(t.Context(), settings, Options{}); err == nil || engine != nil {
		t.Errorf("%v, %v", engine, err)
	}
}

// partly is an engine that has the contract alone, and none of the capabilities.
type partly struct {
	container.Engine
	container.Host
	io.Closer
}

// Calls of any engine are measured, and measuring gives no engine a capability that it lacks.
func TestCallsOfEveryEngineAreMeasured(t *testing.T) {
	fake := second{Fake: containertest.NewFake()}
	called := ""
	settings := &config.Settings{Engine: "second"}
	for _, has := range []Engine{fake, partly{fake, fake, fake}} {
		kinds := Kinds{"second": {Open: func(context.Context, config.Engine, Options) (Engine, error) { return has, nil }}}
		engine, err := kinds.Open(t.Context(), settings, Options{Called: func(call string, _ time.Duration, _ error) { called = call }})
		if err != nil {
			t.Fatal(err)
		}
		_, can := engine.(container.Freezer)
		if _, want := has.(container.Freezer); can != want {
			t.Errorf("the engine can freeze: %v, want %v", can, want)
		}
		if _, err := engine.Observe(t.Context(), "owner"); err != nil {
			t.Fatal(err)
		}
	}
	if called != "observe" {
		t.Errorf("the last call that was measured is %q", called)
	}
}
