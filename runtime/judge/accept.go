package judge

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/fault"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/judge/sandbox"
	"github.com/assayd/assayd/runtime/judge/sanitize"
)

// Submit accepts one archive: it reserves a round, cleans and stores the archive, and
// queues it. When it returns without an error the submission is on disk. A repeated key
// returns the first submission. What is not accepted is a *Refusal, or an error of the
// machinery; either has spent nothing.
func (j *Judge) Submit(ctx context.Context, trial string, req round.SubmitRequest) (round.Submission, error) {
	sub, err := j.submit(ctx, trial, req)
	if refusal, is := errors.AsType[*round.Refusal](err); is {
		j.opts.Refused(refusal.Code)
	}
	return sub, err
}

func (j *Judge) submit(ctx context.Context, trial string, req round.SubmitRequest) (round.Submission, error) {
	s, err := j.admit(trial, req.Kind)
	if err != nil {
		return round.Submission{}, err
	}
	slot := s.uploads.daemon
	if req.Kind == round.KindAgent {
		slot = s.uploads.agent
	}
	select {
	case slot <- struct{}{}:
		defer func() { <-slot }()
	case <-ctx.Done():
		return round.Submission{}, context.Cause(ctx)
	}
	if s, err = j.admit(trial, req.Kind); err != nil { // much may have happened meanwhile
		return round.Submission{}, err
	}
	return j.accept(ctx, s, req)
}

// admit returns the session in force, if it lets the kind submit.
func (j *Judge) admit(trial string, kind round.Kind) (*session, error) {
	s := j.session(trial)
	switch {
	case s == nil:
		return nil, &round.Refusal{Code: 503, RetryAfter: round.RetryBusy, Detail: "the judge does not know this trial (yet)"}
	case j.shut(s, kind):
		return nil, round.Refuse(403, "the session is closed: nothing is accepted any more")
	case s.Once && kind == round.KindAgent:
		return nil, round.Refuse(403, "there is nothing to submit: what you leave is judged once, when you have ended")
	case s.Task.Judge.Game != "":
		return nil, round.Refuse(403, "this task is a game: it takes no submissions, it is played")
	case round.Limited(kind) && j.opts.Full != nil && j.opts.Full():
		// What is left is kept for verdicts and for the last snapshots of all trials.
		return nil, &round.Refusal{Code: 503, RetryAfter: round.RetryFull, Detail: "the judge's disk is almost full; try again later"}
	}
	return s, nil
}

// accept holds a slot of the trial, so that no other submission of its sender is between
// reservation and acceptance.
func (j *Judge) accept(ctx context.Context, s *session, req round.SubmitRequest) (round.Submission, error) {
	o := round.Offer{ID: round.NewID(), Kind: req.Kind, Key: req.Key, Now: s.Line.Now()}
	var repeated round.Submission
	placed := false
	sub, err := j.opts.Ledger.Reserve(ctx, s.Trial, func(past []round.Submission) (round.Submission, error) {
		next, old, err := round.Decide(s.Session, o, past)
		if old != nil {
			repeated = *old
			return round.Submission{}, round.ErrUnchanged
		}
		if placed = placed || err == nil && j.queue.takeFor(s.Trial, req.Kind, !round.Limited(req.Kind)); err == nil && !placed {
			err = &round.Refusal{Code: 503, RetryAfter: round.RetryBusy, Detail: "the judge has too much to do; try again later"}
		}
		return next, err
	})
	if err != nil && placed {
		j.queue.giveFor(s.Trial, req.Kind)
	}
	if errors.Is(err, round.ErrUnchanged) {
		return repeated, nil
	}
	if err != nil {
		return round.Submission{}, j.unstored(ctx, s.Trial, fmt.Errorf("reserve a round of trial %s: %w", s.Trial, err))
	}
	fault.Reached(fault.RoundReserved)
	stored, known, err := j.store(ctx, s, sub, req)
	if err != nil || known != nil {
		j.queue.giveFor(s.Trial, req.Kind)
		after, cancel := sandbox.CleanupContext(ctx)
		defer cancel()
		if rerr := j.opts.Ledger.Release(after, sub.ID); rerr != nil {
			err = errors.Join(err, fmt.Errorf("release submission %s: %w", sub.ID, rerr))
		}
		if known != nil {
			return *known, err
		}
		return round.Submission{}, err
	}
	fault.Reached(fault.RoundAccepted)
	j.queue.enqueue(s.Trial, sub.ID, req.Kind)
	return stored, nil
}

