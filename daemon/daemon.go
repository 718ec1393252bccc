package daemon

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/daemon/api"
	"github.com/assayd/assayd/daemon/engines"
	"github.com/assayd/assayd/daemon/gitsync"
	"github.com/assayd/assayd/daemon/hostinfo"
	"github.com/assayd/assayd/daemon/metrics"
	"github.com/assayd/assayd/daemon/notifier"
	"github.com/assayd/assayd/daemon/notify"
	"github.com/assayd/assayd/daemon/samples"
	"github.com/assayd/assayd/daemon/socket"
	"github.com/assayd/assayd/daemon/trace"
	"github.com/assayd/assayd/daemon/web"
	"github.com/assayd/assayd/reconcile"
	"github.com/assayd/assayd/reconcile/admission"
	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/results"
	"github.com/assayd/assayd/reconcile/retention"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/reconcile/store/blob"
	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/egress"
	"github.com/assayd/assayd/runtime/fault"
	"github.com/assayd/assayd/runtime/gateway"
	"github.com/assayd/assayd/runtime/guest"
	"github.com/assayd/assayd/runtime/guest/protocol"
	"github.com/assayd/assayd/runtime/image"
	"github.com/assayd/assayd/runtime/judge"
	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/layer"
	"github.com/assayd/assayd/runtime/mining/github"
	"github.com/assayd/assayd/runtime/patch"
	"github.com/assayd/assayd/runtime/trial"
	"github.com/assayd/assayd/runtime/trial/install"
	"github.com/assayd/assayd/runtime/trial/trydir"
)

// Options are what a daemon is started with.
type Options struct {
	Settings *config.Settings
	Roots    []string // watched directories
	StateDir string
	Version  string
	Drain    bool           // on the end of the context, let open runs finish first
	Idle     bool           // judge what is asked, and leave runs and trials as they are
	Follow   bool           // the repository that the settings name, too
	Control  []net.Listener // control sockets taken over from systemd; none = one of its own
	Listen   string         // address of the HTTP listener; "" = none but HTTP
	HTTP     []net.Listener // such listeners taken over from systemd
	Log      *slog.Logger
	Engines  engines.Kinds // those that the settings choose from; nil = all that there are
}

// Daemon is one process on one state directory.
type Daemon struct {
	opts      Options
	id        string // of this life of the state directory
	store     *store.Store
	engine    engines.Engine
	judge     *judge.Judge
	admission *admission.Controller
	rec       *reconcile.Reconciler
	writer    *results.Writer
	git       *gitsync.Syncer // nil = no specs come from a repository
	datasets  *fetcher
	gateway   *gateway.Gateway
	layers    *layer.Store
	github    *github.Client // of mining
	pulses    chan struct{}
	control   []net.Listener
	http      []net.Listener
	browsers  net.Listener // the socket for browsers
	logins    *logins      // nil in a process that serves no pages
	pages     *web.Server
	metrics   *metrics.Metrics
	notifiers *notifier.Notifiers // nil in a process that tells nobody
	tracer    *trace.Tracer       // nil where the settings have no traces
	health    health
	samples   samples.Ring    // of what is held of the machine
	drained   chan struct{}   // closed when a user asks a process that drains to do so
	replace   chan struct{}   // closed when another Daemon is to take over in this process
	open      context.Context // for how long a drain waits for open runs
	hurry     func()
}

