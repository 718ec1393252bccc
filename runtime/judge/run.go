package judge

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/fault"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/judge/scoring"
)

// maxTries is how often the machinery may fail on one submission before it is given up
// with StatusError. What is waited for does not count.
const maxTries = 3

// A trial has one last snapshot and one private set, and no other round makes up for them: the
// machinery may fail on those lastTries times, in about eight minutes.
const (
	lastTries = 6
	lastPause = 15 * time.Second
)

// enginePatience is how long a round waits for an engine that answers and cannot, because its
// disk is full, before that counts as a failure.
const (
	enginePatience = 30 * time.Minute
	fullPause      = time.Minute // long, as it may be the submission that fills it
)

// Run judges what is queued until the context ends, and returns when everything that it
// started has ended. What is interrupted stays in the ledger for Resume.
func (j *Judge) Run(ctx context.Context) error {
	var workers sync.WaitGroup
	defer workers.Wait()
	workers.Go(func() { j.prepare(ctx) })
	workers.Go(func() { j.games.Play(ctx) })
	workers.Go(func() { j.pool.Run(ctx) })
	workers.Go(func() { j.cpus.Watch(ctx) })
	for {
		var changed <-chan struct{}
		j.queue.offer(func(w *waiter, first bool) served {
			if first {
				changed = j.opts.Capacity.Changed()
			}
			return j.serve(ctx, &workers, w, func() bool { return !first && isClosed(changed) })
		})
		select {
		case <-j.queue.wake:
		case <-changed:
		case <-ctx.Done():
			return nil // that is how Run ends
		}
	}
}