// store cleans the archive into a blob and queues the submission in the ledger. It
// returns an earlier submission of the same tree when that is to be taken instead.
func (j *Judge) store(ctx context.Context, s *session, sub round.Submission, req round.SubmitRequest) (_ round.Submission, known *round.Submission, err error) {
	rules, err := j.rules(ctx, s, req.Kind)
	if err != nil {
		return round.Submission{}, nil, err
	}
	blob, err := j.opts.Blobs.Create()
	if err != nil {
		return round.Submission{}, nil, j.unstored(ctx, s.Trial, fmt.Errorf("store the archive of submission %s: %w", sub.ID, err))
	}
	defer func() { err = errors.Join(err, blob.Close()) }()
	stats, err := sanitize.Clean(cancelReader{ctx, orEmpty(req.Archive)}, blob, rules)
	if round.Unwritable(err) {
		err = j.unstored(ctx, s.Trial, err)
	}
	if err != nil {
		return round.Submission{}, nil, err
	}
	digest, size, err := blob.Commit()
	if err != nil {
		return round.Submission{}, nil, j.unstored(ctx, s.Trial, fmt.Errorf("store the archive of submission %s: %w", sub.ID, err))
	}
	fault.Reached(fault.ArchiveStored)
	if req.SkipKnown {
		if known, err = j.sameTree(ctx, sub, digest); err != nil || known != nil {
			return round.Submission{}, known, err
		}
	}
	stored, err := j.opts.Ledger.Update(ctx, sub.ID, func(u *round.Submission) error {
		now := s.Line.Now()
		if j.shut(s, u.Kind) || round.Limited(u.Kind) && round.Late(s.Session, now) {
			return round.Refuse(403, "the time was over before the archive was complete")
		}
		u.State, u.AcceptedAt = round.StateQueued, now
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

func (j *Judge) rules(ctx context.Context, s *session, kind round.Kind) (sanitize.Rules, error) {
	p, err := j.profile(ctx, s)
	if container.Unavailable(err) {
		j.opts.Log.Warn("an archive has to wait for the engine", "trial", s.Trial, "error", err)
		return sanitize.Rules{}, &round.Refusal{Code: 503, RetryAfter: round.RetryBusy, Detail: "the container engine is not there; try again later"}
	}
	if err != nil {
		return sanitize.Rules{}, err
	}
	r := j.rulesFor(s, p)
	if kind != round.KindAgent {
		r.Slack = daemonSlack
	}
	return r, nil
}

// rulesFor are the rules of what may be laid into one of the session's containers.
func (j *Judge) rulesFor(s *session, p *sandbox.Profile) sanitize.Rules {
	return sanitize.Rules{
		Submit: s.Task.Submit, Protect: s.protect(), Workdir: s.Task.Workdir,
		Hidden: slices.Concat(p.Hidden, s.HiddenPaths), Links: p.Links, Present: p.Present, Spool: j.opts.Spool, Own: s.owned(p),
	}
}

// sameTree returns the last submission of the try with the same cleaned archive that was
// not refunded, or nil.
func (j *Judge) sameTree(ctx context.Context, sub round.Submission, digest string) (*round.Submission, error) {
	all, err := j.opts.Ledger.Submissions(ctx, sub.Trial)
	if err != nil {
		return nil, fmt.Errorf("list submissions of trial %s: %w", sub.Trial, err)
	}
	for i := len(all) - 1; i >= 0; i-- {
		if o := all[i]; o.ID != sub.ID && o.Try == sub.Try && !o.Kind.Internal() && o.Archive == digest && !round.InfraFailed(o) {
			return &o, nil
		}
	}
	return nil, nil
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

// unstored turns the error of a ledger or of blobs that could not store a submission into a
// refusal: the sender may come again, and has spent nothing. A refusal stays what it is.
func (j *Judge) unstored(ctx context.Context, trial string, err error) error {
	if _, ok := errors.AsType[*round.Refusal](err); ok || ctx.Err() != nil {
		return err
	}
	j.opts.Log.Warn("a submission could not be stored", "trial", trial, "error", err)
	return &round.Refusal{Code: 503, RetryAfter: round.RetryBusy, Detail: "the judge cannot store a submission now (is its disk full?); nothing is spent, try again later"}
}

// orEmpty is the archive, or one that holds nothing.
func orEmpty(archive io.Reader) io.Reader {
	if archive != nil {
		return archive
	}
	var nothing bytes.Buffer
	_ = tar.NewWriter(&nothing).Close() // writes to memory
	return &nothing
}
