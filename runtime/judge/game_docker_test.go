package judge

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
	"github.com/assayd/assayd/runtime/container/docker"
	"github.com/assayd/assayd/runtime/container/docker/dockertest"
	"github.com/assayd/assayd/runtime/guest/protocol"
	"github.com/assayd/assayd/runtime/judge/judgetest"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/judge/sandbox"
	"github.com/assayd/assayd/runtime/task"
)

const guestProgram = `package main

import (
	"os"

	"github.com/assayd/assayd/runtime/guest"
)

func main() {
	code, _ := guest.Main(os.Args)
	os.Exit(code)
}
`

// guestMount builds the static program and returns how containers get it.
func guestMount(t *testing.T) []container.Mount {
	t.Helper()
	dir := t.TempDir()
	main := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(main, []byte(guestProgram), 0o644); err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(dir, protocol.NameGuest), main)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the guest: %v\n%s", err, out)
	}
	return []container.Mount{{Source: dir, Target: protocol.BinDir, ReadOnly: true}}
}

// gameImage makes an image with the game server of testdata in /work.
func gameImage(t *testing.T, e *docker.Engine, owner string, mounts []container.Mount) string {
	t.Helper()
	ctx := t.Context()
	c, err := e.Start(ctx, container.Workload{
		Name: "assayd-game-test-" + containertest.Unique(), Image: "assayd-base/python:1", Argv: []string{protocol.Program, "hold"},
		Mounts: mounts, Network: container.NetworkNone, Labels: map[string]string{container.LabelOwner: owner},
	})
	if err != nil {
		t.Fatal(err)
	}
	server, err := os.ReadFile("testdata/game.py")
	if err != nil {
		t.Fatal(err)
	}
	if err := e.CopyTo(ctx, c.ID, "/", bytes.NewReader(judgetest.Pack(t, judgetest.Folder("work"), judgetest.File("work/game.py", string(server))))); err != nil {
		t.Fatal(err)
	}
	img, err := e.Commit(ctx, c.ID, "assayd-test/game:"+containertest.Unique(), container.ImageConfig{
		User: "nobody", Labels: map[string]string{container.LabelOwner: owner},
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

// TestAGameInARealContainer plays against a server that nothing leads to but the guest.
func TestAGameInARealContainer(t *testing.T) {
	engine, owner := dockertest.New(t)
	mounts := guestMount(t)
	image := gameImage(t, engine, owner, mounts)
	ledger := judgetest.NewLedger()
	start := func() (*fixture, func()) {
		j, err := New(Options{
			Engine: engine, Ledger: ledger, Blobs: judgetest.NewBlobs(), Capacity: judgetest.NewPlaces(4), Owner: owner,
			PauseProcess: []string{protocol.Program, "hold"}, Dial: []string{protocol.Program, "dial"}, Mounts: mounts, Spool: t.TempDir(),
		})
		if err != nil {
			t.Fatal(err)
		}
		j.Open(round.Session{Trial: "t", Try: 1, JudgeImage: image, Deadline: time.Now().Add(time.Hour), Task: task.Task{
			Name: "zork", Workdir: "/work", Judge: task.Judge{Game: "python3 game.py 8123", Port: 8123},
		}})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- j.Run(ctx) }()
		return &fixture{Judge: j, ledger: ledger}, func() {
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	}
	b, stop := start()
	says := func(w *httptest.ResponseRecorder, code int, text string) {
		t.Helper()
		if w.Code != code || !strings.Contains(w.Body.String(), text) {
			t.Errorf("%d %s, want %d and %s", w.Code, w.Body, code, text)
		}
	}

	begun := time.Now()
	first := b.begin(t, "t")
	t.Logf("a session is open after %d ms, with a look at the image", time.Since(begun).Milliseconds())
	says(b.move(t, "t", first, "north"), 200, `"peak_score":4`)
	begun = time.Now()
	const many = 20
	for range many {
		b.move(t, "t", first, "wait")
	}
	t.Logf("a move takes %d µs", time.Since(begun).Microseconds()/many)
	says(b.move(t, "t", first, "network"), 200, `"observation":"lo"`)
	says(b.move(t, "t", first, "south"), 200, `"score":1,"peak_score":4`)
	begun = time.Now()
	second := b.begin(t, "t")
	t.Logf("another session is open after %d ms", time.Since(begun).Milliseconds())
	says(b.move(t, "t", second, "north"), 200, `"peak_score":4`)
	says(b.move(t, "t", second, "treasure"), 200, `"done":true`)
	says(b.move(t, "t", second, "north"), 410, "peak score 10 of 10, 2 moves: the game is done")
	says(b.play(t, "t", first+"/close", ""), 200, `"final_score":1,"peak_score":4`)
	if r := b.judged(t, second).Report; r.PassRate != 1 || b.ledger.Of("t")[1].Round != "game-2" {
		t.Errorf("the second session is worth %+v", r)
	}

	third := b.begin(t, "t")
	b.move(t, "t", third, "north")
	if w := b.move(t, "t", third, "crash"); w.Code != http.StatusBadGateway && w.Code != http.StatusGone {
		t.Errorf("the move at which the server died: %d %s", w.Code, w.Body)
	}
	if r := b.judged(t, third).Report; *r.Score != 4 || !strings.Contains(r.Problem, "exit code 7") {
		t.Errorf("after a crash: %+v", r)
	}

	fourth := b.begin(t, "t")
	b.move(t, "t", fourth, "north")
	killed := ledger.Of("t")[3] // as a daemon that is killed leaves it
	stop()
	ledger.All[3] = killed
	b, stop = start()
	defer stop()
	if err := b.Resume(t.Context(), ledger.Of("t")[3:]); err != nil {
		t.Error(err)
	}
	says(b.move(t, "t", fourth, "north"), 410, "peak score 4 of 10, 1 move")
	left, err := engine.Observe(t.Context(), owner)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range left {
		if c.Labels[container.LabelRole] == container.RoleJudge && c.Labels[sandbox.LabelSubmission] != "" {
			t.Errorf("game container %s is left", c.Name)
		}
	}
}
