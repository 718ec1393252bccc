//go:build linux

package daemon_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"mime/multipart"
	"net"
	"net/http"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
	"github.com/assayd/assayd/runtime/gateway"
	"github.com/assayd/assayd/runtime/guest/protocol"
)

// crowdEngine is the process that has the containers of a crowd: a fake engine on a socket. It
// outlives daemons.
type crowdEngine struct {
	Socket string
	Data   string // folder that the engine says its layers are in
	Gate   int    // agents begin once so many are there, or all are
	Cells  int    // of the run
	Active int    // agents that work at once, once they have begun
	Talk   bool   // agents talk until they are killed, and submit nothing

	active chan struct{}
	mu     sync.Mutex
	begun  int           // containers of trials so far
	full   chan struct{} // closed once agents may begin
}

// crowdHost has room for any crowd.
func crowdHost(data string) container.HostInfo {
	return container.HostInfo{CPUs: 1 << 14, Memory: 1 << 46, Platform: "linux/amd64", Version: "fake", BootID: "crowd", DataRoot: data}
}

// serve runs until the process is killed.
func (e *crowdEngine) serve() error {
	e.active, e.full = make(chan struct{}, e.Active), make(chan struct{})
	fake := containertest.NewFake()
	fake.SetHost(crowdHost(e.Data))
	fake.AddImage("crowd/work:1", container.ImageConfig{Workdir: "/workspace"}, nil)
	fake.AddImage("crowd/judge:1", container.ImageConfig{Workdir: "/workspace"}, map[string]string{
		"/bin/sh": "", "/workspace/readme": "", "/etc/passwd": "root:x:0:0::/:\n", "/etc/group": "root:x:0:\n",
	})
	fake.Handle(func(ctx context.Context, c *containertest.FakeContainer) int {
		if c.Workload().Labels[container.LabelRole] == container.RoleWork {
			e.arrive()
			(&scriptedGuest{FakeContainer: c, engine: e}).run(ctx)
		}
		<-ctx.Done()
		return 137
	})
	fake.HandleExec(judged)
	l, err := net.Listen("unix", e.Socket)
	if err != nil {
		return err
	}
	return http.Serve(l, containertest.Serve(fake)) //nolint:gosec // a test's own
}

// arrive counts a container, and lets all agents begin once enough are there.
func (e *crowdEngine) arrive() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.begun++; e.begun == min(e.Gate, e.Cells) {
		close(e.full)
	}
}

// judged is what is run in judge containers: the guest's own commands, and the judge command.
func judged(_ context.Context, c *containertest.FakeContainer, cmd container.Command) int {
	if cmd.Argv[0] == protocol.Program {
		names, err := io.ReadAll(cmd.Stdin)
		if err != nil {
			return 1
		}
		for name := range strings.SplitSeq(strings.TrimSuffix(string(names), "\x00"), "\x00") {
			if name != "" {
				c.RemoveFile(path.Join(cmd.Workdir, name))
			}
		}
		return 0
	}
	text, _ := c.ReadFile("/workspace/src/level")
	level, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	var tests []map[string]string
	for i := range 10 {
		status := "FAILED"
		if i < level {
			status = "PASSED"
		}
		tests = append(tests, map[string]string{"name": fmt.Sprint("step ", i+1), "status": status})
	}
	_ = json.NewEncoder(cmd.Stdout).Encode(map[string]any{"details": tests})
	return 0
}

// scriptedGuest is a guest with an agent that submits three times, over the real sockets and as
// patient as a real one.
type scriptedGuest struct {
	*containertest.FakeContainer
	engine  *crowdEngine
	daemon  *http.Client
	judge   *http.Client
	printed []byte
	taken   int64 // of what was printed, by the daemon
}

func (g *scriptedGuest) run(ctx context.Context) {
	g.daemon, g.judge = g.over(protocol.GuestSocket), g.over(protocol.JudgeSocket)
	defer g.daemon.CloseIdleConnections()
	defer g.judge.CloseIdleConnections()
	var w protocol.Welcome
	if !g.insist(ctx, "/v1/hello", protocol.Hello{Version: protocol.Version, Boot: fmt.Sprint(g.Run())}, &w) {
		return
	}
	var beats sync.WaitGroup
	defer beats.Wait()
	beats.Go(func() {
		for g.insist(ctx, "/v1/poll", protocol.Beat{Running: true}, &protocol.Order{}) {
			wait(ctx, time.Second)
		}
	})
	g.insist(ctx, "/v1/event", protocol.Event{Seq: 1, Type: protocol.EventStarted}, nil)
	g.print(ctx, fmt.Sprintf("born %d\n", g.Run()))
	select {
	case <-g.engine.full:
	case <-ctx.Done():
		return
	}
	if g.engine.Talk {
		g.talk(ctx)
		return
	}
	select {
	case g.engine.active <- struct{}{}:
	case <-ctx.Done():
		return
	}
	for n := 1; n <= crowdRounds && ctx.Err() == nil; n++ {
		g.WriteFile("/workspace/src/level", fmt.Appendln(nil, 3*n))
		g.submit(ctx, 3*n)
		g.print(ctx, fmt.Sprintf("step %d of %d\n", n, g.Run()))
	}
	<-g.engine.active
	g.WriteFile("/workspace/src/level", []byte("10\n"))
	g.print(ctx, fmt.Sprintf("done %d\n", g.Run()))
	g.insist(ctx, "/v1/event", protocol.Event{Seq: 2, Type: protocol.EventExited}, nil)
	g.insist(ctx, "/v1/event", protocol.Event{Seq: 3, Type: protocol.EventEnded, Reason: protocol.EndedExit}, nil)
}

