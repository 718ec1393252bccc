package gateway_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	stored "github.com/assayd/assayd/reconcile/ledger"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/gateway/modeltest"
)

// serveUntilKilled is what the test's child does: it is a daemon at a Unix socket in its
// folder.
func serveUntilKilled(dir, model string) {
	fail := func(err error) {
		_, _ = fmt.Fprintln(os.Stderr, "the child:", err)
		os.Exit(1)
	}
	var names []string
	for w := range wish(killWishes) {
		names = append(names, w.String())
	}
	b, err := openBooks(context.Background(), dir, model, names)
	if err != nil {
		fail(err)
	}
	socket := filepath.Join(dir, "s")
	_ = os.Remove(socket)
	l, err := net.Listen("unix", socket)
	if err != nil {
		fail(err)
	}
	fail(http.Serve(l, http.HandlerFunc(b.route)))
}

const killWishes = 60

// A daemon that is killed, again and again, forgets nothing that an agent has seen the end of.
func TestWhatAnAgentSawTheEndOfSurvivesKills(t *testing.T) {
	dir, err := os.MkdirTemp("", "gw") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	answer := script(nil, func(wish) bool { return false })
	model := modeltest.New(t, func(r modeltest.Request) modeltest.Answer {
		a := answer(r)
		a.Status, a.Refuse, a.Break = 0, false, nil // there is trouble enough
		return a
	})
	start := func() *exec.Cmd {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), "GATEWAY_TEST_DIR="+dir, "GATEWAY_TEST_MODEL="+model.URL)
		child.Stderr = os.Stderr
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		return child
	}
	kill := func(child *exec.Cmd) {
		_ = child.Process.Kill()
		_ = child.Wait()
	}
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		for { // as the relay does
			c, err := (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(dir, "s"))
			if err == nil || ctx.Err() != nil {
				return c, err
			}
			select {
			case <-time.After(5 * time.Millisecond):
			case <-ctx.Done():
			}
		}
	}}}
	defer client.CloseIdleConnections()

	queue, seen := make(chan wish), make(chan wish)
	var agents sync.WaitGroup
	for range 8 {
		agents.Go(func() {
			for w := range queue {
				for !w.whole(w.send(t, client, "http://unix", w.String())) {
					if t.Context().Err() != nil {
						return
					}
				}
				seen <- w
			}
		})
	}
	child := start()
	go func() {
		defer close(seen)
		for w := range wish(killWishes) {
			queue <- w
		}
		close(queue)
		agents.Wait()
	}()
	ended := 0
	for range seen {
		if ended++; ended%15 == 0 && ended < killWishes {
			kill(child)
			child = start()
		}
	}
	kill(child)
	if ended != killWishes {
		t.Fatalf("only %d have an answer", ended)
	}

	s, err := store.Open(t.Context(), filepath.Join(dir, "state"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	spent := stored.NewUsageLedger(s)
	for w := range wish(killWishes) {
		u, err := spent.Spent(t.Context(), account(w.String(), w.provider()))
		if err != nil {
			t.Fatal(err)
		}
		// What a killed daemon has begun and not ended is an estimate. Once in a while it was
		// killed between its books and the agent's last byte: that one is there twice.
		told := w.told()
		times := (u.Tokens() - u.EstimatedTokens) / told.Tokens()
		if times < 1 || u.Tokens()-u.EstimatedTokens != times*told.Tokens() || u.CachedTokens != times*told.CachedTokens {
			t.Errorf("%s took %+v, and the books have %+v", w, told, u)
		}
	}
}
