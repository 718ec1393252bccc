package judge

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/judge/game"
	"github.com/assayd/assayd/runtime/judge/judgetest"
	"github.com/assayd/assayd/runtime/judge/round"
)

func TestBoundsOnSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := newGameBench(t, func(o *Options) { o.Capacity = judgetest.NewPlaces(4) })
		b.open("t", plays)
		b.open("u", plays)
		var ids []string
		for range game.PerTrial {
			ids = append(ids, b.begin(t, "t"))
		}
		w := b.play(t, "t", "new", "")
		if w.Code != 429 || w.Header().Get("Retry-After") != "" {
			t.Errorf("a session too many: %d %v", w.Code, w.Header())
		}
		for _, id := range ids {
			if !strings.Contains(w.Body.String(), id) {
				t.Errorf("the refusal does not name %s: %s", id, w.Body)
			}
		}
		b.begin(t, "u")
		begun := time.Now()
		w = b.play(t, "u", "new", "")
		if w.Code != 503 || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), "room") || time.Since(begun) != game.WaitTime {
			t.Errorf("no room: %d %s after %s", w.Code, w.Body, time.Since(begun))
		}
		b.play(t, "t", ids[1]+"/close", "")
		b.begin(t, "t")
		want := []string{"game-1 running", "game-2 judged", "game-3 running", "game-4 running"}
		for i, line := range b.rounds("t") {
			if !strings.HasPrefix(line, want[i]) {
				t.Errorf("round %q, want %q", line, want[i])
			}
		}
		synctest.Wait() // until the game that was closed has left
	})
}

func TestThereAreOnlySoManyGames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := newGameBench(t, func(o *Options) { o.Capacity = judgetest.NewPlaces(2 * game.InAll) })
		for n := range game.InAll {
			trial := fmt.Sprint("t", n/game.PerTrial)
			if n%game.PerTrial == 0 {
				b.open(trial, plays)
			}
			b.begin(t, trial)
		}
		b.open("u", plays)
		if w := b.play(t, "u", "new", ""); w.Code != 503 || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), "too many") {
			t.Errorf("no place: %d %s", w.Code, w.Body)
		}
	})
}

func TestNumbersOfSessionsAreTheTrials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := newGameBench(t)
		b.open("t", plays)
		opened := make(chan int, game.PerTrial)
		for range game.PerTrial {
			go func() { opened <- b.play(t, "t", "new", "").Code }()
		}
		for range game.PerTrial {
			if code := <-opened; code != 200 {
				t.Errorf("new: %d", code)
			}
		}
		b.play(t, "t", "close-all", "")
		b.open("t", plays, func(s *round.Session) { s.Try = 2 })
		b.begin(t, "t")
		for i, line := range b.rounds("t") {
			if !strings.HasPrefix(line, fmt.Sprintf("game-%d ", i+1)) {
				t.Errorf("round %d is %q", i, line)
			}
		}
	})
}

func TestAGameBelongsToItsTrial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := newGameBench(t)
		b.open("t", plays)
		b.open("other", plays)
		b.open("sums")
		b.open("closed", plays)
		b.Close("closed")
		b.open("late", plays, func(s *round.Session) { s.Deadline = time.Now() })
		id := b.begin(t, "t")
		tests := map[string]struct {
			answer *httptest.ResponseRecorder
			code   int
			says   string
		}{
			"another's session":       {b.move(t, "other", id, "add 1"), 404, id},
			"another's status":        {b.play(t, "other", id+"/status", ""), 404, id},
			"another's path":          {b.play(t, "other", "/api/v1/game/t/zork/"+id+"/step", `{"action":"x"}`), 404, "no such game"},
			"another's close-all":     {b.play(t, "other", "/api/v1/game/t/zork/close-all", ""), 404, "no such game"},
			"close-all of one's own":  {b.play(t, "other", "close-all", ""), 200, `"closed":0`},
			"another task":            {b.play(t, "t", "/api/v1/game/t/chess/new", ""), 404, "no such game"},
			"a task that is no game":  {b.play(t, "sums", "/api/v1/game/sums/sums/new", ""), 404, "no such game"},
			"a session that is none":  {b.move(t, "t", "0123456789abcdef", "x"), 404, "0123456789abcdef"},
			"a wrong token":           {b.play(t, "t", "new", "", "Authorization", "Bearer x"), 401, "token"},
			"a wrong token in a step": {b.play(t, "t", id+"/step?token=x", `{"action":"add 9"}`), 401, "token"},
			"after the end":           {b.play(t, "closed", "new", ""), 403, "closed"},
			"after the deadline":      {b.play(t, "late", "new", ""), 403, "time is over"},
			"a trial without terms":   {b.play(t, "nobody", "new", ""), 503, "does not know"},
			"an archive":              {b.post(t, "t", "", tarball(t, "a passed")), 403, "game"},
			"its own, with its token": {b.play(t, "t", id+"/status", "", "Authorization", "Bearer token-t"), 200, `"score":0`},
			"an archive of the daemon": {func() *httptest.ResponseRecorder {
				_, err := b.Submit(t.Context(), "t", round.SubmitRequest{Kind: round.KindFinal, Archive: upload(t, "x")})
				w := httptest.NewRecorder()
				if refusal, ok := errors.AsType[*round.Refusal](err); ok {
					http.Error(w, refusal.Detail, refusal.Code)
				}
				return w
			}(), 403, "game"},
		}
		for name, tc := range tests {
			if tc.answer.Code != tc.code || !strings.Contains(tc.answer.Body.String(), tc.says) {
				t.Errorf("%s: %d %s, want %d and %q", name, tc.answer.Code, tc.answer.Body, tc.code, tc.says)
			}
		}
		if w := b.play(t, "t", id+"/status", ""); fields(t, w)["moves"] != 0. {
			t.Errorf("somebody made a move: %s", w.Body)
		}
	})
}

