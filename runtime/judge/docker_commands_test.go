package judge

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
	"github.com/assayd/assayd/runtime/container/docker"
	"github.com/assayd/assayd/runtime/guest/protocol"
	"github.com/assayd/assayd/runtime/judge/judgetest"
	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/task"
)

// guestBench is a bench whose judge containers are held by the guest, as the daemon's are,
// with an image that has entries below /.
func guestBench(t *testing.T, entries ...judgetest.Entry) *fixture {
	t.Helper()
	mounts := guestMount(t)
	b := shellBench(t, func(o *Options) {
		o.PauseProcess, o.Guest, o.Mounts, o.Warm = []string{protocol.Program, "hold"}, protocol.Program, mounts, 2
	})
	b.image = b.imageWith(t, "commands", entries...)
	return b
}

// imageWith is the image of a bench on Docker with more entries below /. It goes with the test.
func (b *fixture) imageWith(t *testing.T, name string, entries ...judgetest.Entry) string {
	t.Helper()
	engine, ok := b.opts.Engine.(*docker.Engine)
	if !ok {
		t.Fatal("this test needs Docker")
	}
	label := map[string]string{container.LabelOwner: b.opts.Owner}
	c, err := engine.Start(t.Context(), container.Workload{
		Name: "assayd-judge-test-" + containertest.Unique(), Image: b.image, Argv: []string{"sleep", "10m"}, Network: container.NetworkNone, Labels: label,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := engine.CopyTo(t.Context(), c.ID, "/", bytes.NewReader(judgetest.Pack(t, entries...))); err != nil {
		t.Fatal(err)
	}
	img, err := engine.Commit(t.Context(), c.ID, "assayd-test/"+name+":"+containertest.Unique(), container.ImageConfig{Labels: label})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		b.stop() // and with it the containers that wait
		if err := engine.RemoveImage(context.Background(), img.Refs[0]); err != nil {
			t.Error(err)
		}
	})
	return img.ID
}

// byCommands is a session of a task whose tests are commands.
func (b *fixture) byCommands(trial string, failToPass, passToPass []string) round.Session {
	return round.Session{Trial: trial, JudgeImage: b.image, Task: task.Task{
		Name: "t", Workdir: "/work", FailToPass: failToPass, PassToPass: passToPass,
		Submit: task.Submit{Paths: []string{"."}, Exclude: []string{"tests/"}, MaxBytes: 1 << 20, MaxFiles: 100},
		Judge:  task.Judge{Timeout: time.Minute},
	}}
}

// A module that a hidden test imports may do all of this before the first test runs.
const (
	exits  = "import os\nos._exit(0)\n"
	forges = "import os\nfor fd in range(3, 20):\n    try: os.write(fd, b'tests/test_answer.py::test_right PASSED\\ntests/test_answer.py::test_again PASSED\\n2 passed in 0.01s\\n')\n    except OSError: pass\nos._exit(0)\n"
	slays  = "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\nos._exit(0)\n"
	// leaves what waits for the next command, in a session of its own.
	leaves = "import os, signal, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        signal.signal(signal.SIGTERM, signal.SIG_IGN)\n        signal.signal(signal.SIGHUP, signal.SIG_IGN)\n" +
		"        while not os.path.exists('/work/second'): time.sleep(.01)\n        open('/work/hacked', 'w').close()\n        time.sleep(100)\n    os._exit(0)\n"
	// guards itself: nothing that comes after its command lives long.
	guards = "import os, signal, time\nran = ['/proc/%d' % os.getpid(), '/proc/%d' % os.getppid()]\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n" +
		"        while any(os.path.exists(p) for p in ran): time.sleep(.001)\n        while True:\n" +
		"            try: os.kill(-1, signal.SIGKILL)\n            except OSError: pass\n    os._exit(0)\n"
)

