package daemon

import "time"

// On has a daemon use another engine.
func (o Options) On(e engine) Options {
	o.engine = func() engine { return e }
	return o
}

// LoopAge is for how long the loop has been at its present turn.
func (d *Daemon) LoopAge() time.Duration { return d.rec.Age() }