// crowdRounds is how often each agent submits.
const crowdRounds = 3

func (g *scriptedGuest) over(target string) *http.Client {
	socket, _ := g.HostPath(target)
	return over(socket)
}

// insist repeats a request to the daemon until it is answered, or the container's end.
func (g *scriptedGuest) insist(ctx context.Context, path string, question, answer any) bool {
	body, err := json.Marshal(question)
	if err != nil {
		return false
	}
	return g.until(ctx, g.daemon, func() (*http.Request, error) {
		return http.NewRequestWithContext(ctx, http.MethodPost, "http://daemon"+path, bytes.NewReader(body))
	}, answer)
}

// until repeats a request until it is answered well, with pauses that grow as a guest's do.
func (g *scriptedGuest) until(ctx context.Context, client *http.Client, request func() (*http.Request, error), answer any) bool {
	for pause := 50 * time.Millisecond; ctx.Err() == nil; pause = min(2*pause, 5*time.Second) {
		q, err := request()
		if err != nil {
			return false
		}
		if res, err := client.Do(q); err == nil {
			text, rerr := io.ReadAll(res.Body)
			_ = res.Body.Close() // only read
			if rerr == nil && res.StatusCode/100 == 2 && (answer == nil || json.Unmarshal(text, answer) == nil) {
				return true
			}
		}
		wait(ctx, pause)
	}
	return false
}

// print sends what an agent printed, from where the daemon wants it on.
func (g *scriptedGuest) print(ctx context.Context, text string) {
	g.printed = append(g.printed, text...)
	for g.taken < int64(len(g.printed)) && ctx.Err() == nil {
		var ack protocol.LogAck
		at := g.taken
		if !g.until(ctx, g.daemon, func() (*http.Request, error) {
			return http.NewRequestWithContext(ctx, http.MethodPost, fmt.Sprintf("http://daemon/v1/log?offset=%d", at), bytes.NewReader(g.printed[at:]))
		}, &ack) {
			return
		}
		g.taken = ack.Next
	}
}

// submit makes a round and waits for its verdict, in the words of assay-submit.
func (g *scriptedGuest) submit(ctx context.Context, level int) {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("archive", "a.tar")
	if err == nil {
		_, err = part.Write(archiveOf("src/level", fmt.Sprintln(level)))
	}
	if err = errors.Join(err, form.Close()); err != nil {
		g.print(ctx, "submit failed: "+err.Error()+"\n")
		return
	}
	key := rand.Text()
	var accepted struct {
		ID    string `json:"submission_id"`
		Round string `json:"round_id"`
	}
	if !g.until(ctx, g.judge, func() (*http.Request, error) {
		q, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://judge/api/v1/submit", bytes.NewReader(body.Bytes()))
		if err == nil {
			q.Header.Set("Content-Type", form.FormDataContentType())
			q.Header.Set("Idempotency-Key", key)
		}
		return q, err
	}, &accepted) {
		return
	}
	g.print(ctx, fmt.Sprintf("Accepted as round %s, submission %s\n", accepted.Round, accepted.ID))
	for ctx.Err() == nil {
		var result struct{ Status string }
		g.until(ctx, g.judge, func() (*http.Request, error) {
			return http.NewRequestWithContext(ctx, http.MethodGet, "http://judge/api/v1/result/"+accepted.ID+"?wait=30s", nil)
		}, &result)
		if result.Status == "completed" || result.Status == "error" {
			return
		}
	}
}

// talkEvery is the time from one question of an agent to its model to the next.
const talkEvery = 10 * time.Second

// talk is what an agent does all day: it asks its model and reads the answer as it comes, prints a line
// each second, and looks at its rounds.
func (g *scriptedGuest) talk(ctx context.Context) {
	var prints sync.WaitGroup
	defer prints.Wait()
	wait(ctx, mathrand.N(talkEvery)) // not all at the same moment
	prints.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			g.print(ctx, fmt.Sprintf("step %d of %d\n", n, g.Run()))
			wait(ctx, time.Second)
		}
	})
	body := fmt.Appendf(nil, `{"model":"scripted","stream":true,"messages":[{"role":"user","content":%q}]}`, strings.Repeat("word ", 2000))
	for ctx.Err() == nil {
		next := time.After(talkEvery)
		g.until(ctx, g.judge, func() (*http.Request, error) {
			return http.NewRequestWithContext(ctx, http.MethodPost, "http://judge"+gateway.OpenAIPrefix+"/v1/chat/completions", bytes.NewReader(body))
		}, nil)
		g.until(ctx, g.judge, func() (*http.Request, error) {
			return http.NewRequestWithContext(ctx, http.MethodGet, "http://judge/api/v1/history", nil)
		}, nil)
		select {
		case <-next:
		case <-ctx.Done():
		}
	}
}

// wait is a pause that the container's end ends.
func wait(ctx context.Context, pause time.Duration) {
	select {
	case <-time.After(pause):
	case <-ctx.Done():
	}
}

// The environment variables that make a process of this test program one of a crowd's.
const (
	crowdEngineEnv = "ASSAYD_TEST_CROWD_ENGINE"
	crowdDaemonEnv = "ASSAYD_TEST_CROWD_DAEMON"
)

// crowdProcess does the part of a crowd's process that the environment asks for, if it does.
func crowdProcess() (did bool, err error) {
	if text := os.Getenv(crowdEngineEnv); text != "" {
		var e crowdEngine
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			return true, err
		}
		return true, e.serve()
	}
	if text := os.Getenv(crowdDaemonEnv); text != "" {
		var d crowdDaemon
		if err := json.Unmarshal([]byte(text), &d); err != nil {
			return true, err
		}
		return true, d.serve()
	}
	return false, nil
}
