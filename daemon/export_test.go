package daemon

import (
	"context"
	"time"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/daemon/engines"
)

// On has a daemon use another engine, which is given the id of the process.
func On[E engines.Engine](o Options, connect func(daemon string) E) Options {
	o.Engines = engines.Kinds{engines.Docker: {Open: func(_ context.Context, _ config.Engine, o engines.Options) (engines.Engine, error) {
		return connect(o.Daemon), nil
	}}}
	return o
}

// LoopAge is for how long the loop has been at its present turn.
func (d *Daemon) LoopAge() time.Duration { return d.rec.Age() }
