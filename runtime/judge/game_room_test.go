package judge

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// smallFirst is a Capacity of one container that serves those first that want least: none
// promises an order.
type smallFirst struct {
	mu      sync.Mutex
	taken   bool
	waiting []wanting
}

type wanting struct {
	cpus float64
	turn chan struct{}
}

func (f *smallFirst) Acquire(ctx context.Context, cpus float64, _ int64) (func(), error) {
	f.mu.Lock()
	w := wanting{cpus, make(chan struct{})}
	f.waiting = append(f.waiting, w)
	slices.SortStableFunc(f.waiting, func(a, b wanting) int { return cmp.Compare(a.cpus, b.cpus) })
	f.serve()
	f.mu.Unlock()
	select {
	case <-w.turn:
		return f.release, nil
	case <-ctx.Done():
		f.mu.Lock()
		defer f.mu.Unlock()
		f.waiting = slices.DeleteFunc(f.waiting, func(o wanting) bool { return o == w })
		return nil, context.Cause(ctx)
	}
}

func (f *smallFirst) AcquireGame(ctx context.Context, cpus float64, memory int64) (func(), error) {
	return f.Acquire(ctx, cpus, memory)
}

func (f *smallFirst) serve() {
	if !f.taken && len(f.waiting) > 0 {
		f.taken = true
		close(f.waiting[0].turn)
		f.waiting = f.waiting[1:]
	}
}

func (f *smallFirst) release() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.taken = false
	f.serve()
}

// TestAGameHasItsTurn: however many rounds another trial has in line, a game waits for no
// more of them than a round would.
func TestAGameHasItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := newGameBench(t, func(o *Options) { o.Capacity, o.MaxQueue = &smallFirst{taken: true}, 400 })
		b.open("busy")
		b.open("t", plays, func(s *Session) { s.Task.Judge.CPUs = 2 })
		for n := range 70 {
			b.submit(t, "busy", KindAgent, fmt.Sprint(n))
		}
		begun := time.Now()
		time.AfterFunc(time.Second, b.opts.Capacity.(*smallFirst).release)
		id := b.begin(t, "t") // one round was next when it came, and one more is before it in turn
		if took := time.Since(begun); took > 4*time.Second {
			t.Errorf("waited %s for two rounds of a second each", took)
		}
		b.play(t, "t", id+"/close", "")
		for _, sub := range b.ledger.of("busy") {
			b.judged(t, sub.ID)
		}
	})
}

// TestAGameThatGaveUpTakesNoRoom: neither in line, nor when its turn had come.
func TestAGameThatGaveUpTakesNoRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := newGameBench(t, func(o *Options) { o.Capacity = make(places, 1) })
		b.open("busy")
		b.open("t", plays)
		b.open("u", plays)
		room := b.opts.Capacity.(places)
		room <- struct{}{}
		sub := b.submit(t, "busy", KindAgent, "1") // has the turn all the time
		codes := make(chan int, 2)
		for _, trial := range []string{"t", "u"} {
			go func() { codes <- b.play(t, trial, "new", "").Code }()
		}
		if got := []int{<-codes, <-codes}; got[0] != 503 || got[1] != 503 {
			t.Errorf("no room: %v", got)
		}
		synctest.Wait()
		b.queue.mu.Lock()
		if len(b.queue.lines)+len(b.queue.turns)+b.queue.taken != 0 {
			t.Errorf("in line: %v %v %d", b.queue.lines, b.queue.turns, b.queue.taken)
		}
		b.queue.mu.Unlock()
		<-room
		b.judged(t, sub.ID)
		b.play(t, "t", b.begin(t, "t")+"/close", "")
		synctest.Wait()
		if len(room) != 0 {
			t.Errorf("%d places are held", len(room))
		}
	})
}

// full is a Capacity in which games have all that they may.
type full struct{ places }

func (full) AcquireGame(context.Context, float64, int64) (func(), error) { return nil, ErrBusy }

// TestAGameThatHasToWaitForOthersHoldsUpNoJudging: it is told so when its turn comes.
func TestAGameThatHasToWaitForOthersHoldsUpNoJudging(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := newGameBench(t, func(o *Options) { o.Capacity = full{make(places, 1)} })
		b.open("t", plays)
		begun := time.Now()
		answer := b.play(t, "t", "new", "")
		if took := time.Since(begun); answer.Code != 503 || answer.Header().Get("Retry-After") == "" || took > time.Second {
			t.Errorf("%d after %s: %s", answer.Code, took, answer.Body)
		}
	})
}
