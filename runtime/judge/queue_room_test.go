package judge

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
	"github.com/assayd/assayd/runtime/judge/judgetest"
	"github.com/assayd/assayd/runtime/judge/round"
)

// TestAJudgingThatWaitsForCPUsHoldsUpNoOther: what fits is judged meanwhile. After maxPassed
// others it holds its place, and is judged before all that came later.
func TestAJudgingThatWaitsForCPUsHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t, func(o *Options) { o.Capacity, o.Warm, o.MaxQueue = judgetest.NewPlaces(4), -1, 400 })
		var mu sync.Mutex
		var order []string
		b.fake.HandleExec(func(_ context.Context, c *containertest.FakeContainer, cmd container.Command) int {
			answer, _ := c.ReadFile("/work/src/answer")
			mu.Lock()
			order = append(order, string(answer))
			mu.Unlock()
			time.Sleep(time.Second)
			_, _ = fmt.Fprintf(cmd.Stdout, "%s passed", answer)
			return 0
		})
		b.open("large", func(s *round.Session) { s.Task.Judge.CPUs = 4 })
		b.open("small", func(s *round.Session) { s.Task.Judge.CPUs = 1 })
		room := b.opts.Capacity.(*judgetest.Places)
		room.Hold() // for longer than all small ones take
		subs := []round.Submission{b.submit(t, "large", round.KindAgent, "large")}
		for n := range 2 * maxPassed {
			subs = append(subs, b.submit(t, "small", round.KindAgent, fmt.Sprintf("%02d", n)))
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		mu.Lock()
		if len(order) != maxPassed || slices.Contains(order, "large") {
			t.Errorf("beside one that waits for room these were judged: %v; want %d", order, maxPassed)
		}
		mu.Unlock()
		room.Release()
		for _, sub := range subs {
			b.judged(t, sub.ID)
		}
		if order[maxPassed] != "large" || len(order) != len(subs) {
			t.Errorf("when there was room %q was judged first, and %d of %d in all", order[maxPassed], len(order), len(subs))
		}
	})
}

// TestAJudgingThatWaitsForCPUsOfItsOwnTakesNoRoomMeanwhile: others of its kind have them all.
func TestAJudgingThatWaitsForCPUsOfItsOwnTakesNoRoomMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t, func(o *Options) { o.Capacity, o.Warm = judgetest.NewPlaces(8), -1 })
		cpus, err := b.cpus.Size(t.Context())
		if err != nil || cpus < 2 {
			t.Fatalf("%d CPUs (%v)", cpus, err)
		}
		total := float64(cpus)
		room := b.opts.Capacity.(*judgetest.Places)
		room.Max = 4 * total
		b.fake.HandleExec(func(ctx context.Context, _ *containertest.FakeContainer, _ container.Command) int {
			<-ctx.Done()
			return 137
		})
		for _, trial := range []string{"a", "b"} {
			b.open(trial, func(s *round.Session) { s.Task.Judge.Exclusive, s.Task.Judge.CPUs = true, total })
			b.submit(t, trial, round.KindAgent, "passed")
		}
		synctest.Wait()
		if held := room.Held(); held != int(total) {
			t.Errorf("%d CPUs are held; the one that is judged takes %v", held, total)
		}
		if b.Abandon(t.Context(), "a", 1, "over") != nil {
			t.Error("the first cannot be abandoned")
		}
		synctest.Wait()
		if got := b.ledger.Of("b")[0]; got.State != round.StateRunning || room.Held() != int(total) {
			t.Errorf("when the first is over the second is %s, and %d CPUs are held", got.State, room.Held())
		}
	})
}

