package daemon

import "time"

// On has a daemon use another engine, which is given the id of the process.
func On[E engine](o Options, connect func(daemon string) E) Options {
	o.engine = func(daemon string) engine { return connect(daemon) }
	return o
}

// LoopAge is for how long the loop has been at its present turn.
func (d *Daemon) LoopAge() time.Duration { return d.rec.Age() }
