package judge

import (
	"context"
	"net/http"

	"github.com/assayd/assayd/runtime/judge/game"
	"github.com/assayd/assayd/runtime/judge/httpapi"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/task"
)

// Handler returns the API that one trial's agent sees.
func (j *Judge) Handler(trial string) http.Handler {
	return httpapi.New(httpapi.Options{
		Trial: trial, Listen: j.listen, Ledger: j.opts.Ledger, Games: j.games, Log: j.opts.Log,
		Submit: func(ctx context.Context, r round.SubmitRequest) (round.Submission, error) {
			return j.Submit(ctx, trial, r)
		},
		Session: func() (httpapi.Session, bool) {
			s := j.session(trial)
			if s == nil {
				return httpapi.Session{}, false
			}
			return httpapi.Session{Session: s.Session, Game: j.playing(s), Looks: s.uploads.looks}, true
		},
	})
}

// playable refuses what the agent may not begin any more.
func (j *Judge) playable(s *session) error {
	switch {
	case j.shut(s, round.KindGame):
		return round.Refuse(403, "the session is closed: nothing is accepted any more")
	case round.Late(s.Session, s.Line.Now()):
		return round.Refuse(403, "the time is over: nothing is accepted after the deadline")
	case j.opts.Full != nil && j.opts.Full():
		return &round.Refusal{Code: 503, RetryAfter: round.RetryFull, Detail: "the judge's disk is almost full; try again later"}
	}
	return nil
}

// playing are the terms on which the session's agent plays.
func (j *Judge) playing(s *session) game.Session {
	return game.Session{
		Session: s.Session, Container: s.terms, DiskLimit: s.diskLimit, Playable: func() error { return j.playable(s) },
		User: func(ctx context.Context) (string, error) {
			p, err := j.profile(ctx, s)
			if err != nil {
				return "", err
			}
			return p.User, nil
		},
	}
}

// newGames makes the games of this judge.
func (j *Judge) newGames() *game.Games {
	return game.New(game.Options{
		Host: j.host, CPUs: j.cpus, Ledger: j.opts.Ledger, Blobs: j.opts.Blobs, Dial: j.opts.Dial, Room: j.queue.room, Publish: j.publish,
		Task: func(trial string) task.Task {
			if s := j.session(trial); s != nil {
				return s.Task
			}
			return task.Task{}
		},
	})
}
