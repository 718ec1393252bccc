package page

import (
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/assayd/assayd/daemon/samples"
	"github.com/assayd/assayd/reconcile/query"
)

// Machine is what the daemon shares, and who holds it.
type Machine struct {
	Frame
	Load
	Waiting []query.RunInfo // runs that wait for something
	Health  []query.HealthFinding
	Charts  []PastChart // of the last day; nil = fewer than two points are known
}

// Load is what is known of the machine.
type Load struct {
	Known      bool          // a daemon runs
	LoopAge    time.Duration // of the present turn of the reconcile loop
	Queued     int           // rounds to be judged
	QueuedOf   int           // trials that have some
	Judgings   int
	Games      int
	Warm       int // judge containers that wait for work
	Containers int // of work
	Gauges     []Gauge
	Engine     string // whether it answers
	Store      string // how large it is
	Providers  []Provider
	Tokens     []Token          // of GitHub
	Past       []samples.Sample // at most SpansShown, the oldest first
}

// Provider is how much a provider of models has to do.
type Provider struct {
	Name             string
	InFlight, InLine int // requests that it is at work on, and that wait for its limits
	Paused           int // models that it wants no request for now
}

// Token is what a token of GitHub has left.
type Token struct {
	Token    int // its place in the settings, from 1
	Resource string
	Left     int // requests
}

// SpansShown is how many points a chart of the last day has: one for ten minutes.
const SpansShown = 144

// PastChart is how something went in the last day.
type PastChart struct {
	Name, Now, Most string
	Points          string
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
	if len(l.Past) < 2 {
		return v
	}
	for _, c := range []struct {
		name  string
		of    func(samples.Sample) float64
		words func(float64) string
	}{
		{"CPUs of work", func(s samples.Sample) float64 { return s.WorkCPUs }, plainly},
		{"CPUs of judging", func(s samples.Sample) float64 { return s.JudgeCPUs }, plainly},
		{"memory of work", func(s samples.Sample) float64 { return float64(s.WorkBytes) }, inBytes},
		{"disk of work", func(s samples.Sample) float64 { return float64(s.DiskBytes) }, inBytes},
		{"rounds in line", func(s samples.Sample) float64 { return float64(s.Queued) }, plainly},
		{"requests to models", func(s samples.Sample) float64 { return float64(s.InFlight) }, plainly},
	} {
		v.Charts = append(v.Charts, pastChart(c.name, l.Past, f.AsOf, c.of, c.words))
	}
	return v
}

func plainly(n float64) string { return fmt.Sprintf("%.4g", n) }

func inBytes(n float64) string { return humanize.IBytes(uint64(max(n, 0))) }

// pastChart draws the last day up to now.
func pastChart(name string, past []samples.Sample, now time.Time, of func(samples.Sample) float64, words func(float64) string) PastChart {
	most := 0.0
	for _, s := range past {
		most = max(most, of(s))
	}
	c := PastChart{Name: name, Now: words(of(past[len(past)-1])), Most: words(most)}
	var points []string
	for _, s := range past {
		x := 240 * (1 - min(1, max(0, now.Sub(s.At).Hours()/samples.Kept.Hours())))
		points = append(points, fmt.Sprintf("%.1f,%.1f", x, 38-36*of(s)/max(most, 1e-9)))
	}
	c.Points = strings.Join(points, " ")
	return c
}
