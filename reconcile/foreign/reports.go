package foreign

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/renameio/v2"

	"github.com/assayd/assayd/reconcile/ledger"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/query/snapshot"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/task/swebench"
)

// Options are what Reports are made from.
type Options struct {
	Store     *store.Store
	Ledger    *ledger.Submissions
	Snapshots *snapshot.Latest
	StateDir  string // where logs of trials lie
	Log       *slog.Logger
}

// Reports writes what the harnesses of others say at the end, for runs in single mode and as
// their trials end: <stem>.run.<name>.summary.json as swe-forge's does, and
// <stem>.run.<name>.report.json as SWE-bench's does, one for each agent where there are
// several. They are made anew from the store each time, so that nothing is lost by a crash. Any goroutine
// may use it.
type Reports struct {
	o     Options
	write func(ctx context.Context, address string) error
	wake  chan struct{} // holds one value while there may be something to do

	mu    sync.Mutex
	stale map[string]bool
}

// New returns reports of which none is stale.
func New(o Options) *Reports {
	r := &Reports{o: o, wake: make(chan struct{}, 1), stale: map[string]bool{}}
	r.write = r.writeLatest
	return r
}

func (r *Reports) tell(address string, err error) {
	r.o.Log.Warn("the summary of a run in single mode is not written yet", "spec", address, "error", err)
}

// Stale says that a run's files are not what they should be.
func (r *Reports) Stale(address string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stale[address] = true
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Pauses between two writings, and of it as a multiple of what the last one took: a run of
// thousands of trials is not summed up anew for each of them.
const (
	writePause = 500 * time.Millisecond
	writeRatio = 20
)

// Run writes until the context ends; what is stale then is for Finish.
func (r *Reports) Run(ctx context.Context) {
	for {
		select {
		case <-r.wake:
		case <-ctx.Done():
			return
		}
		began := time.Now()
		for _, address := range r.take() {
			if err := r.write(ctx, address); err != nil && ctx.Err() == nil {
				r.tell(address, err)
				r.Stale(address)
			}
		}
		timer := time.NewTimer(max(writePause, writeRatio*time.Since(began)))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// finishTime bounds the last writing. What is stale after it the next daemon writes.
const finishTime = 10 * time.Second

// Finish writes what is stale when all else has ended: after `assayd run` there may be no
// next daemon.
func (r *Reports) Finish(ctx context.Context) {
	now := r.o.Snapshots.Get()
	if now == nil || now.Set == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTime)
	defer cancel()
	for _, address := range r.take() {
		if err := r.writeBy(ctx, address, factsOf(now, address)); err != nil {
			r.tell(address, err)
		}
	}
}

func (r *Reports) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []string
	for address := range r.stale {
		all = append(all, address)
	}
	clear(r.stale)
	slices.Sort(all)
	return all
}

// errNoFile says that the run's own file is not there yet, beside which the others are.
var errNoFile = errors.New("no record of the run is written yet")

// runFacts is of a run what the store does not know.
type runFacts struct {
	cells   *plan.WantedCells // nil = no file declares it
	several bool              // it has several agents
}

func factsOf(s *snapshot.Snapshot, address string) runFacts {
	run := s.Set.Run(strings.TrimPrefix(address, "run."))
	return runFacts{s.Run(address).Desired.Wanted(), run != nil && len(run.Agents) > 1}
}

// writeLatest writes the files of the latest execution of a run.
func (r *Reports) writeLatest(ctx context.Context, address string) error {
	now, err := r.o.Snapshots.Wait(ctx)
	if err != nil {
		return err
	}
	return r.writeBy(ctx, address, factsOf(now, address))
}

func (r *Reports) writeBy(ctx context.Context, address string, of runFacts) error {
	results, err := r.harnessOf(ctx, address, of)
	if err != nil || len(results) == 0 {
		return err
	}
	name, err := r.besideResults(ctx, address)
	if err != nil {
		return err
	}
	summary, err := summaryOf(results).JSON()
	if err != nil {
		return err
	}
	if err := renameio.WriteFile(name+".summary.json", summary, 0o644); err != nil {
		return fmt.Errorf("write the summary of %s: %w", address, err)
	}
	byAgent := map[string][]swebench.Outcome{}
	for _, o := range results {
		byAgent[o.agent] = append(byAgent[o.agent], o.outcome)
	}
	for agent, outcomes := range byAgent {
		file := name + ".report.json"
		if of.several {
			file = name + "." + fileName(agent) + ".report.json"
		}
		report, err := swebench.Encoded(swebench.NewReport(outcomes))
		if err == nil {
			err = renameio.WriteFile(file, report, 0o644)
		}
		if err != nil {
			return fmt.Errorf("write the report of %s: %w", address, err)
		}
	}
	return nil
}

// besideResults is the path of the run's record file without its extension.
func (r *Reports) besideResults(ctx context.Context, address string) (name string, err error) {
	err = r.o.Store.View(ctx, func(tx *store.Tx) error {
		s, err := tx.Stream(address)
		if err == nil && s.File == "" {
			err = errNoFile
		}
		name = filepath.Join(filepath.Dir(s.File), strings.TrimSuffix(filepath.Base(s.Path), ".jsonl"))
		return err
	})
	return name, err
}

var odd = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// fileName is a name as part of a file's.
func fileName(name string) string { return odd.ReplaceAllString(name, "_") }
