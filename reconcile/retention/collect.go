package retention

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/query/tasklookup"
	"github.com/assayd/assayd/reconcile/request"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/image"
	"github.com/assayd/assayd/runtime/task"
)

// Sweep asks that what nobody needs any more is removed.
type Sweep struct {
	// Keep is how many bytes of images that no wanted trial needs may stay. Nil: those go that
	// no task of any spec in force needs and that nobody used for a day.
	Keep *int64 `json:"keep,omitempty"`
	Dry  bool   `json:"dry_run,omitempty"` // only tell what would go
	Kept bool   `json:"kept,omitempty"`    // the containers that runs kept for a look go, too
	// Young is how long an image must not have been used, when Keep is set. Those of executions
	// that have finished, and that nobody used since, need not be so old.
	Young time.Duration `json:"-"`
}

// Swept is what went.
type Swept struct {
	Containers []string          `json:"containers,omitempty"` // that runs kept
	Images     []image.Collected `json:"images"`
	Layers     int               `json:"layers,omitempty"` // of agents
	Blobs      int               `json:"blobs"`
	Bytes      int64             `json:"bytes"` // freed, as far as nothing else shares them
}

// unusedFor is how long an image of no spec stays when there is no budget.
const unusedFor = 24 * time.Hour

// OrphanedFor is how long a blob that nothing speaks of stays: it may be on its way into
// the database.
const OrphanedFor = time.Hour

// Collect removes images that this state directory's builds made and blobs that nothing
// speaks of. An image of an open trial or execution stays, and one that a container was
// made from; what is anybody else's is never touched.
func (c *Collector) Collect(ctx context.Context, s Sweep) (out Swept, err error) {
	if c.o.Host.Images == nil {
		return out, request.ErrIdle
	}
	out.Images = []image.Collected{}
	if s.Kept { // at first: an image that a container was made from stays
		every := func(all []Kept) []Kept { return all }
		if out.Containers, out.Bytes, err = c.dropKept(ctx, every, s.Dry); err != nil {
			return out, err
		}
	}
	images, err := c.collectImages(ctx, s)
	for _, img := range images {
		out.Images, out.Bytes = append(out.Images, img), out.Bytes+img.Bytes
	}
	return out, errors.Join(err, c.collectBlobs(ctx, s, &out), c.collectLayers(ctx, s, &out))
}

// collectLayers removes agents' layers that no open trial and no kept container has, when that is
// asked for and not on the hour: to have them again is a download.
func (c *Collector) collectLayers(ctx context.Context, s Sweep, out *Swept) error {
	if c.o.Host.Layers == nil || s.Keep != nil || s.Dry {
		return nil
	}
	states, err := history.OpenTrials(ctx, c.o.Store)
	if err != nil {
		return err
	}
	kept, err := FindKept(ctx, c.o.Store, c.o.Host.Engine)
	if err != nil {
		return err
	}
	for _, k := range kept { // they have theirs mounted when they are started again
		states = append(states, k.Trial)
	}
	needed := map[string]bool{}
	for _, state := range states {
		for _, l := range state.Layers {
			needed[filepath.Base(l.Source)] = true
		}
	}
	gone, err := c.o.Host.Layers.Collect(ctx, func(digest string) bool { return needed[digest] })
	out.Layers = len(gone)
	return err
}

func (c *Collector) collectImages(ctx context.Context, s Sweep) ([]image.Collected, error) {
	g := image.Garbage{Before: time.Now().Add(-unusedFor), Dry: s.Dry}
	if s.Keep != nil {
		g.Keep, g.Before = *s.Keep, time.Now().Add(-s.Young)
	}
	var err error
	if g.Needed, err = c.needed(ctx, s.Keep == nil); err != nil {
		return nil, fmt.Errorf("look for images that are needed: %w", err)
	}
	if s.Young > 0 {
		if g.Over, err = c.over(ctx, g.Before); err != nil {
			return nil, fmt.Errorf("look for images of runs that are over: %w", err)
		}
	}
	g.Used = func(ref string) (at time.Time) {
		err := c.o.Store.View(ctx, func(tx *store.Tx) error {
			text, err := tx.Meta(usedKey(ref))
			if err == nil && text != "" {
				at, err = time.Parse(time.RFC3339, text)
			}
			return err
		})
		if err != nil {
			return time.Now() // what is not known is not old
		}
		return at
	}
	return c.o.Host.Images.Collect(ctx, g)
}

// needed are the ids of the images of open trials and of executions that are open or to
// begin; with every, those of all tasks of the specs in force, too.
func (c *Collector) needed(ctx context.Context, every bool) (map[string]bool, error) {
	tasks, err := c.wantedTasks(ctx, every)
	if err != nil {
		return nil, err
	}
	needed := map[string]bool{}
	for _, t := range tasks {
		ids, err := c.o.Host.Images.Present(ctx, t)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			needed[id] = true
		}
	}
	open, err := history.OpenTrials(ctx, c.o.Store)
	for _, s := range open {
		for _, id := range []string{s.WorkImage.ID, s.Equipped, s.JudgeImage.ID, s.RunImage, s.GradeImage} {
			needed[id] = true
		}
	}
	if err == nil {
		err = c.o.Needed(ctx, needed)
	}
	delete(needed, "")
	return needed, err
}

