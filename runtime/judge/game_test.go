package judge

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/judge/game"
	"github.com/assayd/assayd/runtime/judge/httpapi"
	"github.com/assayd/assayd/runtime/judge/judgetest"
	"github.com/assayd/assayd/runtime/judge/round"
)

func TestAGameIsPlayedAndItsPeakCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, a := newGameBench(t)
		b.open("t", plays, func(s *round.Session) { s.Task.Judge.Feedback = "none" }) // of no account to games
		id := b.begin(t, "t")
		b.move(t, "t", id, "add 40")
		time.Sleep(time.Minute)
		got := fields(t, b.move(t, "t", id, "add -30"))
		want := map[string]any{
			"session_id": id, "observation": "you see add -30", "score": 10., "peak_score": 40., "max_score": 100., "done": false, "moves": 2.,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if s := b.ledger.Of("t")[0]; s.State != round.StateRunning || *s.Report.Score != 40 || !s.AcceptedAt.Equal(time.Now().Add(-time.Minute)) {
			t.Errorf("a crash now would keep %+v of %s", s.Report, s.AcceptedAt)
		}
		delete(want, "observation")
		if diff := cmp.Diff(want, fields(t, b.play(t, "t", id+"/status", ""))); diff != "" {
			t.Error(diff)
		}
		want = map[string]any{"session_id": id, "final_score": 10., "peak_score": 40., "max_score": 100., "moves": 2.}
		if diff := cmp.Diff(want, fields(t, b.play(t, "t", id+"/close", ""))); diff != "" {
			t.Error(diff)
		}
		s := b.judged(t, id)
		r := s.Report
		if r.Status != round.StatusOK || !r.Valid || *r.Score != 40 || r.PassRate != .4 || *r.Score100 != 80 || r.Isolation != "staged" || s.Round != "game-1" ||
			r.Metrics["final_score"] != 10 || r.Metrics["peak_score"] != 40 || r.Metrics["moves"] != 2 || r.QueuedMS != 0 || r.DurationMS != 60_000 {
			t.Errorf("%+v", r)
		}
		content, err := b.blobs.Open(r.Output)
		if err != nil {
			t.Fatal(err)
		}
		transcript, err := io.ReadAll(content)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(string(transcript)), "\n")
		last := `{"move":2,"action":"add -30","observation":"you see add -30","score":10,"peak_score":40,"max_score":100,"done":false,"moves":2}`
		if len(lines) != 3 || lines[2] != last {
			t.Errorf("transcript %q", lines)
		}
		synctest.Wait()
		if left := containers(t, b); len(left) != 0 {
			t.Errorf("left: %v", left)
		}
		if !slices.Equal(a.actions, []string{"add 40", "add -30"}) {
			t.Errorf("the server saw %q", a.actions)
		}
		second := b.begin(t, "t")
		b.move(t, "t", second, "add 5")
		history := fields(t, b.get(t, "t", "/api/v1/history"))
		entries, _ := history["entries"].([]any)
		entry := map[string]any{
			"type": "game", "status": "completed", "round": "game-1", "session_id": id, "task_id": "zork", "max_score": 100., "peak_score": 40.,
			"final_score": 10., "score": 40., "moves": 2., "pass_rate": .4, "summary": "peak score 40 of 100, 2 moves: it was closed",
		}
		if len(entries) != 2 || history["best_round"] != "game-1" || history["best_score"] != 40. || history["agent_submissions"] != 0. {
			t.Fatalf("history %v", history)
		}
		if diff := cmp.Diff(entry, entries[0]); diff != "" {
			t.Error(diff)
		}
		if e, _ := entries[1].(map[string]any); e["status"] != "running" || e["round"] != "game-2" {
			t.Errorf("an open session is %v", entries[1])
		}
	})
}

