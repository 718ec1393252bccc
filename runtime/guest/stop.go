package guest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/assayd/assayd/runtime/guest/protocol"
)

// maxHook bounds what a program may tell its hook, in bytes; nothing in it matters here.
const maxHook = 16 << 20

// exitBlock is the exit code with which a hook of Claude Code or Codex has the model go on.
const exitBlock = 2

// serveStops answers agents that want to stop, until ctx ends.
func (s *supervisor) serveStops(ctx context.Context, addr string) {
	var ln net.Listener
	if insist(ctx, s.log, "listen on "+addr, func(ctx context.Context) (err error) {
		var c net.ListenConfig
		ln, err = c.Listen(ctx, "tcp", addr)
		return err
	}) != nil {
		return
	}
	server := &http.Server{
		Handler: http.HandlerFunc(s.answerStop), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 10 * time.Second,
		IdleTimeout: 10 * time.Second, MaxHeaderBytes: 4 << 10,
	}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	_ = server.Serve(ln) // it ends with ctx
}

func (s *supervisor) answerStop(w http.ResponseWriter, r *http.Request) {
	answer := make(chan protocol.StopAnswer, 1)
	s.do(func() { s.mayStop(func(a protocol.StopAnswer) { answer <- a }) })
	select {
	case a := <-answer:
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(a) // who has gone needs no answer
	case <-r.Context().Done():
	}
}

// mayStop decides about one attempt to stop. It counts as an end of the agent does: so many
// in a row without a change of the tree, and it may. Who asks while the tree is looked at is
// part of that attempt: a look takes long, and anybody in the container can ask.
func (s *supervisor) mayStop(tell func(protocol.StopAnswer)) {
	left := protocol.SecondsLeft(s.line.Now(), s.notes.look().Deadline)
	if left == 0 || s.config.Policy.Idle == 0 {
		tell(protocol.StopAnswer{Stop: left == 0, Seconds: left})
		return
	}
	if s.asking = append(s.asking, tell); len(s.asking) > 1 {
		return
	}
	s.lookAtTree(func(changed bool) {
		idle := 0
		s.change(func(m *memory) {
			m.Streaks.Idle = count(m.Streaks.Idle, !changed)
			idle = m.Streaks.Idle
		})
		for _, tell := range s.asking {
			tell(protocol.StopAnswer{Stop: idle >= s.config.Policy.Idle, Seconds: left})
		}
		s.asking = nil
	})
}

// stopHook is the program that an agent's own settings name to be asked before it stops. Its
// exit code and what it says are read by Claude Code and Codex alike.
func stopHook(ctx context.Context, addr string, getenv func(string) string, stdin io.Reader, stderr io.Writer) int {
	_, _ = io.Copy(io.Discard, io.LimitReader(stdin, maxHook)) // the program waits until it is read
	answer := protocol.StopAnswer{}
	answer.Seconds, _ = leftBy(getenv, time.Now()) // or it is not told
	// A guest that does not answer is no reason to stop.
	_ = getJSON(ctx, "http://"+addr+"/", &answer)
	if answer.Stop {
		return 0
	}
	fmt.Fprint(stderr, goOn(answer.Seconds, leftToSpend(ctx, getenv)))
	return exitBlock
}

// goOn is what the model is told.
func goOn(seconds int64, spend string) string {
	var b strings.Builder
	b.WriteString("Do not stop yet.")
	if seconds > 0 {
		fmt.Fprintf(&b, " %s are left.", (time.Duration(seconds) * time.Second).String())
	}
	if spend != "" {
		fmt.Fprintf(&b, " You may still spend %s.", spend)
	}
	b.WriteString(" Go on with the task: look at the last feedback, improve your work, and submit it with assay-submit." +
		" A submission that fails costs nothing, your best one counts.\n")
	return b.String()
}

// askLeft asks the daemon what is left; ok is false where nobody is there to ask.
func askLeft(ctx context.Context, getenv func(string) string) (left protocol.Left, ok bool) {
	base := strings.TrimRight(getenv("ASSAYD_JUDGE_URL"), "/")
	return left, base != "" && getJSON(ctx, base+protocol.LeftPath, &left) == nil
}

// leftToSpend asks the daemon for the budget; "" if there is none, or nobody there to ask.
func leftToSpend(ctx context.Context, getenv func(string) string) string {
	left, ok := askLeft(ctx, getenv)
	if !ok {
		return ""
	}
	var parts []string
	if left.USD > 0 {
		parts = append(parts, fmt.Sprintf("%.2f USD", left.USD))
	}
	if left.Tokens > 0 {
		parts = append(parts, fmt.Sprintf("%d tokens", left.Tokens))
	}
	return strings.Join(parts, " and ")
}

// hookPatience bounds each question of the hook.
const hookPatience = 5 * time.Second

func getJSON(ctx context.Context, url string, v any) error {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // and no proxy: it is in the container
	ctx, cancel := context.WithTimeout(ctx, hookPatience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, res.Status)
	}
	return json.NewDecoder(io.LimitReader(res.Body, answerBytes)).Decode(v)
}

// stopMain runs the hook in the agent's process.
func stopMain() int {
	return stopHook(context.Background(), protocol.StopAddr, os.Getenv, os.Stdin, os.Stderr)
}
