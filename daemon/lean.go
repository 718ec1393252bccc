package daemon

import (
	"context"
	"runtime"
	"runtime/debug"
	"time"
)

// A daemon that has nothing to do gives back what looking at ten thousand specs took: the
// runtime by itself keeps as much again as is in use.
const (
	leanEvery = 20 * time.Second
	spare     = 16 << 20 // bytes that are not worth a collection
)

// lean gives memory back to the system until the context ends.
func lean(ctx context.Context) error {
	tick := time.NewTicker(leanEvery)
	defer tick.Stop()
	var needed uint64 // after the last collection
	for {
		if held() > needed+needed/4+spare {
			debug.FreeOSMemory()
			needed = held()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// held is how many bytes of the heap are the system's no more.
func held() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapSys - m.HeapReleased
}
