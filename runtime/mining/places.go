package mining

import (
	"context"
	"sync"

	"github.com/assayd/assayd/config"
)

// places are the tasks that a spec still wants. Whoever makes one holds a place for it, so
// that nobody pays for a task that is one too many.
type places struct {
	total   int            // wanted in all; 0 = no limit
	quota   map[string]int // wanted of each class; nil = whichever
	perRepo int            // 0 = no limit

	mu       sync.Mutex
	changed  chan struct{} // closed when something below has changed
	accepted tasks
	held     tasks // under way, by the class that they are taken for
}

// tasks counts tasks.
type tasks struct {
	all             int
	byClass, byRepo map[string]int
}

func (t *tasks) add(class, repo string, n int) {
	if t.byClass == nil {
		t.byClass, t.byRepo = map[string]int{}, map[string]int{}
	}
	t.all += n
	t.byClass[class] += n
	t.byRepo[repo] += n
}

func newPlaces(spec config.Mining, c Counts) *places {
	p := &places{changed: make(chan struct{}), total: spec.MaxTasks, perRepo: spec.Filter.PerRepo}
	if q := spec.Quota; q != nil {
		p.quota = map[string]int{"easy": q.Easy, "medium": q.Medium, "hard": q.Hard}
		p.total = q.Easy + q.Medium + q.Hard
	}
	p.accepted = tasks{all: c.Total(), byClass: map[string]int{}, byRepo: map[string]int{}}
	for class, n := range c.Accepted {
		p.accepted.byClass[class] = n
	}
	for repo, n := range c.PerRepo {
		p.accepted.byRepo[repo] = n
	}
	return p
}

// full reports whether the spec has all that it wants.
func (p *places) full() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for class, want := range p.quota {
		if p.accepted.byClass[class] < want {
			return false
		}
	}
	return p.quota != nil || p.total > 0 && p.accepted.all >= p.total
}

// wants reports whether a task of that class is wanted at all; "" is whichever.
func (p *places) wants(class string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.room(class, 0, 0)
}

// room reports whether there is room for one more beside the accepted ones and these.
func (p *places) room(class string, heldAll, heldOfClass int) bool {
	switch {
	case p.quota != nil && class != "":
		return p.accepted.byClass[class]+heldOfClass < p.quota[class]
	case p.total > 0:
		return p.accepted.all+heldAll < p.total
	}
	return true
}

// place is one that is held for a task of that class.
type place struct {
	of          *places
	class, repo string
	over        bool
}

// take waits for a place as long as one may come free. Without one it says why, as a reason.
func (p *places) take(ctx context.Context, class, repo string) (held *place, refused string, err error) {
	for {
		p.mu.Lock()
		switch {
		case !p.room(class, 0, 0):
			refused = ReasonEnough
		case p.perRepo > 0 && p.accepted.byRepo[repo] >= p.perRepo:
			refused = reasonPerRepo
		case p.room(class, p.held.all, p.held.byClass[class]) && (p.perRepo == 0 || p.accepted.byRepo[repo]+p.held.byRepo[repo] < p.perRepo):
			p.held.add(class, repo, 1)
			held = &place{of: p, class: class, repo: repo}
		}
		changed := p.changed
		p.mu.Unlock()
		if held != nil || refused != "" {
			return held, refused, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, "", context.Cause(ctx)
		}
	}
}

// use has the place be that of a task of the class that it came to have. It is refused where
// no more of that class are wanted; the place is then still held.
func (h *place) use(class string) bool {
	p := h.of
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.room(class, 0, 0) {
		return false
	}
	p.accepted.add(class, h.repo, 1)
	h.end()
	return true
}

// release gives a place back that was not used.
func (h *place) release() {
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	if !h.over {
		h.end()
	}
}

// end is called with the lock held.
func (h *place) end() {
	h.over = true
	h.of.held.add(h.class, h.repo, -1)
	close(h.of.changed)
	h.of.changed = make(chan struct{})
}
