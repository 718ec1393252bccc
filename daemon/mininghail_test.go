//go:build linux

package daemon_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// hailOfMining kills a daemon so often at random moments of mining so many pull requests, and
// returns how often it could: when all are mined there is nothing more to be killed.
func hailOfMining(t *testing.T, seed uint64, pulls, kills int) int {
	t.Helper()
	t.Logf("random moments from seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	all := []*planted{bot("zero")}
	for i := range pulls {
		all = append(all, good(fmt.Sprintf("n%02d", i)))
	}
	q := newFakeForge(t, all...)
	w := q.watch(questions("triage/0")...)
	q.write("m.hcl", q.spec(`difficulty = ["medium"]`, "max_tasks = 0", "validation { repeats = 1 }"))
	for w.kills < kills {
		w.launched = time.Now()
		w.launch()
		if !w.lives(random.IntN(60)) {
			break
		}
		w.kill()
		w.killed()
	}
	if w.daemon == nil {
		w.start()
	}
	w.tidy()
	m := q.mined(long + time.Duration(pulls)*patience)
	q.sameTasks(m)
	w.paidOnce(m)
	w.askedGitHubOnce()
	w.nothingIsLeft()
	return w.kills
}

// lives lets the daemon live until it has written so often to its database, or been answered by
// the model or GitHub. It returns false when there is nothing more to be mined.
func (w *watched) lives(n int) bool {
	w.Helper()
	type moment struct {
		wrote         time.Time
		size          int64
		asked, called int
	}
	look := func() (now moment) {
		if info, err := os.Stat(filepath.Join(w.state, "assayd.db-wal")); err == nil {
			now.wrote, now.size = info.ModTime(), info.Size()
		}
		now.asked, now.called = len(w.quarry.model.Exchanges()), w.quarry.github.Calls()
		return now
	}
	last, seen := look(), 0
	tick, slow := time.NewTicker(time.Millisecond), time.NewTicker(time.Second)
	defer tick.Stop()
	defer slow.Stop()
	deadline := time.After(long)
	for seen <= n {
		select {
		case <-tick.C:
			if now := look(); now != last {
				last = now
				seen++
			}
		case <-slow.C:
			s, err := w.client.Status(w.Context(), w.quarry.address())
			if err == nil && len(s.Minings) > 0 && s.Minings[0].State == "finished" {
				return false
			}
		case <-w.daemon.exited:
			w.Fatalf("the daemon ended by itself: %v", w.daemon.err)
		case <-deadline:
			w.Fatalf("the daemon did nothing for %s", long)
		}
	}
	return true
}
