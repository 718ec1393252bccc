package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/assayd/assayd/daemon/web"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/clock"
	"github.com/assayd/assayd/runtime/container"
)

// How the health of a daemon is looked at.
const (
	loopPatience   = time.Minute      // for a turn of the loop; the unit's watchdog has the same
	enginePatience = 30 * time.Second // since the container engine has answered
	storePatience  = 30 * time.Second // since something was stored
	healthEvery    = 10 * time.Second
	askPatience    = 5 * time.Second // for one answer
)

// health is what is known of the daemon's fitness for work. Any goroutine may ask.
type health struct {
	passed   atomic.Bool // the first pass over all specs is done
	draining atomic.Bool

	mu     sync.Mutex
	engine checked
	store  checked
}

// checked is what came of asking for something again and again.
type checked struct {
	good time.Time // when it last went well; zero = never
	why  error     // of the last time; nil = it went well
}

func (h *health) note(c *checked, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c.why = err; err == nil {
		c.good = time.Now()
	}
}

// known returns what came of asking.
func (h *health) known(c *checked) checked {
	h.mu.Lock()
	defer h.mu.Unlock()
	return *c
}

// failing says why something is not fit: nothing went well for longer than the patience.
func (c checked) failing(patience time.Duration) error {
	switch age := time.Since(c.good); {
	case c.good.IsZero() && c.why == nil:
		return errors.New("it was not asked yet")
	case c.good.IsZero():
		return c.why
	case age > patience && c.why == nil:
		return fmt.Errorf("it was not asked for %s", age.Round(time.Second))
	case age > patience:
		return fmt.Errorf("not for %s: %w", age.Round(time.Second), c.why)
	}
	return nil
}

// healthKey is where the store is tried.
const healthKey = "health"

// watchHealth asks the engine, and writes to the store where nobody else does, until the context ends.
func (d *Daemon) watchHealth(ctx context.Context) error {
	tick := time.NewTicker(healthEvery)
	defer tick.Stop()
	for {
		d.askEngine(ctx)
		d.tryStore(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func (d *Daemon) askEngine(ctx context.Context) {
	asked, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	_, err := d.engine.HostInfo(asked)
	if ctx.Err() == nil {
		d.health.note(&d.health.engine, err)
	}
}

// tryStore writes to the store, unless that has gone well a moment ago.
func (d *Daemon) tryStore(ctx context.Context) {
	if known := d.health.known(&d.health.store); known.why == nil && time.Since(known.good) < storePatience/2 {
		return
	}
	asked, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	err := d.store.Do(asked, func(tx *store.Tx) error { return tx.PutMeta(healthKey, clock.Now().UTC().Format(time.RFC3339)) })
	if ctx.Err() == nil {
		d.health.note(&d.health.store, err)
	}
}

// committed is told of each commit.
func (d *Daemon) committed(took time.Duration) {
	d.metrics.Committed(took)
	d.health.note(&d.health.store, nil)
}

// engineUp reports whether the container engine answered when it was last asked.
func (d *Daemon) engineUp() (up, known bool) {
	c := d.health.known(&d.health.engine)
	return c.why == nil, c.why != nil || !c.good.IsZero()
}

// ill says why the process is to be started again.
func (d *Daemon) ill() map[string]error {
	if age := d.rec.Progress(); age > loopPatience {
		return map[string]error{"loop": fmt.Errorf("it has not turned for %s", age.Round(time.Second))}
	}
	return nil
}

// unready says why the daemon is not fit for work.
func (d *Daemon) unready() map[string]error {
	why := map[string]error{}
	if !d.health.passed.Load() {
		why["first_pass"] = errors.New("the first pass over all specs is not done")
	}
	if d.health.draining.Load() {
		why["draining"] = errors.New("the daemon ends")
	}
	if err := d.health.known(&d.health.store).failing(storePatience + healthEvery); err != nil {
		why["store"] = err
	}
	engine := d.health.known(&d.health.engine)
	if err := engine.failing(enginePatience); err != nil {
		why["engine"] = err
		if container.Unavailable(err) {
			why["engine"] = fmt.Errorf("it does not answer: %w", err)
		}
	}
	return why
}

// probes are what orchestrators ask, by path.
func (d *Daemon) probes() map[string]web.Probe {
	return map[string]web.Probe{"/healthz": probe(d.ill), "/readyz": probe(d.unready)}
}

// fitness answers a probe at length.
type fitness struct {
	OK      bool              `json:"ok"`
	Failing map[string]string `json:"failing,omitempty"` // what is not fit, and why
}

// probe answers with a word, or at length to who may know.
func probe(failing func() map[string]error) web.Probe {
	return func(w http.ResponseWriter, details bool) {
		why := failing()
		status, word := http.StatusOK, "ok"
		if len(why) > 0 {
			status, word = http.StatusServiceUnavailable, "failing"
		}
		if !details {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			w.WriteHeader(status)
			_, _ = fmt.Fprintln(w, word) // a reader that went away needs no answer
			return
		}
		f := fitness{OK: len(why) == 0, Failing: map[string]string{}}
		for _, name := range slices.Sorted(maps.Keys(why)) {
			f.Failing[name] = strings.ToValidUTF8(why[name].Error(), "")
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(f) // the same
	}
}

// observed adds to what the control socket serves what monitoring asks: who reaches it may know all.
func (d *Daemon) observed(control http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", control)
	mux.Handle("GET /metrics", d.metrics.Handler())
	for path, answer := range d.probes() {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) { answer(w, true) })
	}
	return mux
}
