package container_test

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/assayd/assayd/runtime/container"
)

func sample() container.Workload {
	return container.Workload{
		Name: "n", Image: "sha256:0", Argv: []string{"/a", "b"}, Env: map[string]string{"B": "2", "A": "1"},
		User: "1:1", Workdir: "/w", Network: container.NetworkNone,
		Mounts: []container.Mount{{Source: "/s", Target: "/t", ReadOnly: true}},
		Limits: container.Limits{CPUs: 1.5, Memory: 1, PIDs: 2, Disk: 3, CPUSet: "0"},
		Labels: map[string]string{container.LabelOwner: "me"},
	}
}

// A running container is known by its hash: if this test fails, an upgrade of assayd
// takes every container that runs for a stranger.
func TestTheHashOfAWorkloadNeverChanges(t *testing.T) {
	const want = "db50a02a5816e04e"
	if got := sample().Hash(); got != want {
		t.Errorf("hash %s, want %s", got, want)
	}
}

func TestEveryFieldButTheLabelsCounts(t *testing.T) {
	base := sample().Hash()
	fields := reflect.TypeFor[container.Workload]()
	for i := range fields.NumField() {
		w := sample()
		reflect.ValueOf(&w).Elem().Field(i).SetZero()
		if same := w.Hash() == base; same != (fields.Field(i).Name == "Labels") {
			t.Errorf("without %s the hash is the same: %t", fields.Field(i).Name, same)
		}
	}
}

func TestLabelsAreAddedToACopy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		labels := rapid.MapOf(rapid.String(), rapid.String())
		w := container.Workload{Labels: labels.Draw(t, "before")}
		before := len(w.Labels)
		added := labels.Draw(t, "added")
		merged := w.WithLabels(added)
		for k, v := range added {
			if merged.Labels[k] != v {
				t.Fatalf("label %q is %q, want %q", k, merged.Labels[k], v)
			}
		}
		if len(w.Labels) != before || merged.Hash() != w.Hash() {
			t.Fatal("the original was changed, or the hash")
		}
	})
}
