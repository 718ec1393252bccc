package install

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assayd/assayd/runtime/agent"
	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
	"github.com/assayd/assayd/runtime/image"
	"github.com/assayd/assayd/runtime/layer"
	"github.com/assayd/assayd/runtime/task"
)

func newInstaller(t *testing.T) (Installer, *containertest.Fake) {
	t.Helper()
	fake := containertest.NewFake()
	store, err := layer.Open(t.TempDir(), layer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		store.Close()
		if err := fake.Close(); err != nil {
			t.Error(err)
		}
	})
	return Installer{
		Engine: fake, Images: image.New(image.Options{Engine: fake, Owner: "owner", Log: slog.New(slog.DiscardHandler)}), Layers: store, Libcs: &Libcs{},
		Pin: func(_ context.Context, ref string) (string, error) { return ref, nil },
		At: func(err error, attributes ...string) error {
			return fmt.Errorf("at %s: %w", strings.Join(attributes, " "), err)
		},
	}, fake
}

func TestAnAgentThatNeedsNothingHasNothing(t *testing.T) {
	i, _ := newInstaller(t)
	in, err := i.Install(t.Context(), agent.Agent{Name: "a"}, task.Task{}, image.Built{ID: "work"}, nil)
	if err != nil || in.Equipped != "" || in.Layers != nil || in.Program != "" || in.Path != nil {
		t.Errorf("%+v, %v", in, err)
	}
}

func TestAnAgentHasTheFilesOfItsImage(t *testing.T) {
	i, fake := newInstaller(t)
	fake.AddImage("tools:1", container.ImageConfig{}, map[string]string{"/hold": "", "/bin/tool": "text"})
	in, err := i.Install(t.Context(), agent.Agent{Name: "a", Layer: &agent.Layer{Image: "tools:1"}}, task.Task{}, image.Built{ID: "work"}, nil)
	if err != nil || len(in.Layers) != 1 || in.Layers[0].Target != layerDir {
		t.Fatalf("%+v, %v", in, err)
	}
	if text, err := os.ReadFile(filepath.Join(in.Layers[0].Source, "bin", "tool")); err != nil || string(text) != "text" {
		t.Errorf("the layer has %q, %v", text, err)
	}
}

// An agent of its own install steps keeps its program and folders, and the error says where the image
// is named.
func TestAnImageThatIsNotThereIsToldWithItsPlace(t *testing.T) {
	i, _ := newInstaller(t)
	a := agent.Agent{Name: agent.ClaudeCode, Program: agent.ClaudeCode, Layer: &agent.Layer{Image: "none:1"}}
	in, err := i.Install(t.Context(), a, task.Task{}, image.Built{ID: "work"}, nil)
	if err == nil || !strings.HasPrefix(err.Error(), "at layer.image: ") {
		t.Errorf("%v", err)
	}
	if in.Program != "claude" || len(in.Path) == 0 || in.Layers != nil {
		t.Errorf("it has %+v", in)
	}
	refused := errors.New("refused")
	i.Pin = func(context.Context, string) (string, error) { return "", refused }
	if _, err := i.Install(t.Context(), a, task.Task{}, image.Built{ID: "work"}, nil); !errors.Is(err, refused) {
		t.Errorf("%v", err)
	}
}
