package judge

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
	"github.com/assayd/assayd/runtime/judge/judgetest"
	"github.com/assayd/assayd/runtime/judge/round"
)

// TestSixteenTrialsShareTheJudge: what is too much is refused with a time to come back and
// spends nothing, what is accepted is judged, and nobody is judged a second time while
// somebody waits for a first.
func TestSixteenTrialsShareTheJudge(t *testing.T) {
	const trials, each, room = 16, 4, 40
	synctest.Test(t, func(t *testing.T) {
		rooms := judgetest.NewPlaces(1)
		rooms.Hold() // nothing is judged before all are in line
		b := newFixture(t, func(o *Options) { o.MaxQueue, o.Capacity = room, rooms })
		var mu sync.Mutex
		var order []string
		b.fake.HandleExec(func(_ context.Context, c *containertest.FakeContainer, cmd container.Command) int {
			answer, _ := c.ReadFile("/work/src/answer")
			mu.Lock()
			defer mu.Unlock()
			order = append(order, string(answer[:2]))
			_, _ = fmt.Fprintf(cmd.Stdout, "%s passed", answer)
			return 0
		})
		for n := range trials {
			b.open(trialOf(n), func(s *round.Session) { s.Max, s.Cooldown = each, time.Second })
		}
		accepted := map[string]int{}
		refused := map[string]int{}
		for round := range each {
			var group sync.WaitGroup
			for n := range trials { // all at once
				group.Go(func() {
					w := b.post(t, trialOf(n), "", tarball(t, fmt.Sprint(trialOf(n), "-", round)))
					mu.Lock()
					defer mu.Unlock()
					switch {
					case w.Code == 200:
						accepted[trialOf(n)]++
					case w.Code == 503 && w.Header().Get("Retry-After") == "5":
						refused[trialOf(n)]++
					default:
						t.Errorf("%s: %d %v %s", trialOf(n), w.Code, w.Header(), w.Body)
					}
				})
			}
			group.Wait()
			time.Sleep(time.Second) // the cooldown
		}
		total := 0
		for n := range trials {
			got := len(b.ledger.Of(trialOf(n)))
			total += got
			if got != accepted[trialOf(n)] || accepted[trialOf(n)]+refused[trialOf(n)] != each {
				t.Errorf("%s: %d rounds are on disk, %d were accepted and %d refused", trialOf(n), got, accepted[trialOf(n)], refused[trialOf(n)])
			}
		}
		if total != room {
			t.Errorf("%d submissions were accepted, want %d", total, room)
		}

		rooms.Release()
		for n := range trials {
			for _, sub := range b.ledger.Of(trialOf(n)) {
				b.judged(t, sub.ID)
			}
		}
		first := slices.Clone(order[:trials])
		slices.Sort(first)
		if got := len(slices.Compact(first)); got < trials {
			t.Errorf("the first to be judged are of %d trials only: %v", got, order)
		}
		for n := range trials { // what was refused can come again, with its whole budget
			for i := range refused[trialOf(n)] {
				time.Sleep(time.Second)
				sub := b.submit(t, trialOf(n), round.KindAgent, fmt.Sprint(trialOf(n), "+", i))
				if want := accepted[trialOf(n)] + i + 1; sub.Number != want {
					t.Errorf("%s: round %d, want %d", trialOf(n), sub.Number, want)
				}
				b.judged(t, sub.ID)
			}
		}
	})
}

func trialOf(n int) string { return fmt.Sprintf("%02d", n) }

func TestTheQueueTakesTurnsAndHasAnEnd(t *testing.T) {
	q := newQueue(8)
	for _, id := range []string{"a1", "a2", "a3", "b1", "c1", "b2"} {
		trial := id[:1]
		q.take(trial, true)
		q.push(trial, id)
	}
	if q.take("a", false) {
		t.Error("one trial took more than a quarter")
	}
	if !q.take("d", false) || !q.take("e", false) || q.take("f", false) {
		t.Error("there are eight places, no less and no more")
	}
	q.give("e")
	q.forget("c")
	var order []string
	q.offer(func(w *waiter, _ bool) served {
		order = append(order, w.id)
		return hasRoom
	})
	if got := strings.Join(order, " "); got != "a1 b1 a2 b2 a3" {
		t.Errorf("order %s", got)
	}
	if q.taken != 1 || len(q.byTrial) != 1 {
		t.Errorf("%d places still taken, by %v; only d holds one", q.taken, q.byTrial)
	}
}
