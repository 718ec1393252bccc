package config

import (
	"slices"
	"sync"
)

// Mined are the tasks that mining specs have made so far. All sets that are loaded with it see
// what is added later: a run over a mining spec grows. It may be used by any goroutine.
type Mined struct {
	mu   sync.Mutex
	made map[string]*minedBy // by the name of the mining spec
}

type minedBy struct {
	as    *Benchmark // stands for the mining spec where tasks have a benchmark
	tasks []*Imported
	over  bool
}

// NewMined returns one without tasks.
func NewMined() *Mined { return &Mined{made: map[string]*minedBy{}} }

func (m *Mined) of(mining string) *minedBy {
	by := m.made[mining]
	if by == nil {
		by = &minedBy{as: &Benchmark{Block: Block{Kind: "mining", Name: mining}}}
		m.made[mining] = by
	}
	return by
}

// Add adds a task of a mining spec, or replaces the one of its name.
func (m *Mined) Add(mining string, t Imported) {
	m.mu.Lock()
	defer m.mu.Unlock()
	by := m.of(mining)
	if i := slices.IndexFunc(by.tasks, func(o *Imported) bool { return o.Name == t.Name }); i >= 0 {
		by.tasks[i] = &t
		return
	}
	by.tasks = append(by.tasks, &t)
}

// Over says whether a mining spec makes no more tasks.
func (m *Mined) Over(mining string, over bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of(mining).over = over
}

// Grows reports whether a mining spec may make more tasks.
func (m *Mined) Grows(mining string) bool {
	if m == nil {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return !m.of(mining).over
}

// Tasks returns the tasks of a mining spec, the first one first.
func (m *Mined) Tasks(mining string) (all []Selected) {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	by := m.of(mining)
	for _, t := range by.tasks {
		all = append(all, Selected{Benchmark: by.as, Imported: t})
	}
	return all
}