// Open takes the state directory and prepares everything; nothing runs yet. The errors
// are the user's: a second daemon, a newer version's state, a path that is too long, no
// permission.
func Open(ctx context.Context, o Options) (_ *Daemon, err error) {
	if len(o.StateDir) > trydir.MaxStateDir {
		return nil, fmt.Errorf("state directory %q is too long by %d bytes: sockets in it would have addresses that no Unix system accepts; name a shorter one with --state",
			o.StateDir, len(o.StateDir)-trydir.MaxStateDir)
	}
	secrets := newRedactor(o.Settings)
	o.Log = secrets.logger(o.Log)
	d := &Daemon{opts: o, pulses: make(chan struct{}, 1), drained: make(chan struct{}), replace: make(chan struct{}), metrics: metrics.New(o.Version, o.Settings)}
	d.open, d.hurry = context.WithCancel(context.WithoutCancel(ctx))
	defer func() {
		if err != nil {
			err = errors.Join(advised(err, o.StateDir), d.Close())
		}
	}()
	if d.store, err = store.Open(ctx, o.StateDir, store.Options{Log: o.Log, Redact: secrets.bytes, Committed: d.committed}); err != nil {
		return nil, err
	}
	fault.Reached(fault.StoreOpened)
	d.id = rand.Text()
	if err := d.metrics.Follow(ctx, d.store); err != nil {
		return nil, err
	}
	if err := errors.Join(d.openNotifiers(ctx), d.openTraces(ctx)); err != nil {
		return nil, err
	}
	if err := d.connect(ctx); err != nil {
		return nil, err
	}
	if err := d.wire(ctx); err != nil {
		return nil, err
	}
	if o.Idle {
		return d, nil
	}
	if err := d.listen(); err != nil {
		return nil, err
	}
	if err := d.listenHTTP(ctx); err != nil {
		return nil, err
	}
	return d, d.openPages(ctx)
}

// connect opens the engine.
func (d *Daemon) connect(ctx context.Context) (err error) {
	if d.opts.Engines == nil {
		d.opts.Engines = engines.All()
	}
	d.engine, err = d.opts.Engines.Open(ctx, d.opts.Settings, engines.Options{
		Log: d.opts.Log, Daemon: d.id, Dir: filepath.Join(d.opts.StateDir, "etc"), Called: d.metrics.EngineCalled,
	})
	return err
}

// wire makes the parts and gives each what it needs.
func (d *Daemon) wire(ctx context.Context) error {
	o, blobs := d.opts, d.store.Blobs()
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the program itself: %w", err)
	}
	guestDir, err := guest.Install(filepath.Join(d.store.Dir(), "guest"), self)
	if err != nil {
		return err
	}
	hold := []string{protocol.Program, "hold"}
	mounts := []container.Mount{{Source: guestDir, Target: protocol.BinDir, ReadOnly: true}}
	machine, dataRoot := hostinfo.Of(ctx, d.engine, o.Log)
	d.admission = admission.New(hostinfo.LimitsOf(o.Settings.Limits, machine), func() int64 { return hostinfo.FreeAt(dataRoot) }, func() { d.rec.Freed() })
	ledger := history.NewLedger(d.store)
	d.judge, err = judge.New(judge.Options{
		Engine: d.engine, Ledger: ledger, Blobs: blobStore{blobs}, Capacity: d.admission, Owner: d.store.Owner(),
		PauseProcess: hold, Guest: protocol.Program, Dial: []string{protocol.Program, "dial"}, Mounts: mounts, Spool: filepath.Join(d.store.Dir(), "spool"), Log: o.Log,
		Full: func() bool { return hostinfo.NearlyFull(d.store.Dir()) }, RemoveLater: d.leave,
		Refused: d.metrics.JudgeRefused, Retried: d.metrics.JudgeRetried,
	})
	if err != nil {
		return err
	}
	options := ConfigOptions(o.Settings)
	options.Engines = o.Engines.Language()
	builder, err := d.openImages(hold, mounts, options.Secret, d.admission.Scarce)
	if err = errors.Join(err, d.openGit(ctx, options.Secret)); err != nil {
		return err
	}
	options.Snapshot, options.Host = func(dir string) (string, error) { return d.snapshot(ctx, dir, func() {}) }, machine
	options.Watched, options.Checkout = d.opts.Roots, gitsync.Root(d.store.Dir(), config.Git{})
	kept := trees{ctx, func(dir string) (string, error) { return d.snapshot(ctx, dir, d.rec.Heartbeat) }, blobs.Open, builder}
	datasets, err := d.openDatasets(ctx, kept, &options)
	if err == nil {
		err = d.openModels(options.Secret)
	}
	if err != nil {
		return err
	}
	mining, err := d.openMining(options.Secret, kept)
	if err != nil {
		return err
	}
	d.rec = reconcile.New(reconcile.Options{
		Store: d.store, Ledger: ledger, Admission: d.admission, Daemon: d.id, Roots: d.opts.Roots, ResultsDir: o.Settings.ResultsDir, Log: o.Log,
		Checkout: d.checkout(), Config: options,
		Host: trial.Host{
			Engine: d.engine, Images: builder, Judge: d.judge, Ledger: ledger, OpenBlob: blobs.Open,
			StateDir: d.store.Dir(), GuestDir: guestDir, Owner: d.store.Owner(), Log: o.Log,
			Patches: patch.New(filepath.Join(d.store.Dir(), "patches")), Gateway: d.gateway, Layers: d.layers, Libcs: &install.Libcs{},
		},
		Datasets: datasets,
		Mining:   mining,
		TraceID:  d.traceID(),
		Ready:    d.ready, Drained: d.drainable(), Idle: o.Idle,
		Observer: reconcile.Observer{Turned: d.metrics.Turned, Failed: d.metrics.Failed, Staged: d.metrics.Staged},
	})
	d.writer = results.NewWriter(d.projection(), results.Options{Log: o.Log, Dir: filepath.Join(d.store.Dir(), "results"), Failed: d.metrics.ResultsFailed})
	d.metrics.Gauges(d.sources())
	return nil
}

