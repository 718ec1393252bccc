package reconcile

import (
	"hash/fnv"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/assayd/assayd/runtime/clock"
)

// summaries keeps those that took long to make, so that who asks for the status of a large run every
// half second does not keep a processor busy. It may be used by any goroutine.
type summaries struct {
	mu   sync.Mutex
	made map[string]madeSummary // by the address of the run
}

type madeSummary struct {
	of      uint64 // the trials that are in it
	at      time.Time
	took    time.Duration
	summary Summary
}

const (
	summaryLong  = 10 * time.Millisecond // from when on a summary is kept
	summaryRatio = 20                    // a kept one is made again after so many times what it took
	summariesMax = 100                   // that are kept
)

// of is the summary of a run's finished trials that count, nil without any, and when it was made
// unless that is now. While the run goes on it may be a while old.
func (k *summaries) of(run *RunStatus) (*Summary, time.Time) {
	outcomes := run.outcomes
	if len(outcomes) == 0 {
		return nil, time.Time{}
	}
	sum := summed(run.Execution, outcomes)
	k.mu.Lock()
	kept, there := k.made[run.Address]
	k.mu.Unlock()
	if there && kept.of == sum {
		return &kept.summary, time.Time{}
	}
	if began := time.Now(); there && run.State == "running" && began.Sub(kept.at) < summaryRatio*kept.took {
		return &kept.summary, clock.Now().UTC().Add(-began.Sub(kept.at))
	}
	made := madeSummary{of: sum, at: time.Now(), summary: Summarize(outcomes)}
	made.took = time.Since(made.at)
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case made.took < summaryLong:
		delete(k.made, run.Address)
	case k.made == nil || len(k.made) >= summariesMax:
		k.made = map[string]madeSummary{run.Address: made}
	default:
		k.made[run.Address] = made
	}
	return &made.summary, time.Time{}
}

// summed identifies which trials a summary is of.
func summed(n int, outcomes []Outcome) uint64 {
	h := fnv.New64a()
	_, _ = io.WriteString(h, strconv.Itoa(n))
	for i := range outcomes {
		f := &outcomes[i].Finished
		for _, part := range []string{f.Trial, strconv.Itoa(f.Try), string(f.Status), f.Reason, strconv.FormatBool(f.Final)} {
			_, _ = io.WriteString(h, part)
			_, _ = h.Write([]byte{0})
		}
	}
	return h.Sum64()
}
