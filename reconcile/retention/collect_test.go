package retention

import (
	"encoding/json"
	"testing"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/query/snapshot"
	"github.com/assayd/assayd/reconcile/store/storetest"
)

// Images of tasks that were mined are those of a spec in force.
func TestImagesOfMinedTasksAreNeeded(t *testing.T) {
	s := storetest.Open(t)
	o := config.Options{Mined: config.NewMined(), Env: func(name string) (string, bool) { return "sk", name == "OPENAI_API_KEY" }}
	o.Mined.Add("x", config.Imported{Name: "one", Task: json.RawMessage(`{"Benchmark":"x","Name":"one","Image":"x"}`)})
	set := config.Load([]config.Input{{Path: "/w/a.hcl", Display: "a.hcl", Root: "/w", Text: []byte("mining \"x\" {\n  provider = \"openai\"\n}\n")}}, nil, o)
	if set.Diagnostics.HasErrors() {
		t.Fatal(set.Diagnostics)
	}
	snapshots := snapshot.NewLatest(nil)
	snapshots.Publish((*snapshot.Snapshot)(nil).Edit().Done(set, nil, ""))
	c := New(Options{Store: s, Snapshots: snapshots})
	for every, want := range map[bool]int{true: 1, false: 0} {
		if tasks, err := c.wantedTasks(t.Context(), every); err != nil || len(tasks) != want {
			t.Errorf("every %v: needed are %+v, %v", every, tasks, err)
		}
	}
}
