package reconcile

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
)

// starts counts the plans that start a trial, by run.
type starts struct {
	mu   sync.Mutex
	made map[string]int
}

func (p *starts) Write(line []byte) (int, error) {
	if _, rest, ok := strings.Cut(string(line), "msg=plan spec="); ok && strings.Contains(rest, "start ") {
		address, _, _ := strings.Cut(rest, " ")
		p.mu.Lock()
		defer p.mu.Unlock()
		p.made[address]++
	}
	return len(line), nil
}

func manyRuns(name string, cells int) string {
	return fmt.Sprintf("run %q {\n  tasks = [benchmark.edge]\n  attempts = %d\n  parallel = %d\n  auto_eval = \"0s\"\n  agent \"nop\" {}\n}\n", name, cells, cells)
}

// oneByOne has agents end one by one, and tells in which order the runs of their trials began.
func (h *fixture) oneByOne() (next func(), order func() []string) {
	var mu sync.Mutex
	var began []string
	ends := make(chan struct{})
	h.fake.Handle(func(ctx context.Context, c *containertest.FakeContainer) int {
		if labels := c.Workload().Labels; labels[container.LabelRole] == container.RoleWork {
			mu.Lock()
			began = append(began, strings.TrimPrefix(labels[container.LabelSpec], "run."))
			mu.Unlock()
			select {
			case <-ends:
			case <-ctx.Done():
			}
			h.work(ctx, c)
		}
		<-ctx.Done()
		return 137
	})
	close(h.let)
	next = func() {
		h.t.Helper()
		select {
		case ends <- struct{}{}:
		case <-time.After(patience):
			h.t.Fatalf("nothing works after %v", began)
		}
	}
	return next, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(began)
	}
}

// accept adds a run, and waits until it is in line.
func (h *fixture) accept(d *daemon, name string, cells int) {
	h.t.Helper()
	h.write(name+".hcl", manyRuns(name, cells))
	for deadline := time.Now().Add(patience); ; <-time.After(2 * time.Millisecond) {
		d.look(h.t)
		waits := false
		check(h.t, d.do(h.t.Context(), func() { waits = strings.HasPrefix(d.runs.notes["run."+name], "waits for room") }))
		if waits {
			return
		}
		if !time.Now().Before(deadline) {
			h.t.Fatalf("run.%s never waited for room", name)
		}
	}
}

// TestRoomIsOfferedInOrder: a run that has more cells does not take back what its trials leave while
// another waits longer.
func TestRoomIsOfferedInOrder(t *testing.T) {
	h := newFixture(t)
	h.most = 1
	next, order := h.oneByOne()
	h.write("shared.hcl", benchmarkSpec)
	d := h.start()
	h.accept(d, "first", 3) // one of it works, and the next waits
	h.accept(d, "a", 2)
	h.accept(d, "b", 2)
	for range 7 {
		next()
	}
	for _, run := range []string{"first", "a", "b"} {
		d.untilOver(t, "run."+run)
	}
	if got := strings.Join(order(), " "); got != "first first a b first a b" {
		t.Errorf("trials began in the order %s", got)
	}
}

// TestRoomIsOfferedUntilItIsGone: what comes free has one run looked at, not all that wait.
func TestRoomIsOfferedUntilItIsGone(t *testing.T) {
	const waiting = 15
	h := newFixture(t)
	h.most = 1
	next, _ := h.oneByOne()
	seen := &starts{made: map[string]int{}}
	h.more = func(o *Options) {
		o.Log = slog.New(slog.NewTextHandler(seen, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	text := benchmarkSpec + manyRuns("first", 1)
	for i := range waiting {
		text += manyRuns(fmt.Sprintf("w%d", i), 1)
	}
	h.write("a.hcl", text)
	d := h.start()
	for range waiting + 1 {
		next()
	}
	for i := range waiting {
		d.untilOver(t, fmt.Sprintf("run.w%d", i))
	}
	seen.mu.Lock()
	defer seen.mu.Unlock()
	for address, n := range seen.made {
		if n > 2 {
			t.Errorf("%s was to start %d times: when it began to wait, and once when there was room", address, n)
		}
	}
	if len(seen.made) != waiting+1 {
		t.Errorf("only %v were to start", slices.Sorted(maps.Keys(seen.made)))
	}
}

// planned calls a function for each plan that starts a trial, in the loop's goroutine, before the plan is
// carried out.
type planned func()

func (f planned) Write(line []byte) (int, error) {
	if strings.Contains(string(line), "msg=plan ") && strings.Contains(string(line), "start ") {
		f()
	}
	return len(line), nil
}

// TestARunIsLookedAtAgainThatTheTurnHadNoTimeFor: a turn of the loop may come to its end after a run's plan
// was made, and before its first trial begins.
func TestARunIsLookedAtAgainThatTheTurnHadNoTimeFor(t *testing.T) {
	h := newFixture(t)
	var r *Reconciler
	h.tune = func(made *Reconciler) { r = made }
	plans := 0
	h.more = func(o *Options) {
		o.Log = slog.New(slog.NewTextHandler(planned(func() {
			r.pace.tired = time.Now().Add(time.Hour)
			if plans++; plans == 2 {
				r.pace.tired = time.Now().Add(-time.Hour)
			}
		}), &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	h.write("a.hcl", benchmarkSpec+manyRuns("one", 1)+manyRuns("other", 1))
	close(h.let)
	d := h.start()
	d.untilOver(t, "run.one")
	d.untilOver(t, "run.other")
	if plans != 3 {
		t.Errorf("%d plans to start a trial: one of them has to be made twice", plans)
	}
}