// sources are what gauges are read from.
func (d *Daemon) sources() metrics.Sources {
	return metrics.Sources{
		Admission: d.admission, Judge: d.judge, Gateway: d.gateway, GitHub: d.github, Store: d.store, Reader: d.rec.Reader, LoopAge: d.rec.Age,
		Ready: func() bool { return len(d.unready()) == 0 }, Engine: d.engineUp, Free: func() int64 { return hostinfo.FreeAt(d.store.Dir()) },
	}
}

// openImages makes what builds images. hold and mounts are of the containers that it does so in.
func (d *Daemon) openImages(hold []string, mounts []container.Mount, secret func(string) (string, bool), scarce func() bool) (*image.Builder, error) {
	o, blobs := d.opts, d.store.Blobs()
	lent, err := buildSecrets(o.Settings, secret)
	if err = errors.Join(err, os.MkdirAll(filepath.Join(d.store.Dir(), "spool"), 0o700)); err != nil {
		return nil, err
	}
	builder := image.New(image.Options{
		Engine: d.engine, Trees: blobs, Owner: d.store.Owner(), GuestMount: mounts, Hold: hold, Guest: protocol.Program,
		CacheDir: filepath.Join(d.store.Dir(), "git"), MaxBuilds: 2, Log: o.Log,
		BuildSecrets: lent, Registry: o.Settings.Build.Registry, Used: retention.NewUses(d.store, o.Log).Note, RemoveLater: d.leave, Scarce: scarce, Nearest: config.Nearest, Made: d.metrics.ImageMade,
	})
	return builder, builder.Mirrors().Tidy()
}

// leave has a container removed later that cannot be removed now.
func (d *Daemon) leave(id string) { d.rec.Retention.Leave(id) }

// ConfigOptions is how specs are compiled, but for what only a daemon that works can do:
// keeping copies of folders, and knowing the machine.
func ConfigOptions(settings *config.Settings) config.Options {
	return config.Options{
		Env: os.LookupEnv,
		Secret: func(name string) (string, bool) {
			text, err := os.ReadFile(filepath.Join(settings.SecretsDir, filepath.Base(name)))
			return strings.TrimRight(string(text), "\n"), err == nil && settings.SecretsDir != ""
		},
		Settings: settings,
		Watched:  settings.Watch,
		Parsers:  parser.Names(),
		Engines:  engines.All().Language(),
		Target: func(entry string) error {
			_, err := egress.New(egress.Options{Allow: []string{entry}})
			return err
		},
		Import: Importer{Trees: named{}}.Import, Formats: FormatNames(),
	}
}

