package taskcheck

import (
	"context"
	"sync"
	"time"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/trial"
)

// When the memory of judge containers is looked at.
const (
	firstMemoryLook = 200 * time.Millisecond
	nextMemoryLook  = time.Second
)

// meter looks now and then at what the judge containers of some sessions use. What uses more
// between two looks is not seen.
type meter struct {
	engine container.Engine
	owner  string
	mu     sync.Mutex
	used   map[string]int64 // by session; the most
}

func newMeter(h trial.Host) *meter {
	return &meter{engine: h.Engine, owner: h.Owner, used: map[string]int64{}}
}

func (m *meter) watch(session string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.used[session] = 0
}

func (m *meter) most(session string) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used[session]
}

// run looks until it is stopped; stop returns when nobody looks any more.
func (m *meter) run(ctx context.Context) (stop func()) {
	engine, ok := m.engine.(container.Meter)
	if !ok {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var looking sync.WaitGroup
	looking.Go(func() {
		timer := time.NewTimer(firstMemoryLook)
		defer timer.Stop()
		for {
			select {
			case <-timer.C:
			case <-ctx.Done():
				return
			}
			m.look(ctx, engine)
			timer.Reset(nextMemoryLook)
		}
	})
	return func() { cancel(); looking.Wait() }
}

// look takes what there is to be had: a container may end at any moment.
func (m *meter) look(ctx context.Context, engine container.Meter) {
	all, err := m.engine.Observe(ctx, m.owner)
	if err != nil {
		return
	}
	for _, c := range all {
		session := c.Labels[container.LabelTrial]
		m.mu.Lock()
		_, ours := m.used[session]
		m.mu.Unlock()
		if !ours || c.Labels[container.LabelRole] != container.RoleJudge || c.Phase != container.PhaseRunning {
			continue
		}
		if u, err := engine.Usage(ctx, c.ID); err == nil {
			m.mu.Lock()
			m.used[session] = max(m.used[session], u.MemoryBytes)
			m.mu.Unlock()
		}
	}
}
