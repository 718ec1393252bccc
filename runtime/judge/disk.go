package judge

import (
	"context"
	"fmt"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/assayd/assayd/runtime/container"
)

// When the disk use of a running judge command is looked at.
const (
	firstDiskLook = 2 * time.Second
	nextDiskLook  = 5 * time.Second
)

// diskError is why the context of a judge command ended that wrote too much.
type diskError struct{ used, limit int64 }

func (e *diskError) Error() string {
	return fmt.Sprintf("it used %s of disk; %s is the limit", humanize.IBytes(uint64(e.used)), humanize.IBytes(uint64(e.limit)))
}

// watchDisk returns a context that ends with a *diskError when the container holds more
// than its limit. Not every storage driver has quotas, and without them one submission
// could fill the disk of all. unwatch returns when the watching has ended.
func (g *grading) watchDisk(ctx context.Context) (_ context.Context, unwatch func()) {
	limit := g.session.Task.Judge.Disk
	meter, ok := g.judge.opts.Engine.(container.Meter)
	if !ok || limit <= 0 {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		timer := time.NewTimer(firstDiskLook)
		defer timer.Stop()
		for {
			select {
			case <-timer.C:
			case <-ctx.Done():
				return
			}
			u, err := meter.Usage(ctx, g.id)
			switch {
			case err != nil:
				g.judge.opts.Log.Debug("the disk use of a judge container is not known", "container", g.id, "error", err)
			case u.DiskBytes > limit:
				cancel(&diskError{u.DiskBytes, limit})
				return
			}
			timer.Reset(nextDiskLook)
		}
	}()
	return ctx, func() { cancel(nil); <-ended }
}
