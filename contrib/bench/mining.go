package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/assayd/assayd/contrib/bench/client"
	"github.com/assayd/assayd/contrib/bench/fakeforge"
	"github.com/assayd/assayd/contrib/bench/result"
	"github.com/assayd/assayd/runtime/container/docker"
)

// minedWithin is how long all of it may take.
const minedWithin = 30 * time.Minute

// mined measures what mining takes beside the commands that test: archive, GitHub and model
// answer at once, and repositories are on this disk, so that all else is ours or the engine's.
func mined(ctx context.Context, o options, engine *docker.Engine) (_ []result.Result, err error) {
	w, err := newFixture(ctx, o, engine)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.close(ctx)) }()
	q, err := fakeforge.New(ctx, w.dir)
	if err != nil {
		return nil, err
	}
	defer q.Close()
	w.settings = filepath.Join(w.dir, "assayd.hcl")
	if err := os.WriteFile(w.settings, []byte(q.Settings()), 0o600); err != nil {
		return nil, err
	}
	if _, err := w.serve(); err != nil {
		return nil, err
	}
	begun, err := w.drop("mined.hcl", q.Spec(w.name(), w.image))
	if err != nil {
		return nil, err
	}
	var end record
	file := fmt.Sprintf("mined.mining.%s.jsonl", w.name())
	err = client.UntilWithin(ctx, minedWithin, "pull requests are mined", 100*time.Millisecond, func() (over bool, err error) {
		all, err := w.records(file)
		end, over = ofType(all, "mining.finished")
		return over, err
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w\n%s", err, w.said())
	case end.Accepted != fakeforge.Pulls:
		return nil, fmt.Errorf("of %d pull requests %d have become tasks:\n%s", fakeforge.Pulls, end.Accepted, w.said())
	}
	return []result.Result{share(end.Time.Sub(begun), end.SpentS)}, nil
}

// share compares what is left of the time of mining without the commands with all of it, for
// each pull request.
func share(took time.Duration, spent map[string]float64) result.Result {
	each := func(seconds float64) float64 { return seconds / fakeforge.Pulls }
	all := each(took.Seconds())
	r := result.Compare("s", []float64{all - each(spent["commands"])}, []float64{all})
	r.Parts = map[string]float64{}
	for what, seconds := range spent {
		r.Parts[what] = each(seconds)
	}
	return r.Called("mining", fmt.Sprintf("a pull request is mined, beyond test commands; model and network take no time (%d, one by one)", fakeforge.Pulls),
		fmt.Sprintf("all of it; its tests take %d s each time", fakeforge.TestSeconds))
}
