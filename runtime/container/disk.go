package container

import (
	"context"
	"fmt"
	"log/slog"
	"time"
)

// When the disk use of a container is looked at.
const (
	firstDiskLook = 2 * time.Second
	nextDiskLook  = 5 * time.Second
)

// DiskError says that a container wrote more than it may, in bytes.
type DiskError struct{ Used, Limit int64 }

// Error shows both.
func (e *DiskError) Error() string {
	return fmt.Sprintf("it used %s of disk; %s is the limit", size(e.Used), size(e.Limit))
}

// size shows bytes in the largest unit of which there is one.
func size(bytes int64) string {
	n, units := float64(bytes), []string{"B", "KiB", "MiB", "GiB", "TiB"}
	for n >= 1024 && len(units) > 1 {
		n, units = n/1024, units[1:]
	}
	return fmt.Sprintf("%.1f %s", n, units[0])
}

// WatchDisk returns a context that ends with a *DiskError when the container holds more bytes than
// limit says at that moment; zero is no limit. Not every storage driver has quotas, and without them one
// container could fill the disk of all. unwatch returns when the watching has ended.
func WatchDisk(ctx context.Context, e Engine, id string, limit func() int64, log *slog.Logger) (_ context.Context, unwatch func()) {
	meter, ok := e.(Meter)
	if !ok || limit() <= 0 {
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
			u, err := meter.Usage(ctx, id)
			most := limit()
			switch {
			case err != nil:
				log.Debug("the disk use of a container is not known", "container", id, "error", err)
			case u.DiskBytes > most:
				cancel(&DiskError{u.DiskBytes, most})
				return
			}
			timer.Reset(nextDiskLook)
		}
	}()
	return ctx, func() { cancel(nil); <-ended }
}
