package notifier

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/clock"
	"github.com/assayd/assayd/runtime/gateway"
)

// When the machine is worth a notice.
const (
	machineEvery    = 30 * time.Second
	machinePatience = 5 * time.Minute
	leastFree       = 10 << 30 // bytes, as the alert DiskLow has it
)

// machineName is under what name it is stored what was told of the machine.
const machineName = "machine"

// machine is what is known of the outside. Any goroutine may tell.
type machine struct {
	mu    *sync.Mutex
	since map[string]time.Time // providers that fail each request, since when
	works map[string]bool      // providers whose last answer was one
}

func newMachine() machine { return machine{&sync.Mutex{}, map[string]time.Time{}, map[string]bool{}} }

// ModelEnded is told of a request for a model.
func (m machine) ModelEnded(e gateway.Ended) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch _, fails := m.since[e.Provider]; e.Outcome {
	case gateway.OutcomeFailed:
		if delete(m.works, e.Provider); !fails {
			m.since[e.Provider] = time.Now()
		}
	case gateway.OutcomeOK:
		delete(m.since, e.Provider)
		m.works[e.Provider] = true
	}
}

// condition is something of the machine that is wrong or not.
type condition struct {
	name         string
	wrong, known bool
	bad, good    string // in words
	since        time.Time
}

// conditions are those of now.
func (n *Notifiers) conditions() (all []condition) {
	up, known := n.o.Watched.Engine()
	all = append(all, condition{name: "engine", wrong: !up, known: known, bad: "the container engine does not answer", good: "the container engine answers again"})
	free := n.o.Watched.Free()
	left := fmt.Sprintf("%.1f GiB are free on the disk of the state directory", float64(free)/(1<<30))
	all = append(all, condition{name: "disk", wrong: free < leastFree, known: free >= 0, bad: "only " + left, good: left})
	n.mu.Lock()
	failing, works := maps.Clone(n.since), maps.Clone(n.works)
	n.mu.Unlock()
	for _, name := range n.o.Watched.Providers {
		since, fails := failing[name]
		all = append(all, condition{
			name: "provider." + name, wrong: fails, known: fails || works[name], since: since,
			bad: fmt.Sprintf("the provider %s fails all requests", name), good: fmt.Sprintf("the provider %s does not fail all requests any more", name),
		})
	}
	return all
}

// judged says of each condition whether there is something to tell: it is wrong for five minutes, or was and is not.
// since is changed.
func judged(all []condition, since map[string]time.Time, told map[string]bool, now time.Time) (tell []condition) {
	for _, c := range all {
		switch {
		case !c.known:
		case !c.wrong:
			delete(since, c.name)
			if told[c.name] {
				tell = append(tell, c)
			}
		default:
			if _, ok := since[c.name]; !ok {
				since[c.name] = now
				if !c.since.IsZero() {
					since[c.name] = c.since
				}
			}
			if now.Sub(since[c.name]) >= machinePatience && !told[c.name] {
				tell = append(tell, c)
			}
		}
	}
	return tell
}

// watchMachine stores a notice where the machine is wrong for long, and where it is not any more, until the context ends.
func (n *Notifiers) watchMachine(ctx context.Context) error {
	since := map[string]time.Time{}
	tick := time.NewTicker(machineEvery)
	defer tick.Stop()
	for {
		if err := n.lookAtMachine(ctx, since); err != nil && ctx.Err() == nil {
			n.o.Log.Warn("store notices of the machine; it is tried again", "error", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func (n *Notifiers) lookAtMachine(ctx context.Context, since map[string]time.Time) error {
	all := n.conditions()
	var d store.Delivery
	err := n.o.Store.View(ctx, func(tx *store.Tx) (err error) {
		d, err = tx.Delivery(machineName)
		return err
	})
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	told := map[string]bool{}
	if d.State != "" {
		_ = json.Unmarshal([]byte(d.State), &told) // what another version wrote is told again
	}
	now := map[string]bool{} // of conditions that there are
	for _, c := range all {
		if told[c.name] {
			now[c.name] = true
		}
	}
	tell := judged(all, since, now, time.Now())
	if len(tell) == 0 && len(now) == len(told) {
		return nil
	}
	return n.o.Store.Do(ctx, func(tx *store.Tx) error {
		for _, c := range tell {
			text, name := c.good, c.name
			if delete(now, name); c.wrong {
				text, now[name] = fmt.Sprintf("%s, for %d minutes", c.bad, int(time.Since(since[name]).Minutes())), true
			}
			if err := addNotice(tx, config.OnMachine, "", text, map[string]any{"what": name, "wrong": c.wrong}); err != nil {
				return err
			}
		}
		state, _ := json.Marshal(now)
		return tx.PutDelivery(store.Delivery{Name: machineName, State: string(state)})
	})
}

func addNotice(tx *store.Tx, kind, spec, text string, data map[string]any) error {
	bytes, err := json.Marshal(stored{text, data})
	if err != nil {
		return fmt.Errorf("store a notice of %s: %w", kind, err)
	}
	return tx.AddNotice(store.Notice{Time: clock.Now(), Kind: kind, Spec: spec, Data: bytes})
}
