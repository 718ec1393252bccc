package reconcile

import (
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assayd/assayd/reconcile/retention"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/image"
)

// names are those of images that went.
func names(out retention.Swept) (all []string) {
	for _, img := range out.Images {
		all = append(all, img.Name)
	}
	slices.Sort(all)
	return all
}

func TestCollectKeepsWhatAnOpenRunNeeds(t *testing.T) {
	h := newFixture(t)
	ours := func(ref string) {
		h.fake.AddImage(ref, container.ImageConfig{Labels: map[string]string{
			image.LabelImageOwner: h.store.Owner(), image.LabelName: ref,
		}}, map[string]string{"/hold": "", "/bin/sh": "", "/workspace/x": "", "/etc/passwd": "root:x:0:0::/:\n"})
	}
	for _, ref := range []string{"edge.work.one:1", "edge.judge.one:1", "edge.work.gone:1"} {
		ours(ref)
	}
	text := strings.NewReplacer(`"work:1"`, `"edge.work.one:1"`, `"judge:1"`, `"edge.judge.one:1"`).Replace(spec("x"))
	h.write("a.hcl", text)
	d := h.start()
	d.untilTrials(t, "x/1 running")
	var none int64
	collect := func(s retention.Sweep, want ...string) {
		t.Helper()
		out, err := d.Retention.Collect(t.Context(), s)
		if err != nil || !slices.Equal(names(out), want) {
			t.Errorf("%+v: %+v, %v; want %q", s, out, err, want)
		}
	}
	collect(retention.Sweep{})                                // what was made today stays
	collect(retention.Sweep{Keep: &none, Young: time.Hour})   // and what was used of late
	collect(retention.Sweep{Keep: &none}, "edge.work.gone:1") // of no open run
	collect(retention.Sweep{Keep: &none, Dry: true})          // that was all
	close(h.let)                                              // the run comes to its end
	d.untilState(t, "finished")                               // no budget, but a spec in force
	h.untilEmpty()                                            // a judge's container that stands ready needs its image
	collect(retention.Sweep{})
	used := func(since time.Duration) {
		t.Helper()
		check(t, h.store.Do(t.Context(), func(tx *store.Tx) error {
			return tx.PutMeta("image-used/edge.work.one:1", time.Now().Add(since).Format(time.RFC3339))
		}))
	}
	used(time.Minute)                                                           // somebody builds ahead
	collect(retention.Sweep{Keep: &none, Young: time.Hour}, "edge.judge.one:1") // which only the run used
	used(-time.Minute)
	collect(retention.Sweep{Keep: &none, Young: time.Hour}, "edge.work.one:1")
	h.fake.SetDown(true)
	if _, err := d.Retention.Collect(t.Context(), retention.Sweep{Keep: &none}); !container.Unavailable(err) {
		t.Errorf("an engine that is down: %v", err)
	}
	h.fake.SetDown(false)
}

func TestCollectRemovesOrphanedBlobs(t *testing.T) {
	h := newFixture(t)
	h.write("a.hcl", spec("x"))
	d := h.start()
	put := func(text string, old bool) string {
		t.Helper()
		w, err := h.store.Blobs().Create()
		check(t, err)
		_, err = io.WriteString(w, text)
		check(t, err)
		digest, _, err := w.Commit()
		check(t, err)
		if at := time.Now().Add(-2 * retention.OrphanedFor); old {
			path, err := h.store.Blobs().Path(digest)
			check(t, err)
			check(t, os.Chtimes(path, at, at))
		}
		return digest
	}
	orphan, young, known := put("orphan", true), put("young", false), put("known", true)
	check(t, h.store.Do(t.Context(), func(tx *store.Tx) error { return tx.PutMeta("somewhere", known) }))
	for _, s := range []retention.Sweep{{Dry: true}, {}} {
		out, err := d.Retention.Collect(t.Context(), s)
		if err != nil || out.Blobs != 1 || out.Bytes != int64(len("orphan")) {
			t.Errorf("%+v, %v", out, err)
		}
	}
	for digest, want := range map[string]bool{orphan: false, young: true, known: true} {
		if has, err := h.store.Blobs().Has(digest); has != want || err != nil {
			t.Errorf("%s: there is %t, %v", digest, has, err)
		}
	}
}
