package image

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/task"
)

// What a Batch does with the images of tasks.
const (
	Build = "build" // make what is not there
	Pull  = "pull"  // fetch what is not there, make nothing
	Push  = "push"  // send what was made here to the registry of the settings
)

// Made is what became of one image.
type Made struct {
	Role    string  `json:"role"`
	Name    string  `json:"name,omitempty"`
	ID      string  `json:"id,omitempty"`
	Digest  string  `json:"digest,omitempty"` // in its registry
	State   string  `json:"state"`            // built, cached, pulled, pushed, failed
	Seconds float64 `json:"seconds"`
	Error   string  `json:"error,omitempty"` // with the end of the output of a command that failed
}

// Batch does one thing with the images of many tasks. A base that they share is done once,
// also when it fails.
type Batch struct {
	b    *Builder
	verb string

	mu    sync.Mutex
	bases map[string]func() (Built, error)
	sent  map[string]bool // names that were pushed
}

// Batch begins a batch of one of the verbs.
func (b *Builder) Batch(verb string) (*Batch, error) {
	v := b
	switch verb {
	case Build:
	case Pull, Push:
		v = New(b.opts)
		v.look, v.pulls = verb == Push, verb == Pull
	default:
		return nil, fmt.Errorf("%q is nothing to be done with images", verb)
	}
	return &Batch{b: v, verb: verb, bases: map[string]func() (Built, error){}, sent: map[string]bool{}}, nil
}

// Task does the images of one task and tells of each. One that fails keeps only those from
// their turn that are made from it.
func (a *Batch) Task(ctx context.Context, t task.Task, labels map[string]string, tell func(Made)) {
	do := func(role string, make func() (Built, error)) error {
		began := time.Now()
		built, err := make()
		if err == nil && a.verb == Push {
			a.push(ctx, role, built, tell)
			return nil
		}
		tell(outcome(role, built, time.Since(began), err))
		return err
	}
	var failed error // of what the next image is made from
	if t.Base != nil && (t.Work.Image == "" || t.Judge.FromBase) {
		failed = do(container.RoleBase, func() (Built, error) { return a.base(ctx, t, labels) })
	}
	base := failed
	if work := do(container.RoleWork, func() (Built, error) {
		if failed != nil && t.Work.Image == "" {
			return Built{}, errNoParent
		}
		return a.b.Work(ctx, t, labels)
	}); !t.Judge.FromBase {
		base = work
	}
	_ = do(container.RoleJudge, func() (Built, error) { // was told
		if base != nil && t.Judge.Image == "" && t.Judge.Dockerfile == "" {
			return Built{}, errNoParent
		}
		return a.b.Judge(ctx, t, labels)
	})
	a.stages(ctx, t, tell)
}

var errNoParent = errors.New("the image that it is made from is not there")

// stages fetches the images that stages name, which nobody builds.
func (a *Batch) stages(ctx context.Context, t task.Task, tell func(Made)) {
	for _, s := range []struct {
		name  string
		stage *task.Stage
	}{{"run stage", t.Judge.Run}, {"grade stage", t.Judge.Grade}} {
		if s.stage == nil || s.stage.Image == "" || a.verb == Push {
			continue
		}
		began := time.Now()
		img, err := a.b.Resolve(ctx, s.stage.Image, t.Platform)
		tell(outcome(s.name, a.b.asIs(s.stage.Image, img, recipe{}), time.Since(began), err))
	}
}

// base is Builder.Base once for all tasks that share it.
func (a *Batch) base(ctx context.Context, t task.Task, labels map[string]string) (Built, error) {
	key := fmt.Sprintf("%s %s %+v", t.Benchmark, t.Platform, *t.Base)
	a.mu.Lock()
	once := a.bases[key]
	if once == nil {
		once = sync.OnceValues(func() (Built, error) { return a.b.Base(ctx, t, labels) })
		a.bases[key] = once
	}
	a.mu.Unlock()
	return once()
}

// push sends an image, unless nothing was added to one of somebody else's.
func (a *Batch) push(ctx context.Context, role string, built Built, tell func(Made)) {
	a.mu.Lock()
	known := a.sent[built.Ref]
	a.sent[built.Ref] = true
	a.mu.Unlock()
	if known || built.AsIs {
		return
	}
	began := time.Now()
	remote, digest, err := a.b.Push(ctx, built.Ref)
	m := outcome(role, built, time.Since(began), err)
	if err == nil {
		m.State, m.Name, m.Digest = "pushed", remote, digest
	}
	tell(m)
}

// outcome puts what happened in words.
func outcome(role string, built Built, took time.Duration, err error) Made {
	m := Made{Role: role, Name: built.Ref, ID: built.ID, Seconds: took.Seconds(), State: "built"}
	switch {
	case errors.Is(err, errLookedOnly):
		m.State, m.Error = "failed", fmt.Sprintf("%v: build it first", err)
	case err != nil:
		m.State, m.Error = "failed", err.Error()
	case built.Pulled:
		m.State = "pulled"
	case built.Cached:
		m.State = "cached"
	}
	for _, d := range built.Digests {
		_, digest, _ := strings.Cut(d, "@")
		m.Digest = cmp.Or(m.Digest, digest)
	}
	return m
}