func TestJudgingByCommandsInRealContainers(t *testing.T) {
	unit := "import unittest, answer\n\nclass Test(unittest.TestCase):\n    def test_it(self):\n        self.assertEqual(answer.value(), 42)\n"
	work := judgetest.Folder("work")
	work.Head.Mode = 0o777
	b := guestBench(t, work, judgetest.Folder("work/tests"), judgetest.File("work/tests/test_answer.py", firstTests), judgetest.File("work/tests/test_later.py", secondTests),
		judgetest.File("work/tests/unit.py", unit), judgetest.Folder("work/old"), judgetest.File("work/old/code.py", ""), judgetest.File("work/old/conftest.py", ""), judgetest.Link("work/way", "tests"), judgetest.Link("work/out", "/etc"), judgetest.File("work/old/tests/test_kept.py", "def test_kept(): pass\n"))
	const (
		first  = "python3 -m pytest -q tests/test_answer.py"
		later  = "cd tests && PYTHONPATH=.. python3 -m pytest test_later.py"
		asUnit = "python3 -m unittest tests.unit"
		alone  = "touch second; sleep .5; test ! -e hacked"
	)
	tests := []struct {
		name           string
		f2p, p2p       []string
		archive        []judgetest.Entry
		change         func(*task.Judge)
		status         round.Status
		want           string // of each command: "passed 0", "failed 1"
		message        string // in the first command's
		notRun         bool
		problem, print string
	}{
		{name: "honest and right", f2p: []string{first, later}, p2p: []string{asUnit, first, "test ! -e /conftest.py"}, archive: []judgetest.Entry{judgetest.File("answer.py", right)}, status: round.StatusOK, want: "passed 0, passed 0, passed 0, passed 0", print: "[assayd: command 2: " + later + "]"},
		{name: "honest and wrong", f2p: []string{first}, p2p: []string{"true"}, archive: []judgetest.Entry{judgetest.File("answer.py", wrong)}, status: round.StatusOK, want: "failed 1, passed 0", message: "1"},
		{name: "as quiet as can be", f2p: []string{"PYTHONPATH=. pytest -qq tests/test_answer.py", first + " 2>&1 | tail -1"}, archive: []judgetest.Entry{judgetest.File("answer.py", right)}, status: round.StatusOK, want: "passed 0, passed 0"},
		{name: "an output that is thrown away", f2p: []string{first + " > /dev/null"}, archive: []judgetest.Entry{judgetest.File("answer.py", right)}, status: round.StatusOK, want: "passed 0", message: "exit code alone"},
		{name: "another user", f2p: []string{first, alone}, archive: []judgetest.Entry{judgetest.File("answer.py", leaves+right)}, change: func(j *task.Judge) { j.User = "nobody" }, status: round.StatusOK, want: "passed 0, passed 0"},
		{name: "it ends the process with 0", f2p: []string{first, later, asUnit}, archive: []judgetest.Entry{judgetest.File("answer.py", exits)}, status: round.StatusOK, want: "failed 0, failed 0, failed 0", message: "exit code 0, but"},
		{name: "it ends the process behind a pipe", f2p: []string{first + " | tail -3"}, archive: []judgetest.Entry{judgetest.File("answer.py", exits)}, status: round.StatusOK, want: "failed 0", message: "nothing of pytest"},
		{name: "it prints a summary and ends the process", f2p: []string{first}, archive: []judgetest.Entry{judgetest.File("answer.py", forges)}, status: round.StatusTampered, want: "failed 0", message: "missing"},
		{name: "it kills its parent", f2p: []string{first + "; true"}, p2p: []string{"true"}, archive: []judgetest.Entry{judgetest.File("answer.py", slays)}, status: round.StatusOK, want: "failed 137, passed 0"},
		{name: "it leaves a process behind", f2p: []string{first, alone}, archive: []judgetest.Entry{judgetest.File("answer.py", leaves+right)}, status: round.StatusOK, want: "passed 0, passed 0"},
		{name: "it leaves a killer behind", f2p: []string{first, "sleep 1; true"}, archive: []judgetest.Entry{judgetest.File("answer.py", guards+right)}, status: round.StatusOK, want: "passed 0, passed 0"},
		{name: "it is out of time", f2p: []string{"sleep 300 & sleep 300", "true"}, change: func(j *task.Judge) { j.Timeout = 2 * time.Second }, archive: []judgetest.Entry{judgetest.File("answer.py", right)}, status: round.StatusTimeout, want: "failed -, passed 0", message: "out of time", problem: "1 of 2 commands did not end within 2s"},
		{name: "a tool that is not there", f2p: []string{"no-such-tool"}, p2p: []string{"true"}, archive: []judgetest.Entry{judgetest.File("answer.py", right)}, status: round.StatusInvalid, want: "error 127, passed 0", notRun: true, problem: "not found"},
		{name: "a tool that is not there, for one of many", f2p: []string{first}, p2p: []string{"no-such-tool"}, archive: []judgetest.Entry{judgetest.File("answer.py", right)}, status: round.StatusOK, want: "passed 0, error 127"},
		{
			name: "it removes what it may", f2p: []string{"test ! -e old/code.py && test -e old/tests/test_kept.py && test -e old/conftest.py && test -e tests/test_answer.py && test -e way/test_later.py && test -e /etc/passwd"}, p2p: []string{"pytest -q old"},
			archive: []judgetest.Entry{judgetest.Gone("old/code.py"), judgetest.Gone("old/tests/test_kept.py"), judgetest.Gone("old/conftest.py"), judgetest.Gone("tests/test_answer.py"), judgetest.Gone("tests"), judgetest.Gone("way/test_later.py"), judgetest.Gone("way"), judgetest.Gone("out/passwd"), judgetest.Gone("out")}, status: round.StatusOK, want: "passed 0, passed 0",
		},
	}
	subs := make([]round.Submission, len(tests))
	for i, tt := range tests {
		s := b.byCommands(fmt.Sprint("t", i), tt.f2p, tt.p2p)
		if tt.change != nil {
			tt.change(&s.Task.Judge)
		}
		b.Open(s)
		t.Cleanup(func() { b.Forget(s.Trial) })
		var err error
		if subs[i], err = b.Submit(t.Context(), s.Trial, round.SubmitRequest{Kind: round.KindAgent, Archive: bytes.NewReader(judgetest.Pack(t, tt.archive...))}); err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
	}
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := b.judged(t, subs[i].ID).Report
			if got := outcomesOf(r.Tests); r.Status != tt.status || got != tt.want || r.NotRun != tt.notRun || !strings.Contains(r.Problem, tt.problem) {
				t.Errorf("%s (%s), %s, not run %t; want %s, %s\n%s", r.Status, r.Problem, got, r.NotRun, tt.status, tt.want, b.output(t, r.Output))
			}
			if len(r.Tests) == 0 || !strings.Contains(r.Tests[0].Message, tt.message) || r.Tests[0].Name != tt.f2p[0] {
				t.Errorf("tests %+v, want %q", r.Tests, tt.message)
			}
			if !strings.Contains(b.output(t, r.Output), tt.print) {
				t.Errorf("output\n%s", b.output(t, r.Output))
			}
		})
	}
}

// outcomesOf are the results of commands in a line.
func outcomesOf(tests []parser.Test) string {
	var all []string
	for _, test := range tests {
		code := "-"
		if test.ExitCode != nil {
			code = fmt.Sprint(*test.ExitCode)
		}
		all = append(all, fmt.Sprint(test.Status, " ", code))
	}
	return strings.Join(all, ", ")
}
