package containertest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/assayd/assayd/runtime/container"
)

// Run holds an engine to the contract of the container package. newEngine returns the
// engine and the reference of a probe image in it (see ProbeImage); it cleans up through
// t.Cleanup. A capability that the engine does not have is not tested.
func Run(t *testing.T, newEngine func(t *testing.T) (container.Engine, string)) {
	e, image := newEngine(t)
	test := func(name string, f func(*fixture)) {
		t.Run(name, func(t *testing.T) { f(newFixture(t, e, image)) })
	}
	test("a started workload runs and is what was asked for", startRuns)
	test("starting what runs leaves it alone", startAdopts)
	test("starting what has exited runs it again from its own layer", startAgain)
	test("another hash or owner under the same name is a conflict", startConflicts)
	test("what cannot be started says why and leaves nothing", startFails)
	test("starts of the same workload at once make one container", startAtOnce)
	test("wait tells the exit, before and after it", waitTellsExit)
	test("wait for what is removed is not found", waitNotFound)
	test("out of memory is told", waitOOM)
	test("stop terminates, then kills", stopKills)
	test("remove is idempotent", removeTwice)
	test("observe shows the containers of one owner in all phases", observeOwner)
	test("what is no id or name is not found", notFound)
	test("a call whose context ended returns its cause", returnsCause)
	test("different containers at once do not disturb each other", manyAtOnce)
	if _, ok := e.(container.Execer); ok {
		runExecer(test)
		if _, ok := e.(container.Restarter); ok {
			runRestarter(test)
		}
		if _, ok := e.(container.Pinner); ok { // only a command in it tells where it runs
			runPinner(test)
		}
	}
	if _, ok := e.(container.Copier); ok {
		runCopier(test)
	}
	if _, ok := e.(container.Freezer); ok {
		runFreezer(test)
		if _, ok := e.(container.Execer); ok {
			runFreezerAndExecer(test)
		}
	}
	if _, ok := e.(container.Images); ok {
		runImages(test)
	}
	runReaders(test, e)
}

func startRuns(b *fixture) {
	w := b.workload("sleep", "1h")
	inst := b.start(w)
	equal(b, "name", inst.Name, w.Name)
	equal(b, "phase", inst.Phase, container.PhaseRunning)
	equal(b, "frozen", inst.Frozen, false)
	equal(b, "owner label", inst.Labels[container.LabelOwner], b.owner)
	equal(b, "role label", inst.Labels[container.LabelRole], container.RoleWork)
	equal(b, "hash label", inst.Labels[container.LabelHash], w.Hash())
	if inst.ID == "" || inst.ImageID == "" || inst.CreatedAt.IsZero() || inst.StartedAt.IsZero() {
		b.Errorf("id, image or times are missing: %+v", inst)
	}
	equal(b, "id by name", b.inspect(w.Name).ID, inst.ID)
	equal(b, "name by id", b.inspect(inst.ID).Name, w.Name)
}

func startAdopts(b *fixture) {
	w := b.workload("sleep", "1h")
	first := b.start(w)
	second := b.start(w.WithLabels(map[string]string{container.LabelTry: "2"})) // labels do not count
	equal(b, "id", second.ID, first.ID)
	equal(b, "started", second.StartedAt, first.StartedAt)
}

func startAgain(b *fixture) {
	w := b.workload("count", "/tmp/starts")
	first := b.start(w)
	equal(b, "first exit", b.wait(first.ID).Code, 1)
	second := b.start(w)
	equal(b, "id", second.ID, first.ID)
	b.eventually("the second start's exit", func() bool { return b.wait(second.ID).Code == 2 })
	if again := b.inspect(first.ID); !again.StartedAt.After(first.StartedAt) {
		b.Errorf("started at %s, then at %s", first.StartedAt, again.StartedAt)
	}
}

