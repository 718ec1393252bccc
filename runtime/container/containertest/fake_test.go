package containertest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
)

// inBubble runs a test on a fake with one image, in virtual time.
func inBubble(t *testing.T, test func(t *testing.T, f *containertest.Fake)) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		f.AddImage("img", container.ImageConfig{}, nil)
		test(t, f)
	})
}

func start(t *testing.T, f *containertest.Fake, name string, argv ...string) container.Instance {
	t.Helper()
	inst, err := f.Start(t.Context(), container.Workload{
		Name: name, Image: "img", Argv: argv, Labels: map[string]string{container.LabelOwner: "me"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return inst
}

func TestHandlersAreTheFirstProcess(t *testing.T) {
	inBubble(t, func(t *testing.T, f *containertest.Fake) {
		f.Handle(func(ctx context.Context, c *containertest.FakeContainer) int {
			c.WriteFile("/log", []byte(c.Workload().Argv[0]))
			<-c.Terminated()
			return 40 + c.Run()
		})
		for run := 1; run <= 2; run++ {
			inst := start(t, f, "a", "hello")
			if err := f.Stop(t.Context(), inst.ID, time.Minute); err != nil {
				t.Fatal(err)
			}
			exit, err := f.Wait(t.Context(), inst.ID)
			if err != nil || exit.Code != 40+run {
				t.Errorf("run %d: %+v, %v", run, exit, err)
			}
		}
		if log, _ := f.Container("a").ReadFile("/log"); string(log) != "hello" {
			t.Errorf("the file has %q", log)
		}
	})
}

func TestAKilledProcessTouchesNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, f *containertest.Fake) {
		f.Handle(func(ctx context.Context, c *containertest.FakeContainer) int {
			<-ctx.Done()
			c.WriteFile("/late", []byte("too late"))
			return 0
		})
		start(t, f, "a")
		f.Kill("a", container.Exit{Code: 137, OOM: true})
		synctest.Wait()
		inst, err := f.Inspect(t.Context(), "a")
		if err != nil || !inst.Exit.OOM || inst.Exit.Code != 137 {
			t.Errorf("%+v, %v", inst, err)
		}
		if _, ok := f.Container("a").ReadFile("/late"); ok {
			t.Error("a dead process wrote a file")
		}
	})
}

func TestWhenTheFakeIsDownNothingIsKnown(t *testing.T) {
	inBubble(t, func(t *testing.T, f *containertest.Fake) {
		inst := start(t, f, "a", "/probe", "sleep", "1h")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		hints := f.Hints(ctx, "me")
		f.SetDown(true)
		if _, err := f.Inspect(t.Context(), "a"); !container.Unavailable(err) {
			t.Errorf("inspect: %v", err)
		}
		waited := make(chan container.Exit)
		go func() {
			exit, err := f.Wait(ctx, inst.ID)
			if err != nil {
				t.Error(err)
			}
			waited <- exit
		}()
		time.Sleep(2 * time.Hour) // virtual: the process has ended, and nobody can know
		select {
		case <-waited:
			t.Error("an exit was told by an engine that is down")
		case <-hints:
			t.Error("a hint came from an engine that is down")
		default:
		}
		f.SetDown(false)
		if exit := <-waited; exit.Code != 0 {
			t.Errorf("exit code %d", exit.Code)
		}
		for id := range hints {
			if id == "" {
				break
			}
		}
	})
}

func TestAVanishedContainerIsNotFound(t *testing.T) {
	inBubble(t, func(t *testing.T, f *containertest.Fake) {
		inst := start(t, f, "a", "/probe", "sleep", "1h")
		f.Vanish("a")
		if _, err := f.Wait(t.Context(), inst.ID); !errors.Is(err, container.ErrNotFound) {
			t.Error(err)
		}
		if again := start(t, f, "a", "/probe", "sleep", "1h"); again.ID == inst.ID {
			t.Error("a container came back from the dead")
		}
	})
}

func TestARebootStopsAllAndIsSeen(t *testing.T) {
	inBubble(t, func(t *testing.T, f *containertest.Fake) {
		before, err := f.HostInfo(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		start(t, f, "a", "/probe", "sleep", "1h")
		start(t, f, "b", "/probe", "sleep", "1h")
		f.Reboot()
		all, err := f.Observe(t.Context(), "me")
		if err != nil || len(all) != 2 {
			t.Fatal(all, err)
		}
		for _, inst := range all {
			if inst.Phase != container.PhaseExited || inst.Exit.Code != 255 {
				t.Errorf("%+v", inst)
			}
		}
		after, err := f.HostInfo(t.Context())
		if err != nil || after.BootID == before.BootID {
			t.Errorf("the boot id stays %q, %v", after.BootID, err)
		}
	})
}

func TestAnyCallCanBeMadeToFail(t *testing.T) {
	inBubble(t, func(t *testing.T, f *containertest.Fake) {
		f.Intercept(func(call, target string) error {
			if call == "Start" && target == "b" {
				return container.ErrNoSpace
			}
			return nil
		})
		start(t, f, "a", "/probe", "sleep", "1h")
		if _, err := f.Start(t.Context(), container.Workload{Name: "b", Image: "img"}); !errors.Is(err, container.ErrNoSpace) {
			t.Error(err)
		}
	})
}

func TestAPullFindsOnlyWhatTheRegistryHas(t *testing.T) {
	inBubble(t, func(t *testing.T, f *containertest.Fake) {
		f.AddRemote("far/away:1", container.ImageConfig{User: "agent"}, nil)
		if _, err := f.Image(t.Context(), "far/away:1"); !errors.Is(err, container.ErrNotFound) {
			t.Error(err)
		}
		img, err := f.Pull(t.Context(), "far/away:1", "linux/amd64")
		if err != nil || img.Config.User != "agent" {
			t.Errorf("%+v, %v", img, err)
		}
		if _, err := f.Pull(t.Context(), "far/away:2", ""); !errors.Is(err, container.ErrNotFound) {
			t.Error(err)
		}
	})
}
