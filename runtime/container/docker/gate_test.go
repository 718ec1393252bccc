package docker_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/docker"
)

var fullID = strings.Repeat("ab", 32)

const (
	unableToFreeze = `{"message":"Cannot pause container x: OCI runtime pause failed: unable to freeze: unknown"}`
	runs           = `{"Id":%q,"Name":"/x","State":{"Status":"running","Running":true,"Paused":%t,"StartedAt":"2026-01-01T00:00:00Z"},"Config":{}}`
)

// A caller may go away while the engine starts its command: it starts nevertheless.
func TestAFreezeWaitsForACommandWhoseCallerWentAway(t *testing.T) {
	var looks, frozen atomic.Int64
	ctx, goAway := context.WithCancelCause(t.Context())
	gone := errors.New("gone")
	e := scripted(t, map[string]http.HandlerFunc{
		"POST /containers/" + fullID + "/exec": say(http.StatusCreated, `{"Id":"e1"}`),
		"POST /exec/e1/start": func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = fmt.Fprint(conn, "HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n")
			t.Cleanup(func() { _ = conn.Close() })
		},
		"GET /exec/e1/json": func(w http.ResponseWriter, r *http.Request) {
			pid := 0
			switch n := looks.Add(1); {
			case n == 1:
				goAway(gone)
			case n > 5:
				pid = 7
			}
			if pid == 0 && frozen.Load() > 0 {
				t.Error("the container was frozen while a command was being started in it")
			}
			say(http.StatusOK, fmt.Sprintf(`{"ID":"e1","Running":true,"Pid":%d}`, pid))(w, r)
		},
		"GET /containers/" + fullID + "/json": func(w http.ResponseWriter, r *http.Request) {
			say(http.StatusOK, fmt.Sprintf(runs, fullID, frozen.Load() > 0))(w, r)
		},
		"POST /containers/" + fullID + "/pause": func(w http.ResponseWriter, r *http.Request) {
			frozen.Add(1)
			if looks.Load() <= 5 {
				t.Errorf("the container was frozen after %d looks at the command, before it was started", looks.Load())
			}
			say(http.StatusNoContent, "")(w, r)
		},
	})
	if _, err := e.Exec(ctx, fullID, container.Command{Argv: []string{"x"}}); !errors.Is(err, gone) {
		t.Errorf("the command ended with %v, want %v", err, gone)
	}
	if err := e.Freeze(t.Context(), fullID); err != nil || frozen.Load() != 1 {
		t.Errorf("frozen %d times, %v", frozen.Load(), err)
	}
}

func TestAFreezeIsTriedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		failures int64
		calls    int64
	}{
		"once":           {1, 2},
		"in the end":     {9, 10},
		"but not always": {1000, 10},
	} {
		t.Run(name, func(t *testing.T) {
			var calls atomic.Int64
			e := scripted(t, map[string]http.HandlerFunc{
				"GET /containers/" + fullID + "/json": say(http.StatusOK, fmt.Sprintf(runs, fullID, false)),
				"POST /containers/" + fullID + "/pause": func(w http.ResponseWriter, r *http.Request) {
					if calls.Add(1) <= c.failures {
						say(http.StatusInternalServerError, unableToFreeze)(w, r)
						return
					}
					say(http.StatusNoContent, "")(w, r)
				},
			})
			err := e.Freeze(t.Context(), fullID)
			if failed := c.failures >= c.calls; (err != nil) != failed || failed && !strings.Contains(err.Error(), "unable to freeze") {
				t.Errorf("the error is %v", err)
			}
			if container.Unavailable(err) || calls.Load() != c.calls {
				t.Errorf("asked %d times, want %d; %v", calls.Load(), c.calls, err)
			}
		})
	}
}

// Who froze it need not be this engine: the command waits all the same.
func TestACommandWaitsForTheThawOfAContainerThatAnotherFroze(t *testing.T) {
	for name, refuse := range map[string]string{
		"before it is made":                    "POST /containers/" + fullID + "/exec",
		"between its making and its beginning": "POST /exec/e1/start",
	} {
		t.Run(name, func(t *testing.T) {
			var refusals atomic.Int64
			enough := errors.New("enough")
			ctx, cancel := context.WithCancelCause(t.Context())
			answers := map[string]http.HandlerFunc{
				"POST /containers/" + fullID + "/exec": say(http.StatusCreated, `{"Id":"e1"}`),
				"GET /containers/" + fullID + "/json":  say(http.StatusOK, fmt.Sprintf(runs, fullID, true)),
				"GET /exec/e1/json":                    say(http.StatusNotFound, `{"message":"No such exec"}`),
			}
			answers[refuse] = func(w http.ResponseWriter, r *http.Request) {
				if refusals.Add(1) == 3 {
					cancel(enough)
				}
				say(http.StatusConflict, `{"message":"Container x is paused, unpause the container before exec"}`)(w, r)
			}
			e := scripted(t, answers)
			if _, err := e.Exec(ctx, fullID, container.Command{Argv: []string{"x"}}); !errors.Is(err, enough) || refusals.Load() != 3 {
				t.Errorf("after %d refusals: %v", refusals.Load(), err)
			}
		})
	}
}

// scripted is an engine that gives the answers of a table, whose paths are without a version.
func scripted(t *testing.T, answers map[string]http.HandlerFunc) *docker.Engine {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "d.sock")
	serve(t, socket, func(w http.ResponseWriter, r *http.Request) {
		path := r.URL.Path
		if rest, ok := strings.CutPrefix(path, "/v1."); ok {
			_, path, _ = strings.Cut(rest, "/")
			path = "/" + path
		}
		w.Header().Set("Api-Version", "1.41")
		if path == "/_ping" {
			return
		}
		answer, ok := answers[r.Method+" "+path]
		if !ok {
			t.Errorf("nobody expects %s %s", r.Method, path)
			http.Error(w, `{"message":"no such thing"}`, http.StatusTeapot)
			return
		}
		answer(w, r)
	})
	return connect(t, "unix://"+socket)
}

func say(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = fmt.Fprint(w, body)
	}
}

// An engine that is killed and started again before anybody asks it shows only in a wait that breaks off. It may have
// forgotten then that it froze the container.
func TestAWaitThatBreaksOffFindsAForgottenFreeze(t *testing.T) {
	var killed atomic.Bool
	e := scripted(t, map[string]http.HandlerFunc{
		"GET /containers/" + fullID + "/json": func(w http.ResponseWriter, r *http.Request) {
			state := fmt.Sprintf(runs, fullID, false)
			if killed.Load() {
				state = fmt.Sprintf(`{"Id":%q,"Name":"/x","State":{"Status":"exited","ExitCode":137,"StartedAt":"2026-01-01T00:00:00Z"},"Config":{}}`, fullID)
			}
			say(http.StatusOK, state)(w, r)
		},
		"POST /containers/" + fullID + "/wait":  func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"POST /containers/" + fullID + "/pause": say(http.StatusInternalServerError, `{"message":"OCI runtime pause failed: cannot pause a paused container: unknown"}`),
		"POST /containers/" + fullID + "/kill": func(w http.ResponseWriter, r *http.Request) {
			killed.Store(true)
			say(http.StatusNoContent, "")(w, r)
		},
	})
	exit, err := e.Wait(t.Context(), fullID)
	if err != nil || exit.Code != 137 || !killed.Load() {
		t.Errorf("killed: %v, exit %+v, %v", killed.Load(), exit, err)
	}
}
