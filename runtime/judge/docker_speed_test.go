package judge

import (
	"bytes"
	"context"
	"fmt"
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
	"github.com/assayd/assayd/runtime/judge/sandbox"
	"github.com/assayd/assayd/runtime/task"
)

// realBench is a judge at work on real containers.
type realBench struct {
	*Judge
	engine *docker.Engine
	owner  string
	image  string
	blobs  *judgetest.Blobs
}

func newRealBench(t *testing.T) *realBench {
	t.Helper()
	engine, owner, probe := dockertest.Probe(t)
	b := &realBench{engine: engine, owner: owner, image: judgeImage(t, engine, owner, probe), blobs: judgetest.NewBlobs()}
	var err error
	if b.Judge, err = New(Options{
		Engine: engine, Ledger: judgetest.NewLedger(), Blobs: b.blobs, Capacity: judgetest.NewPlaces(2), Owner: owner,
		PauseProcess: []string{"/probe", "sleep", "1h"}, Spool: t.TempDir(),
	}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- b.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		noneIsLeft(t, engine, owner)
	})
	return b
}

func (b *realBench) open(trial string, judge task.Judge) {
	b.Open(round.Session{Trial: trial, JudgeImage: b.image, Task: task.Task{
		Name: "t", Workdir: "/work", Submit: task.Submit{Paths: []string{"src"}}, Judge: judge,
	}})
}

func (b *realBench) submit(t *testing.T, trial, answer string) string {
	t.Helper()
	sub, err := b.Submit(t.Context(), trial, round.SubmitRequest{Kind: round.KindAgent, Archive: upload(t, answer)})
	if err != nil {
		t.Fatal(err)
	}
	return sub.ID
}

// result waits for the verdict and what the judge command said.
func (b *realBench) result(t *testing.T, id string) (_ round.Submission, output string) {
	t.Helper()
	sub, err := b.Wait(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	f, err := b.blobs.Open(sub.Report.Output)
	if err != nil {
		t.Fatalf("%+v: %v", sub.Report, err)
	}
	text, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return sub, strings.TrimSpace(string(text))
}

// until looks again and again.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("it did not happen: %s", what)
		}
	}
}

// warm returns the containers that wait, or were waiting, for a submission. One that runs and
// is not in the pool yet is none: a judging would not take it.
func (b *realBench) warm(t *testing.T) map[string]bool {
	t.Helper()
	all, err := b.engine.Observe(t.Context(), b.owner)
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for _, c := range all {
		if c.Labels[sandbox.LabelWarm] != "" && c.Phase == container.PhaseRunning {
			ids[c.ID] = true
		}
	}
	if len(ids) > 0 && !b.pooled() {
		return nil
	}
	return ids
}

// pooled reports whether the pool holds a container.
func (b *realBench) pooled() bool {
	return b.pool.Ready() > 0
}

// TestRealContainersWaitForSubmissions: what is judged in a container that waited is judged
// as in one that did not, and one that somebody removed is not missed.
func TestRealContainersWaitForSubmissions(t *testing.T) {
	b := newRealBench(t)
	b.open("t", task.Judge{Command: task.Command{Argv: []string{"/probe", "cat", "src/answer"}}, Part: task.Part{CPUs: 1, Memory: 64 << 20}})
	var before map[string]bool
	for n, harm := range []bool{false, false, true, false} {
		until(t, "a container waits", func() bool { before = b.warm(t); return len(before) == 1 })
		for id := range before {
			if harm {
				if err := b.engine.Remove(t.Context(), id); err != nil {
					t.Fatal(err)
				}
			}
		}
		answer := fmt.Sprint("answer ", n)
		sub, out := b.result(t, b.submit(t, "t", answer))
		if sub.Refunds > 0 || sub.Report.Status != round.StatusOK || out != answer {
			t.Errorf("%+v after %d refunds, with output %q", sub.Report, sub.Refunds, out)
		}
		until(t, "what was judged in is gone", func() bool {
			now := b.warm(t)
			for id := range before {
				delete(now, id)
			}
			return len(now) == 1
		})
		t.Logf("submit to verdict, less the command: %d ms (removed from outside: %t)",
			sub.JudgedAt.Sub(sub.AcceptedAt).Milliseconds()-sub.Report.JudgeMS, harm)
	}
}

// firstOf lists the first n CPUs as an engine does.
func firstOf(n int) string {
	if n == 1 {
		return "0"
	}
	return fmt.Sprint("0-", n-1)
}

func TestRealContainersLeaveTheCPUsOfAnExclusiveJudge(t *testing.T) {
	b := newRealBench(t)
	host, err := b.engine.HostInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all, rest, own := firstOf(host.CPUs), firstOf(host.CPUs), firstOf(host.CPUs)
	if host.CPUs > 1 {
		rest, own = firstOf(host.CPUs-1), fmt.Sprint(host.CPUs-1)
	}
	neighbour, err := b.engine.Start(t.Context(), container.Workload{
		Name: "assayd-judge-test-" + containertest.Unique(), Image: b.image, Argv: []string{"/probe", "sleep", "10m"},
		Network: container.NetworkNone, Labels: map[string]string{container.LabelOwner: b.owner},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // before the image it was made of
		if err := b.engine.Remove(context.Background(), neighbour.ID); err != nil {
			t.Error(err)
		}
	})
	cpus := func() string {
		var out bytes.Buffer
		if _, err := b.engine.Exec(t.Context(), neighbour.ID, container.Command{Argv: []string{"/probe", "cpus"}, Stdout: &out}); err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(out.String())
	}
	if got := cpus(); got != all {
		t.Fatalf("at first the neighbour is on CPUs %q, want %q", got, all)
	}
	alone := task.Judge{Exclusive: true, Part: task.Part{CPUs: 1}, Command: task.Command{Argv: []string{"/probe", "cpus"}}}
	b.open("t", alone)
	if _, out := b.result(t, b.submit(t, "t", "x")); out != own {
		t.Errorf("the judge is on CPUs %q, want %q", out, own)
	}
	until(t, "the neighbour has all CPUs", func() bool { return cpus() == all })

	alone.Command.Argv, alone.Timeout = []string{"/probe", "sleep", "10m"}, 3*time.Second
	b.open("t", alone)
	id := b.submit(t, "t", "y")
	until(t, "the neighbour is confined", func() bool { return cpus() == rest })
	if sub, _ := b.result(t, id); sub.Report.Status != round.StatusTimeout {
		t.Errorf("%+v", sub.Report)
	}
	until(t, "the neighbour has all CPUs again", func() bool { return cpus() == all })
}