func startConflicts(b *fixture) {
	w := b.workload("sleep", "1h")
	inst := b.start(w)
	other := w
	other.Env = map[string]string{"A": "b"}
	_, err := b.engine.Start(b.ctx, other)
	b.want(err, container.ErrConflict)
	_, err = b.engine.Start(b.ctx, w.WithLabels(map[string]string{container.LabelOwner: "test-" + Unique()}))
	b.want(err, container.ErrConflict)
	equal(b, "phase", b.inspect(inst.ID).Phase, container.PhaseRunning)
}

func startFails(b *fixture) {
	for _, program := range []string{"/nowhere/program", "no-such-program"} {
		w := b.workload()
		w.Argv = []string{program}
		_, err := b.engine.Start(b.ctx, w)
		b.want(err, container.ErrCommandNotFound)
	}
	w := b.workload("exit", "0")
	w.Image = "assayd-test/no-such-image:" + Unique()
	_, err := b.engine.Start(b.ctx, w)
	b.want(err, container.ErrNotFound)
	all, err := b.engine.Observe(b.ctx, b.owner)
	b.must(err)
	equal(b, "containers left", len(all), 0)
}

func startAtOnce(b *fixture) {
	w := b.workload("sleep", "1h")
	ids := make([]string, 4)
	var group sync.WaitGroup
	for i := range ids {
		group.Go(func() {
			inst, err := b.engine.Start(b.ctx, w)
			if err != nil {
				b.Error(err)
			}
			ids[i] = inst.ID
		})
	}
	group.Wait()
	for _, id := range ids {
		equal(b, "id", id, ids[0])
	}
}

func waitTellsExit(b *fixture) {
	inst := b.start(b.workload("sleep", "300ms"))
	equal(b, "code while it ran", b.wait(inst.ID).Code, 0)

	inst = b.start(b.workload("exit", "7"))
	for range 2 {
		exit := b.wait(inst.ID)
		equal(b, "code", exit.Code, 7)
		equal(b, "out of memory", exit.OOM, false)
		if exit.FinishedAt.IsZero() {
			b.Error("the exit has no time")
		}
	}
	inst = b.inspect(inst.ID)
	equal(b, "phase", inst.Phase, container.PhaseExited)
	equal(b, "code by inspection", inst.Exit.Code, 7)
}

func waitNotFound(b *fixture) {
	_, err := b.engine.Wait(b.ctx, "assayd-test-nobody")
	b.want(err, container.ErrNotFound)

	inst := b.start(b.workload("sleep", "1h"))
	result := make(chan error, 1)
	go func() {
		_, err := b.engine.Wait(b.ctx, inst.ID)
		result <- err
	}()
	b.must(b.engine.Remove(b.ctx, inst.ID))
	b.want(<-result, container.ErrNotFound)
}

func waitOOM(b *fixture) {
	w := b.workload("hog", "268435456")
	w.Limits.Memory = 32 << 20
	b.eventually("an engine that has noticed", func() bool {
		exit := b.wait(b.start(w).ID)
		equal(b, "code", exit.Code, 137)
		return exit.OOM
	})
}

func stopKills(b *fixture) {
	for _, c := range []struct {
		command string
		grace   time.Duration
		code    int
	}{
		{"sleep", 30 * time.Second, 143},
		{"stubborn", time.Second, 137},
		{"sleep", 0, 137},
	} {
		inst := b.start(b.workload(c.command, "1h"))
		if c.grace > 0 {
			b.handles(inst.ID)
		}
		for range 2 { // what is stopped already is success
			b.must(b.engine.Stop(b.ctx, inst.ID, c.grace))
		}
		inst = b.inspect(inst.ID)
		equal(b, "phase of "+c.command, inst.Phase, container.PhaseExited)
		if inst.Exit.Code != c.code {
			b.Errorf("%s was stopped with grace %s: exit code %d, want %d", c.command, c.grace, inst.Exit.Code, c.code)
		}
	}
	b.must(b.engine.Stop(b.ctx, "assayd-test-nobody", 0))
}

