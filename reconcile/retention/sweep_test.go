package retention

import (
	"log/slog"
	"testing"
	"time"

	"github.com/assayd/assayd/reconcile/store/storetest"
	"github.com/assayd/assayd/reconcile/troubles"
	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
	"github.com/assayd/assayd/runtime/trial"
)

// What a former daemon left goes, and nothing of others, of this daemon, or of an open trial.
func TestTheSweepTakesWhatAFormerDaemonLeft(t *testing.T) {
	fake := containertest.NewFake()
	t.Cleanup(func() {
		if err := fake.Close(); err != nil {
			t.Error(err)
		}
	})
	fake.AddImage("judge:1", container.ImageConfig{}, nil)
	for name, of := range map[string]struct{ owner, daemon string }{
		"left": {"us", "former"}, "open": {"us", "former"}, "own": {"us", "this"}, "others": {"them", "former"},
	} {
		w := container.Workload{Name: name, Image: "judge:1", Labels: map[string]string{
			container.LabelOwner: of.owner, container.LabelDaemon: of.daemon, container.LabelRole: container.RoleJudge,
		}}
		if _, err := fake.Start(t.Context(), w); err != nil {
			t.Fatal(err)
		}
	}
	c := New(Options{
		Store: storetest.Open(t), Host: &trial.Host{Engine: fake, Owner: "us"}, Daemon: "this", Troubles: &troubles.Troubles{}, Log: slog.New(slog.DiscardHandler),
		Until: time.Until,
	})
	c.SweepFormer(t.Context(), map[string]bool{"open": true}, time.Now().Add(-time.Hour))
	for name, stays := range map[string]bool{"left": false, "open": true, "own": true, "others": true} {
		if there := fake.Container(name) != nil; there != stays {
			t.Errorf("container %q is there: %v, want %v", name, there, stays)
		}
	}
}
