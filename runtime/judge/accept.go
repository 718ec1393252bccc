package judge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/fault"
)

// SubmitRequest is one archive on its way in.
type SubmitRequest struct {
	Kind    Kind
	Key     string    // idempotency key within the trial's try and kind; "" = none
	Archive io.Reader // tar or tar.gz; read to its end mark. Nil holds nothing
	Mix     string    // as in Submission, from KeepMix; "" = the hidden files are the image's
	// SkipKnown asks that a tree which was accepted before in this try is not judged
	// again: Submit then returns that earlier submission and spends nothing.
	SkipKnown bool
}

// retryBusy is when to try again after a full queue or an engine that is away.
const retryBusy = 5 * time.Second

// retryFull is when to try again while the disk is full.
const retryFull = time.Minute

// Submit accepts one archive: it reserves a round, cleans and stores the archive, and
// queues it. When it returns without an error the submission is on disk. A repeated key
// returns the first submission. What is not accepted is a *Refusal, or an error of the
// machinery; either has spent nothing.
func (j *Judge) Submit(ctx context.Context, trial string, req SubmitRequest) (Submission, error) {
	s, err := j.admit(trial, req.Kind)
	if err != nil {
		return Submission{}, err
	}
	lane := s.lanes.daemon
	if req.Kind == KindAgent {
		lane = s.lanes.agent
	}
	select {
	case lane <- struct{}{}:
		defer func() { <-lane }()
	case <-ctx.Done():
		return Submission{}, context.Cause(ctx)
	}
	if s, err = j.admit(trial, req.Kind); err != nil { // much may have happened meanwhile
		return Submission{}, err
	}
	return j.accept(ctx, s, req)
}

// admit returns the session in force, if it lets the kind submit.
func (j *Judge) admit(trial string, kind Kind) (*session, error) {
	s := j.session(trial)
	switch {
	case s == nil:
		return nil, &Refusal{503, retryBusy, "the judge does not know this trial (yet)"}
	case j.shut(s, kind):
		return nil, refuse(403, "the session is closed: nothing is accepted any more")
	case s.Once && kind == KindAgent:
		return nil, refuse(403, "there is nothing to submit: what you leave is judged once, when you have ended")
	case s.Task.Judge.Game != "":
		return nil, refuse(403, "this task is a game: it takes no submissions, it is played")
	case limited(kind) && j.opts.Full != nil && j.opts.Full():
		// What is left is kept for verdicts and for the last snapshots of all trials.
		return nil, &Refusal{503, retryFull, "the judge's disk is almost full; try again later"}
	}
	return s, nil
}

// accept holds a lane of the trial, so that no other submission of its sender is between
// reservation and acceptance.
func (j *Judge) accept(ctx context.Context, s *session, req SubmitRequest) (Submission, error) {
	o := offer{id: newID(), kind: req.Kind, key: req.Key, now: s.Line.Now()}
	var repeated Submission
	placed := false
	sub, err := j.opts.Ledger.Reserve(ctx, s.Trial, func(past []Submission) (Submission, error) {
		next, old, err := decide(s.Session, o, past)
		if old != nil {
			repeated = *old
			return Submission{}, errUnchanged
		}
		if placed = placed || err == nil && j.queue.takeFor(s.Trial, req.Kind, !limited(req.Kind)); err == nil && !placed {
			err = &Refusal{503, retryBusy, "the judge has too much to do; try again later"}
		}
		return next, err
	})
	if err != nil && placed {
		j.queue.giveFor(s.Trial, req.Kind)
	}
	if errors.Is(err, errUnchanged) {
		return repeated, nil
	}
	if err != nil {
		return Submission{}, j.unstored(ctx, s.Trial, fmt.Errorf("reserve a round of trial %s: %w", s.Trial, err))
	}
	fault.Reached(fault.RoundReserved)
	stored, known, err := j.store(ctx, s, sub, req)
	if err != nil || known != nil {
		j.queue.giveFor(s.Trial, req.Kind)
		after, cancel := cleanupContext(ctx)
		defer cancel()
		if rerr := j.opts.Ledger.Release(after, sub.ID); rerr != nil {
			err = errors.Join(err, fmt.Errorf("release submission %s: %w", sub.ID, rerr))
		}
		if known != nil {
			return *known, err
		}
		return Submission{}, err
	}
	fault.Reached(fault.RoundAccepted)
	j.queue.enqueue(s.Trial, sub.ID, req.Kind)
	return stored, nil
}

