package judge

import (
	"context"

	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/task"
)

// roomRequest is a game in line for room on the machine. Without a turn of its own it would
// run after each place that is freed against a judging, which always waits for one.
type roomRequest struct {
	ctx     context.Context // of whoever waits
	need    task.Part
	granted chan room
}

type room struct {
	release func()
	err     error
}

// room waits for the trial's turn and then for room.
func (q *queue) room(ctx context.Context, trial, id string, need task.Part) (release func(), err error) {
	r := &roomRequest{ctx: ctx, need: need, granted: make(chan room)}
	w := &waiter{trial: trial, id: id, room: r}
	q.add(w)
	select {
	case got := <-r.granted:
		return got.release, got.err
	case <-ctx.Done():
		q.drop(w)
		return nil, context.Cause(ctx)
	}
}

// serve gives the game its room if there is some now, and keeps it from nobody when the game has
// given up.
func (r *roomRequest) serve(c round.Capacity, grew func() bool) served {
	if r.ctx.Err() != nil {
		return needless
	}
	release, ok, err := c.TryGame(r.need.CPUs, r.need.Memory)
	switch {
	case err != nil:
	case !ok:
		return noRoom
	case grew():
		release()
		return moreRoom
	}
	select {
	case r.granted <- room{release, err}:
		if err == nil {
			return hasRoom
		}
	case <-r.ctx.Done():
		if err == nil {
			release()
		}
	}
	return needless
}