// TestTheQueuePassesOverWithinItsBound: whatever comes and goes, nothing is passed over more often
// than allowed, what always fits goes trial by trial in turn, and in the end all have had
// their turn.
func TestTheQueuePassesOverWithinItsBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := newQueue(1000)
		q.passes = rapid.IntRange(0, 3).Draw(t, "bound")
		size := map[string]int{}  // of the rounds of a trial
		waits := map[string]int{} // how many started before a round that was first of its trial then
		var line []string         // model: rounds in the order in which they came
		var running []string      // rounds
		free, next := 8, 0        // of the machine
		fits := func(n int) bool { return n <= free || len(running) == 0 }
		offer := func(t *rapid.T) {
			q.offer(func(w *waiter, ahead bool) served {
				if !ahead && len(running) > 0 && rapid.IntRange(0, 9).Draw(t, "ends") == 0 {
					free += size[running[0][:1]]
					running = running[1:]
					return moreRoom
				}
				first := slices.IndexFunc(line, func(id string) bool { return id[:1] == w.trial })
				if first < 0 || line[first] != w.id {
					t.Fatalf("%s is offered; in line are %v", w.id, line)
				}
				if !fits(size[w.trial]) {
					return noRoom
				}
				for _, turn := range q.heads() { // those before it have to wait for it
					if turn == w {
						break
					}
					if fits(size[turn.trial]) {
						t.Fatalf("%s passes over %s, which fits", w.id, turn.id)
					}
					if waits[turn.id]++; waits[turn.id] > q.passes {
						t.Fatalf("%s was passed over %d times", turn.id, waits[turn.id])
					}
				}
				line = slices.Delete(line, first, first+1)
				running, free = append(running, w.id), free-size[w.trial]
				return hasRoom
			})
			for i, w := range q.heads() { // nothing that fits is left, but behind one that holds its place
				if w.passed >= q.passes {
					break
				}
				if fits(size[w.trial]) {
					t.Fatalf("%s fits, is at place %d, and was left", w.id, i)
				}
			}
		}
		submit := func(t *rapid.T, trial string) {
			id := fmt.Sprint(trial, next)
			next++
			line = append(line, id)
			q.take(trial, true)
			q.push(trial, id)
			offer(t)
		}
		var game *waiter
		t.Repeat(map[string]func(*rapid.T){
			"submit": func(t *rapid.T) {
				trial := string(rune('a' + rapid.IntRange(0, 5).Draw(t, "trial")))
				if size[trial] == 0 {
					size[trial] = rapid.IntRange(1, 9).Draw(t, "size")
				}
				submit(t, trial)
			},
			"end": func(t *rapid.T) {
				if len(running) == 0 {
					return
				}
				i := rapid.IntRange(0, len(running)-1).Draw(t, "which")
				free += size[running[i][:1]]
				running = slices.Delete(running, i, i+1)
				offer(t)
			},
			"game": func(t *rapid.T) { // with a round behind it
				if size["g"] = 9; len(q.lines["g"]) > 0 {
					return
				}
				game = &waiter{trial: "g", id: fmt.Sprint("g", next), room: &roomRequest{}}
				q.add(game)
				line = append(line, game.id)
				next++
				submit(t, "g")
			},
			"give up": func(t *rapid.T) {
				if game != nil {
					q.drop(game)
					line = slices.DeleteFunc(line, func(id string) bool { return id == game.id })
					offer(t)
				}
			},
			"forget": func(t *rapid.T) {
				trial := string(rune('a' + rapid.IntRange(0, 6).Draw(t, "trial")))
				q.forget(trial)
				line = slices.DeleteFunc(line, func(id string) bool { return id[:1] == trial })
				offer(t)
			},
			"": func(t *rapid.T) {
				rounds := len(line)
				if game != nil && slices.Contains(line, game.id) {
					rounds-- // games take no places
				}
				if q.taken != rounds {
					t.Fatalf("%d places are taken by %d rounds", q.taken, rounds)
				}
			},
		})
		for range next + 1 { // one after the other ends
			if len(running) > 0 {
				free += size[running[0][:1]]
				running = running[1:]
			}
			offer(t)
		}
		if len(line) > 0 {
			t.Fatalf("never had their turn: %v", line)
		}
	})
}