// over are the ids of the images of executions that have finished since a time, and when the
// last one did. Those of former ones have not been used since then either.
func (c *Collector) over(ctx context.Context, since time.Time) (map[string]time.Time, error) {
	type ended struct {
		at   time.Time
		task task.Task
	}
	var all []ended
	now, err := c.o.Snapshots.Wait(ctx)
	if err != nil {
		return nil, err
	}
	for address, run := range now.Runs() {
		if run.Desired == nil {
			continue
		}
		e, err := c.latestExecution(ctx, address)
		if errors.Is(err, store.ErrNotFound) || err == nil && (e.FinishedAt.Before(since) || run.Rerun) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, t := range run.Desired.Tasks() {
			if t, err = c.asPinned(ctx, address, e.N, t); err != nil {
				return nil, err
			}
			all = append(all, ended{e.FinishedAt, t})
		}
	}
	over := map[string]time.Time{}
	for _, one := range all {
		ids, err := c.o.Host.Images.Present(ctx, one.task)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			if over[id].Before(one.at) {
				over[id] = one.at
			}
		}
	}
	return over, nil
}

// latestExecution reads the latest execution of a run, or returns store.ErrNotFound.
func (c *Collector) latestExecution(ctx context.Context, address string) (e store.ExecutionRow, err error) {
	err = c.o.Store.View(ctx, func(tx *store.Tx) error {
		e, err = tx.LatestExecution(address)
		return err
	})
	return e, err
}

// wantedTasks are the tasks whose images are needed, each once; their images are named as
// in the execution that wants them.
func (c *Collector) wantedTasks(ctx context.Context, every bool) ([]task.Task, error) {
	tasks := map[string]task.Task{}
	add := func(t task.Task) {
		key, err := json.Marshal([]any{t.Benchmark, t.Name, t.Platform, t.Workdir, t.Base, t.Image, t.Repo, t.Work, t.Judge.Part, t.Judge.Patch, t.Judge.FromBase})
		if err == nil { // plain data always encodes
			tasks[string(key)] = t
		}
	}
	now, err := c.o.Snapshots.Wait(ctx)
	if err != nil {
		return nil, err
	}
	if now.Set == nil {
		return nil, errors.New("the specs have not been read yet")
	}
	for address, run := range now.Runs() {
		if run.Desired == nil {
			continue
		}
		e, err := c.latestExecution(ctx, address)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
		over := !e.FinishedAt.IsZero() && !run.Rerun
		if over && !every {
			continue
		}
		for _, t := range run.Desired.Tasks() {
			if !over && e.N > 0 {
				if t, err = c.asPinned(ctx, address, e.N, t); err != nil {
					return nil, err
				}
			}
			add(t)
		}
	}
	if every {
		for _, s := range tasklookup.All(now.Set) {
			if t, err := plan.CompileTask(s); err == nil {
				add(t)
			}
		}
	}
	return slices.Collect(maps.Values(tasks)), nil
}

// asPinned is the task with its images as the execution pinned them.
func (c *Collector) asPinned(ctx context.Context, spec string, execution int, t task.Task) (task.Task, error) {
	refs := []*string{&t.Image, &t.Work.Image, &t.Judge.Image}
	if t.Base != nil {
		base := *t.Base
		t.Base = &base
		refs = append(refs, &base.Image)
	}
	err := c.o.Store.View(ctx, func(tx *store.Tx) error {
		for _, ref := range refs {
			id, err := tx.Meta(history.PinKey(spec, execution, *ref))
			if err != nil {
				return err
			}
			if id != "" {
				*ref = id
			}
		}
		return nil
	})
	return t, err
}

func (c *Collector) collectBlobs(ctx context.Context, s Sweep, out *Swept) error {
	old := c.o.Before(OrphanedFor)
	now, err := c.o.Snapshots.Wait(ctx)
	if err != nil {
		return err
	}
	if now.Set == nil {
		return errors.New("the specs have not been read yet")
	}
	var desired []*plan.Run
	for _, run := range now.Runs() {
		desired = append(desired, run.Desired)
	}
	inForce, err := json.Marshal([]any{now.Set.Blocks, desired, now.Previous})
	if err != nil {
		return err
	}
	orphans, err := c.o.Store.Orphans(ctx, old, inForce)
	if err != nil {
		return err
	}
	for _, o := range orphans {
		gone := s.Dry
		if !s.Dry {
			if gone, err = c.o.Store.Blobs().Discard(o, old); err != nil {
				return err
			}
		}
		if gone {
			out.Blobs, out.Bytes = out.Blobs+1, out.Bytes+o.Bytes
		}
	}
	return nil
}
