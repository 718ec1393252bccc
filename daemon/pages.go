package daemon

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/daemon/api"
	"github.com/assayd/assayd/daemon/hostinfo"
	"github.com/assayd/assayd/daemon/samples"
	"github.com/assayd/assayd/daemon/web"
	"github.com/assayd/assayd/daemon/web/page"
	"github.com/assayd/assayd/reconcile/control"
	"github.com/assayd/assayd/reconcile/hold"
	"github.com/assayd/assayd/reconcile/request"
)

// logins implements api.Logins. Whoever reaches the control socket may do everything.
type logins struct {
	*web.Sessions
	addresses []string // of the HTTP listener
	socket    string
}

// Code implements api.Logins.
func (l *logins) Code() (code string, until time.Time) { return l.Sessions.Code(web.Operator) }

// Doors implements api.Logins.
func (l *logins) Doors() (addresses []string, socket string) { return l.addresses, l.socket }

// openPages opens the socket for browsers, and makes what serves pages there and on the HTTP listener.
func (d *Daemon) openPages(ctx context.Context) error {
	sessions, err := web.OpenSessions(ctx, d.store, false)
	if err != nil {
		return err
	}
	tokens, err := httpTokens(d.opts.Settings)
	if err != nil {
		return err
	}
	d.logins = &logins{Sessions: sessions, socket: web.Socket(d.store.Dir())}
	for _, l := range d.http {
		d.logins.addresses = append(d.logins.addresses, l.Addr().String())
	}
	d.pages = web.New(web.Options{
		Reader: d.rec.Reader, Trials: d.rec.Trials, Summaries: d.rec.Summaries, API: api.Handler(d.rec, d.opts.Version, d.logins), Sessions: sessions, Tokens: tokens, Hosts: d.opts.Settings.HTTP.Hosts,
		Act:     d.act,
		Metrics: d.metrics.Handler(), Probes: d.probes(), LoggedIn: d.metrics.LoggedIn,
		Numbers: d.opts.Settings.HTTP.Content == config.ContentMetadata,
		Load:    d.load, Owner: d.store.Owner(), Version: d.opts.Version, Watches: d.rec.Roots(), Log: d.opts.Log,
	})
	if d.browsers, err = openSocket(d.logins.socket); err != nil {
		return fmt.Errorf("open the socket for browsers: %w", err)
	}
	return nil
}

// act implements web.Act.
func (d *Daemon) act(ctx context.Context, a web.Action) (control.Changed, error) {
	ask := control.Ask{Target: a.Target, Reason: a.Text, DryRun: a.Dry}
	switch a.Verb {
	case "pause":
		return d.rec.Desk.Hold(ctx, control.Asked{Target: a.Target, Reason: a.Text, DryRun: a.Dry})
	case "resume":
		return d.rec.Desk.Lift(ctx, a.Target, hold.Pause, a.Dry)
	case "throttle":
		most, err := strconv.Atoi(a.Amount)
		if err != nil || most < 1 {
			return control.Changed{}, request.Mistakef("throttle %s to %q: give a whole number from 1 on", a.Target, a.Amount)
		}
		return d.rec.Desk.Hold(ctx, control.Asked{Target: a.Target, Most: most, Reason: a.Text, DryRun: a.Dry})
	case "unthrottle":
		return d.rec.Desk.Lift(ctx, a.Target, hold.Throttle, a.Dry)
	case "drain":
		return d.rec.Desk.Drain(ctx, ask)
	case "stop":
		return d.rec.StopTrial(ctx, ask)
	case "extend":
		more, err := time.ParseDuration(a.Amount)
		if err != nil || more%time.Second != 0 {
			return control.Changed{}, request.Mistakef("extend %s by %q: write the time in whole seconds, as 30m or 2h", a.Target, a.Amount)
		}
		return d.rec.ExtendTrial(ctx, control.MoreTime{Ask: ask, Seconds: int64(more / time.Second)})
	case "cancel":
		return d.rec.Cancel(ctx, ask)
	case "note":
		return d.rec.Notes.Put(ctx, control.Noted{Target: a.Target, Text: a.Text, DryRun: a.Dry})
	case "tag", "untag":
		return d.rec.Notes.Put(ctx, control.Noted{Target: a.Target, Tag: a.Text, Remove: a.Verb == "untag", DryRun: a.Dry})
	}
	return control.Changed{}, request.Mistakef("there is no verb %q", a.Verb)
}

// load is what is held of the machine now.
func (d *Daemon) load() page.Load {
	a, j := d.admission.Load(), d.judge.Load()
	amount := func(n int64) string { return humanize.IBytes(uint64(max(n, 0))) } //nolint:gosec // not negative
	cpus := func(name string, held, most float64) page.Gauge {
		return page.Gauge{Name: name, Held: held, Most: most, Text: fmt.Sprintf("%.4g of %.4g", held, most)}
	}
	memory := func(name string, held, most int64) page.Gauge {
		return page.Gauge{Name: name, Held: float64(held), Most: float64(most), Text: amount(held) + " of " + amount(most)}
	}
	gauges := []page.Gauge{
		cpus("CPUs of work", a.Work.CPUs, a.WorkShare.CPUs), cpus("CPUs of judging", a.Judge.CPUs+a.Game.CPUs, a.Limits.CPUs-a.Work.CPUs),
		memory("memory of work", a.Work.Memory, a.WorkShare.Memory), memory("memory of judging", a.Judge.Memory+a.Game.Memory, a.Limits.Memory-a.Work.Memory),
		memory("disk of work", a.Work.Disk, a.Limits.Disk),
	}
	if a.DiskLeft >= 0 {
		gauges = append(gauges, page.Gauge{Name: "disk that is free", Text: amount(a.DiskLeft)})
	}
	l := page.Load{
		Known: true, LoopAge: d.rec.Age(), Queued: j.Queued, QueuedOf: j.Trials, Warm: j.Warm, Judgings: a.Judgings, Games: a.Games, Containers: a.Containers, Gauges: gauges,
		Engine: d.engineInWords(), Past: d.samples.Last(time.Now(), page.SpansShown),
	}
	for name, load := range d.gateway.Load() {
		l.Providers = append(l.Providers, page.Provider{Name: name, InFlight: load.InFlight, InLine: load.InLine, Paused: load.Paused})
	}
	slices.SortFunc(l.Providers, func(a, b page.Provider) int { return strings.Compare(a.Name, b.Name) })
	for _, left := range d.github.Left() {
		l.Tokens = append(l.Tokens, page.Token{Token: left.Token, Resource: left.Resource, Left: left.Requests})
	}
	size := d.store.Load()
	l.Store = fmt.Sprintf("database %s, its log %s", amount(size.Database), amount(size.Log))
	if free := hostinfo.FreeAt(d.store.Dir()); free >= 0 {
		l.Store += fmt.Sprintf("; %s are free there", amount(free))
	}
	return l
}

// engineInWords says whether the container engine answers.
func (d *Daemon) engineInWords() string {
	switch up, known := d.engineUp(); {
	case !known:
		return "not asked yet"
	case up:
		return "answers"
	}
	return "does not answer"
}

// sample is what is held of the machine now, for its history.
func (d *Daemon) sample() samples.Sample {
	a, j := d.admission.Load(), d.judge.Load()
	s := samples.Sample{WorkCPUs: a.Work.CPUs, JudgeCPUs: a.Judge.CPUs + a.Game.CPUs, WorkBytes: a.Work.Memory, DiskBytes: a.Work.Disk, Queued: j.Queued}
	for _, load := range d.gateway.Load() {
		s.InFlight += load.InFlight
	}
	return s
}
