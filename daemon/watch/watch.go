package watch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// maxWatches bounds the kernel's watches that one Run takes. Folders beyond it, deepest
// first, are covered by the periodic pulse.
const maxWatches = 8192

// Options says what to watch and how patiently.
type Options struct {
	// Roots are the folders, absolute or relative to the working directory. A root may
	// be a link, lie behind links, or not exist yet.
	Roots []string
	// Settle is how long nothing must have happened before a pulse; 0 = 100 ms.
	Settle time.Duration
	// Cap is the longest that a stream of events can hold a pulse back; 0 = 2 s.
	Cap time.Duration
	// Poll is the time between the pulses that need no event; 0 = 30 s.
	Poll time.Duration
	// Ignore tells of the last element of a path whether changes of it are of no
	// interest (the files that the daemon itself writes); nil = all are of interest.
	Ignore func(name string) bool
	// Log hears when folders can only be polled, and why; nil = nobody does.
	Log *slog.Logger
}

// Run sends a pulse when it is time to look at the roots again: once at the start, when
// the watches are in place; after every change, when things have settled; and every
// Poll. Pulses that nobody has taken yet become one, so a slow receiver delays nothing;
// a channel of size 1 is best. Everything that changed before a pulse is seen by who
// looks after it.
//
// Run returns nil when ctx ends. What cannot be watched is polled and logged; the only
// errors are options that make no sense.
func Run(ctx context.Context, opts Options, pulses chan<- struct{}) error {
	w, err := newWatcher(opts)
	if err != nil {
		return err
	}
	defer w.disconnect()
	w.run(ctx, pulses)
	return nil
}

// watcher belongs to the goroutine of Run: nobody else touches the fsnotify watcher.
type watcher struct {
	roots  []string // absolute
	poll   time.Duration
	ignore func(string) bool
	log    *slog.Logger
	limit  int
	young  time.Duration // for how long the list of a folder that has changed is not relied on

	settler *settler
	fs      *fsnotify.Watcher // nil while the kernel gives us none
	faults  chan error        // of fs; one is enough, each has the same effect
	readers sync.WaitGroup    // of fs.Errors
	layout  *layout           // what is watched at present
	stale   bool              // folders may have come or gone: survey before the next pulse
	broken  bool              // fs lost events or failed: build it again before the next pulse
	trouble string            // why some folders are only polled, as last logged
}

func newWatcher(opts Options) (*watcher, error) {
	if len(opts.Roots) == 0 {
		return nil, errors.New("watch: no folder given")
	}
	w := &watcher{
		poll:    orDefault(opts.Poll, 30*time.Second),
		ignore:  opts.Ignore,
		log:     opts.Log,
		limit:   maxWatches,
		young:   youngMark,
		settler: newSettler(orDefault(opts.Settle, 100*time.Millisecond), orDefault(opts.Cap, 2*time.Second)),
		faults:  make(chan error, 1),
		layout:  newLayout(nil),
	}
	if w.ignore == nil {
		w.ignore = func(string) bool { return false }
	}
	if w.log == nil {
		w.log = slog.New(slog.DiscardHandler)
	}
	for _, root := range opts.Roots {
		abs, err := filepath.Abs(root)
		if err != nil {
			return nil, fmt.Errorf("watch %q: %w", root, err)
		}
		w.roots = append(w.roots, abs)
	}
	return w, nil
}

func orDefault(d, fallback time.Duration) time.Duration {
	if d <= 0 {
		return fallback
	}
	return d
}

// run is the loop of the owning goroutine. A pulse is always sent after the watches were
// brought up to date, so that a change after the look that follows is an event again.
func (w *watcher) run(ctx context.Context, pulses chan<- struct{}) {
	w.refresh()
	due := true
	poll := time.NewTimer(w.nextPoll())
	defer poll.Stop()
	for {
		var out chan<- struct{}
		if due {
			out = pulses
		}
		select {
		case <-ctx.Done():
			return
		case out <- struct{}{}:
			due = false
		case event, ok := <-w.events():
			if !ok {
				w.fault(fsnotify.ErrClosed)
				break
			}
			w.note(event)
		case err := <-w.faults:
			w.fault(err)
		case <-w.settler.tick():
			w.settler.done()
			if w.stale || w.broken {
				w.refresh()
			}
			due = true
		case <-poll.C:
			poll.Reset(w.nextPoll())
			w.stale = true
			if !w.settler.pending() { // else the pulse of that burst comes soon
				w.refresh()
				due = true
			}
		}
	}
}

// nextPoll spreads the polls of several daemons on one file server.
func (w *watcher) nextPoll() time.Duration {
	return w.poll - w.poll/10 + rand.N(w.poll/5+1)
}

// note judges one event. Events are never dropped because their name begins with a dot:
// a ConfigMap changes by a rename of "..data", and nothing else is ever seen of it.
func (w *watcher) note(event fsnotify.Event) {
	if event.Op == fsnotify.Chmod || !w.layout.concerns(event.Name) || w.ignore(filepath.Base(event.Name)) {
		return
	}
	if event.Has(fsnotify.Create) {
		// At once, not when things have settled: what happens inside belongs to the
		// same burst.
		w.grow(event.Name)
	}
	if event.Op != fsnotify.Write {
		w.stale = true
	}
	w.settler.nudge()
}

// fault is an overflow of the queue or a failure of the watcher. Events were lost, and
// watches perhaps, too.
func (w *watcher) fault(err error) {
	w.log.Warn("watching folders: events were lost, looking at everything again", "error", err)
	w.broken = true
	w.settler.nudge()
}

// events is nil, and blocks for ever, while there is no watcher.
func (w *watcher) events() <-chan fsnotify.Event {
	if w.fs == nil || w.broken {
		return nil
	}
	return w.fs.Events
}

func (w *watcher) connect() error {
	fs, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("ask the kernel for file events: %w", err)
	}
	w.fs = fs
	// fsnotify can report an error while it holds the lock that Add and Remove need:
	// with the owner in Add, nobody would ever take that error. So another goroutine
	// takes them, until Close ends the channel.
	w.readers.Go(func() {
		for err := range fs.Errors {
			select {
			case w.faults <- err:
			default: // one is on its way already
			}
		}
	})
	return nil
}

func (w *watcher) disconnect() {
	if w.fs == nil {
		return
	}
	if err := w.fs.Close(); err != nil {
		w.log.Warn("closing the watcher of folders", "error", err)
	}
	w.readers.Wait()
	w.fs = nil
}
