package workbench

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
	"github.com/assayd/assayd/runtime/container/docker/dockertest"
)

// execer answers commands by functions, one after the other.
type execer struct {
	answers []func(ctx context.Context, c container.Command) (int, error)
	got     []container.Command
}

func (e *execer) Exec(ctx context.Context, _ string, c container.Command) (int, error) {
	e.got = append(e.got, c)
	return e.answers[len(e.got)-1](ctx, c)
}

func hangs(ctx context.Context, c container.Command) (int, error) {
	if c.Stdout != nil {
		c.Stdout.Write([]byte("so far"))
	}
	<-ctx.Done()
	return 0, context.Cause(ctx)
}

func fails(err error) func(context.Context, container.Command) (int, error) {
	return func(context.Context, container.Command) (int, error) { return 0, err }
}

func TestWhatTakesTooLongIsKilled(t *testing.T) {
	for name, c := range map[string]struct {
		kill     error
		timedOut bool
		err      error
	}{
		"by the kernel":                {nil, true, nil},
		"unless there is no shell":     {container.ErrCommandNotFound, true, nil},
		"or else it would be trouble":  {container.ErrUnavailable, true, container.ErrUnavailable},
		"as it is when all processes…": {errBudget, true, errBudget},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := &execer{answers: []func(context.Context, container.Command) (int, error){hangs, fails(c.kill)}}
				r := EngineRoom{Engine: e, ID: "c", Workdir: "/work", User: "1000:1000"}
				begun := time.Now()
				_, out, timedOut, err := r.Exec(t.Context(), []string{"make"}, time.Minute)
				if timedOut != c.timedOut || !errors.Is(err, c.err) || string(out) != "so far" || time.Since(begun) != time.Minute {
					t.Errorf("%q, timed out %t, %v after %s", out, timedOut, err, time.Since(begun))
				}
				if len(e.got) != 2 || e.got[0].User != "1000:1000" || e.got[1].User != "0:0" || !strings.Contains(strings.Join(e.got[1].Argv, " "), "kill -9 -1") {
					t.Errorf("commands %+v", e.got)
				}
			})
		})
	}
}

func TestACallersEndKillsNothing(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errBudget)
	e := &execer{answers: []func(context.Context, container.Command) (int, error){hangs}}
	_, _, timedOut, err := EngineRoom{Engine: e}.Exec(ctx, []string{"make"}, time.Minute)
	if timedOut || !errors.Is(err, errBudget) || len(e.got) != 1 {
		t.Errorf("timed out %t, %v, %+v", timedOut, err, e.got)
	}
}

func TestAFileThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &execer{answers: []func(context.Context, container.Command) (int, error){hangs, fails(nil)}}
		if _, err := (EngineRoom{Engine: e}).Read(t.Context(), "/x"); !errors.Is(err, ErrFile) {
			t.Error(err)
		}
	})
}

func TestAnOutputIsBounded(t *testing.T) {
	for _, chunk := range []int{1 << 10, 5000, 1 << 20} {
		e := &ends{}
		whole := make([]byte, 3<<20)
		for i := range whole {
			whole[i] = "0123456789\n"[i%11]
		}
		for rest := whole; len(rest) > 0; {
			n := min(chunk, len(rest))
			if wrote, err := e.Write(rest[:n]); wrote != n || err != nil {
				t.Fatal(wrote, err)
			}
			rest = rest[n:]
			if len(e.tail) > 3*roomTail {
				t.Fatalf("%d bytes are kept", len(e.tail))
			}
		}
		got := e.bytes()
		if !bytes.HasPrefix(got, whole[:roomHead]) || !bytes.HasSuffix(got, whole[len(whole)-roomTail:]) || !bytes.Contains(got, []byte("[… 3047424 bytes left out …]")) || len(got) > roomHead+roomTail+100 {
			t.Errorf("in pieces of %d: %d bytes, %q", chunk, len(got), got[roomHead:roomHead+60])
		}
	}
	e := &ends{}
	small := bytes.Repeat([]byte("x"), roomHead+roomTail)
	e.Write(small)
	if !bytes.Equal(e.bytes(), small) {
		t.Error("an output that fits is cut")
	}
}

