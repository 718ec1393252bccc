package sandbox

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
	"github.com/assayd/assayd/runtime/task"
)

func TestNoContainerIsHandedOutThatWaitedTooLong(t *testing.T) {
	for name, tc := range map[string]struct {
		waits time.Duration
		used  bool
	}{
		"not for long": {WarmLife - time.Second, true},
		"too long":     {WarmLife, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fake := containertest.NewFake()
				image := fake.AddImage("judge:1", container.ImageConfig{}, map[string]string{"/hold": ""}).ID
				fake.Handle(func(ctx context.Context, _ *containertest.FakeContainer) int { <-ctx.Done(); return 137 })
				h := &Host{Engine: fake, Owner: "owner-of-tests", PauseProcess: []string{"/hold"}, Spool: t.TempDir(), Log: slog.New(slog.DiscardHandler)}
				w := h.Workload(Terms{Image: image, Task: task.Task{Workdir: "/work"}}, "", "", "")
				p := NewPool(h, NewCPUs(h, func() {}), 1, func() []container.Workload { return []container.Workload{w} })
				if err := p.add(t.Context(), w); err != nil {
					t.Fatal(err)
				}
				time.Sleep(tc.waits)
				if id := p.Take(t.Context(), w); (id != "") != tc.used {
					t.Errorf("handed out %q", id)
				}
				if err := fake.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
