package specs

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

// InLoop is how the loop compiles specs: it copies no folder.
func (s *Source) InLoop() config.Options {
	o := s.o.Config
	if s.copies != nil {
		patience := time.Now().Add(copyPatience)
		o.Snapshot = func(dir string) (string, error) { return s.copies.Snapshot(dir, patience) }
		o.Copied = s.copies.Lay
	}
	return o
}

// StartPacking starts those who copy folders, until the context ends. The group waits for them.
func (s *Source) StartPacking(ctx context.Context, group *sync.WaitGroup) {
	for range specfiles.Packers {
		if s.copies != nil {
			group.Go(func() { s.copies.Run(ctx) })
		}
	}
}

// Prepack has the folders copied that some files name, before the loop looks at the files. Any goroutine may call it.
func (s *Source) Prepack(ctx context.Context, inputs []config.Input) error {
	if s.copies == nil || len(inputs) == 0 {
		return nil
	}
	return s.copies.Wait(ctx, config.Folders(inputs, s.o.Config))
}

// PrepackRun is Prepack for the files in force that a run is made of.
func (s *Source) PrepackRun(ctx context.Context, address string) error {
	set := s.inForce.Load()
	if set == nil {
		return nil
	}
	run := set.Run(strings.TrimPrefix(address, "run."))
	if s.copies == nil || run == nil {
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
	return s.copies.Wait(ctx, slices.Compact(dirs))
}

// DigestsOf returns a config.Options.Snapshot for some files that knows the digests of their folders, of which
// nothing is kept. Any goroutine may call it.
func (s *Source) DigestsOf(inputs []config.Input) func(dir string) (string, error) {
	if s.copies == nil {
		return nil
	}
	type name struct {
		digest string
		err    error
	}
	names := map[string]name{}
	for _, dir := range config.Folders(inputs, s.o.Config) {
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
func (s *Source) copied(ctx context.Context) {
	_ = s.o.Do(ctx, func() { s.Rescan(ctx, func(string) bool { return false }) }) // fails where the loop has ended
}
