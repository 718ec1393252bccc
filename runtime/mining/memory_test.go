package mining

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/assayd/assayd/runtime/mining/github"
	"github.com/assayd/assayd/runtime/mining/workbench"
)

// memory is a book that breaks where it is told to.
type memory struct {
	mu           sync.Mutex
	pulls        []*pull
	answers      map[[2]string][]byte // of a pull request, by key
	environments map[[2]string]workbench.Environment
	reports      []string
	last         Progress // of the last report

	// Called before a write, and after it was done: an error is what the write returns.
	before, after func(write) error
	writes        []write
	read          func(pull, key string) // called before an answer is looked up
}

// write is one of a book.
type write struct {
	what string // find, decide, keep, environment
	pull string // "" = nobody's
	key  string
}

// address is that of a server of one test.
var address = regexp.MustCompile(`127\.0\.0\.1:\d+`)

type pull struct {
	ref      github.Ref
	decision *Decision
	decided  int // how often
}

func newMemory() *memory {
	return &memory{answers: map[[2]string][]byte{}, environments: map[[2]string]workbench.Environment{}}
}

// do makes a write, and what the test wants of it.
func (b *memory) do(ctx context.Context, w write, change func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	b.mu.Lock()
	before, after := b.before, b.after
	b.mu.Unlock()
	w.key = address.ReplaceAllString(w.key, "github.test")
	if before != nil {
		if err := before(w); err != nil {
			return err
		}
	}
	b.mu.Lock()
	b.writes = append(b.writes, w)
	err := change()
	b.mu.Unlock()
	if err == nil && after != nil {
		err = after(w)
	}
	return err
}

func (b *memory) find(ref github.Ref) *pull {
	i := slices.IndexFunc(b.pulls, func(p *pull) bool { return p.ref == ref })
	if i < 0 {
		return nil
	}
	return b.pulls[i]
}

func (b *memory) Find(ctx context.Context, found []Found, mark Mark) error {
	return b.do(ctx, write{"find", "", mark.Key}, func() error {
		for _, f := range found {
			if b.find(f.Ref) != nil {
				continue
			}
			p := &pull{ref: f.Ref}
			if r := f.Rejected; r != nil {
				p.decision, p.decided = &Decision{Ref: f.Ref, Verdict: Rejected, Stage: StageSource, Reason: r.Code, Detail: r.Detail}, 1
			}
			b.pulls = append(b.pulls, p)
		}
		if mark.Key != "" {
			b.answers[[2]string{"", mark.Key}] = []byte(mark.Value)
		}
		return nil
	})
}

func (b *memory) Marks(ctx context.Context, prefix string) (all []Mark, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for key, value := range b.answers {
		if key[0] == "" && strings.HasPrefix(key[1], prefix) {
			all = append(all, Mark{key[1], string(value)})
		}
	}
	return all, ctx.Err()
}

func (b *memory) Open(ctx context.Context, after int64, limit int) (all []Candidate, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, p := range b.pulls {
		if place := int64(i + 1); p.decision == nil && place > after && len(all) < limit {
			all = append(all, Candidate{place, p.ref})
		}
	}
	return all, ctx.Err()
}

func (b *memory) Decide(ctx context.Context, all ...Decision) error {
	return b.do(ctx, write{"decide", all[0].Ref.String(), all[0].Verdict}, func() error {
		for _, d := range all {
			p := b.find(d.Ref)
			if p == nil {
				return fmt.Errorf("nobody has found %s", d.Ref.String())
			}
			p.decided++
			if p.decision == nil {
				p.decision = &d
			}
			if !TakenUpAgain(d.Reason) {
				maps.DeleteFunc(b.answers, func(key [2]string, _ []byte) bool { return key[0] == d.Ref.String() })
			}
		}
		return nil
	})
}

func (b *memory) Answer(ctx context.Context, pull, key string) ([]byte, bool, error) {
	if b.read != nil {
		b.read(pull, key)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	value, ok := b.answers[[2]string{pull, key}]
	return value, ok, ctx.Err()
}

func (b *memory) Keep(ctx context.Context, answers ...Answer) error {
	return b.do(ctx, write{"keep", answers[0].Pull, answers[0].Key}, func() error {
		for _, a := range answers {
			b.answers[[2]string{a.Pull, a.Key}] = slices.Clone(a.Value)
		}
		return nil
	})
}

func (b *memory) Environment(ctx context.Context, repo, lock string) (*workbench.Environment, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e, ok := b.environments[[2]string{repo, lock}]; ok {
		return &e, ctx.Err()
	}
	return nil, ctx.Err()
}

func (b *memory) KeepEnvironment(ctx context.Context, repo, lock string, e workbench.Environment) error {
	return b.do(ctx, write{"environment", "", repo}, func() error {
		b.environments[[2]string{repo, lock}] = e
		return nil
	})
}

func (b *memory) Counts(ctx context.Context) (Counts, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := Counts{Accepted: map[string]int{}, Ended: map[string]map[string]int{}, PerRepo: map[string]int{}}
	for _, p := range b.pulls {
		switch d := p.decision; {
		case d == nil:
			c.Open++
		case d.Verdict == Accepted:
			c.Accepted[d.Classification]++
			c.PerRepo[d.Ref.Repo]++
		default:
			if c.Ended[d.Stage] == nil {
				c.Ended[d.Stage] = map[string]int{}
			}
			c.Ended[d.Stage][d.Verdict]++
		}
	}
	return c, ctx.Err()
}

// Report implements Book. What is reported has to add up.
func (b *memory) Report(ctx context.Context, typ string, fields any) error {
	text, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reports, b.last = append(b.reports, typ), Progress{}
	return errors.Join(json.Unmarshal(text, &b.last), ctx.Err())
}

// reopen takes up again what may be, as happens when a spec wants more.
func (b *memory) reopen() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.pulls {
		if p.decision != nil && TakenUpAgain(p.decision.Reason) {
			p.decision, p.decided = nil, 0
		}
	}
}

// verdicts are what became of all pull requests, in words.
func (b *memory) verdicts() map[string]string {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := map[string]string{}
	for _, p := range b.pulls {
		all[p.ref.String()] = "open"
		if d := p.decision; d != nil {
			all[p.ref.String()] = strings.Join(strings.Fields(d.Verdict+" "+d.Stage+" "+d.Reason), " ")
			if d.Verdict == Accepted {
				all[p.ref.String()] = "accepted " + d.Classification
			}
		}
	}
	return all
}

// decision is what was decided about a pull request.
func (b *memory) decision(ref github.Ref) Decision {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p := b.find(ref); p != nil && p.decision != nil {
		return *p.decision
	}
	return Decision{}
}

// count is how many verdicts begin so.
func (b *memory) count(words string) (n int) {
	for _, v := range b.verdicts() {
		if strings.HasPrefix(v, words) {
			n++
		}
	}
	return n
}
