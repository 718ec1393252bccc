package engines

import (
	"cmp"
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

// Docker is the name of the engine that is there without any setting.
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

// Kind is how an engine is opened, and what its block in the settings may say.
type Kind struct {
	// Open opens the engine as its block of the settings describes it.
	Open func(ctx context.Context, settings config.Engine, o Options) (Engine, error)
	// Settings are the attributes of the block, unless the language has them already.
	Settings config.EngineKind
}

// Kinds are engines by the name that specs and settings give them.
type Kinds map[string]Kind

// All are the engines that there are: the one list of them.
func All() Kinds {
	return Kinds{
		Docker: {Open: openDocker},
	}
}

// Language is what specs and settings can say of these engines: see config.Options.
func (k Kinds) Language() map[string]config.EngineKind {
	out := map[string]config.EngineKind{}
	for name, kind := range k {
		out[name] = kind.Settings
	}
	return out
}

// Used is the name of the engine that the settings choose.
func Used(settings *config.Settings) string { return cmp.Or(settings.Engine, Docker) }

// Open opens the engine that the settings choose. A name without an engine is an error that lists the others.
func (k Kinds) Open(ctx context.Context, settings *config.Settings, o Options) (Engine, error) {
	name := Used(settings)
	kind, has := k[name]
	if !has {
		return nil, fmt.Errorf("there is no engine %q; there are: %s", name, strings.Join(slices.Sorted(maps.Keys(k)), ", "))
	}
	engine, err := kind.Open(ctx, settings.Engines[name], o)
	if err != nil {
		return nil, err // and no interface that holds a nil of the engine's type
	}
	return measure(engine, o.Called), nil
}

// Default opens the engine for whoever only asks it.
func Default(ctx context.Context, settings *config.Settings) (Engine, error) {
	return All().Open(ctx, settings, Options{Log: slog.New(slog.DiscardHandler)})
}

func openDocker(ctx context.Context, settings config.Engine, o Options) (Engine, error) {
	return docker.New(ctx, docker.Options{Host: settings.Texts["host"], Log: o.Log, Daemon: o.Daemon, Dir: o.Dir})
}
