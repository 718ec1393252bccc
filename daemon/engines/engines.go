package engines

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/docker"
)

// Docker is the label of the engine that is there without any setting.
const Docker = "docker"

// Engine is an engine that was opened. What else it can do it shows by the interfaces of
// runtime/container that it implements. Close it when done.
type Engine interface {
	container.Engine
	container.Host
	io.Closer
}

// Options say for whom an engine is opened. The zero value is for a command that only asks.
type Options struct {
	Log    *slog.Logger // nil = what no caller sees is lost
	Daemon string       // id of the process, for the label of that name on its containers; "" = none
	Dir    string       // folder of this machine for files that containers mount, kept as long as they are; "" = one that ends with Close
	// Called is told how long each call of the engine took, by one of Calls, and how it ended. It must not block.
	// Nil tells nobody.
	Called func(call string, took time.Duration, err error)
}

// Open opens an engine as a block of the settings describes it.
type Open func(ctx context.Context, settings config.Engine, o Options) (Engine, error)

// Kinds are engines by the label of their block in the settings.
type Kinds map[string]Open

// All are the engines that there are.
func All() Kinds {
	return Kinds{
		Docker: openDocker,
	}
}

// Open opens the engine of a label. A label without an engine is an error that lists the others.
func (k Kinds) Open(ctx context.Context, label string, settings *config.Settings, o Options) (Engine, error) {
	open := k[label]
	if open == nil {
		return nil, fmt.Errorf("there is no engine %q; there are: %s", label, strings.Join(slices.Sorted(maps.Keys(k)), ", "))
	}
	engine, err := open(ctx, settings.Engines[label], o)
	if err != nil {
		return nil, err // and no interface that holds a nil of the engine's type
	}
	return engine, nil
}

// Default opens the engine for whoever only asks it.
func Default(ctx context.Context, settings *config.Settings) (Engine, error) {
	return All().Open(ctx, Docker, settings, Options{Log: slog.New(slog.DiscardHandler)})
}

func openDocker(ctx context.Context, settings config.Engine, o Options) (Engine, error) {
	engine, err := docker.New(ctx, docker.Options{Host: settings.Host, Log: o.Log, Daemon: o.Daemon, Dir: o.Dir})
	if err != nil || o.Called == nil {
		return engine, err
	}
	return measured{engine, o.Called}, nil
}
