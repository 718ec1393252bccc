package trial

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
	"github.com/assayd/assayd/runtime/guest/protocol"
	"github.com/assayd/assayd/runtime/task"
)

// gameTask makes a cell's task a game, which has nothing to submit.
func gameTask(c *Cell) {
	c.AutoEval = time.Millisecond
	c.Task.Submit = task.Submit{}
	c.Task.FailToPass, c.Task.PassToPass = nil, nil
	c.Task.Judge = task.Judge{Part: task.Part{Image: "game:1"}, Game: "serve", Port: 8000}
}

// serveGames makes the fake's judge containers hold a game of two points, of which each
// move gets one.
func serveGames(b *fixture, broken bool) {
	b.fake.AddImage("game:1", container.ImageConfig{}, map[string]string{
		"/hold": "", "/dial": "", "/bin/sh": "", "/work/rom": "", "/etc/passwd": "root:x:0:0::/:\n",
	})
	b.fake.HandleExec(func(ctx context.Context, _ *containertest.FakeContainer, cmd container.Command) int {
		if cmd.Argv[0] != "/dial" {
			if !broken {
				<-ctx.Done()
			}
			return 1
		}
		if broken { // nobody listens
			return 1
		}
		score := 0
		for in := bufio.NewReader(cmd.Stdin); ; {
			r, err := http.ReadRequest(in)
			if err != nil {
				return 0
			}
			if r.URL.Path == "/step" {
				score++
			}
			_, _ = io.Copy(io.Discard, r.Body)
			text := fmt.Sprintf(`{"observation":"x","score":%d,"max_score":2}`, score)
			_, _ = fmt.Fprintf(cmd.Stdout, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(text), text)
		}
	})
}

type opened struct {
	ID string `json:"session_id"`
}

// player is an agent that opens a session and makes so many moves.
func player(t *testing.T, s State, moves int) func(context.Context, *scripted) int {
	return func(ctx context.Context, g *scripted) int {
		g.hello(ctx)
		socket, _ := g.HostPath(protocol.JudgeSocket)
		client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		}}}
		call := func(path string) (answer opened) {
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://judge/api/v1/game/"+s.ID+"/one"+path, strings.NewReader(`{"action":"go"}`))
			if err != nil {
				t.Error(err)
				return answer
			}
			res, err := client.Do(r)
			if err != nil {
				t.Error(err)
				return answer
			}
			var text bytes.Buffer
			_, _ = text.ReadFrom(res.Body)
			_ = res.Body.Close()
			_ = json.Unmarshal(text.Bytes(), &answer)
			return answer
		}
		if moves >= 0 {
			id := call("/new").ID
			for range moves {
				call("/" + id + "/step")
			}
		}
		g.event(ctx, protocol.Event{Seq: 1, Type: protocol.EventEnded, Reason: protocol.EndedExit})
		<-ctx.Done()
		return 137
	}
}

func TestATrialOfAGame(t *testing.T) {
	for _, tt := range []struct {
		name   string
		moves  int // negative = it does not play
		broken bool
		status Status
		best   string
		rate   float64
	}{
		{"won", 2, false, Resolved, "game-1", 1},
		{"half won, in a session that nobody closed", 1, false, Unresolved, "game-1", .5},
		{"not played", -1, false, Unresolved, "", 0},
		{"a game that does not start", 0, true, TestError, "", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newFixture(t)
			serveGames(b, tt.broken)
			s := b.fresh(gameTask)
			b.play(player(t, s, tt.moves))
			s, told := b.until(b.machine(s), s, Done)
			if got := types(told); got != "trial.started trial.finished" {
				t.Errorf("reported: %s", got)
			}
			r := s.Result
			if r.Status != tt.status || r.Reason == "" || (r.Best != nil) != (tt.best != "") {
				t.Fatalf("verdict %+v", r)
			}
			if r.Best != nil && (r.Best.Round != tt.best || r.Best.PassRate != tt.rate) {
				t.Errorf("best %+v", r.Best)
			}
			if tt.broken && !strings.Contains(r.Detail, "did not start") {
				t.Errorf("detail %q", r.Detail)
			}
			for _, sub := range b.ledger.of(s.ID) {
				if sub.Archive != "" {
					t.Errorf("an archive was taken: %+v", sub)
				}
			}
		})
	}
}

// TestAPlayerIsNotIdle: where an agent plays, no file has to change.
func TestAPlayerIsNotIdle(t *testing.T) {
	b := newFixture(t)
	s := b.fresh(gameTask, func(c *Cell) { c.Idle = 3 })
	m := b.machine(s)
	config := m.guestConfig(s, "")
	if config.Policy.Idle != 0 || config.Env["GAME_SERVER_URL"] != "http://"+protocol.RelayAddr+"/api/v1/game/"+s.ID+"/one" {
		t.Errorf("%+v", config)
	}
	if s = b.fresh(func(c *Cell) { c.Idle = 3 }); m.guestConfig(s, "").Policy.Idle != 3 {
		t.Error("no idle policy where there is no game")
	}
}
