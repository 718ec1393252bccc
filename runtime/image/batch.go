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
	v := *b
	switch verb {
	case Build:
	case Pull, Push:
		v = *New(b.opts)
		v.look, v.pulls = verb == Push, verb == Pull
	default:
		return nil, fmt.Errorf("%q is nothing to be done with images", verb)
	}
	v.outages = &outages{seen: map[string]bool{}}
	return &Batch{b: &v, verb: verb, bases: map[string]func() (Built, error){}, sent: map[string]bool{}}, nil
}

// Task does the images of one task and tells of each. One that fails keeps only those from
// their turn that are made from it, and a base is made for those alone that need it.
func (a *Batch) Task(ctx context.Context, t task.Task, labels map[string]string, tell func(Made)) {
	base := sync.OnceValue(func() error {
		if t.Base == nil {
			return nil
		}
		began := time.Now()
		built, err := a.base(ctx, t, labels)
		return a.done(ctx, container.RoleBase, built, began, err, tell)
	})
	if a.verb == Push && t.Base != nil { // a base that is not here is missed where the others need it
		if _, err := a.base(ctx, t, labels); err == nil {
			_ = base() // was told
		}
	}
	work := a.part(ctx, t, workRecipe(t), tell, func() error {
		if from, err := begins(t.Work, container.RoleWork, t.Platform); from != "" || err != nil {
			return nil
		}
		return base()
	}, func(r recipe) (Built, error) { return a.b.makeWork(ctx, t, r, labels) })
	_ = a.part(ctx, t, judgeRecipe(t), tell, func() error { // was told
		switch {
		case judgedOnWork(t):
			return work
		case t.Judge.Image != "" || t.Judge.Dockerfile != "":
			return nil
		}
		return base()
	}, func(r recipe) (Built, error) { return a.b.makeJudge(ctx, t, r, labels) })
	a.stages(ctx, t, tell)
}

// part does the image of work or judge: one whose name the task's format fixes is taken as it is
// where it can be had, and nothing is asked for what it is made from.
func (a *Batch) part(ctx context.Context, t task.Task, r recipe, tell func(Made), parent func() error, build func(recipe) (Built, error)) error {
	began := time.Now()
	built, err := a.b.ready(ctx, r, t.Platform)
	if a.b.makes(err) {
		answer := err
		if err = parent(); err != nil {
			err = errNoParent
		} else {
			began = time.Now()
			built, err = build(r)
		}
		if err != nil && a.b.remote(r.Name) != "" && !a.b.look {
			err = fmt.Errorf("%w; the registry of the settings said: %v", err, answer) //nolint:errorlint // it could be made all the same
		}
	}
	return a.done(ctx, r.Role, built, began, err, tell)
}

// done tells of an image, or sends it.
func (a *Batch) done(ctx context.Context, role string, built Built, began time.Time, err error, tell func(Made)) error {
	if err == nil && a.verb == Push {
		a.push(ctx, role, built, tell)
		return nil
	}
	tell(outcome(role, built, time.Since(began), err))
	return err
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
	// An image that only another task has had built is not called this yet.
	err := a.b.images.Tag(ctx, built.ID, built.Ref)
	var remote, digest string
	if err == nil {
		remote, digest, err = a.b.Push(ctx, built.Ref)
	}
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