// snapshot copies a folder that a spec names into the blob store.
func (d *Daemon) snapshot(ctx context.Context, dir string, tell func()) (digest string, err error) {
	w, err := d.store.Blobs().Create()
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	if err := config.Pack(dir, working{w, ctx, tell}); err != nil {
		return "", err
	}
	digest, _, err = w.Commit()
	fault.Reached(fault.ContextStored)
	return digest, err
}

// working tells the watchdog that a long copy gets on, and ends it with the daemon.
type working struct {
	io.Writer
	ctx  context.Context
	tell func()
}

func (w working) Write(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	w.tell()
	return w.Writer.Write(p)
}

// listen opens the control socket, or takes it over from systemd.
func (d *Daemon) listen() error {
	if len(d.opts.Control) > 0 {
		d.control = d.opts.Control
		return nil
	}
	l, err := openSocket(api.Socket(d.store.Dir()))
	if err != nil {
		return fmt.Errorf("open the control socket: %w", err)
	}
	fault.Reached(fault.SocketOpened)
	d.control = []net.Listener{l}
	return nil
}

// openSocket listens on a socket for the group of the state directory, in place of a former daemon's.
func openSocket(path string) (net.Listener, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("remove the one of a former daemon: %w", err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o660); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// ErrReplaced is what Run returns after Replace.
var ErrReplaced = errors.New("another daemon takes over")

// Replace ends Run as for a restart, so that the process can go on with other settings;
// to be called once.
func (d *Daemon) Replace() { close(d.replace) }

// drainable is what ends the process when a user asks it to drain; nil where it was not started to.
func (d *Daemon) drainable() func() {
	if !d.opts.Drain {
		return nil
	}
	return sync.OnceFunc(func() { close(d.drained) })
}

// ForceStop ends the wait of a daemon that drains; what is open stays for the next one.
func (d *Daemon) ForceStop() { d.hurry() }

// Close gives the state directory back. A daemon whose Run has returned is closed.
func (d *Daemon) Close() error {
	d.hurry()
	var errs []error
	if d.browsers != nil {
		errs = append(errs, d.browsers.Close())
	}
	for _, l := range slices.Concat(d.control, d.http) {
		errs = append(errs, l.Close())
	}
	if d.git != nil {
		d.git.Close()
	}
	if d.datasets != nil {
		d.datasets.store.Close()
	}
	if d.gateway != nil {
		d.gateway.Close()
	}
	if d.layers != nil {
		d.layers.Close()
	}
	if d.github != nil {
		d.github.Close()
	}
	if d.engine != nil {
		errs = append(errs, d.engine.Close())
	}
	if d.store != nil {
		errs = append(errs, d.store.Close())
	}
	return errors.Join(errs...)
}

// Reload reads all files and contexts again; the effect of SIGHUP.
func (d *Daemon) Reload(ctx context.Context) error {
	if err := notify.Reloading(); err != nil {
		d.opts.Log.Warn("tell systemd", "error", err)
	}
	d.writer.Recheck()
	if d.git != nil {
		d.git.Nudge()
	}
	d.datasets.renew()
	err := d.rec.Look(ctx, true)
	return errors.Join(err, notify.Ready())
}

// recheckEvery is how often result files are compared with what was written.
const recheckEvery = time.Minute

// recheck has missing and shortened result files written again.
func (d *Daemon) recheck(ctx context.Context) error {
	tick := time.NewTicker(recheckEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			d.writer.Recheck()
		case <-ctx.Done():
			return nil
		}
	}
}

func (d *Daemon) ready() {
	d.health.passed.Store(true)
	debug.FreeOSMemory() // the first pass over all specs takes far more than what follows
	if err := notify.Ready(); err != nil {
		d.opts.Log.Warn("tell systemd", "error", err)
	}
	d.opts.Log.Info("ready", "state", d.store.Dir(), "version", d.opts.Version)
}