// store cleans the archive into a blob and queues the submission in the ledger. It
// returns an earlier submission of the same tree when that is to be taken instead.
func (j *Judge) store(ctx context.Context, s *session, sub Submission, req SubmitRequest) (_ Submission, known *Submission, err error) {
	rules, err := j.rules(ctx, s, req.Kind)
	if err != nil {
		return Submission{}, nil, err
	}
	blob, err := j.opts.Blobs.Create()
	if err != nil {
		return Submission{}, nil, j.unstored(ctx, s.Trial, fmt.Errorf("store the archive of submission %s: %w", sub.ID, err))
	}
	defer func() { err = errors.Join(err, blob.Close()) }()
	stats, err := Clean(cancelReader{ctx, orEmpty(req.Archive)}, blob, rules)
	if unwritable(err) {
		err = j.unstored(ctx, s.Trial, err)
	}
	if err != nil {
		return Submission{}, nil, err
	}
	digest, size, err := blob.Commit()
	if err != nil {
		return Submission{}, nil, j.unstored(ctx, s.Trial, fmt.Errorf("store the archive of submission %s: %w", sub.ID, err))
	}
	fault.Reached(fault.ArchiveStored)
	if req.SkipKnown {
		if known, err = j.sameTree(ctx, sub, digest); err != nil || known != nil {
			return Submission{}, known, err
		}
	}
	stored, err := j.opts.Ledger.Update(ctx, sub.ID, func(u *Submission) error {
		now := s.Line.Now()
		if j.shut(s, u.Kind) || limited(u.Kind) && late(s.Session, now) {
			return refuse(403, "the time was over before the archive was complete")
		}
		u.State, u.AcceptedAt = StateQueued, now
		u.Archive, u.Bytes, u.Dropped, u.Mix = digest, size, stats.Dropped, req.Mix
		return nil
	})
	if err != nil {
		err = j.unstored(ctx, s.Trial, fmt.Errorf("queue submission %s: %w", sub.ID, err))
	}
	return stored, nil, err
}

// daemonSlack is for snapshots: they hold whatever the workdir has, not what somebody chose
// to send.
const daemonSlack = 20

func (j *Judge) rules(ctx context.Context, s *session, kind Kind) (Rules, error) {
	p, err := j.profile(ctx, s)
	if container.Unavailable(err) {
		j.opts.Log.Warn("an archive has to wait for the engine", "trial", s.Trial, "error", err)
		return Rules{}, &Refusal{503, retryBusy, "the container engine is not there; try again later"}
	}
	if err != nil {
		return Rules{}, err
	}
	r := j.rulesFor(s, p)
	if kind != KindAgent {
		r.Slack = daemonSlack
	}
	return r, nil
}

// rulesFor are the rules of what may be laid into one of the session's containers.
func (j *Judge) rulesFor(s *session, p *profile) Rules {
	return Rules{
		Submit: s.Task.Submit, Protect: s.protect(), Workdir: s.Task.Workdir,
		Hidden: slices.Concat(p.Hidden, s.HiddenPaths), Links: p.Links, Present: p.Present, Spool: j.opts.Spool, Own: s.owned(p),
	}
}

// sameTree returns the last submission of the try with the same cleaned archive that was
// not spoilt by the machinery, or nil.
func (j *Judge) sameTree(ctx context.Context, sub Submission, digest string) (*Submission, error) {
	all, err := j.opts.Ledger.Submissions(ctx, sub.Trial)
	if err != nil {
		return nil, fmt.Errorf("list submissions of trial %s: %w", sub.Trial, err)
	}
	for i := len(all) - 1; i >= 0; i-- {
		if o := all[i]; o.ID != sub.ID && o.Try == sub.Try && !o.Kind.Apart() && o.Archive == digest && !spoilt(o) {
			return &o, nil
		}
	}
	return nil, nil
}

