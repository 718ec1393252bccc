package judge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"sync"
	"time"

	"github.com/assayd/assayd/runtime/clock"
	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/judge/game"
	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/judge/sandbox"
	"github.com/assayd/assayd/runtime/judge/sanitize"
	"github.com/assayd/assayd/runtime/task"
)

// Options are what a judge works with.
type Options struct {
	Engine       container.Engine // must also be a container.Execer and a container.Copier
	Ledger       round.Ledger
	Blobs        round.Blobs
	Capacity     round.Capacity
	Owner        string                                  // id of the state directory, for names and labels
	PauseProcess []string                                // first process of judge containers: reaps and does nothing
	Guest        string                                  // the guest program in judge containers; "" = there is none, and nothing can be removed there
	Dial         []string                                // with an address added, a connection to it from inside a judge container
	Mounts       []container.Mount                       // where PauseProcess and Dial live, read-only
	Parsers      func(name string) (parser.Parser, bool) // nil = parser.Lookup
	Spool        string                                  // folder for archives being cleaned and transcripts of open games; "" = the system's
	MaxQueue     int                                     // rounds waiting; 0 = 256. One trial can take a quarter
	Warm         int                                     // containers started ahead of submissions; 0 = 4, negative = none
	Full         func() bool                             // the disk is so full that only last snapshots are accepted; nil = never
	RemoveLater  func(id string)                         // has a container removed later that cannot be removed now; nil = nobody does
	Refused      func(code int)                          // told of each submission that is not accepted, with a code as in HTTP; nil = nobody is
	Retried      func()                                  // told of each judging that failed and is made again; nil = nobody is
	Log          *slog.Logger                            // nil = nowhere
}

// Judge accepts submissions and judges them. All methods may be called at once. It judges
// only while Run runs.
type Judge struct {
	opts      Options
	host      *sandbox.Host
	queue     *queue
	coalescer *coalescer
	games     *game.Games
	pool      *sandbox.Pool
	cpus      *sandbox.CPUs

	mu       sync.Mutex
	sessions map[string]*session
	profiles *sandbox.Profiles
	verdicts map[string]*broadcast // by submission id
	fresh    chan string           // trials whose image may have to be looked at
}

// session is a Session in force.
type session struct {
	round.Session
	parser  parser.Parser
	known   bool // the parser is one
	key     string
	terms   sandbox.Terms // of its container
	context task.Tree     // laid over workdir before what is submitted
	overlay task.Tree     // the same, after it
	grades  bool          // what is laid over workdir are outputs of a run
	folders []string      // of hidden tests: see testFolders
	free    []string
	uploads *uploadSlots
	ending  *sync.RWMutex // held for reading by each judging, until its container is dealt with
	closed  bool          // guarded by Judge.mu
	over    chan struct{} // closed when its rounds are abandoned; under Judge.mu

	// The terms of the other containers of this session's judgings; nil = there are none.
	grader  *session // compares the outputs of a run stage
	private *session // judges by the private set: the grader of that, where there are stages
}

// diskLimit is how many bytes a container of the judge may hold.
func (s *session) diskLimit() int64 { return s.Task.Judge.Disk }

// uploadSlots let one archive of an agent and one of the daemon in at a time, so that a slow
// upload of the agent never holds up a snapshot. An agent looks back in one slot, too: a
// small question may have an answer of thousands of rounds. They outlive a replaced session.
type uploadSlots struct{ agent, daemon, looks chan struct{} }

func newUploadSlots() *uploadSlots {
	return &uploadSlots{agent: make(chan struct{}, 1), daemon: make(chan struct{}, 1), looks: make(chan struct{}, 1)}
}

// broadcast rings once, when a submission is judged.
type broadcast struct {
	judged  chan struct{}
	waiting int
}