// serve starts the judging of a round whose turn it is, or gives a game its room, where there is
// room for it now. grew reports whether there is more room since others were passed over for it.
func (j *Judge) serve(ctx context.Context, workers *sync.WaitGroup, w *waiter, grew func() bool) served {
	if ctx.Err() != nil {
		return noRoom
	}
	if w.room != nil {
		return w.room.serve(j.opts.Capacity, grew)
	}
	trial, id, kind := w.trial, w.id, w.kind()
	s := j.session(trial)
	if s == nil {
		return needless // forgotten meanwhile
	}
	if w.leads == nil {
		of, leads, err := j.join(ctx, id)
		if err != nil {
			j.opts.Log.Warn("a round could not be looked at yet", "trial", trial, "submission", id, "error", err)
			workers.Go(func() { j.requeue(ctx, trial, id, kind, round.Backoff(maxTries)) })
		}
		if err != nil || !leads {
			return needless
		}
		w.leads = &of
	}
	of := *w.leads
	if s.isOver() { // it gets its verdict without a judging
		j.finish(of, id)
		return needless
	}
	release, ok := j.room(s, id)
	switch {
	case !ok:
		return noRoom
	case grew():
		j.cpus.Revoke(id)
		release()
		return moreRoom
	}
	workers.Go(func() {
		again := j.judge(ctx, s, id)
		release()
		if again > 0 {
			j.requeue(ctx, trial, id, kind, again)
		} else {
			j.finish(of, id)
		}
	})
	return hasRoom
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// room takes what a judging needs of the machine, if all of it is there now.
func (j *Judge) room(s *session, id string) (release func(), ok bool) {
	p := s.Task.Judge.Part
	if s.Task.Judge.Exclusive && !j.cpus.Promise(id, p.CPUs) {
		return nil, false
	}
	if release, ok = j.opts.Capacity.TryJudge(p.CPUs, p.Memory); !ok {
		j.cpus.Revoke(id)
	}
	return release, ok
}

// prepare looks at the judge images of new sessions before anything is submitted.
func (j *Judge) prepare(ctx context.Context) {
	for {
		select {
		case trial := <-j.fresh:
			if s := j.session(trial); s != nil {
				if _, err := j.profile(ctx, s); err != nil && ctx.Err() == nil {
					j.opts.Log.Warn("the judge image could not be looked at yet", "trial", trial, "error", err)
				}
				j.pool.Signal()
			}
		case <-ctx.Done():
			return
		}
	}
}

func (j *Judge) requeue(ctx context.Context, trial, id string, kind round.Kind, after time.Duration) {
	timer := time.NewTimer(after)
	defer timer.Stop()
	select {
	case <-timer.C:
		j.queue.takeFor(trial, kind, true)
		j.queue.enqueue(trial, id, kind)
	case <-ctx.Done():
	}
}

// judge brings one submission a step further: to its verdict, or, when it returns a
// duration, to another try after that time.
func (j *Judge) judge(ctx context.Context, s *session, id string) (again time.Duration) {
	log := j.opts.Log.With("trial", s.Trial, "submission", id)
	s.ending.RLock()
	defer s.ending.RUnlock()
	working, cancel := s.whileWanted(ctx)
	defer cancel()
	if s.Task.Judge.Exclusive {
		release, err := j.cpus.Claim(working, id, s.Task.Judge.CPUs)
		if err != nil && working.Err() == nil {
			log.Warn("a judging could not get CPUs of its own yet", "error", err)
			return round.Backoff(maxTries)
		}
		if err != nil {
			return 0
		}
		defer release()
	}
	sub, err := j.begin(ctx, id)
	if errors.Is(err, round.ErrUnchanged) {
		return 0
	}
	fault.Reached(fault.RoundRunning)
	var report round.Report
	done := func() {}
	if err == nil {
		report, done, err = j.grade(working, s, sub)
	}
	defer done() // after the verdict is out: cleaning never delays it
	if err != nil && working.Err() != nil && sub.ID != "" {
		j.host.RemoveLater(j.judgingName(sub))
	}
	if working.Err() != nil {
		return 0 // a restart judges it again, or it has been abandoned
	}
	if err != nil {
		log.Warn("a judging failed", "round", sub.Round, "refunds", sub.Refunds, "error", err)
		if j.waitedFor(sub, err) || sub.ID == "" || sub.Refunds+1 < tries(sub, err) {
			j.opts.Retried()
			return j.refund(ctx, sub, id, err)
		}
		j.host.RemoveLater(j.judgingName(sub))
		report = round.Failed(err.Error())
		report.Isolation = scoring.Isolation(s.Task)
		if ownDoing(err) {
			report.Status = round.StatusInvalid // or code that fails could hide behind a broken machine
		}
	}
	if err := j.publish(ctx, sub, report); err != nil {
		log.Error("a verdict could not be stored; the round is judged again", "error", err)
		return round.Backoff(maxTries)
	}
	return 0
}

// begin marks a round as running. One that has a verdict already is errUnchanged.
func (j *Judge) begin(ctx context.Context, id string) (round.Submission, error) {
	sub, err := j.opts.Ledger.Update(ctx, id, func(u *round.Submission) error {
		if u.State == round.StateJudged {
			return round.ErrUnchanged
		}
		u.State, u.StartedAt = round.StateRunning, j.now(u.Trial)
		return nil
	})
	if errors.Is(err, round.ErrUnchanged) {
		j.broadcast(id)
	}
	return sub, err
}

// waitedFor reports whether an error says that the engine is away, or the own disk full, or,
// for a while, that of the engine.
func (j *Judge) waitedFor(sub round.Submission, err error) bool {
	if errors.Is(err, container.ErrNoSpace) && sub.ID != "" {
		return j.now(sub.Trial).Sub(sub.AcceptedAt) < enginePatience
	}
	return container.Unavailable(err) || round.Unwritable(err)
}

// refund puts a submission back into line. The count of refunds says how long to wait.
func (j *Judge) refund(ctx context.Context, sub round.Submission, id string, cause error) time.Duration {
	switch {
	case j.waitedFor(sub, cause) && errors.Is(cause, container.ErrNoSpace):
		return fullPause
	case j.waitedFor(sub, cause) || sub.ID == "":
		return round.Backoff(maxTries)
	}
	_, err := j.opts.Ledger.Update(ctx, id, func(u *round.Submission) error {
		if u.State == round.StateJudged {
			return round.ErrUnchanged // it was abandoned meanwhile
		}
		u.State, u.Refunds = round.StateQueued, u.Refunds+1
		return nil
	})
	if errors.Is(err, round.ErrUnchanged) {
		return 0
	}
	if err != nil {
		j.opts.Log.Warn("a refund could not be stored", "submission", id, "error", err)
	}
	j.host.RemoveLater(j.judgingName(sub))
	if last(sub) {
		return lastPause << sub.Refunds
	}
	return round.Backoff(sub.Refunds)
}

func last(sub round.Submission) bool {
	return sub.Kind == round.KindFinal || sub.Kind == round.KindPrivate
}

func tries(sub round.Submission, err error) int {
	if last(sub) && !ownDoing(err) {
		return lastTries
	}
	return maxTries
}

// publish stores the verdict; a submission gets exactly one.
func (j *Judge) publish(ctx context.Context, sub round.Submission, r round.Report) error {
	now := j.now(sub.Trial)
	started := sub.StartedAt
	if started.IsZero() {
		started = now
	}
	r.QueuedMS = started.Sub(sub.AcceptedAt).Milliseconds()
	r.DurationMS = now.Sub(started).Milliseconds()
	_, err := j.opts.Ledger.Update(ctx, sub.ID, func(u *round.Submission) error {
		if u.State == round.StateJudged {
			return round.ErrUnchanged
		}
		u.State, u.JudgedAt, u.Report = round.StateJudged, now, &r
		if r.Status == round.StatusError {
			u.Refunds++
		}
		return nil
	})
	if err != nil && !errors.Is(err, round.ErrUnchanged) {
		return fmt.Errorf("store the verdict on submission %s: %w", sub.ID, err)
	}
	fault.Reached(fault.VerdictStored)
	j.broadcast(sub.ID)
	return nil
}