// offer is what asks for a round.
type offer struct {
	id   string
	kind Kind
	key  string
	now  time.Time
}

// decide says what round an offer gets, out of all submissions of the trial in order of
// reservation. It returns the earlier one when the key was seen, or a *Refusal.
func decide(s Session, o offer, past []Submission) (next Submission, old *Submission, err error) {
	number, spent := 1, 0
	var last time.Time
	var stale *Submission
	for _, p := range past {
		if p.Kind != o.kind {
			continue
		}
		if p.State == StateReserved && p.Try == s.Try {
			// The lane is ours: this reservation is nobody's, its release has failed.
			if stale == nil || o.key != "" && p.Key == o.key {
				stale = &p
			}
			continue
		}
		number = max(number, p.Number+1)
		if p.Try != s.Try {
			continue
		}
		if o.key != "" && p.Key == o.key {
			return Submission{}, &p, nil
		}
		if !spoilt(p) {
			spent++
			last = p.ReservedAt
			if !p.AcceptedAt.IsZero() {
				last = p.AcceptedAt
			}
		}
	}
	if limited(o.kind) && late(s, o.now) {
		return Submission{}, nil, refuse(403, "the time is over: nothing is accepted after the deadline")
	}
	if o.kind == KindAgent {
		if err := affordable(s, o.now, spent, last); err != nil {
			return Submission{}, nil, err
		}
	}
	id := o.id
	if stale != nil {
		id = stale.ID // whose place is taken, with its key
	}
	return Submission{
		ID: id, Trial: s.Trial, Try: s.Try, Round: fmt.Sprintf("%s-%d", o.kind, number), Number: number,
		Kind: o.kind, Key: o.key, State: StateReserved, ReservedAt: o.now,
	}, nil, nil
}

// maxRounds bounds an agent's rounds in a try where nothing else does: a round that is
// judged before costs next to nothing, and all of them are read for each new one.
const maxRounds = 10_000

// affordable checks an agent's budget and cooldown, which counts from acceptance.
func affordable(s Session, now time.Time, spent int, last time.Time) error {
	if spent >= maxRounds {
		return refuse(429, "the submission budget is exhausted: no trial has more than %d", maxRounds)
	}
	if s.Max > 0 && spent >= s.Max {
		return refuse(429, "the submission budget is exhausted: %d of %d used", spent, s.Max)
	}
	if wait := last.Add(s.Cooldown).Sub(now); spent > 0 && wait > 0 {
		seconds := int64((wait + time.Second - 1) / time.Second)
		return &Refusal{
			Code: 429, RetryAfter: time.Duration(seconds) * time.Second,
			Detail: fmt.Sprintf("cooldown: wait %d seconds before the next submission", seconds),
		}
	}
	return nil
}

// remaining returns how many rounds the agent had left when the submission was reserved,
// itself not counted, or nil when nothing limits it.
func remaining(s Session, sub Submission, all []Submission) *int {
	if s.Max <= 0 || sub.Kind != KindAgent {
		return nil
	}
	left := s.Max
	for _, p := range all {
		if p.Kind == KindAgent && p.Try == sub.Try && p.State != StateReserved && !spoilt(p) && p.Number <= sub.Number {
			left--
		}
	}
	left = max(left, 0)
	return &left
}

// limited reports whether the kind is bound by the session: its deadline, its end, and
// the room in the queue.
func limited(k Kind) bool { return k == KindAgent || k == KindAuto || k == KindGame }

func late(s Session, now time.Time) bool {
	return !s.Deadline.IsZero() && !now.Before(s.Deadline)
}

// spoilt reports whether the machinery failed on the submission for good. Such a round is
// refunded.
func spoilt(s Submission) bool { return s.Report != nil && s.Report.Status == StatusError }

// cleanupContext outlives ctx by a little, for what must be undone whatever happened.
func cleanupContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
}

// cancelReader ends a read between two chunks when the context has ended.
type cancelReader struct {
	ctx context.Context
	r   io.Reader
}

func (c cancelReader) Read(p []byte) (int, error) {
	if err := context.Cause(c.ctx); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}
