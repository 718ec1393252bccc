package reconcile

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/specfiles"
)

// copyPatience is what one look may take to wait for copies: most are there by then.
const copyPatience = 200 * time.Millisecond

// inLoop is how the loop compiles specs: it copies no folder.
func (r *Reconciler) inLoop() config.Options {
	o := r.o.Config
	if r.copies != nil {
		patience := time.Now().Add(copyPatience)
		o.Snapshot = func(dir string) (string, error) { return r.copies.Snapshot(dir, patience) }
		o.Copied = r.copies.Lay
	}
	return o
}

// startPacking starts those who copy, until the context ends.
func (r *Reconciler) startPacking(ctx context.Context, group *sync.WaitGroup) {
	for range specfiles.Packers {
		if r.copies != nil {
			group.Go(func() { r.copies.Run(ctx) })
		}
	}
}

// prepack has the folders copied that some files name, before the loop looks at the files.
func (r *Reconciler) prepack(ctx context.Context, inputs []config.Input) error {
	if r.copies == nil || len(inputs) == 0 {
		return nil
	}
	return r.copies.Wait(ctx, config.Folders(inputs, r.o.Config))
}

// prepackRun is prepack for the files in force that a run is made of.
func (r *Reconciler) prepackRun(ctx context.Context, address string) error {
	set := r.inForce.Load()
	if set == nil {
		return nil
	}
	run := set.Run(strings.TrimPrefix(address, "run."))
	if r.copies == nil || run == nil {
		return nil
	}
	var dirs []string
	for path := range plan.FilesOf(set, run) {
		for _, content := range set.Accepted()[path].Content() {
			if content.Kind == config.ContentFolder {
				dirs = append(dirs, content.Name)
			}
		}
	}
	slices.Sort(dirs)
	return r.copies.Wait(ctx, slices.Compact(dirs))
}

// digestsOf returns an Options.Snapshot for some files that knows the digests of their folders, of which
// nothing is kept.
func (r *Reconciler) digestsOf(inputs []config.Input) func(dir string) (string, error) {
	if r.copies == nil {
		return nil
	}
	type name struct {
		digest string
		err    error
	}
	names := map[string]name{}
	for _, dir := range config.Folders(inputs, r.o.Config) {
		sum := sha256.New()
		err := config.Pack(dir, sum)
		names[dir] = name{hex.EncodeToString(sum.Sum(nil)), err}
	}
	return func(dir string) (string, error) {
		n, ok := names[dir]
		if !ok {
			return "", config.ErrPending
		}
		return n.digest, n.err
	}
}

// copied has the specs looked at again of which copies have come.
func (r *Reconciler) copied(ctx context.Context) {
	_ = r.do(ctx, func() { r.rescan(ctx, func(string) bool { return false }) }) // fails where the loop has ended
}
