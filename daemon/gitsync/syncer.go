package gitsync

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/specs"
	"github.com/assayd/assayd/runtime/git"
)

// Options of Open.
type Options struct {
	Git    config.Git
	GitHub config.GitHub
	Secret func(name string) (string, bool) // reads secret()
	State  string                           // the daemon's state directory
	// Took has the specs read and returns what is wrong with them; see
	// reconcile.Reconciler.Took.
	Took func(ctx context.Context, changed []string) (config.Diagnostics, error)
	// Results lists the result files of the specs in the tree.
	Results func(ctx context.Context) ([]Result, error)
	// Moved is told that files of the tree were replaced, result files perhaps among them.
	Moved func()
	Log   *slog.Logger
}

// Result is one result file.
type Result struct {
	Path string // where it belongs, absolute
	File string // where it is
}

// Syncer keeps one folder equal to a repository's. Run does all the work in one goroutine;
// the other methods may be called at any time from any goroutine.
type Syncer struct {
	o       Options
	dir     string
	remote  remote
	secrets secrets
	git     git.Git
	most    int64 // bytes of our copy
	host    *host // where commits get a status; nil = a note says it
	nudged  chan struct{}
	wrote   chan struct{}

	tree sync.RWMutex // held by who reads the tree, and while it changes

	mu      sync.Mutex
	known   memory
	broken  bool   // the tree is half of one commit and half of another
	trouble string // why the last round failed; "" = it did not
	failed  string // why the last push of results failed
	settled bool   // results are complete, not only grown, since the last push
}

// Root is the folder of specs below a state directory.
func Root(state string, g config.Git) string {
	return filepath.Join(state, "git-specs", treeName, filepath.Clean("/"+g.Path))
}

// Open prepares the folder: what a killed process left is removed, and a tree that it left
// half done is completed. It does not talk to the remote. Errors are those of the settings
// and of the state directory.
func Open(ctx context.Context, o Options) (s *Syncer, err error) {
	s = &Syncer{o: o, dir: filepath.Join(o.State, "git-specs"), most: mostCopy, nudged: make(chan struct{}, 1), wrote: make(chan struct{}, 1)}
	if err := s.configure(); err != nil {
		return nil, fmt.Errorf("git in the settings: %w", err)
	}
	if err := os.MkdirAll(Root(o.State, o.Git), 0o755); err != nil {
		return nil, fmt.Errorf("make the folder of the repository: %w", err)
	}
	if err := os.Chmod(s.dir, 0o700); err != nil { //nolint:gosec // only the daemon's own commands look there
		return nil, fmt.Errorf("close the folder of the repository to others: %w", err)
	}
	if s.known, err = recall(s.dir); err != nil {
		return nil, err
	}
	if err := s.prepare(ctx); err != nil {
		return nil, fmt.Errorf("prepare the copy of the repository: %w", err)
	}
	if err := s.complete(ctx); err != nil {
		s.tell(err)
	}
	return s, nil
}

// Close ends idle connections; Run must have returned.
func (s *Syncer) Close() {
	if s.host != nil {
		s.host.client.Close()
	}
}

// Nudge has the repository asked now.
func (s *Syncer) Nudge() { knock(s.nudged) }

// Webhook takes the events of the repository's host: see the function of that name.
func (s *Syncer) Webhook() http.Handler { return Webhook(s.secrets.webhook, s.Nudge) }

// Wrote says that result files have grown, or that those of a run are complete.
func (s *Syncer) Wrote(complete bool) {
	if complete {
		s.mu.Lock()
		s.settled = true
		s.mu.Unlock()
	}
	knock(s.wrote)
}

