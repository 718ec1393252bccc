package game

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/assayd/assayd/runtime/clock"
	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/fault"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/judge/sandbox"
)

// live is the life of a session, from the wait for room to the removal of the container.
func (g *Game) live(run context.Context) {
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
	g.Give()
	g.watch()
	g.turn <- struct{}{} // for good
	g.conclude(run)
	g.games.leave(g)
}

// room waits a little for room on the machine, in line with what is to be judged, and not
// where only the end of other games would make some.
func (g *Game) room() (release func(), err error) {
	busy := &round.Refusal{Code: 503, RetryAfter: round.RetryBusy, Detail: "there is no room for another game; try again later"}
	ctx, cancel := context.WithTimeoutCause(g.ctx, WaitTime, busy)
	defer cancel()
	release, err = g.games.o.Room(ctx, g.session.Trial, g.ID, g.session.Task.Judge.Part)
	if errors.Is(err, round.ErrBusy) {
		return nil, busy
	}
	return release, err
}

// begin reserves a round and starts a server, and the game on it.
func (g *Game) begin() error {
	user, err := g.session.User(g.ctx)
	if err != nil {
		return err
	}
	if g.sub, err = g.reserve(); err != nil {
		return fmt.Errorf("reserve a round of trial %s: %w", g.session.Trial, err)
	}
	fault.Reached(fault.GameReserved)
	if err := g.start(user); err != nil {
		return err
	}
	first, err := g.server.begin()
	if err != nil {
		return err
	}
	if g.transcript, err = newTranscript(g.games.transcriptFile(g.ID)); err != nil {
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
func (g *Game) reserve() (round.Submission, error) {
	s, now := g.session, g.session.Line.Now()
	return g.games.o.Ledger.Reserve(g.ctx, s.Trial, func(past []round.Submission) (round.Submission, error) {
		if err := s.Playable(); err != nil {
			return round.Submission{}, err
		}
		number := 1
		for _, p := range past {
			if p.Kind == round.KindGame {
				number = max(number, p.Number+1)
			}
		}
		if number > maxSessionsEver {
			return round.Submission{}, round.Refuse(429, "this trial has played its %d games", maxSessionsEver)
		}
		return round.Submission{
			ID: g.ID, Trial: s.Trial, Try: s.Try, Round: fmt.Sprintf("%s-%d", round.KindGame, number), Number: number,
			Kind: round.KindGame, State: round.StateReserved, ReservedAt: now, AcceptedAt: now,
		}, nil
	})
}

// start makes the container and runs the game server in it.
func (g *Game) start(user string) error {
	s, host := g.session, g.games.o.Host
	w := host.Workload(s.Container, host.ContainerName("game-"+g.ID), g.ID, g.games.o.CPUs.CPUSet(g.ID))
	g.server = newServer(g, w.Name, user) // a start that fails half-way leaves that behind
	c, err := host.Launch(g.ctx, w)
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
func (g *Game) accept() error {
	sub, err := g.games.o.Ledger.Update(g.ctx, g.ID, func(u *round.Submission) error {
		if err := g.session.Playable(); err != nil {
			return err
		}
		now := g.session.Line.Now()
		r := g.now.report(g.session.Task)
		u.State, u.AcceptedAt, u.StartedAt, u.Report = round.StateRunning, now, now, &r
		return nil
	})
	if err != nil {
		return fmt.Errorf("open game session %s: %w", g.ID, err)
	}
	fault.Reached(fault.GameOpened)
	g.sub = sub
	return nil
}

// abort ends a session that did not come to be. What was reserved is released, but for
// one round of a try that tells of a game server which does not start.
func (g *Game) abort(err error) {
	g.games.o.Host.Log.Warn("a game could not be started", "trial", g.session.Trial, "session", g.ID, "error", err)
	g.failure = err
	ctx, cancel := sandbox.CleanupContext(g.ctx)
	defer cancel()
	broken, ok := errors.AsType[*notServed](err)
	if ok {
		g.failure = &round.Refusal{Code: 503, RetryAfter: round.RetryBusy, Detail: "the game server did not start"}
	} else if over, ok := errors.AsType[*ending](context.Cause(g.ctx)); ok && !over.problem {
		g.failure = round.Refuse(403, "the game could not begin: %s", over.text)
	}
	if g.transcript != nil {
		g.transcript.drop()
		g.games.removeTranscript(g.ID)
	}
	if g.sub.ID != "" && (!ok || g.told(ctx)) {
		if rerr := g.games.o.Ledger.Release(ctx, g.ID); rerr != nil {
			g.games.o.Host.Log.Warn("a game's round could not be released", "session", g.ID, "error", rerr)
		}
	} else if ok {
		r := round.Report{Status: round.StatusInvalid, NotRun: true, Isolation: "staged", Problem: round.Clip(broken.Error(), 1000), Summary: "the game server did not start"}
		if perr := g.games.o.Publish(ctx, g.sub, r); perr != nil {
			g.games.o.Host.Log.Warn("a game's failure could not be stored", "session", g.ID, "error", perr)
		}
	}
	g.end(endNobody)
	close(g.ready)
	g.games.leave(g)
}

// told reports whether the try has a round already that says that the server does not start.
func (g *Game) told(ctx context.Context) bool {
	all, err := g.games.o.Ledger.Submissions(ctx, g.session.Trial)
	for _, o := range all {
		if o.Kind == round.KindGame && o.Try == g.session.Try && o.Report != nil && o.Report.NotRun {
			return true
		}
	}
	return err != nil
}

// watch returns when the session is over, and ends it when nobody uses it.
func (g *Game) watch() {
	idle := time.NewTimer(idleTime)
	defer idle.Stop()
	for {
		select {
		case <-g.ctx.Done():
			return
		case <-idle.C:
		}
		select {
		case g.turn <- struct{}{}:
			left := idleTime - time.Since(g.used)
			if left <= 0 {
				g.end(endIdle)
			}
			<-g.turn
			idle.Reset(left)
		default: // a call is under way
			idle.Reset(idleTime)
		}
	}
}

// conclude stores the verdict. It tries until it has, or until the daemon stops: then the
// next one finds the peak in the ledger, and the transcript in its file.
func (g *Game) conclude(run context.Context) {
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
		g.games.removeTranscript(g.ID)
	}
}

// keep stores the transcript. A disk without room is waited for, until the daemon stops.
func (g *Game) keep(run context.Context, r *round.Report) bool {
	for try := 0; ; try++ {
		var err error
		if r.Output, err = g.transcript.commit(g.games.o.Blobs); err == nil {
			return true
		}
		g.games.o.Host.Log.Warn("the transcript of a game could not be stored", "session", g.ID, "error", err)
		if !round.Unwritable(err) {
			return true
		}
		if clock.Sleep(run, round.Backoff(try)) != nil {
			g.transcript.drop() // the next daemon has its file
			return false
		}
	}
}

// store reports whether nobody needs to store the verdict any more.
func (g *Game) store(run context.Context, r round.Report) bool {
	begun := g.sub
	begun.AcceptedAt = begun.StartedAt // it was never queued
	for try := 0; ; try++ {
		ctx, cancel := sandbox.CleanupContext(run)
		err := g.games.o.Publish(ctx, begun, r)
		cancel()
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return true
		}
		g.games.o.Host.Log.Error("the verdict on a game could not be stored", "session", g.ID, "error", err)
		if clock.Sleep(run, round.Backoff(try)) != nil {
			return false
		}
	}
}

// clean ends all commands and removes the container.
func (g *Game) clean() {
	if g.server == nil {
		return
	}
	g.server.stop()
	g.games.o.Host.Remove(g.ctx, g.server.container)
	fault.Reached(fault.GameRemoved)
}