// realRoom is a container of a real engine.
func realRoom(t *testing.T) (EngineRoom, container.Engine) {
	t.Helper()
	engine, owner := dockertest.New(t)
	c, err := engine.Start(t.Context(), container.Workload{
		Name: "assayd-workbench-test-" + containertest.Unique(), Image: "assayd-base/python:1", Argv: []string{"tail", "-f", "/dev/null"},
		Network: container.NetworkNone, Labels: map[string]string{container.LabelOwner: owner}, Workdir: "/", User: "0:0",
	})
	if err != nil {
		t.Fatal(err)
	}
	r := EngineRoom{Engine: engine, ID: c.ID, Workdir: "/repo"}
	if err := r.Write(t.Context(), "/repo/src/x.py", []byte("x = 1\n")); err != nil {
		t.Fatal(err)
	}
	return r, engine
}

// sleepers are the processes of sleep. What is dead may have to be reaped yet, which the first
// process does not do.
const sleepers = `for p in /proc/[0-9]*; do [ "$(cat $p/comm)" = sleep ] && grep State $p/status; done 2>/dev/null | grep -v zombie`

func TestARealRoom(t *testing.T) {
	r, engine := realRoom(t)
	sh := func(t *testing.T, command string) (int, string) {
		t.Helper()
		exit, out, timedOut, err := r.Exec(t.Context(), []string{"/bin/sh", "-c", command}, time.Hour)
		if err != nil || timedOut {
			t.Fatalf("%s: timed out %t, %v", command, timedOut, err)
		}
		return exit, string(out)
	}

	t.Run("runs commands", func(t *testing.T) {
		for command, want := range map[string]string{
			"pwd; exit 3":                      "3 /repo\n",
			"echo a; echo b >&2; echo c":       "0 a\nb\nc\n",
			"no-such-program":                  "127 ",
			"cat":                              "0 ",
			"id -u":                            "0 0\n",
			"sleep 1000 & echo in background":  "0 in background\n",
			"head -c 10000000 /dev/zero|wc -c": "0 10000000\n",
		} {
			exit, out := sh(t, command)
			if got := string(rune('0'+exit%10)) + " " + out; exit != 127 && got != want || exit == 127 && want != "127 " {
				t.Errorf("%s: %d %q, want %q", command, exit, out, want)
			}
		}
		if _, out := sh(t, "yes | head -c 3000000"); len(out) > roomHead+roomTail+100 {
			t.Errorf("%d bytes of output", len(out))
		}
	})
	t.Run("kills all but its first process", func(t *testing.T) {
		sh(t, "setsid sleep 1000 >/dev/null 2>&1 & nohup sleep 1000 >/dev/null 2>&1 & su nobody -s /bin/sh -c 'sleep 1000 >/dev/null 2>&1 &'")
		if exit, out := sh(t, "for i in $(seq 600); do [ $("+sleepers+" | grep -c State) -ge 4 ] && exit; sleep 0.1; done; exit 1"); exit != 0 {
			t.Errorf("there are not four to kill: %s", out)
		}
		if err := r.clear(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, out := sh(t, sleepers); out != "" {
			t.Error(out)
		}
		if inst, err := engine.Inspect(t.Context(), r.ID); err != nil || inst.Phase != container.PhaseRunning {
			t.Errorf("the room is %s, %v", inst.Phase, err)
		}
	})
	t.Run("ends what takes too long", func(t *testing.T) {
		if _, out, timedOut, err := r.Exec(t.Context(), []string{"sleep", "1000"}, time.Second); !timedOut || err != nil {
			t.Errorf("timed out %t, %v, %q", timedOut, err, out)
		}
	})
	t.Run("keeps files", func(t *testing.T) { files(t, r, sh) })
	t.Run("does without its folder, its shell and itself", func(t *testing.T) { losses(t, r, engine, sh) })
}

// files reads and writes what is in a room.
func files(t *testing.T, r EngineRoom, sh func(*testing.T, string) (int, string)) {
	sh(t, `mkfifo pipe; ln -s src/x.py link; ln -s nowhere dangling; head -c 2000000 /dev/zero > large; head -c 1048576 /dev/zero > fits
echo '#!/bin/sh' > run; chmod 755 run; mkdir folder`)
	binary := []byte("a\x00b\xff\r\n'\"$x")
	for _, name := range []string{"/repo/binary", "/repo/new folder/-x y", "/repo/run", "/repo/link", "/top"} {
		if err := r.Write(t.Context(), name, binary); err != nil {
			t.Error(err)
		}
		if got, err := r.Read(t.Context(), name); err != nil || !bytes.Equal(got, binary) {
			t.Errorf("%s holds %q, %v", name, got, err)
		}
	}
	if _, out := sh(t, "test -x run && test -L link && cmp src/x.py binary && echo well"); out != "well\n" {
		t.Error(out)
	}
	if got, err := r.Read(t.Context(), "/repo/fits"); err != nil || len(got) != MaxFile {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	big := bytes.Repeat([]byte("0123456789abcde\n"), 200_000)
	if err := r.Write(t.Context(), "/repo/big", big); err != nil {
		t.Error(err)
	}
	if _, out := sh(t, "wc -c < big"); out != "3200000\n" {
		t.Error(out)
	}
	for name, trouble := range map[string]string{
		"/repo/nowhere": "no regular file", "/repo/pipe": "no regular file", "/repo/folder": "no regular file", "/dev/zero": "no regular file",
		"/repo/dangling": "no regular file", "/repo/large": "more than", "repo/run": "absolute", "/a\x00b": "absolute",
	} {
		if _, err := r.Read(t.Context(), name); !errors.Is(err, ErrFile) || !strings.Contains(err.Error(), trouble) {
			t.Errorf("%s: %v, want %s", name, err, trouble)
		}
	}
	for _, name := range []string{"/repo/pipe", "/repo/folder", "/repo/run/below", "/proc/x/y", "/dev/full", ""} {
		if err := r.Write(t.Context(), name, []byte("x")); !errors.Is(err, ErrFile) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// losses takes away what a room is made of.
func losses(t *testing.T, r EngineRoom, engine container.Engine, sh func(*testing.T, string) (int, string)) {
	if exit, out := sh(t, "rm -rf /repo"); exit != 0 {
		t.Fatal(out)
	}
	if exit, out := sh(t, "echo x"); exit != 126 || !strings.Contains(out, "/repo") {
		t.Errorf("%d %q", exit, out)
	}
	if err := r.Write(t.Context(), "/repo/x", nil); err != nil {
		t.Error(err)
	}
	if exit, out := sh(t, "rm -f /bin/sh /usr/bin/sh"); exit != 0 {
		t.Fatal(out)
	}
	if exit, out := sh(t, "echo x"); exit != 127 || out == "" {
		t.Errorf("%d %q", exit, out)
	}
	if _, err := r.Read(t.Context(), "/repo/x"); !errors.Is(err, ErrFile) {
		t.Error(err)
	}
	if err := r.clear(t.Context()); err != nil {
		t.Error(err)
	}
	if err := engine.Remove(t.Context(), r.ID); err != nil {
		t.Fatal(err)
	}
	_, _, _, err := r.Exec(t.Context(), []string{"true"}, time.Hour)
	if _, fault := r.Read(t.Context(), "/repo/x"); err == nil || fault == nil || errors.Is(fault, ErrFile) {
		t.Errorf("a room that is gone: %v, %v", err, fault)
	}
}

func TestAModelInARealRoom(t *testing.T) {
	r, _ := realRoom(t)
	s := &script{err: errBudget, answers: []Answer{
		says(called("list_dir", map[string]string{"path": "."}), called("grep", map[string]string{"pattern": "x = ."}), called("read_file", map[string]string{"path": "src/x.py"})),
		says(called("apply_patch", map[string]string{"patch": sourcePatch}), called("shell", map[string]string{"command": "cat src/x.py /tmp/pull/change.patch | tail -n 2"})),
		says(called("write_file", map[string]string{"path": "tests/new_test.py", "content": "from src.x import x\n\n\ndef test_x():\n    assert x == 2\n"}),
			called("submit_tests", map[string]any{"install": []string{}, "test_command": "python3 -m pytest tests", "files": []string{"tests/new_test.py"}})),
	}}
	j := job("/repo")
	j.Write, j.Tests = true, nil
	j.CommandTimeout = time.Hour
	j.Timeout = 24 * time.Hour
	p, err := Run(t.Context(), j, r, s.ask, proved)
	if err != nil || !strings.Contains(p.Files["tests/new_test.py"], "assert x == 2") {
		t.Fatal(err, p)
	}
	var told []string
	for _, m := range s.seen[2] {
		if m.Role == "tool" {
			told = append(told, m.Content)
		}
	}
	want := []string{"src/", "./src/x.py:1:x = 1", "lines 1 to 1 of 1\n1: x = 1", "exit 0\napplied", "exit 0\n-x = 1\n+x = 2"}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Error(diff)
	}
}
