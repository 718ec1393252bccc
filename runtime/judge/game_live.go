package judge

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/assayd/assayd/runtime/clock"
	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/fault"
)

// live is the life of a session, from the wait for room to the removal of the container.
func (g *game) live(run context.Context) {
	j := g.judge
	defer context.AfterFunc(run, func() { g.end(endDaemon) })()
	if d := g.session.Deadline; !d.IsZero() {
		timer := time.AfterFunc(g.session.Line.Until(d), func() { g.end(endDeadline) })
		defer timer.Stop()
	}
	release, err := g.room()
	if err == nil {
		defer release()
		defer g.clean() // cleaning never delays a verdict
		err = g.begin()
	}
	if err != nil {
		g.abort(err)
		return
	}
	close(g.ready)
	g.give()
	g.watch()
	g.turn <- struct{}{} // for good
	g.conclude(run)
	j.games.leave(g)
}

// room waits a little for room on the machine, in line with what is to be judged, and not
// where only the end of other games would make some.
func (g *game) room() (release func(), err error) {
	busy := &Refusal{503, retryBusy, "there is no room for another game; try again later"}
	ctx, cancel := context.WithTimeoutCause(g.ctx, gameWait, busy)
	defer cancel()
	release, err = g.judge.queue.room(ctx, g.session.Trial, g.id, g.session.Task.Judge.Part)
	if errors.Is(err, ErrBusy) {
		return nil, busy
	}
	return release, err
}

// begin reserves a round and starts a server, and the game on it.
func (g *game) begin() error {
	p, err := g.judge.profile(g.ctx, g.session)
	if err != nil {
		return err
	}
	if g.sub, err = g.reserve(); err != nil {
		return fmt.Errorf("reserve a round of trial %s: %w", g.session.Trial, err)
	}
	fault.Reached(fault.GameReserved)
	if err := g.start(p.User); err != nil {
		return err
	}
	first, err := g.server.begin()
	if err != nil {
		return err
	}
	if g.transcript, err = newTranscript(g.judge.transcriptFile(g.id)); err != nil {
		return err
	}
	g.now.take(first)
	g.now.peak = g.now.score
	g.transcript.add("", g.now)
	return g.accept()
}

// maxSessionsEver bounds the games of a trial in all: each leaves a transcript.
const maxSessionsEver = 10_000

// reserve takes the next number. It is the trial's, so that no two sessions share one,
// whatever becomes of them.
func (g *game) reserve() (Submission, error) {
	s, now := g.session, g.session.Line.Now()
	return g.judge.opts.Ledger.Reserve(g.ctx, s.Trial, func(past []Submission) (Submission, error) {
		if err := g.judge.playable(s); err != nil {
			return Submission{}, err
		}
		number := 1
		for _, p := range past {
			if p.Kind == KindGame {
				number = max(number, p.Number+1)
			}
		}
		if number > maxSessionsEver {
			return Submission{}, refuse(429, "this trial has played its %d games", maxSessionsEver)
		}
		return Submission{
			ID: g.id, Trial: s.Trial, Try: s.Try, Round: fmt.Sprintf("%s-%d", KindGame, number), Number: number,
			Kind: KindGame, State: StateReserved, ReservedAt: now, AcceptedAt: now,
		}, nil
	})
}

// start makes the container and runs the game server in it.
func (g *game) start(user string) error {
	j, s := g.judge, g.session
	w := j.workload(s, j.name("game-"+g.id), g.id)
	g.server = newGameServer(g, w.Name, user) // a start that fails half-way leaves that behind
	c, err := j.launch(g.ctx, w)
	if err != nil {
		return fmt.Errorf("start a container for a game: %w", err)
	}
	g.server.container = c.ID
	fault.Reached(fault.GameStarted)
	g.server.start(container.Command{
		Argv: []string{"/bin/sh", "-c", s.Task.Judge.Game}, Env: s.Task.Judge.Env, User: user, Workdir: s.Task.Workdir,
	})
	return nil
}

// accept makes the reservation a round that counts, with the score at the beginning.
func (g *game) accept() error {
	sub, err := g.judge.opts.Ledger.Update(g.ctx, g.id, func(u *Submission) error {
		if err := g.judge.playable(g.session); err != nil {
			return err
		}
		now := g.session.Line.Now()
		r := g.now.report(g.session.Task)
		u.State, u.AcceptedAt, u.StartedAt, u.Report = StateRunning, now, now, &r
		return nil
	})
	if err != nil {
		return fmt.Errorf("open game session %s: %w", g.id, err)
	}
	fault.Reached(fault.GameOpened)
	g.sub = sub
	return nil
}

