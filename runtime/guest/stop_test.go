//go:build linux

package guest

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/assayd/assayd/runtime/clock"
	"github.com/assayd/assayd/runtime/guest/protocol"
)

// However many ask at once whether the agent may stop, the tree is looked at once, and that is
// one attempt.
func TestWhoAsksToStopSharesALook(t *testing.T) {
	notes, forgot := openStateFile(t.TempDir(), "t1")
	if forgot != nil {
		t.Fatal(forgot)
	}
	s := &supervisor{
		config: protocol.Config{Policy: protocol.ResumePolicy{Idle: 2}, Workdir: t.TempDir(), WatchPaths: []string{"."}}, notes: notes,
		line: clock.Begin(), todo: make(chan func()), log: slog.New(slog.DiscardHandler),
	}
	s.change(func(m *memory) { m.Deadline = s.line.Now().Add(time.Hour) })
	s.lookAtTree(func(bool) {})
	(<-s.todo)() // as when the agent began
	for attempt := 1; attempt <= 2; attempt++ {
		stop, keep := 0, 0
		for range 100 {
			s.mayStop(func(a protocol.StopAnswer) {
				if a.Stop {
					stop++
				} else {
					keep++
				}
			})
		}
		(<-s.todo)()
		if want := (attempt - 1) * 100; stop != want || keep != 100-want || notes.look().Streaks.Idle != attempt {
			t.Errorf("attempt %d: %d may stop, %d may not, and it is number %d", attempt, stop, keep, notes.look().Streaks.Idle)
		}
	}
}

// What the kernel counts of limits that were run into, in both versions of control groups.
func TestLimitsThatWereRunIntoAreCounted(t *testing.T) {
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  []int // of limits, in their order
	}{
		{"version 2", map[string]string{"memory.events": "low 0\noom 4\noom_kill 3\n", "pids.events": "max 12\n"}, []int{3, 12}},
		{"version 1", map[string]string{"memory/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n", "pids/pids.events": "max 0\n"}, []int{2, 0}},
		{"neither", nil, []int{0, 0}},
		{"nonsense", map[string]string{"memory.events": "oom_kill many\noom_kill\n", "pids.events": "\x00"}, []int{0, 0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			for name, text := range tt.files {
				path := filepath.Join(root, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			for i, l := range limits {
				if got := l.hit(root); got != tt.want[i] {
					t.Errorf("%s was run into %d times, want %d", l.trouble, got, tt.want[i])
				}
			}
		})
	}
}

// By a trouble that the daemon refused all later events would wait.
func TestEachLimitIsATroubleThatTheDaemonKnows(t *testing.T) {
	host := protocol.NewHost(protocol.HostOptions{Event: func(context.Context, protocol.Event) error { return nil }})
	for _, l := range limits {
		body, err := json.Marshal(protocol.Event{Seq: 1, Type: protocol.EventTrouble, Reason: l.trouble})
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		host.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/event", bytes.NewReader(body)))
		if w.Code != http.StatusNoContent {
			t.Errorf("%s is no trouble: %d %s", l.trouble, w.Code, w.Body)
		}
	}
}

func TestProgramsAndDefaultsOfAnAgentsEnvironment(t *testing.T) {
	c := protocol.Config{Env: map[string]string{"A": "agent"}, Defaults: map[string]string{"A": "default", "B": "default", "C": "default"}, Path: []string{"/x", "/y"}}
	env := environment(c, []string{"B=image", "PATH=/bin"}, account{home: "/root"}, time.Time{})
	for name, want := range map[string]string{"A": "agent", "B": "image", "C": "default", "PATH": "/bin:/x:/y"} {
		if env[name] != want {
			t.Errorf("%s is %q, want %q", name, env[name], want)
		}
	}
}