func knock(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Checkout is the tree for the reconciler.
func (s *Syncer) Checkout() *specs.Checkout {
	return &specs.Checkout{
		Root: Root(s.o.State, s.o.Git),
		Hold: func() (func(), bool) {
			if !s.tree.TryRLock() {
				return nil, false
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.broken {
				s.tree.RUnlock()
				return nil, false
			}
			return s.tree.RUnlock, true
		},
		Commit: func() string { return s.recalled().Now.Commit },
		Status: s.Status,
	}
}

func (s *Syncer) recalled() memory {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known
}

// remember changes what is known, for good.
func (s *Syncer) remember(change func(*memory)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.known
	change(&next)
	if err := next.keep(s.dir); err != nil {
		return err
	}
	s.known = next
	return nil
}

// Pauses between rounds.
const (
	longestPause = 15 * time.Minute // after failures, unless the interval is longer
	pushEvery    = time.Minute
	pushSettled  = 5 * time.Second // when a run is complete
)

// Run follows the repository until the context ends. What fails is logged once, shown by
// Status, and tried again.
func (s *Syncer) Run(ctx context.Context) error {
	failures := 0
	look, push := time.NewTimer(0), time.NewTimer(0)
	defer look.Stop()
	defer push.Stop()
	if s.o.Git.PushResults == "" {
		push.Stop()
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.nudged:
			look.Reset(0)
			continue
		case <-look.C:
			if s.round(ctx) == nil {
				failures = 0
			} else {
				failures++
			}
			look.Reset(pause(s.o.Git.Interval, failures))
		case <-s.wrote:
			if s.o.Git.PushResults != "" {
				push.Reset(s.due(time.Now()))
			}
		case <-push.C:
			if s.pushAll(ctx) != nil {
				push.Reset(pushEvery)
			}
		}
	}
}

// pause is how long to wait for the next round: the interval, twice as long after each
// failure, give or take a tenth, so that many daemons do not ask at once.
func pause(interval time.Duration, failures int) time.Duration {
	d := interval
	for range min(failures, 10) {
		d *= 2
	}
	if failures > 0 {
		d = min(d, max(interval, longestPause))
	}
	return time.Duration(float64(d) * (0.9 + 0.2*rand.Float64()))
}

// due is how long result files that have grown wait to be pushed.
func (s *Syncer) due(now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	gap := pushEvery
	if s.settled {
		gap = pushSettled
	}
	return max(s.known.Results.Time.Add(gap).Sub(now), time.Second)
}

// round asks the remote, takes what is new, and says what became of it.
func (s *Syncer) round(ctx context.Context) error {
	err := s.follow(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	s.tell(err)
	return errors.Join(err, s.show(ctx))
}

// follow makes the tree what the ref is now.
func (s *Syncer) follow(ctx context.Context) error {
	half := s.complete(ctx)
	if err := s.judge(ctx, nil); err != nil {
		return err
	}
	now := s.recalled()
	commit, err := s.fetch(ctx)
	if err != nil {
		return errors.Join(half, err)
	}
	s.mu.Lock()
	s.known.Fetched = time.Now().UTC() // kept with the next commit
	s.mu.Unlock()
	if commit == now.Now.Commit && now.Path == s.o.Git.Path && now.Next == (place{}) {
		return nil
	}
	tree, err := s.plant(ctx, commit)
	if err != nil {
		return fmt.Errorf("commit %.12s: %w", commit, err)
	}
	changed, err := s.turn(ctx, place{commit, tree})
	if err != nil {
		return fmt.Errorf("check out %.12s: %w", commit, err)
	}
	return s.judge(ctx, changed)
}

// judge has the reconciler read what nobody has looked at yet.
func (s *Syncer) judge(ctx context.Context, changed []string) error {
	now := s.recalled()
	if now.Now.Commit == "" || now.Verdict != "" {
		return nil
	}
	ds, err := s.o.Took(ctx, changed)
	if err != nil {
		return fmt.Errorf("read the specs of %.12s: %w", now.Now.Commit, err)
	}
	v := verdictOn(ds, s.o.Git.Path)
	s.o.Log.Info("commit "+v.word, "commit", now.Now.Commit, "url", s.remote.url, "ref", s.refName(), "errors", v.errors)
	return s.remember(func(m *memory) { m.Verdict, m.Errors, m.Detail, m.Shown = v.word, v.errors, v.detail, false })
}

// tell logs a failure once, and its end.
func (s *Syncer) tell(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := ""
	if err != nil {
		text = err.Error()
	}
	switch text {
	case s.trouble:
	case "":
		s.o.Log.Info("the repository is followed again", "url", s.remote.url, "commit", s.known.Now.Commit)
	default:
		s.o.Log.Warn("the repository cannot be followed; the last good commit stays", "url", s.remote.url, "ref", s.refName(), "commit", s.known.Now.Commit, "error", err)
	}
	s.trouble = text
}

// refName is what is followed, in the user's words.
func (s *Syncer) refName() string {
	if s.o.Git.Ref == "" {
		return "HEAD"
	}
	return s.o.Git.Ref
}
