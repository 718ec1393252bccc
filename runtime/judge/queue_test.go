package judge

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
)

// TestSixteenTrialsShareTheJudge: what is too much is refused with a time to come back and
// spends nothing, what is accepted is judged, and nobody is judged a second time while
// somebody waits for a first.
func TestSixteenTrialsShareTheJudge(t *testing.T) {
	const trials, each, room = 16, 4, 40
	synctest.Test(t, func(t *testing.T) {
		rooms := newPlaces(1)
		rooms.hold() // nothing is judged before all are in line
		b := newBench(t, func(o *Options) { o.MaxQueue, o.Capacity = room, rooms })
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
			b.open(trialOf(n), func(s *Session) { s.Max, s.Cooldown = each, time.Second })
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
			got := len(b.ledger.of(trialOf(n)))
			total += got
			if got != accepted[trialOf(n)] || accepted[trialOf(n)]+refused[trialOf(n)] != each {
				t.Errorf("%s: %d rounds are on disk, %d were accepted and %d refused", trialOf(n), got, accepted[trialOf(n)], refused[trialOf(n)])
			}
		}
		if total != room {
			t.Errorf("%d submissions were accepted, want %d", total, room)
		}

		rooms.release()
		for n := range trials {
			for _, sub := range b.ledger.of(trialOf(n)) {
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
				sub := b.submit(t, trialOf(n), KindAgent, fmt.Sprint(trialOf(n), "+", i))
				if want := accepted[trialOf(n)] + i + 1; sub.Number != want {
					t.Errorf("%s: round %d, want %d", trialOf(n), sub.Number, want)
				}
				b.judged(t, sub.ID)
			}
		}
	})
}

func trialOf(n int) string { return fmt.Sprintf("%02d", n) }
