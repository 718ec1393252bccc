package mining

import (
	"cmp"
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
	sure     tasks // of those held: the task is made, and has that class, but nothing is decided
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

// newPlaces are those that are left of a spec's. names leads from former names of repositories
// to those that they have now, by which places are counted.
func newPlaces(spec config.Mining, c Counts, names map[string]string) *places {
	p := &places{changed: make(chan struct{}), total: wanted(spec), perRepo: spec.Filter.PerRepo}
	if q := spec.Quota; q != nil {
		p.quota = map[string]int{"easy": q.Easy, "medium": q.Medium, "hard": q.Hard}
	}
	p.accepted = tasks{all: c.Total(), byClass: map[string]int{}, byRepo: map[string]int{}}
	for class, n := range c.Accepted {
		p.accepted.byClass[class] = n
	}
	for repo, n := range c.PerRepo {
		p.accepted.byRepo[cmp.Or(names[repo], repo)] += n
	}
	return p
}

// full reports whether the spec has all that it wants. What is made but not decided does not
// count: it may yet come to nothing.
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
	sure, over  bool
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

// use has the place be that of a task of the class that it came to have, and waits while all
// of that class are made but not decided. It is refused where no more of that class are
// wanted. To use it again changes nothing.
func (h *place) use(ctx context.Context, class string) (bool, error) {
	p := h.of
	for {
		p.mu.Lock()
		enough := !p.room(class, 0, 0)
		if !h.sure && !enough && p.room(class, p.sure.all, p.sure.byClass[class]) {
			p.held.add(h.class, h.repo, -1)
			p.held.add(class, h.repo, 1)
			p.sure.add(class, h.repo, 1)
			h.class, h.sure = class, true
			p.tell()
		}
		sure, changed := h.sure, p.changed
		p.mu.Unlock()
		if sure || enough {
			return sure, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
}

// keep says that the task is accepted: the place is taken for good.
func (h *place) keep() { h.end(true) }

// release gives a place back that was not kept.
func (h *place) release() { h.end(false) }

func (h *place) end(accepted bool) {
	p := h.of
	p.mu.Lock()
	defer p.mu.Unlock()
	if h.over {
		return
	}
	h.over = true
	p.held.add(h.class, h.repo, -1)
	if h.sure {
		p.sure.add(h.class, h.repo, -1)
	}
	if accepted {
		p.accepted.add(h.class, h.repo, 1)
	}
	p.tell()
}

// tell wakes whoever waits for a change. It is called with the lock held.
func (p *places) tell() {
	close(p.changed)
	p.changed = make(chan struct{})
}