func TestHowASessionEnds(t *testing.T) {
	tests := map[string]struct {
		end     func(t *testing.T, b *fixture, a *arcade, id string)
		says    string
		problem bool
	}{
		"closed":      {func(t *testing.T, b *fixture, _ *arcade, id string) { b.play(t, "t", id+"/close", "") }, "it was closed", false},
		"closed, all": {func(t *testing.T, b *fixture, _ *arcade, _ string) { b.play(t, "t", "close-all", "") }, "it was closed", false},
		"done": {func(t *testing.T, b *fixture, _ *arcade, id string) {
			if w := b.move(t, "t", id, "done"); w.Code != 200 || fields(t, w)["done"] != true {
				t.Errorf("the last move: %d %s", w.Code, w.Body)
			}
		}, "the game is done", false},
		"idle": {func(t *testing.T, b *fixture, _ *arcade, id string) {
			time.Sleep(9 * time.Minute)
			b.play(t, "t", id+"/status", "")
			time.Sleep(9 * time.Minute)
			if n := len(b.games.Of("t")); n != 1 {
				t.Errorf("ended nine minutes after a call")
			}
			time.Sleep(90 * time.Second)
		}, "nothing was asked of it for 10 minutes", false},
		"deadline": {func(t *testing.T, b *fixture, _ *arcade, id string) {
			for range 13 {
				time.Sleep(5 * time.Minute)
				b.play(t, "t", id+"/status", "")
			}
		}, "the time was over", false},
		"the trial's end": {func(_ *testing.T, b *fixture, _ *arcade, _ string) { b.Close("t") }, "the trial was over", false},
		"abandoned": {func(t *testing.T, b *fixture, _ *arcade, _ string) {
			if err := b.Abandon(t.Context(), "t", 1, "cancelled"); err != nil {
				t.Error(err)
			}
		}, "the trial was over", false},
		"a crash of the server": {func(t *testing.T, b *fixture, _ *arcade, id string) {
			if w := b.move(t, "t", id, "die"); w.Code != 502 && w.Code != 410 {
				t.Errorf("the move at which it died: %d %s", w.Code, w.Body)
			}
		}, "the game server ended by itself with exit code 1", true},
		"a container that is gone": {func(_ *testing.T, b *fixture, _ *arcade, id string) {
			b.fake.Vanish(b.container("game-" + id))
		}, "the game server ended by itself with exit code 137", true},
		"a stop of the daemon": {func(_ *testing.T, b *fixture, _ *arcade, _ string) { b.stop() }, "the daemon was stopped", true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, a := newGameBench(t)
				b.open("t", plays)
				id := b.begin(t, "t")
				b.move(t, "t", id, "add 20")
				tc.end(t, b, a, id)
				synctest.Wait()
				s := b.judged(t, id)
				if r := s.Report; r.Status != round.StatusOK || *r.Score != 20 || !strings.HasSuffix(r.Summary, ": "+tc.says) || r.Output == "" || (r.Problem != "") != tc.problem {
					t.Errorf("%+v", r)
				}
				w := b.move(t, "t", id, "look")
				if w.Code != 410 || !strings.Contains(w.Body.String(), "peak score 20 of 100") || !strings.Contains(w.Body.String(), tc.says) {
					t.Errorf("the next call: %d %s", w.Code, w.Body)
				}
				if left := containers(t, b); len(left) != 0 || len(b.games.Of("t")) != 0 || b.opts.Capacity.(*judgetest.Places).Held() != 0 {
					t.Errorf("left: %d containers, %d sessions, %d places", len(left), len(b.games.Of("t")), b.opts.Capacity.(*judgetest.Places).Held())
				}
			})
		})
	}
}

func TestAMoveThatFailsLeavesTheSessionOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := newGameBench(t)
		b.open("t", plays)
		id := b.begin(t, "t")
		big := strings.Repeat("x", httpapi.MaxAction)
		tests := []struct {
			name, body string
			code       int
			says       string
		}{
			{"a refusal of the game", `{"action":"illegal"}`, 400, "no such move"},
			{"a failure", `{"action":"fail"}`, 502, "failed"},
			{"no number", `{"action":"nan"}`, 502, "failed"},
			{"no answer", `{"action":"hang"}`, 504, "10s"},
			{"no action", `{"move":"x"}`, 400, "action"},
			{"no text", `{"action":7}`, 400, "the body is not a JSON object with a text as its \\\"action\\\"\"}"},
			{"no object", `["north"]`, 400, "the body is not a JSON object with a text as its \\\"action\\\"\"}"},
			{"no JSON", `north`, 400, "JSON"},
			{"a long action", `{"action":"` + big + `x"}`, 413, "8192"},
			{"an endless one", `{"action":"` + strings.Repeat(big, 100) + `"}`, 413, "8192"},
			{"the longest action", `{"action":"` + big + `"}`, 200, "observation"},
		}
		for _, tc := range tests {
			if w := b.play(t, "t", id+"/step", tc.body); w.Code != tc.code || !strings.Contains(w.Body.String(), tc.says) {
				t.Errorf("%s: %d %s", tc.name, w.Code, w.Body)
			}
		}
		seen, _ := fields(t, b.move(t, "t", id, fmt.Sprintf("say %d", game.MaxObservation+1001)))["observation"].(string)
		if len(seen) > game.MaxObservation+100 || !strings.HasSuffix(seen, "ü\n[1000 bytes of the observation left out]") {
			t.Errorf("an observation of %d bytes ends with %q", len(seen), seen[max(0, len(seen)-60):])
		}
		if w := b.move(t, "t", id, "add 3"); w.Code != 200 || fields(t, w)["peak_score"] != 3. {
			t.Errorf("after all that: %d %s", w.Code, w.Body)
		}
	})
}

func TestMovesOfASessionAreMadeOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, a := newGameBench(t)
		b.open("t", plays)
		id := b.begin(t, "t")
		codes := make(chan int, 3)
		begun := time.Now()
		go func() { codes <- b.move(t, "t", id, "hang").Code }()
		synctest.Wait()
		for range 2 {
			go func() { codes <- b.move(t, "t", id, "add 1").Code }()
		}
		got := []int{<-codes, <-codes, <-codes}
		slices.Sort(got)
		if !slices.Equal(got, []int{200, 200, 504}) || !slices.Equal(a.actions, []string{"hang", "add 1", "add 1"}) || time.Since(begun) != game.StepTime {
			t.Errorf("%v after %s: %q", got, time.Since(begun), a.actions)
		}
	})
}
