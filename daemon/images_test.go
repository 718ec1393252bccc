//go:build linux

package daemon_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/assayd/assayd/runtime/image"
)

// What images take is brought within the setting as soon as a run is over, without anybody
// asking for it; an open run keeps its own.
func TestImagesOfARunThatIsOverAreWithinTheSetting(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.configured("build {\n  keep = \"64B\"\n}\n")
	one := strings.Replace(w.benchmark(), `"src/level" = "0"`, `"src/level" = "0", "src/more" = "`+strings.Repeat("x", 100)+`"`, 1)
	other := strings.NewReplacer(w.bench, w.bench+"-other", "xxx", "yyy").Replace(one)
	twin := strings.Replace(one, w.bench, w.bench+"-twin", 1) // shares the images of the open run
	w.write("r.hcl", one+w.agent("waiter", waiter)+w.run("long", []string{`agent "waiter" {}`}, `timeout = "10m"`, `auto_eval = "0s"`))
	w.write("s.hcl", other+strings.Replace(w.run("short", []string{`agent "nop" {}`}, `timeout = "5m"`), "benchmark."+w.bench, "benchmark."+w.bench+"-other", 1))
	w.write("t.hcl", twin+strings.Replace(w.run("twin", []string{`agent "nop" {}`}, `timeout = "5m"`), "benchmark."+w.bench, "benchmark."+w.bench+"-twin", 1))
	w.serve()
	started := w.recorded("r.run.long.jsonl", "the trial's start", func(r record) bool { return r.Type == "trial.started" })
	w.said(started.Trial, "waiting")
	w.settled("run.short", patience)
	w.settled("run.twin", patience)
	w.untilWithin(3*time.Minute, "only the open run has images", func() error {
		if of := w.imagesOf(); of[w.bench+"-other"] > 0 {
			return fmt.Errorf("there are %v", of)
		}
		return nil
	})
	if of := w.imagesOf(); of[w.bench] < 2 || of[w.bench+"-twin"] != of[w.bench] {
		t.Errorf("the open run has %d images, and needs one to work in and one to be judged in; with it shares who has %d", of[w.bench], of[w.bench+"-twin"])
	}
	w.letGo(started.Trial)
	if done := w.settled("run.long", patience).Trials[0]; done.Status != "resolved" || done.Try != 1 {
		t.Errorf("the open run's trial is %+v", done)
	}
	w.untilWithin(3*time.Minute, "no image is left", func() error {
		if of := w.imagesOf(); len(of) > 0 {
			return fmt.Errorf("there are %v", of)
		}
		return nil
	})
}

// imagesOf is how many images the world has of each benchmark.
func (w *fixture) imagesOf() map[string]int {
	w.Helper()
	made, err := w.engine.ListImages(w.Context(), image.LabelImageOwner, w.owner)
	if err != nil {
		w.Fatal(err)
	}
	of := map[string]int{} // all that a world builds has a name of its benchmark
	for _, img := range made {
		for _, ref := range img.Refs {
			bench, _, _ := strings.Cut(ref, ".")
			of[bench]++
		}
	}
	return of
}
