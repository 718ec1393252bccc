package judge

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
	"github.com/assayd/assayd/runtime/container/docker"
	"github.com/assayd/assayd/runtime/container/docker/dockertest"
	"github.com/assayd/assayd/runtime/judge/judgetest"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/task"
)

// judgeImage makes an image with hidden tests and a few traps in /work.
func judgeImage(t *testing.T, e *docker.Engine, owner, probe string) string {
	t.Helper()
	ctx := t.Context()
	c, err := e.Start(ctx, container.Workload{
		Name: "assayd-judge-test-" + containertest.Unique(), Image: probe, Argv: []string{"/probe", "sleep", "10m"},
		Network: container.NetworkNone, Labels: map[string]string{container.LabelOwner: owner},
	})
	if err != nil {
		t.Fatal(err)
	}
	files := judgetest.Pack(t, judgetest.Folder("tests"), judgetest.File("tests/verdict.json", `{"valid":true,"details":[{"name":"a","status":"PASSED"},{"name":"b","status":"FAILED"}]}`),
		judgetest.Folder("src"), judgetest.File("src/conftest.py", "hidden"), judgetest.Link("way", "tests"), judgetest.Link("out", "/etc"))
	if err := e.CopyTo(ctx, c.ID, "/work", bytes.NewReader(files)); err != nil {
		t.Fatal(err)
	}
	img, err := e.Commit(ctx, c.ID, "assayd-test/judge:"+containertest.Unique(), container.ImageConfig{
		User: "agent", Cmd: []string{"/probe", "sleep", "1h"}, Labels: map[string]string{container.LabelOwner: owner},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // before the image it was made of
		if err := e.RemoveImage(context.Background(), img.Refs[0]); err != nil {
			t.Error(err)
		}
	})
	return img.ID
}

func TestJudgingInRealContainers(t *testing.T) {
	engine, owner, probe := dockertest.Probe(t)
	image := judgeImage(t, engine, owner, probe)
	ledger, blobs := judgetest.NewLedger(), judgetest.NewBlobs()
	j, err := New(Options{
		Engine: engine, Ledger: ledger, Blobs: blobs, Capacity: judgetest.NewPlaces(2), Owner: owner,
		PauseProcess: []string{"/probe", "sleep", "1h"}, Spool: t.TempDir(),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- j.Run(ctx) }()
	honest := []judgetest.Entry{judgetest.Folder("src"), judgetest.File("src/answer", "mine"), judgetest.File("src/verdict.json", `{"details":[{"name":"a","status":"PASSED"}]}`)}
	evil := append([]judgetest.Entry{
		judgetest.File("./tests/verdict.json", `{"valid":true,"pass_rate":1}`), judgetest.Link("src/t", "../tests"), judgetest.File("src/t/verdict.json", "evil"),
		judgetest.File("way/verdict.json", "evil"), judgetest.Hard("src/h", "tests/verdict.json"), judgetest.Link("tests", "src"), judgetest.File("out/passwd", "evil"),
		judgetest.Folder("way"), judgetest.File("src/conftest.py", "evil"),
	}, honest...)
	output := func(t *testing.T, r *round.Report) string {
		f, err := blobs.Open(r.Output)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(f)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}

	tests := map[string]struct {
		argv    []string
		parser  string
		archive []judgetest.Entry
		change  func(*task.Judge)
		status  round.Status
		rate    float64
		notRun  bool
		output  string // something of it
		all     string // the whole of it
	}{
		"a result that the submission made": {argv: []string{"/probe", "cat", "src/verdict.json"}, parser: "structured_json", archive: honest, status: round.StatusOK, rate: 1},
		"hidden tests survive every attack": {argv: []string{"/probe", "cat", "tests/verdict.json"}, parser: "structured_json", archive: evil, status: round.StatusOK, rate: .5},
		"so do they through a link":         {argv: []string{"/probe", "cat", "way/verdict.json"}, parser: "structured_json", archive: evil, status: round.StatusOK, rate: .5},
		"and the runner's settings":         {argv: []string{"/probe", "cat", "src/conftest.py"}, archive: evil, status: round.StatusOK, rate: 1, output: "hidden", change: func(j *task.Judge) { j.Protect = []string{"conftest.py"} }},
		"as the image's user":               {argv: []string{"/probe", "id"}, archive: honest, status: round.StatusOK, rate: 1, output: "1000"},
		"who owns what was submitted":       {argv: []string{"/probe", "write", "src/answer", "x"}, archive: honest, status: round.StatusOK, rate: 1},
		"but not what is hidden":            {argv: []string{"/probe", "write", "tests/verdict.json", "x"}, archive: honest, status: round.StatusOK, rate: 0},
		"without a network":                 {argv: []string{"/probe", "links"}, archive: honest, status: round.StatusOK, rate: 1, all: "lo\n"},
		"in time":                           {argv: []string{"/probe", "stubborn", "5m"}, archive: honest, status: round.StatusTimeout, change: func(j *task.Judge) { j.Timeout = time.Second }},
		"in memory":                         {argv: []string{"/probe", "hog", "268435456"}, archive: honest, status: round.StatusInvalid, change: func(j *task.Judge) { j.Memory = 32 << 20 }},
		"with a command that exists":        {argv: []string{"/no/such"}, archive: honest, status: round.StatusInvalid, notRun: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			terms := task.Judge{Parser: tc.parser, Command: task.Command{Argv: tc.argv}, Timeout: time.Minute}
			if tc.change != nil {
				tc.change(&terms)
			}
			j.Open(round.Session{
				Trial: name, JudgeImage: image, Task: task.Task{
					Name: "t", Workdir: "/work", Submit: task.Submit{Paths: []string{"."}, Exclude: []string{"tests/"}}, Judge: terms,
				},
			})
			defer j.Forget(name)
			sub, err := j.Submit(t.Context(), name, round.SubmitRequest{Kind: round.KindAgent, Archive: bytes.NewReader(judgetest.Zipped(t, judgetest.Pack(t, tc.archive...)))})
			if err != nil {
				t.Fatal(err)
			}
			if sub, err = j.Wait(t.Context(), sub.ID); err != nil {
				t.Fatal(err)
			}
			r := sub.Report
			if r.Status != tc.status || r.PassRate != tc.rate || r.NotRun != tc.notRun {
				t.Errorf("%s (%s), rate %v, not run %t; want %s, %v, %t", r.Status, r.Problem, r.PassRate, r.NotRun, tc.status, tc.rate, tc.notRun)
			}
			if out := output(t, r); !strings.Contains(out, tc.output) || tc.all != "" && out != tc.all {
				t.Errorf("output %q, want %q", out, tc.output+tc.all)
			}
			t.Logf("queued %d ms, judged %d ms of %d ms", r.QueuedMS, r.JudgeMS, r.DurationMS)
		})
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	noneIsLeft(t, engine, owner)
}

// noneIsLeft looks for judge containers.
func noneIsLeft(t testing.TB, engine *docker.Engine, owner string) {
	t.Helper()
	left, err := engine.Observe(context.Background(), owner)
	if err != nil {
		t.Error(err)
	}
	for _, c := range left {
		if c.Labels[container.LabelRole] == container.RoleJudge {
			t.Errorf("judge container %s is left", c.Name)
		}
	}
}