// handles waits until the probe in the container had time to handle signals. Commands
// that run beside it are proof enough: their own program has started after the first, and
// on a busy machine the last of them long after.
func (b *fixture) handles(id string) {
	if _, ok := b.engine.(container.Execer); ok {
		for range 3 {
			b.run(id, "echo", "ready")
		}
	}
}

func removeTwice(b *fixture) {
	running := b.start(b.workload("sleep", "1h"))
	exited := b.start(b.workload("exit", "0"))
	b.wait(exited.ID)
	for _, inst := range []container.Instance{running, exited} {
		for range 2 {
			b.must(b.engine.Remove(b.ctx, inst.ID))
		}
		_, err := b.engine.Inspect(b.ctx, inst.ID)
		b.want(err, container.ErrNotFound)
	}
	b.must(b.engine.Remove(b.ctx, "assayd-test-nobody"))
}

func observeOwner(b *fixture) {
	running := b.start(b.workload("sleep", "1h"))
	exited := b.start(b.workload("exit", "3"))
	b.wait(exited.ID)
	other := newFixture(b.T, b.engine, b.image)
	other.start(other.workload("sleep", "1h"))

	all, err := b.engine.Observe(b.ctx, b.owner)
	b.must(err)
	seen := map[string]container.Instance{}
	for _, inst := range all {
		seen[inst.ID] = inst
	}
	equal(b, "containers", len(all), 2)
	equal(b, "phase", seen[running.ID].Phase, container.PhaseRunning)
	equal(b, "phase", seen[exited.ID].Phase, container.PhaseExited)
	equal(b, "exit code", seen[exited.ID].Exit.Code, 3)
	equal(b, "label", seen[exited.ID].Labels[container.LabelOwner], b.owner)
}

func notFound(b *fixture) {
	inst := b.start(b.workload("sleep", "1h"))
	for _, id := range []string{"", "assayd-test-nobody", inst.ID[:12], "../images/json", inst.ID + "/../" + inst.ID} {
		_, err := b.engine.Inspect(b.ctx, id)
		b.want(err, container.ErrNotFound)
		_, err = b.engine.Wait(b.ctx, id)
		b.want(err, container.ErrNotFound)
		b.must(b.engine.Stop(b.ctx, id, 0))
		b.must(b.engine.Remove(b.ctx, id))
	}
	equal(b, "phase", b.inspect(inst.ID).Phase, container.PhaseRunning)
}

func returnsCause(b *fixture) {
	inst := b.start(b.workload("sleep", "1h"))
	cause := errors.New("enough of it")
	ctx, cancel := context.WithCancelCause(b.ctx)
	result := make(chan error, 1)
	go func() {
		_, err := b.engine.Wait(ctx, inst.ID)
		result <- err
	}()
	cancel(cause)
	b.want(<-result, cause)

	_, err := b.engine.Observe(ctx, b.owner)
	b.want(err, cause)
	_, err = b.engine.Inspect(ctx, inst.ID)
	b.want(err, cause)
	_, err = b.engine.Start(ctx, b.workload("exit", "0"))
	b.want(err, cause)
	b.want(b.engine.Stop(ctx, inst.ID, time.Second), cause)
	b.want(b.engine.Remove(ctx, inst.ID), cause)
	equal(b, "phase", b.inspect(inst.ID).Phase, container.PhaseRunning)
}

func manyAtOnce(b *fixture) {
	var group sync.WaitGroup
	for code := range 5 {
		w := b.workload("exit", string(rune('0'+code)))
		group.Go(func() {
			inst, err := b.engine.Start(b.ctx, w)
			if err != nil {
				b.Error(err)
				return
			}
			exit, err := b.engine.Wait(b.ctx, inst.ID)
			if err != nil {
				b.Error(err)
			}
			equal(b, "code", exit.Code, code)
			if err := b.engine.Remove(b.ctx, inst.ID); err != nil {
				b.Error(err)
			}
		})
	}
	group.Wait()
}