// Run works until the context ends; containers go on after it, for the next daemon. It
// releases what Open took.
func (d *Daemon) Run(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, d.Close()) }()
	work, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	g, gctx := errgroup.WithContext(work)
	hangUp := d.serve(gctx, g)
	g.Go(func() error { return d.judge.Run(gctx) })
	g.Go(func() error { return d.writer.Run(gctx) })
	g.Go(func() error { return d.recheck(gctx) })
	g.Go(func() error { return d.metrics.Run(gctx, d.opts.Log) })
	if d.notifiers != nil {
		g.Go(func() error { return d.notifiers.Run(gctx) })
	}
	if d.tracer != nil {
		g.Go(func() error { return d.tracer.Run(gctx) })
	}
	g.Go(func() error { return d.watchHealth(gctx) })
	g.Go(func() error { return trimMemory(gctx) })
	g.Go(func() error { return d.samples.Run(gctx, d.sample) })
	g.Go(func() error { return d.collect(gctx) })
	g.Go(func() error { return d.datasets.run(gctx) })
	g.Go(func() error { return d.rec.Run(gctx, d.pulses) })
	if d.git != nil {
		g.Go(func() error { return d.git.Run(gctx) })
	}
	g.Go(func() error { return notify.Watchdog(gctx, d.rec.Progress) })
	if len(d.opts.Roots) > 0 {
		changes := make(chan struct{}, 1)
		g.Go(func() error { return d.watch(gctx, changes) })
		g.Go(func() error { return d.look(gctx, changes) })
	}
	g.Go(func() error {
		select {
		case <-ctx.Done():
		case <-gctx.Done():
		case <-d.drained:
		case <-d.replace:
			stop(ErrReplaced)
			return hangUp()
		}
		d.health.draining.Store(true)
		if err := notify.Stopping(); err != nil {
			d.opts.Log.Warn("tell systemd", "error", err)
		}
		if d.opts.Drain && gctx.Err() == nil {
			d.opts.Log.Info("draining: the open runs finish first")
			defer context.AfterFunc(gctx, d.hurry)()
			if err := d.rec.Drain(d.open); err != nil {
				d.opts.Log.Warn("drain", "error", err)
			}
		}
		stop(errors.New("the daemon was told to stop"))
		return hangUp()
	})
	if err := g.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return advised(err, d.store.Dir())
	}
	if errors.Is(context.Cause(work), ErrReplaced) {
		return ErrReplaced
	}
	return nil
}

// logged has the daemon's log take what a server has to say, a panic with its text among it: that
// log shows no secret.
func (d *Daemon) logged(s *http.Server) *http.Server {
	s.ErrorLog = slog.NewLogLogger(d.opts.Log.Handler(), slog.LevelError)
	return s
}

// serve answers on all listeners, until the returned function ends that.
func (d *Daemon) serve(ctx context.Context, g *errgroup.Group) (hangUp func() error) {
	control := d.logged(&http.Server{
		Handler:           d.metrics.HTTP(socket.RefuseWebPages(d.observed(socket.WithProfiles(api.Handler(d.rec, d.opts.Version, d.logins))))),
		ReadHeaderTimeout: 30 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ConnContext:       socket.WithPeer,
	})
	network := d.network(ctx)
	for _, l := range d.control {
		g.Go(func() error { return served(control.Serve(l)) })
	}
	for _, l := range append(slices.Clip(d.http), d.browsers) {
		g.Go(func() error { return served(network.Serve(l)) })
	}
	d.control, d.http, d.browsers = nil, nil, nil // the servers close them
	return func() error { return errors.Join(control.Close(), network.Close()) }
}

func served(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// blobStore gives the judge its blobs.
type blobStore struct{ *blob.Blobs }

// Create implements round.Blobs.
func (b blobStore) Create() (round.BlobWriter, error) { return b.Blobs.Create() }

// ownFile reports whether a name is one of the files that the daemon writes itself.
func ownFile(name string) bool { return strings.HasSuffix(name, ".jsonl") }
