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
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/mining/archive"
	"github.com/assayd/assayd/runtime/mining/extract"
	"github.com/assayd/assayd/runtime/mining/github"
	"github.com/assayd/assayd/runtime/mining/proof"
	"github.com/assayd/assayd/runtime/mining/screen"
	"github.com/assayd/assayd/runtime/mining/workbench"
	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/waiting"
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
	Printed func(ctx context.Context, r round.Report) (string, error)
	Trees   task.Trees
	// Begin returns when another pull request may begin, and tells for what it waits; nil = at once.
	Begin func(ctx context.Context) error
	// Waitable reports whether trouble passes without anybody's doing: an engine is away.
	Waitable func(error) bool
	Log      *slog.Logger
}

// Miner mines for one spec. Run does the work; the other methods may be called meanwhile.
type Miner struct {
	o      Options
	places *places
	naming sync.Mutex // held by who looks for the name of a task

	// listed are the pull requests of the spec's list, read at the beginning of a pass: "" are those that
	// nobody wants again, others were of a class that was not wanted.
	listed map[github.Ref]string

	spent hourglass

	mu     sync.Mutex
	began  time.Time         // when Run did for the first time; zero = it did not yet
	before Progress          // as it was then
	at     map[string]string // open pull requests under way: name -> stage
	waits  map[*work]string  // what waits for the outside, and why
}

// New returns a miner that has done nothing yet.
func New(o Options) *Miner {
	o.Log = o.Log.With("spec", o.Spec.Address())
	o.Book = marked{o.Book}
	return &Miner{o: o, at: map[string]string{}, waits: map[*work]string{}}
}

// keptClones is how many bytes of clones stay after a pass, the last used ones.
const keptClones = 20 << 30

// Causes of the end of a pass. The words are those of the record.
var (
	errEnough = errors.New("the spec has as many tasks as it wants")
	errBroke  = errors.New("the spec's budget is used up")
)

// Run mines until the spec is done, and says why it is: there is nothing more to read, what it asks
// for is refused, it has as many tasks as it wants, or its budget is used up. It returns the context's cause when
// that ends.
func (m *Miner) Run(ctx context.Context) (cause string, err error) {
	if err := m.begin(ctx); err != nil {
		return "", err
	}
	reports, stop := context.WithCancel(ctx)
	var reporter sync.WaitGroup
	reporter.Go(func() { m.report(reports) })
	code, cause, err := m.mine(ctx)
	stop()
	reporter.Wait() // nothing is told after the end
	if err != nil {
		return "", err
	}
	return cause, m.end(ctx, code, cause)
}

// begin looks how far the spec is.
func (m *Miner) begin(ctx context.Context) error {
	counts, err := m.o.Book.Counts(ctx)
	if err != nil {
		return err
	}
	names, err := m.names(ctx)
	if err != nil {
		return err
	}
	m.places = newPlaces(m.o.Spec, counts, names)
	before, err := m.Progress(ctx)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.began.IsZero() {
		m.began, m.before = time.Now(), before
	}
	return nil
}

// mine passes over the source until the spec is done, and says why it is; code is the reason of
// what is left open then, "" where nothing is.
func (m *Miner) mine(ctx context.Context) (code, cause string, err error) {
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
			return "", "", context.Cause(ctx)
		case errors.Is(err, errEnough):
			return ReasonEnough, errEnough.Error(), nil
		case errors.Is(err, errBroke):
			return ReasonBudget, errBroke.Error(), nil
		case refused(err) != nil:
			m.o.Log.Error("the source cannot be read", "error", err)
			return "", "the source cannot be read: " + err.Error(), nil
		case err != nil:
			return "", "", err
		case m.o.Spec.Once:
			return "", "the source has nothing more", nil
		}
		if err := clock.Sleep(ctx, m.o.Spec.Every-time.Since(started)); err != nil {
			return "", "", err
		}
	}
}

// end decides about what is left, and tells of the end.
func (m *Miner) end(ctx context.Context, code, cause string) error {
	for code != "" {
		left, err := m.o.Book.Open(ctx, 0, pageSize)
		if err != nil {
			return err
		}
		if len(left) == 0 {
			break
		}
		all := make([]Decision, len(left))
		for i, c := range left {
			if err := m.unwrite(ctx, c.Ref); err != nil {
				return err
			}
			all[i] = Decision{Ref: c.Ref, Verdict: Rejected, Stage: StageEnrich, Reason: code, Detail: cause}
			if all[i].Usage, err = m.paid(ctx, c.Ref); err != nil {
				return err
			}
		}
		if err := m.o.Book.Decide(ctx, all...); err != nil {
			return err
		}
	}
	p, err := m.Progress(ctx)
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

// UnderWay is how many pull requests are at work now, by stage.
func (m *Miner) UnderWay() map[string]int {
	at, _ := m.stages()
	return at
}

// stages counts the open pull requests under way by stage, and says for what some wait.
func (m *Miner) stages() (at map[string]int, waits string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at = map[string]int{}
	for _, stage := range m.at {
		at[stage]++
	}
	for _, text := range slices.Sorted(maps.Values(m.waits)) {
		return at, text
	}
	return at, ""
}

// work is something that may wait for the outside.
type work struct{ what string }

// working returns a context for work: the status tells why it waits, until over is called.
func (m *Miner) working(ctx context.Context, what string) (_ context.Context, over func()) {
	w := &work{what}
	return waiting.With(ctx, func(why error) { m.waiting(w, why) }), func() { m.waiting(w, nil) }
}

// mayBegin waits for as long as users hold the spec back.
func (m *Miner) mayBegin(ctx context.Context) error {
	if m.o.Begin == nil {
		return nil
	}
	ctx, over := m.working(ctx, "held")
	defer over()
	return m.o.Begin(ctx)
}

// waiting notes why some work waits for the outside; nil = it does not any more.
func (m *Miner) waiting(w *work, why error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if delete(m.waits, w); why != nil {
		m.waits[w] = w.what + ": " + why.Error()
	}
}

// decide ends a pull request.
func (m *Miner) decide(ctx context.Context, d Decision) error {
	m.leave(d.Ref) // before: what is under way is open
	if d.Verdict != Accepted {
		if err := m.unwrite(ctx, d.Ref); err != nil {
			return err
		}
	}
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
