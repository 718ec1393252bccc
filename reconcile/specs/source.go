package specs

import (
	"context"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/specfiles"
	"github.com/assayd/assayd/reconcile/store"
)

// Options are what a Source is made of.
type Options struct {
	Store    *store.Store
	Config   config.Options // how specs are compiled
	Roots    []string       // watched directories, absolute
	Checkout *Checkout      // the one of Roots that is of a repository; nil = none is
	Results  string         // folder for results; "" = beside the specs
	Log      *slog.Logger
	// Adopt makes a set the desired state. The set is in force when it is called; where it fails, the set
	// that was in force before is so again.
	Adopt func(ctx context.Context, set *config.Set, since Change) error
	// Open reports whether a run or a mining spec of some blocks has not come to its end.
	Open      func(ctx context.Context, blocks config.Blocks) (bool, error)
	Do        func(ctx context.Context, f func()) error // runs f in the goroutine that the source belongs to
	Heartbeat func()                                    // is called in between by what may take long
}

// Source is the spec files and the set that is in force of them. It belongs to the goroutine of the loop, but for
// what says that any goroutine may call it.
type Source struct {
	o         Options
	inForce   atomic.Pointer[config.Set] // set, for other goroutines
	copies    *specfiles.Copies          // safe for any goroutine; nil = folders are named, not copied
	set       *config.Set                // in force; nil before a scan has succeeded
	roots     roots                      // of the set's files
	previous  config.Previous            // what was last accepted; nil until it is read
	texts     map[string]config.Input    // of the last scan, by path
	deletions specfiles.DeletionGuard
	debounce  specfiles.Debounce
	again     time.Time           // when to scan without an event; zero = not
	seen      [32]byte            // fingerprint of the files that the set was made of
	scanned   specfiles.ScanCache // for how long they need not be read again
	blind     string              // why the last scan failed
	trouble   []string            // places that could not be scanned, as last logged
	answered  []string            // files whose complaints go to who hands them in, not to the log
	content   content
}

// New returns a source of which nothing is in force.
func New(o Options) *Source {
	s := &Source{o: o, deletions: specfiles.NewDeletionGuard(o.Log), debounce: specfiles.Debounce{}, content: newContent()}
	if o.Config.Snapshot != nil {
		s.copies = specfiles.NewCopies(o.Config.Snapshot, s.copied)
	}
	return s
}

// Set is what is in force; nil before a scan has succeeded.
func (s *Source) Set() *config.Set { return s.set }

// InForce is Set for any goroutine.
func (s *Source) InForce() *config.Set { return s.inForce.Load() }

// Previous is what was last accepted, by path; nil until it is read.
func (s *Source) Previous() config.Previous { return s.previous }

// Texts are the files as the last scan read them, by path, of which a set was accepted.
func (s *Source) Texts() map[string]config.Input { return s.texts }

// Blind says why the last scan failed; "" = it did not.
func (s *Source) Blind() string { return s.blind }

// Deletions knows which accepted files are missed.
func (s *Source) Deletions() *specfiles.DeletionGuard { return &s.deletions }

// Cached is of how many roots the files need not be read again.
func (s *Source) Cached() int { return s.scanned.Roots() }

// Roots are the watched folders. Any goroutine may call it.
func (s *Source) Roots() []string { return slices.Clone(s.o.Roots) }

// Next is when to call Tick without an event; zero = not.
func (s *Source) Next() time.Time {
	if s.set == nil {
		return s.again
	}
	return specfiles.Sooner(s.again, s.content.due)
}

// Tick does what is due: it scans, and reads content anew that has come to rest.
func (s *Source) Tick(ctx context.Context) {
	if !s.again.IsZero() && !time.Now().Before(s.again) {
		s.Rescan(ctx, nil)
	}
	if !time.Now().Before(s.content.due) {
		s.readStirred(ctx)
	}
}

// Pulse takes in that something may have changed in the file system.
func (s *Source) Pulse(ctx context.Context) {
	if !s.scanned.Lasts(time.Now()) {
		s.Rescan(ctx, nil)
	}
	if now := time.Now(); !now.Before(s.content.next) {
		s.readStirred(ctx)
	} else if s.content.next.Before(s.content.due) {
		s.content.due = s.content.next
	}
}
