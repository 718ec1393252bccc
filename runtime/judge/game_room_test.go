package judge

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assayd/assayd/runtime/judge/judgetest"
	"github.com/assayd/assayd/runtime/judge/round"
)

// TestAGameHasItsTurn: however many rounds another trial has in line, a game waits for no
// more of them than a round would.
func TestAGameHasItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := newGameBench(t, func(o *Options) { o.Capacity, o.MaxQueue = judgetest.NewPlaces(1), 400 })
		room := b.opts.Capacity.(*judgetest.Places)
		room.Hold()
		b.open("busy")
		b.open("t", plays)
		for n := range 70 {
			b.submit(t, "busy", round.KindAgent, fmt.Sprint(n))
		}
		begun := time.Now()
		time.AfterFunc(time.Second, room.Release)
		id := b.begin(t, "t") // one round is before it in turn
		if took := time.Since(begun); took > 4*time.Second {
			t.Errorf("waited %s for a round of a second", took)
		}
		b.play(t, "t", id+"/close", "")
		for _, sub := range b.ledger.Of("busy") {
			b.judged(t, sub.ID)
		}
	})
}

// TestAGameThatGaveUpTakesNoRoom: neither in line, nor when its turn had come.
func TestAGameThatGaveUpTakesNoRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := newGameBench(t, func(o *Options) { o.Capacity = judgetest.NewPlaces(1) })
		b.open("busy")
		b.open("t", plays)
		b.open("u", plays)
		room := b.opts.Capacity.(*judgetest.Places)
		room.Hold()
		sub := b.submit(t, "busy", round.KindAgent, "1") // is in line all the time
		codes := make(chan int, 2)
		for _, trial := range []string{"t", "u"} {
			go func() { codes <- b.play(t, trial, "new", "").Code }()
		}
		if got := []int{<-codes, <-codes}; got[0] != 503 || got[1] != 503 {
			t.Errorf("no room: %v", got)
		}
		synctest.Wait()
		b.queue.mu.Lock()
		if len(b.queue.lines["busy"]) != 1 || len(b.queue.lines) != 1 || len(b.queue.turns) != 1 || b.queue.taken != 1 {
			t.Errorf("in line: %v %v %d", b.queue.lines, b.queue.turns, b.queue.taken)
		}
		b.queue.mu.Unlock()
		room.Release()
		b.judged(t, sub.ID)
		b.play(t, "t", b.begin(t, "t")+"/close", "")
		synctest.Wait()
		if room.Held() != 0 {
			t.Errorf("%d places are held", room.Held())
		}
	})
}

// full is a Capacity in which games have all that they may.
type full struct{ *judgetest.Places }

func (full) TryGame(float64, int64) (func(), bool, error) { return nil, false, round.ErrBusy }

// TestAGameThatHasToWaitForOthersHoldsUpNoJudging: it is told so when its turn comes.
func TestAGameThatHasToWaitForOthersHoldsUpNoJudging(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := newGameBench(t, func(o *Options) { o.Capacity = full{judgetest.NewPlaces(1)} })
		b.open("t", plays)
		begun := time.Now()
		answer := b.play(t, "t", "new", "")
		if took := time.Since(begun); answer.Code != 503 || answer.Header().Get("Retry-After") == "" || took > time.Second {
			t.Errorf("%d after %s: %s", answer.Code, took, answer.Body)
		}
	})
}

func TestAGamesVerdictWaitsForTheTranscript(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := newGameBench(t, func(o *Options) { o.Blobs = &judgetest.FullBlobs{Blobs: o.Blobs, Left: 3} })
		b.open("t", plays)
		id := b.begin(t, "t")
		b.play(t, "t", id+"/close", "")
		sub, err := b.Wait(t.Context(), id)
		if err != nil || sub.Report == nil || sub.Report.Output == "" {
			t.Errorf("the verdict is %+v, %v", sub.Report, err)
		}
	})
}
