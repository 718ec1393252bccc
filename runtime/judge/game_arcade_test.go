package judge

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/task"
)

// arcade is a fake engine's game servers, one in each container. An action is "add N" (to
// the score), "done", "die", "hang", "nan", "fail", "illegal" or "say N" (bytes).
type arcade struct {
	mu      sync.Mutex
	games   map[string]*cabinet // by container
	start   string              // how servers behave: "" = well
	dials   int
	actions []string
}

type cabinet struct {
	score, moves int
	dead         chan struct{}
}

func newArcade(b *fixture) *arcade {
	a := &arcade{games: map[string]*cabinet{}}
	b.fake.HandleExec(func(ctx context.Context, c *containertest.FakeContainer, cmd container.Command) int {
		switch cmd.Argv[0] {
		case "/dial":
			return a.dial(ctx, c, cmd)
		case "/judge": // of a task that is no game
			time.Sleep(time.Second)
			return 0
		}
		a.mu.Lock()
		g := &cabinet{dead: make(chan struct{})}
		crash := a.start == "crash"
		if !crash {
			a.games[c.ID()] = g
		}
		a.mu.Unlock()
		if crash {
			_, _ = io.WriteString(cmd.Stdout, "no rom\n")
			return 3
		}
		select {
		case <-g.dead:
			return 1
		case <-ctx.Done():
			return 137
		}
	})
	return a
}

// behave says how servers are from now on: "" = well, "crash", "ill", or "deaf".
func (a *arcade) behave(how string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.start = how
}

// dial serves HTTP on the streams of a command.
func (a *arcade) dial(ctx context.Context, c *containertest.FakeContainer, cmd container.Command) int {
	a.mu.Lock()
	a.dials++
	g, deaf := a.games[c.ID()], a.start == "deaf"
	a.mu.Unlock()
	if deaf { // nothing listens on the port, for which the guest waits
		<-ctx.Done()
		return 1
	}
	if g == nil || cmd.Argv[1] != "127.0.0.1:8000" {
		return 1
	}
	for in := bufio.NewReader(cmd.Stdin); ; {
		r, err := http.ReadRequest(in)
		if err != nil {
			return 0
		}
		w := httptest.NewRecorder()
		if !a.serve(ctx, g, w, r) {
			return 0
		}
		answer := w.Result()
		answer.ContentLength = int64(w.Body.Len())
		if err := answer.Write(cmd.Stdout); err != nil {
			return 0
		}
	}
}

func (a *arcade) serve(ctx context.Context, g *cabinet, w http.ResponseWriter, r *http.Request) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	var move struct {
		Action string `json:"action"`
	}
	_ = json.NewDecoder(r.Body).Decode(&move)
	verb, n, _ := strings.Cut(move.Action, " ")
	number, _ := strconv.Atoi(n)
	seen := "you see " + move.Action
	if r.URL.Path == "/health" && a.start == "ill" {
		w.WriteHeader(503)
		return true
	}
	if r.URL.Path == "/step" {
		a.actions = append(a.actions, move.Action)
		g.moves++
	}
	switch verb {
	case "add":
		g.score += number
	case "die":
		close(g.dead)
		return false
	case "hang":
		a.mu.Unlock()
		<-ctx.Done()
		a.mu.Lock()
		return false
	case "nan":
		_, _ = io.WriteString(w, `{"observation": "x", "score": NaN}`)
		return true
	case "fail":
		w.WriteHeader(500)
		return true
	case "illegal":
		w.WriteHeader(422)
		_, _ = io.WriteString(w, `{"detail": "no such move"}`)
		return true
	case "say":
		seen = strings.Repeat("ü", number/2)
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"observation": seen, "score": g.score, "max_score": 100, "done": verb == "done", "moves": g.moves})
	return true
}

// newGameBench is a bench on which games are played.
func newGameBench(t *testing.T, change ...func(*Options)) (*fixture, *arcade) {
	t.Helper()
	b := newFixture(t, append([]func(*Options){func(o *Options) { o.Dial = []string{"/dial"} }}, change...)...)
	b.image = b.fake.AddImage("game:1", container.ImageConfig{User: "agent"}, map[string]string{
		"/hold": "", "/dial": "", "/judge": "", "/bin/sh": "", "/etc/passwd": "agent:x:1000:1001::/:\n", "/work/rom": "rom",
	}).ID
	return b, newArcade(b)
}

func plays(s *round.Session) {
	s.Task.Name = "zork"
	s.Task.Judge = task.Judge{Game: "serve --port 8000", Port: 8000, Rescale: &task.Rescale{Kind: "linear", Anchors: map[string]float64{"lower": 0, "upper": 50}}}
}

// play makes a request to the game of a trial.
func (b *fixture) play(t *testing.T, trial, path, body string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	method := "POST"
	if strings.HasSuffix(path, "/status") {
		method = "GET"
	}
	if !strings.HasPrefix(path, "/api") {
		path = "/api/v1/game/" + trial + "/zork/" + path
	}
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	b.Handler(trial).ServeHTTP(w, r)
	return w
}

// begin opens a session and returns its id.
func (b *fixture) begin(t *testing.T, trial string) string {
	t.Helper()
	w := b.play(t, trial, "new", "{}")
	id, _ := fields(t, w)["session_id"].(string)
	if w.Code != 200 || len(id) != 16 {
		t.Fatalf("new: %d %s", w.Code, w.Body)
	}
	return id
}

func (b *fixture) move(t *testing.T, trial, id, action string) *httptest.ResponseRecorder {
	t.Helper()
	body, err := json.Marshal(map[string]string{"action": action})
	if err != nil {
		t.Fatal(err)
	}
	return b.play(t, trial, id+"/step", string(body))
}

func (b *fixture) rounds(trial string) (rounds []string) {
	for _, s := range b.ledger.Of(trial) {
		line := fmt.Sprintf("%s %s", s.Round, s.State)
		if s.Report != nil {
			line += fmt.Sprintf(" %s %s", s.Report.Status, s.Report.Summary)
		}
		rounds = append(rounds, line)
	}
	return rounds
}