// New returns a judge without sessions, having emptied the spool of what a former one left. An engine that cannot execute commands or copy
// files cannot judge: container.ErrUnsupported.
func New(o Options) (*Judge, error) {
	execer, ok := o.Engine.(container.Execer)
	if !ok {
		return nil, fmt.Errorf("judge with an engine that executes no commands: %w", container.ErrUnsupported)
	}
	copier, ok := o.Engine.(container.Copier)
	if !ok {
		return nil, fmt.Errorf("judge with an engine that copies no files: %w", container.ErrUnsupported)
	}
	if o.Spool != "" { // it is ours alone
		if err := sanitize.SweepSpools(o.Spool); err != nil {
			return nil, fmt.Errorf("remove what a former judge left: %w", err)
		}
	}
	if o.MaxQueue <= 0 {
		o.MaxQueue = 256
	}
	if o.Warm == 0 {
		o.Warm = 4
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Refused == nil {
		o.Refused = func(int) {}
	}
	if o.Retried == nil {
		o.Retried = func() {}
	}
	if o.Parsers == nil {
		o.Parsers = parser.Lookup
	}
	j := &Judge{
		opts: o, queue: newQueue(o.MaxQueue), coalescer: newCoalescer(),
		sessions: map[string]*session{},
		verdicts: map[string]*broadcast{}, fresh: make(chan string, 64),
	}
	j.host = &sandbox.Host{
		Engine: o.Engine, Execer: execer, Copier: copier, Blobs: o.Blobs, Owner: o.Owner, PauseProcess: o.PauseProcess, Mounts: o.Mounts,
		Later: o.RemoveLater, Spool: o.Spool, Log: o.Log,
	}
	j.profiles, j.cpus = sandbox.NewProfiles(j.host), sandbox.NewCPUs(j.host, j.queue.signal)
	j.pool = sandbox.NewPool(j.host, j.cpus, o.Warm, j.warmable)
	j.games = j.newGames()
	return j, nil
}

// Open lets a trial submit, or replaces the terms on which it does. After a restart of
// the daemon the caller opens all sessions again, and then calls Resume.
func (j *Judge) Open(o round.Session) {
	s := newSession(o, j.opts.Parsers)
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, c := range s.containers() {
		j.profiles.Acquire(c.key)
	}
	if old := j.sessions[o.Trial]; old != nil {
		s.uploads, s.ending = old.uploads, old.ending
		for _, c := range old.containers() {
			j.profiles.Release(c.key)
		}
		if old.Try == o.Try {
			s.over = old.over
		}
	} else {
		s.uploads, s.ending = newUploadSlots(), &sync.RWMutex{}
	}
	if s.over == nil {
		s.over = make(chan struct{})
	}
	j.sessions[o.Trial] = s
	select {
	case j.fresh <- o.Trial:
	default: // it is looked at when the first archive comes
	}
}

// Close ends what a trial's agent may do: its games are over, and nothing more is accepted
// but final and manual rounds. What was accepted is judged, and can still be read.
func (j *Judge) Close(trial string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if s := j.sessions[trial]; s != nil {
		s.closed = true
		j.games.Finish(trial, s.Try)
	}
}

// Forget drops a trial that is over. Its accepted rounds must have their verdicts by then:
// Abandon gives one to those that have none.
func (j *Judge) Forget(trial string) {
	j.mu.Lock()
	if s := j.sessions[trial]; s != nil {
		for _, c := range s.containers() {
			j.profiles.Release(c.key)
		}
		delete(j.sessions, trial)
	}
	j.mu.Unlock()
	j.forgetRounds(trial)
	j.pool.Signal()
}

// session returns the session of a trial, or nil.
func (j *Judge) session(trial string) *session {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.sessions[trial]
}

// now is what the time is for a trial: everything that is stored of its rounds is on one
// line, which outlasts the daemon.
func (j *Judge) now(trial string) time.Time {
	if s := j.session(trial); s != nil {
		return s.Line.Now()
	}
	return clock.Now().UTC()
}

// shut reports whether rounds of the kind that came under the session's terms are not
// accepted any more.
func (j *Judge) shut(s *session, kind round.Kind) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	now := j.sessions[s.Trial]
	return now == nil || now.Try != s.Try || now.isOver() || now.closed && round.Limited(kind)
}

// isOver reports whether the session's rounds are abandoned.
func (s *session) isOver() bool {
	select {
	case <-s.over:
		return true
	default:
		return false
	}
}

// Resume takes up what a restart left behind: queued and running rounds are judged (from
// the beginning), games by the peak that they had reached; reservations without an archive
// or a game are released. The sessions must be
// open; rounds of trials without one are left alone and named in the error.
func (j *Judge) Resume(ctx context.Context, rounds []round.Submission) error {
	var errs []error
	for _, r := range rounds {
		switch {
		case r.State == round.StateReserved:
			if err := j.opts.Ledger.Release(ctx, r.ID); err != nil {
				errs = append(errs, fmt.Errorf("release submission %s: %w", r.ID, err))
			}
		case r.State == round.StateRunning && r.Kind == round.KindGame:
			errs = append(errs, j.games.Orphaned(ctx, r, "the daemon that held the session stopped"))
		case r.State == round.StateQueued || r.State == round.StateRunning:
			if j.session(r.Trial) == nil {
				errs = append(errs, fmt.Errorf("resume submission %s: trial %s has no session", r.ID, r.Trial))
				continue
			}
			j.queue.takeFor(r.Trial, r.Kind, true)
			j.queue.enqueue(r.Trial, r.ID, r.Kind)
		}
	}
	return errors.Join(errs...)
}

// Wait returns the submission, with the tests of its report, once it is judged.
func (j *Judge) Wait(ctx context.Context, id string) (round.Submission, error) {
	rung, leave := j.listen(id)
	defer leave()
	for {
		s, err := j.opts.Ledger.Submission(ctx, id)
		if err != nil {
			return s, fmt.Errorf("load submission %s: %w", id, err)
		}
		if s.State == round.StateJudged {
			return s, nil
		}
		select {
		case <-rung:
			rung = nil // at the latest now the ledger has it
		case <-ctx.Done():
			return s, context.Cause(ctx)
		}
	}
}

// listen returns a channel that is closed at the submission's verdict.
func (j *Judge) listen(id string) (rung <-chan struct{}, leave func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	b := j.verdicts[id]
	if b == nil {
		b = &broadcast{judged: make(chan struct{})}
		j.verdicts[id] = b
	}
	b.waiting++
	return b.judged, func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		if b.waiting--; b.waiting == 0 && j.verdicts[id] == b {
			delete(j.verdicts, id)
		}
	}
}

func (j *Judge) broadcast(id string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if b := j.verdicts[id]; b != nil {
		close(b.judged)
		delete(j.verdicts, id)
	}
}

// protect returns the globs of files that only the judge image may have.
func (s *session) protect() []string {
	globs := append([]string{}, s.Task.Judge.Protect...)
	globs = append(globs, s.parser.Protect...)
	for _, f := range s.parser.Files { // a result is made by the run, never submitted
		if !path.IsAbs(f) { // what is, is outside of workdir, where nothing can be submitted
			globs = append(globs, "/"+f)
		}
	}
	return globs
}