// abort ends a session that did not come to be. What was reserved is released, but for
// one round of a try that tells of a game server which does not start.
func (g *game) abort(err error) {
	j := g.judge
	j.opts.Log.Warn("a game could not be started", "trial", g.session.Trial, "session", g.id, "error", err)
	g.failure = err
	ctx, cancel := cleanupContext(g.ctx)
	defer cancel()
	broken, ok := errors.AsType[*notServed](err)
	if ok {
		g.failure = &Refusal{503, retryBusy, "the game server did not start"}
	} else if over, ok := errors.AsType[*ending](context.Cause(g.ctx)); ok && !over.problem {
		g.failure = refuse(403, "the game could not begin: %s", over.text)
	}
	if g.transcript != nil {
		g.transcript.drop()
		j.removeTranscript(g.id)
	}
	if g.sub.ID != "" && (!ok || g.told(ctx)) {
		if rerr := j.opts.Ledger.Release(ctx, g.id); rerr != nil {
			j.opts.Log.Warn("a game's round could not be released", "session", g.id, "error", rerr)
		}
	} else if ok {
		r := Report{Status: StatusInvalid, NotRun: true, Isolation: "staged", Problem: clip(broken.Error(), 1000), Summary: "the game server did not start"}
		if perr := j.publish(ctx, g.sub, r); perr != nil {
			j.opts.Log.Warn("a game's failure could not be stored", "session", g.id, "error", perr)
		}
	}
	g.end(endNobody)
	close(g.ready)
	j.games.leave(g)
}

// told reports whether the try has a round already that says that the server does not start.
func (g *game) told(ctx context.Context) bool {
	all, err := g.judge.opts.Ledger.Submissions(ctx, g.session.Trial)
	for _, o := range all {
		if o.Kind == KindGame && o.Try == g.session.Try && o.Report != nil && o.Report.NotRun {
			return true
		}
	}
	return err != nil
}

// watch returns when the session is over, and ends it when nobody uses it.
func (g *game) watch() {
	idle := time.NewTimer(gameIdle)
	defer idle.Stop()
	for {
		select {
		case <-g.ctx.Done():
			return
		case <-idle.C:
		}
		select {
		case g.turn <- struct{}{}:
			left := gameIdle - time.Since(g.used)
			if left <= 0 {
				g.end(endIdle)
			}
			<-g.turn
			idle.Reset(left)
		default: // a call is under way
			idle.Reset(gameIdle)
		}
	}
}

// conclude stores the verdict. It tries until it has, or until the daemon stops: then the
// next one finds the peak in the ledger, and the transcript in its file.
func (g *game) conclude(run context.Context) {
	j := g.judge
	r := g.now.report(g.session.Task)
	if why, ok := errors.AsType[*ending](context.Cause(g.ctx)); ok {
		r.Summary += ": " + why.text
		if why.problem {
			r.Problem = why.text
		}
	}
	if !g.keep(run, &r) {
		return
	}
	fault.Reached(fault.GameKept)
	g.transcript.drop()
	if g.store(run, r) {
		fault.Reached(fault.GameJudged)
		j.removeTranscript(g.id)
	}
}

// keep stores the transcript. A disk without room is waited for, until the daemon stops.
func (g *game) keep(run context.Context, r *Report) bool {
	for try := 0; ; try++ {
		var err error
		if r.Output, err = g.transcript.commit(g.judge.opts.Blobs); err == nil {
			return true
		}
		g.judge.opts.Log.Warn("the transcript of a game could not be stored", "session", g.id, "error", err)
		if !unwritable(err) {
			return true
		}
		if clock.Sleep(run, backoff(try)) != nil {
			g.transcript.drop() // the next daemon has its file
			return false
		}
	}
}

// store reports whether nobody needs to store the verdict any more.
func (g *game) store(run context.Context, r Report) bool {
	begun := g.sub
	begun.AcceptedAt = begun.StartedAt // it was never queued
	for try := 0; ; try++ {
		ctx, cancel := cleanupContext(run)
		err := g.judge.publish(ctx, begun, r)
		cancel()
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return true
		}
		g.judge.opts.Log.Error("the verdict on a game could not be stored", "session", g.id, "error", err)
		if clock.Sleep(run, backoff(try)) != nil {
			return false
		}
	}
}

// clean ends all commands and removes the container.
func (g *game) clean() {
	if g.server == nil {
		return
	}
	g.server.stop()
	g.judge.remove(g.ctx, g.server.container)
	fault.Reached(fault.GameRemoved)
}
