package judge

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/assayd/assayd/runtime/judge/round"
)

// coalescer lets one of equal rounds be judged at a time. The others wait, so that its verdict
// is theirs: an agent that sends one tree many times at once draws one lot.
type coalescer struct {
	mu      sync.Mutex
	flights map[tree]*flight
}

// tree is what rounds have in common that share a verdict. Rounds of a kind that is apart
// know nothing of others.
type tree struct {
	trial   string
	try     int
	archive string
	set     round.Kind // "" = the open tests
}

func treeOf(s round.Submission) tree {
	t := tree{trial: s.Trial, try: s.Try, archive: s.Archive}
	switch {
	case s.Kind == round.KindMixed: // each is a lot of its own
		t.set = round.Kind(s.Round)
	case s.Kind.Internal():
		t.set = s.Kind
	}
	return t
}

// flight is a tree on its way to a verdict.
type flight struct {
	leader string   // the round that is judged
	behind []string // rounds that wait for its verdict, each with its place in the queue
}

func newCoalescer() *coalescer { return &coalescer{flights: map[tree]*flight{}} }

// join reports whether a round leads its tree's flight; if not, it is behind the one that
// does. A leader that comes again leads on.
func (t *coalescer) join(of tree, id string) (leads bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.flights[of]
	if f == nil {
		f = &flight{leader: id}
		t.flights[of] = f
	}
	if f.leader != id {
		f.behind = append(f.behind, id)
	}
	return f.leader == id
}

// finish ends a flight that the round leads, and returns who was behind.
func (t *coalescer) finish(of tree, id string) (behind []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.flights[of]
	if f == nil || f.leader != id {
		return nil
	}
	delete(t.flights, of)
	return f.behind
}

// forget drops the flights of a trial and returns how many rounds were behind.
func (t *coalescer) forget(trial string) (behind int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for of, f := range t.flights {
		if of.trial == trial {
			behind += len(f.behind)
			delete(t.flights, of)
		}
	}
	return behind
}

// forgetRounds drops what of a trial is in line, or behind a round that is judged.
func (j *Judge) forgetRounds(trial string) {
	j.queue.forget(trial)
	for range j.coalescer.forget(trial) {
		j.queue.give(trial)
	}
}

// join looks at a round whose turn it is, and reports whether it has to be judged now. It
// has not if its tree has a sound verdict, which it gets, nor while an equal one is judged: then
// it keeps its place in the queue, and takes no room.
func (j *Judge) join(ctx context.Context, id string) (of tree, leads bool, err error) {
	sub, err := j.opts.Ledger.Submission(ctx, id)
	if err != nil {
		return of, false, fmt.Errorf("load submission %s: %w", id, err)
	}
	of = treeOf(sub)
	if sub.State == round.StateJudged { // abandoned
		j.broadcast(id)
		j.finish(of, id)
		return of, false, nil
	}
	j.queue.take(of.trial, true) // at first: who lands pushes what is behind at once
	if !j.coalescer.join(of, id) {
		return of, false, nil
	}
	j.queue.give(of.trial)
	known, err := j.repeat(ctx, sub)
	if known {
		j.finish(of, id)
	}
	return of, !known && err == nil, err
}

// repeat gives a round the sound verdict that its tree has, if it has one.
func (j *Judge) repeat(ctx context.Context, sub round.Submission) (known bool, err error) {
	report, known, err := j.cached(ctx, sub)
	if err != nil || !known {
		return false, err
	}
	sub, err = j.begin(ctx, sub.ID)
	if errors.Is(err, round.ErrUnchanged) {
		return true, nil
	}
	if err == nil {
		err = j.publish(ctx, sub, report)
	}
	return err == nil, err
}

// finish lets the rounds behind one that is done with have their turn. If that one got no
// sound verdict, the first of them is judged.
func (j *Judge) finish(of tree, id string) {
	for _, next := range j.coalescer.finish(of, id) {
		j.queue.push(of.trial, next)
	}
}