func TestAServerThatDoesNotStartIsToldOnceAndIsNoZero(t *testing.T) {
	for name, says := range map[string]string{
		"crash": `exit code 3; its output ends with "no rom"`, "ill": "503",
		"deaf": "did not start: nothing answered GET /health on 127.0.0.1:8000 (judge.port) within 30s",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, a := newGameBench(t)
				b.open("t", plays)
				a.behave(name)
				for range 2 {
					if w := b.play(t, "t", "new", ""); w.Code != 503 || !strings.Contains(w.Body.String(), "did not start") {
						t.Fatalf("new: %d %s", w.Code, w.Body)
					}
				}
				all := b.ledger.Of("t")
				if len(all) != 1 || all[0].Report == nil || !all[0].Report.NotRun || all[0].Report.Valid || !strings.Contains(all[0].Report.Problem, says) {
					t.Fatalf("%+v", all)
				}
				if entries, _ := fields(t, b.get(t, "t", "/api/v1/history"))["entries"].([]any); len(entries) != 0 {
					t.Errorf("the agent played %v", entries)
				}
				a.behave("")
				b.move(t, "t", b.begin(t, "t"), "add 1")
			})
		})
	}
}

func TestAnEngineThatFailsSpendsNoNumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := newGameBench(t)
		b.open("t", plays)
		synctest.Wait()
		b.fake.SetDown(true)
		if w := b.play(t, "t", "new", ""); w.Code != 503 || w.Header().Get("Retry-After") == "" || len(b.ledger.Of("t")) != 0 {
			t.Errorf("an engine that is away: %d %s, %v", w.Code, w.Body, b.rounds("t"))
		}
		b.fake.SetDown(false)
		b.begin(t, "t")
		if got := b.rounds("t"); !strings.HasPrefix(got[0], "game-1 running") {
			t.Errorf("then: %q", got)
		}
	})
}

func TestAWaitingClientThatLeavesLeavesNoSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, a := newGameBench(t)
		b.open("t", plays)
		a.behave("ill")
		ctx, cancel := context.WithCancel(t.Context())
		go func() { time.Sleep(time.Second); cancel() }()
		r := httptest.NewRequestWithContext(ctx, "POST", "/api/v1/game/t/zork/new", nil)
		b.Handler("t").ServeHTTP(httptest.NewRecorder(), r)
		synctest.Wait()
		if n := len(b.games.Of("t")) + len(containers(t, b)) + len(b.ledger.Of("t")); n != 0 {
			t.Errorf("left: %d sessions, %d containers, %v", len(b.games.Of("t")), len(containers(t, b)), b.rounds("t"))
		}
	})
}

func TestAVerdictThatCannotBeStoredIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := newGameBench(t)
		b.open("t", plays)
		id := b.begin(t, "t")
		failures := 0
		b.ledger.Mu.Lock()
		b.ledger.Fail = func(call string) error {
			if failures++; failures <= 3 {
				return io.ErrShortWrite
			}
			return nil
		}
		b.ledger.Mu.Unlock()
		if w := b.move(t, "t", id, "add 7"); w.Code != 200 {
			t.Errorf("a move while the ledger fails: %d %s", w.Code, w.Body)
		}
		if w := b.play(t, "t", id+"/close", ""); w.Code != 200 || fields(t, w)["peak_score"] != 7. {
			t.Errorf("close: %d %s", w.Code, w.Body)
		}
		if r := b.judged(t, id).Report; *r.Score != 7 {
			t.Errorf("%+v", r)
		}
	})
}

// pipes is a listener whose connections are in memory.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if c, ok := <-p; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (p pipes) Close() error { return nil }

func (p pipes) Addr() net.Addr { return &net.UnixAddr{} }

// TestASlowStartIsWaitedFor: the time that a request may take to arrive is not the time
// that a session may take to begin.
func TestASlowStartIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, a := newGameBench(t, func(o *Options) { o.Capacity = judgetest.NewPlaces(1) })
		b.open("t", plays)
		room := b.opts.Capacity.(*judgetest.Places)
		room.Hold()
		a.behave("ill")
		begun := time.Now()
		time.AfterFunc(29*time.Second, room.Release)
		time.AfterFunc(50*time.Second, func() { a.behave("") })
		l := make(pipes, 1)
		near, far := net.Pipe()
		l <- far
		server := &http.Server{Handler: b.Handler("t"), ReadHeaderTimeout: time.Minute}
		served := make(chan error, 1)
		go func() { served <- server.Serve(l) }()
		go func() {
			_, _ = io.WriteString(near, "POST /api/v1/game/t/zork/new HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
		}()
		answer, err := http.ReadResponse(bufio.NewReader(near), nil)
		if err != nil {
			t.Fatal(err)
		}
		if answer.StatusCode != 200 || time.Since(begun) < 50*time.Second {
			t.Errorf("%s after %s", answer.Status, time.Since(begun))
		}
		close(l)
		<-served
		if err := errors.Join(near.Close(), server.Close()); err != nil && !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	})
}

func TestAGameThatFillsTheDiskIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := newGameBench(t)
		b.open("t", plays, func(s *round.Session) { s.Task.Judge.Disk = 1 << 20 })
		id := b.begin(t, "t")
		b.move(t, "t", id, "add 5")
		b.fake.Container(b.container("game-" + id)).SetUsage(container.Usage{DiskBytes: 2 << 20})
		if r := b.judged(t, id).Report; *r.Score != 5 || !strings.Contains(r.Problem, "1.0 MiB is the limit") {
			t.Errorf("%+v", r)
		}
	})
}
