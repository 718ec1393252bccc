package page

import (
	"time"

	"github.com/assayd/assayd/reconcile/query"
)

// Machine is what the daemon shares, and who holds it.
type Machine struct {
	Frame
	Load
	Waiting []query.RunInfo // runs that wait for something
	Health  []query.HealthFinding
}

// Load is what is known of the machine.
type Load struct {
	Known      bool          // a daemon runs
	LoopAge    time.Duration // of the present turn of the reconcile loop
	Queued     int           // rounds to be judged
	QueuedOf   int           // trials that have some
	Judgings   int
	Games      int
	Containers int // of work
	Gauges     []Gauge
}

// Gauge is something of which there is only so much.
type Gauge struct {
	Name       string
	Held, Most float64 // in its unit; Most 0 = there is no limit
	Text       string
}

// Percent is how much of it is held.
func (g Gauge) Percent() float64 {
	if g.Most <= 0 {
		return 0
	}
	return min(100, max(0, 100*g.Held/g.Most))
}

// NewMachine makes the page of the machine.
func NewMachine(f Frame, l Load, runs []query.RunInfo, h query.Health) *Machine {
	f.Title, f.Nav, f.Topics = "machine", "machine", []string{"host"}
	v := &Machine{Frame: f, Load: l, Health: h.Findings}
	for _, r := range runs {
		if r.Note != "" && r.State == "running" {
			v.Waiting = append(v.Waiting, r)
		}
	}
	return v
}
