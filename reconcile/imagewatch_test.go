package reconcile

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/runtime/container"
)

// A name of an image that means another one now is content that differs: the run is stale and
// says so once, and a rerun takes the other image.
func TestAMovedTagMakesARunStale(t *testing.T) {
	h := newFixture(t)
	close(h.let)
	h.write("a.hcl", spec("x"))
	d := h.start()
	d.untilState(t, "finished")
	first, err := h.fake.Image(t.Context(), "work:1")
	check(t, err)
	d.images.look(t.Context())
	if run := d.until(t, "as it was", func(r query.RunStatus) bool { return r.State == "finished" }); run.Stale != nil {
		t.Fatalf("it is stale by %v, and nothing moved", run.Stale)
	}

	other := h.fake.AddImage("work:1", container.ImageConfig{}, nil)
	d.images.look(t.Context())
	run := d.until(t, "stale", func(r query.RunStatus) bool { return r.Stale != nil })
	if diff := cmp.Diff([]string{"image work:1"}, run.Stale.Files); diff != "" || len(run.Stale.Tasks) != 1 {
		t.Errorf("-want +stale by\n%s\ntasks %v", diff, run.Stale.Tasks)
	}
	d.images.look(t.Context())
	d.stop()
	d = h.start() // which finds the same, and tells it no second time
	d.until(t, "stale", func(r query.RunStatus) bool { return r.Stale != nil })
	if n := strings.Count(h.records(), "run.stale"); n != 1 {
		t.Errorf("run.stale is recorded %d times", n)
	}

	check(t, h.fake.Tag(t.Context(), first.ID, "work:1"))
	d.images.look(t.Context())
	d.until(t, "as it was", func(r query.RunStatus) bool { return r.Stale == nil })

	check(t, h.fake.Tag(t.Context(), other.ID, "work:1")) // Rerun looks by itself
	differs, err := d.Rerun(t.Context(), "run.r")
	check(t, err)
	if differs == nil || !strings.Contains(differs.String(), "image work:1 changed") {
		t.Errorf("the rerun differs by %v", differs)
	}
	run = d.until(t, "done again", func(r query.RunStatus) bool { return r.State == "finished" && r.Execution == 2 })
	if run.Stale != nil {
		t.Errorf("the second execution is stale by %v", run.Stale)
	}
}
