package daemon

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// A daemon that has nothing to do gives back what looking at ten thousand specs took. The
// runtime by itself keeps as much again as is in use: with so many, NNN MB instead of NNN.
const (
	leanEvery = 20 * time.Second
	spare     = 16 << 20 // bytes that are not worth a collection
)

// lean gives memory back to the system until the context ends.
func lean(ctx context.Context) error {
	tick := time.NewTicker(leanEvery)
	defer tick.Stop()
	var made uint64 // bytes of all objects until the last time
	for {
		if m := heap(); m.made > made+spare && m.held > m.live+m.live/4+spare {
			debug.FreeOSMemory()
			made = heap().made
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// usage is what the heap has in bytes.
type usage struct {
	live uint64 // was in use at the last collection
	held uint64 // is the system's no more
	made uint64 // of all objects since the start
}

func heap() usage {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	return usage{live: live[0].Value.Uint64(), held: m.HeapSys - m.HeapReleased, made: m.TotalAlloc}
}
