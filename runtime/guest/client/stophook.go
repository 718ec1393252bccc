package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/assayd/assayd/runtime/guest/protocol"
)

const (
	// maxHook bounds what a program may tell its hook, in bytes; nothing in it matters here.
	maxHook = 16 << 20
	// maxLeft bounds an answer about what is left, in bytes.
	maxLeft = 1 << 20
)

// exitBlock is the exit code with which a hook of Claude Code or Codex has the model go on.
const exitBlock = 2

// StopHook runs the hook in the agent's process and gives its exit code.
func StopHook(ctx context.Context) int {
	return stopHook(ctx, protocol.StopAddr, os.Getenv, os.Stdin, os.Stderr)
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
	return json.NewDecoder(io.LimitReader(res.Body, maxLeft)).Decode(v)
}
