package mining

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/runtime/clock"
	"github.com/assayd/assayd/runtime/gateway"
	"github.com/assayd/assayd/runtime/image"
	"github.com/assayd/assayd/runtime/judge"
	"github.com/assayd/assayd/runtime/mining/archive"
	"github.com/assayd/assayd/runtime/mining/extract"
	"github.com/assayd/assayd/runtime/mining/github"
	"github.com/assayd/assayd/runtime/mining/proof"
	"github.com/assayd/assayd/runtime/mining/screen"
	"github.com/assayd/assayd/runtime/mining/workbench"
	"github.com/assayd/assayd/runtime/task"
)

// Options are what a Miner works with.
type Options struct {
	Spec    config.Mining
	Rules   screen.Rules // of the spec's filter
	Book    Book
	Archive *archive.Archive
	GitHub  *github.Client
	Forge   string // address of the repositories, https://github.com
	Repos   *extract.Repositories
	Gateway *gateway.Gateway
	Images  *image.Builder
	// Room has a container of a task's work image with network, as its owner's, for as long as
	// use uses it.
	Room func(ctx context.Context, t task.Task, use func(ctx context.Context, room workbench.Room) error) error
	// Judge has a patch judged in a fresh container, nil being the untouched tree.
	Judge proof.Run
	// Printed is what the judge command printed of which a report came.
	Printed func(ctx context.Context, r judge.Report) (string, error)
	Trees   task.Trees
	// Waitable reports whether trouble passes without anybody's doing: an engine is away.
	Waitable func(error) bool
	Log      *slog.Logger
}

// Miner mines for one spec. Run does the work; the other methods may be called meanwhile.
type Miner struct {
	o      Options
	places *places
	naming sync.Mutex // held by who looks for the name of a task

	spent hourglass

	mu     sync.Mutex
	before Progress          // as Run found it
	at     map[string]string // open pull requests under way: name -> stage
	waits  map[string]string // what waits for the outside, and why
}

// New returns a miner that has done nothing yet.
func New(o Options) *Miner {
	o.Log = o.Log.With("spec", o.Spec.Address())
	o.Book = marked{o.Book}
	return &Miner{o: o, at: map[string]string{}, waits: map[string]string{}}
}

// keptClones is how many bytes of clones stay after a pass, the last used ones.
const keptClones = 20 << 30

// Causes of the end of a pass. The words are those of the record.
var (
	errEnough = errors.New("the spec has as many tasks as it wants")
	errBroke  = errors.New("the spec's budget is used up")
)

// Run mines until the spec is done, and says why it is: there is nothing more to read, it has
// as many tasks as it wants, or its budget is used up. It returns the context's cause when
// that ends.
func (m *Miner) Run(ctx context.Context) (cause string, err error) {
	began := time.Now()
	counts, err := m.o.Book.Counts(ctx)
	if err != nil {
		return "", err
	}
	names, err := m.names(ctx)
	if err != nil {
		return "", err
	}
	m.places = newPlaces(m.o.Spec, counts, names)
	before, err := m.Progress(ctx, began)
	if err != nil {
		return "", err
	}
	m.mu.Lock()
	m.before = before
	m.mu.Unlock()
	reports, stop := context.WithCancel(ctx)
	var reporter sync.WaitGroup
	reporter.Go(func() { m.report(reports, began) })
	defer reporter.Wait()
	defer stop()
	for {
		started := time.Now()
		over := m.spent.pass()
		err := m.pass(ctx)
		over()
		if err := m.o.Repos.Collect(ctx, keptClones); err != nil && ctx.Err() == nil {
			m.o.Log.Warn("remove old clones", "error", err)
		}
		switch {
		case ctx.Err() != nil:
			return "", context.Cause(ctx)
		case errors.Is(err, errEnough):
			return errEnough.Error(), m.end(ctx, began, ReasonEnough, errEnough.Error())
		case errors.Is(err, errBroke):
			return errBroke.Error(), m.end(ctx, began, ReasonBudget, errBroke.Error())
		case err != nil:
			return "", err
		case m.o.Spec.Once:
			const cause = "the source has nothing more"
			return cause, m.end(ctx, began, "", cause)
		}
		if err := clock.Sleep(ctx, m.o.Spec.Every-time.Since(started)); err != nil {
			return "", err
		}
	}
}

// end decides about what is left, and tells of the end.
func (m *Miner) end(ctx context.Context, began time.Time, code, cause string) error {
	for code != "" {
		left, err := m.o.Book.Open(ctx, 0, pageSize)
		if err != nil {
			return err
		}
		if len(left) == 0 {
			break
		}
		for _, c := range left {
			d := Decision{Ref: c.Ref, Verdict: Rejected, Stage: StageEnrich, Reason: code, Detail: cause}
			if d.Usage, err = m.paid(ctx, c.Ref); err != nil {
				return err
			}
			if err := m.o.Book.Decide(ctx, d); err != nil {
				return err
			}
		}
	}
	p, err := m.Progress(ctx, began)
	if err != nil {
		return err
	}
	return m.o.Book.Report(ctx, "mining.finished", finished{Cause: cause, Progress: p})
}

// enter notes at which stage an open pull request is.
func (m *Miner) enter(ref github.Ref, stage string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at[ref.String()] = stage
}

// leave notes that a pull request is not under way any more.
func (m *Miner) leave(ref github.Ref) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.at, ref.String())
}

// idle notes that nothing is under way.
func (m *Miner) idle() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.at)
}

// stages counts the open pull requests under way by stage, and says for what some wait.
func (m *Miner) stages() (at map[string]int, waits string, before Progress) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at = map[string]int{}
	for _, stage := range m.at {
		at[stage]++
	}
	for _, what := range slices.Sorted(maps.Keys(m.waits)) {
		return at, what + ": " + m.waits[what], m.before
	}
	return at, "", m.before
}

// waiting notes why something waits for the outside; nil = it does not any more.
func (m *Miner) waiting(what string, why error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if delete(m.waits, what); why != nil {
		m.waits[what] = why.Error()
	}
}

// decide ends a pull request.
func (m *Miner) decide(ctx context.Context, d Decision) error {
	m.leave(d.Ref) // before: what is under way is open
	if err := m.o.Book.Decide(ctx, d); err != nil {
		return fmt.Errorf("decide about %s: %w", d.Ref.String(), err)
	}
	log := m.o.Log.With("pull", d.Ref.String(), "stage", d.Stage)
	switch d.Verdict {
	case Accepted:
		log.Info("task mined", "task", d.Mined.Task.Name, "difficulty", d.Classification)
	case Failed:
		log.Warn("pull request failed", "reason", d.Reason, "detail", d.Detail)
	default:
		log.Debug("pull request rejected", "reason", d.Reason, "detail", d.Detail)
	}
	return nil
}
