package judge

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assayd/assayd/runtime/container/docker/dockertest"
	"github.com/assayd/assayd/runtime/judge/judgetest"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/task"
)

// solve is a submission that searches for answers and leaves all kinds of traps.
const solve = `
mkdir -p out/deep && cd out
find / -name 'expected*' -not -path '/proc/*' -not -path '/sys/*' -not -path '/usr/*' 2>/dev/null > found
echo 42 > answer
echo evil > sealed
ln -s ../expected link
ln -s /etc etc
ln answer twin
mkfifo pipe
ln -s / ../root
echo deep > deep/file
(sleep 300; echo late > answer) &
`

// comparison says of each thing what the grader sees.
const comparison = `
test "$(cat out/answer)" = "$(cat expected)" && echo ok 1 - answer
test ! -s out/found && test -e out/found && echo ok 2 - no answer was in reach of the run
test "$(cat out/sealed)" = sealed && echo ok 3 - what is hidden stays
test ! -e out/link -a ! -L out/link -a ! -L out/etc -a ! -e root && echo ok 4 - no links
test ! -e out/pipe && echo ok 5 - no pipes
test "$(cat out/twin)" = 42 && echo ok 6 - hard links are copies
test "$(cat out/deep/file)" = deep && echo ok 7 - folders
test ! -e solve.sh && echo ok 8 - no code of the submission
test ! -e etc/passwd && echo ok 9 - nothing through a link on the way
echo 1..9
`

// shellBench is a judge at work on a real engine, with an image that has a shell.
func shellBench(t *testing.T, change ...func(*Options)) *fixture {
	t.Helper()
	engine, owner := dockertest.New(t)
	image, err := engine.Image(t.Context(), "assayd-base/python:1")
	if err != nil {
		t.Fatalf("this test needs Docker and an image of contrib/images/base: %v", err)
	}
	b := &fixture{ledger: judgetest.NewLedger(), blobs: judgetest.NewBlobs(), image: image.ID}
	o := Options{
		Engine: engine, Ledger: b.ledger, Blobs: b.blobs, Capacity: judgetest.NewPlaces(2), Owner: owner,
		PauseProcess: []string{"sleep", "1h"}, Spool: t.TempDir(), Warm: -1,
	}
	for _, c := range change {
		c(&o)
	}
	if b.Judge, err = New(o); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- b.Run(ctx) }()
	b.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(b.stop)
	return b
}

func TestStagesInRealContainers(t *testing.T) {
	b := shellBench(t)
	sh := func(script string) task.Command { return task.Command{Shell: script} }
	b.Open(round.Session{Trial: "t", JudgeImage: b.image, Task: task.Task{
		Name: "t", Workdir: "/tmp", Submit: task.Submit{Paths: []string{"."}, MaxBytes: 1 << 20, MaxFiles: 100},
		Judge: task.Judge{
			Parser: "tap",
			Run:    &task.Stage{Command: sh("sh solve.sh"), Timeout: time.Minute, Outputs: []string{"out", "root/etc/passwd", "etc"}},
			Grade:  &task.Stage{Command: sh("sh compare.sh"), Timeout: time.Minute, Context: b.tree(t, judgetest.File("expected", "42\n"), judgetest.File("compare.sh", comparison), judgetest.Folder("out"), judgetest.File("out/sealed", "sealed"))},
		},
		Private: &task.Private{Context: b.tree(t, judgetest.File("expected", "43\n")), Command: sh(`test "$(cat out/answer)" = "$(cat expected)" && echo ok 1 - answer || echo not ok 1 - answer; echo 1..1`), Timeout: time.Minute},
	}})
	defer b.Forget("t")
	sub, err := b.Submit(t.Context(), "t", round.SubmitRequest{Kind: round.KindAgent, Archive: bytes.NewReader(judgetest.Pack(t, judgetest.File("solve.sh", solve)))})
	if err != nil {
		t.Fatal(err)
	}
	got := b.judged(t, sub.ID)
	if r := got.Report; r.Status != round.StatusOK || r.Passed != 9 || r.PassRate != 1 || r.Isolation != "staged" {
		t.Errorf("%s (%s), %d passed:\n%s\nhanded on: %s", r.Status, r.Problem, r.Passed, b.output(t, r.Output), judgetest.Listing(t, []byte(b.output(t, r.Outputs))))
	}
	if list := judgetest.Listing(t, []byte(b.output(t, got.Report.Outputs))); strings.Contains(list, "root/") {
		t.Errorf("handed on: %s", list)
	}
	if sub, err = b.Private(t.Context(), "t", got); err != nil {
		t.Fatal(err)
	}
	if r := b.judged(t, sub.ID).Report; r.Status != round.StatusOK || r.PassRate != 0 || r.TotalTests != 1 {
		t.Errorf("by the private set: %+v", r)
	}
}

// TestResultFilesOutsideOfWorkdirInRealContainers: Harbor's folder is made for a user that
// could not make it, below a folder that is not there either.
func TestResultFilesOutsideOfWorkdirInRealContainers(t *testing.T) {
	b := shellBench(t)
	b.Open(round.Session{Trial: "t", JudgeImage: b.image, Task: task.Task{
		Name: "t", Workdir: "/tmp", Submit: task.Submit{Paths: []string{"."}, MaxBytes: 1 << 20, MaxFiles: 100},
		Judge: task.Judge{
			Part: task.Part{User: "nobody"}, Parser: "reward", Timeout: time.Minute,
			Command: task.Command{Shell: "id -un && echo 0.75 > /logs/verifier/reward.txt"},
		},
	}})
	defer b.Forget("t")
	r := b.judgeOne(t, "t", judgetest.File("reward.txt", "1"), judgetest.File("logs/verifier/reward.txt", "1")).Report
	if out := b.output(t, r.Output); r.Status != round.StatusOK || r.PassRate != 0.75 || out != "nobody\n" {
		t.Errorf("%s (%s), rate %v, printed %q", r.Status, r.Problem, r.PassRate, out)
	}
}
