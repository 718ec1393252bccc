package retention

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/judge/sandbox"
	"github.com/assayd/assayd/runtime/pause"
	"github.com/assayd/assayd/runtime/trial"
	"github.com/assayd/assayd/runtime/trial/trydir"
)

// mostKept is how many trials have containers that stay for a look. They take room on the disk
// that no run has reserved.
const mostKept = 50

// Kept is a container that stays after the end of its trial, for a look.
type Kept struct {
	container.Instance
	Trial trial.State // as of the container's try
	Last  int         // try of the trial
}

// Role is container.RoleWork or container.RoleJudge.
func (k Kept) Role() string { return k.Labels[container.LabelRole] }

// stays reports whether what the trial came to lets the container stay.
func (k Kept) stays() bool { return k.Trial.Try == k.Last && k.Trial.Keeps() && !k.Trial.Superseded() }

// surplus are the containers that stay no longer: of an earlier try, of what an edit replaced,
// of what turned out to be resolved, and of all but the trials that ended last.
func surplus(all []Kept) (gone []Kept) {
	newest := map[string]time.Time{} // by trial
	for _, k := range all {
		if k.stays() && newest[k.Trial.ID].Before(k.CreatedAt) {
			newest[k.Trial.ID] = k.CreatedAt
		}
	}
	var trials []string
	for id := range newest {
		trials = append(trials, id)
	}
	slices.SortFunc(trials, func(a, b string) int { return cmp.Or(newest[b].Compare(newest[a]), cmp.Compare(a, b)) })
	trials = trials[:min(len(trials), mostKept)]
	for _, k := range all {
		if !k.stays() || !slices.Contains(trials, k.Trial.ID) {
			gone = append(gone, k)
		}
	}
	return gone
}

// Changed says that other containers may stay now: a trial has begun or ended.
func (c *Collector) Changed() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// BoundKept removes what stays no longer, until the context ends.
func (c *Collector) BoundKept(ctx context.Context) {
	for again := (pause.Growing{}); ctx.Err() == nil; {
		select {
		case <-c.wake:
		case <-ctx.Done():
			return
		}
		choose := surplus
		if c.o.Host.Scarce != nil && c.o.Host.Scarce() { // trials wait for the room that these take
			choose = func(all []Kept) []Kept { return all }
		}
		if _, _, err := c.dropKept(ctx, choose, false); err != nil && ctx.Err() == nil {
			c.o.Log.Warn("remove containers that stay no longer", "error", err)
			c.Changed()
			again.Wait(ctx)
			continue
		}
		again.Reset()
	}
}

// dropKept removes those of the kept containers that are chosen, with what they have mounted of
// the state directory, but for those somebody is in. bytes is the room that it gives back, as
// far as the engine tells.
func (c *Collector) dropKept(ctx context.Context, choose func([]Kept) []Kept, dry bool) (names []string, bytes int64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all, err := FindKept(ctx, c.o.Store, c.o.Host.Engine)
	if err != nil {
		return nil, 0, err
	}
	meter, _ := c.o.Host.Engine.(container.Meter)
	var errs []error
	for _, k := range choose(all) {
		var u container.Usage
		if meter != nil {
			u, _ = meter.Usage(ctx, k.ID) // it is only told
		}
		gone, err := c.drop(ctx, k, dry)
		if err != nil {
			errs = append(errs, err)
		}
		if gone {
			names, bytes = append(names, k.Name), bytes+u.DiskBytes
		}
	}
	return names, bytes, errors.Join(errs...)
}

// drop removes one kept container, unless somebody is in it.
func (c *Collector) drop(ctx context.Context, k Kept, dry bool) (gone bool, err error) {
	leave, err := k.Enter(c.o.Host.StateDir)
	if errors.Is(err, trydir.ErrEntered) {
		c.o.Log.Info("a kept container stays: somebody is in it", "container", k.Name)
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer leave()
	if dry {
		return true, nil
	}
	if err := c.o.Host.Engine.Remove(ctx, k.ID); err != nil {
		return false, fmt.Errorf("remove container %s: %w", k.Name, err)
	}
	c.o.Log.Info("removed a container that was kept", "container", k.Name, "trial", k.Trial.ID)
	if k.Role() == container.RoleWork {
		return true, trydir.Of(c.o.Host.StateDir, k.Trial.ID, k.Trial.Try).Remove()
	}
	return true, nil
}

// Enter is trydir.Dir.Enter. In a state directory that lost the trial's folder nobody can be in.
func (k Kept) Enter(stateDir string) (leave func(), err error) {
	leave, err = trydir.Of(stateDir, k.Trial.ID, k.Trial.Try).Enter(k.Role())
	if errors.Is(err, os.ErrNotExist) {
		return func() {}, nil
	}
	return leave, err
}

// FindKept finds the containers of ended trials, and of ended tries, on an engine.
func FindKept(ctx context.Context, s *store.Store, engine container.Engine) ([]Kept, error) {
	found, err := engine.Observe(ctx, s.Owner())
	if err != nil {
		return nil, fmt.Errorf("look for containers that are kept: %w", err)
	}
	var all []Kept
	err = s.View(ctx, func(tx *store.Tx) error {
		for _, c := range found {
			k, err := KeptOf(tx, c)
			if err != nil {
				return err
			}
			if k.Trial.ID != "" && (k.Trial.Phase == trial.Done || k.Trial.Try < k.Last) {
				all = append(all, k)
			}
		}
		return nil
	})
	return all, err
}

// KeptOf reads what a container is of; nothing where it is of no trial in the store.
func KeptOf(tx *store.Tx, c container.Instance) (k Kept, err error) {
	role, try := c.Labels[container.LabelRole], c.Labels[container.LabelTry]
	if c.Labels[container.LabelTrial] == "" || role != container.RoleWork && role != container.RoleJudge {
		return k, nil
	}
	if role == container.RoleJudge && (c.Labels[sandbox.LabelSubmission] == "" || c.Labels[sandbox.LabelWarm] != "") {
		return k, nil // it stands ready: other labels are those of its image
	}
	row, err := tx.Trial(c.Labels[container.LabelTrial])
	if errors.Is(err, store.ErrNotFound) {
		return k, nil
	}
	if err != nil {
		return k, err
	}
	n, err := strconv.Atoi(try)
	if err != nil {
		return k, nil //nolint:nilerr // a label that is not ours
	}
	k = Kept{Instance: c, Last: row.Try}
	if k.Trial, err = history.StateOf(row); err != nil {
		return k, err
	}
	k.Trial.Try = n
	return k, nil
}

// FindKeptOf finds the container of a role that a trial left. An error says what has to be done
// for there to be one.
func FindKeptOf(ctx context.Context, s *store.Store, engine container.Engine, id, role string) (Kept, error) {
	var of trial.State
	err := s.View(ctx, func(tx *store.Tx) error {
		row, err := tx.Trial(id)
		if errors.Is(err, store.ErrNotFound) {
			return history.UnknownTrial(tx, id)
		}
		if err == nil {
			of, err = history.StateOf(row)
		}
		return err
	})
	if err == nil {
		err = closed(of, role)
	}
	if err != nil {
		return Kept{}, err
	}
	all, err := FindKept(ctx, s, engine)
	if err != nil {
		return Kept{}, err
	}
	for _, k := range all {
		if k.Trial.ID == id && k.Trial.Try == k.Last && k.Role() == role {
			return k, nil
		}
	}
	why := fmt.Sprintf("assayd gc removed it, an edit replaced the trial, or %d later trials took its place", mostKept)
	if role == container.RoleJudge {
		why = "nothing of it was judged, or " + why
	}
	return Kept{}, fmt.Errorf("trial %s has no %s container: %s. Start it once more with: assayd rerun %s", id, role, why, id)
}

// closed says why a trial has no container of a role that one may enter; nil where it may have one.
func closed(s trial.State, role string) error {
	again := fmt.Sprintf("in %s, and start the trial once more with: assayd rerun %s", s.Spec, s.ID)
	switch {
	case s.Phase != trial.Done:
		return fmt.Errorf("trial %s is under way, and a shell in its container can change its score. Wait for its end, or end it with: assayd cancel %s", s.ID, s.ID)
	case !s.MayKeep():
		return fmt.Errorf(`trial %s has no container: its run has keep = "never". Set keep = "always" %s`, s.ID, again)
	case s.Container == "":
		return fmt.Errorf("trial %s ended before it had a container: %s, %s", s.ID, s.Result.Status, s.Result.Detail)
	case !s.Keeps():
		return fmt.Errorf(`trial %s has no container: it is resolved, and its run has keep = "failed". Set keep = "always" %s`, s.ID, again)
	case role == container.RoleJudge && s.Cell.Task.Judge.Game != "":
		return fmt.Errorf("trial %s has no judge container: those of games end with their sessions", s.ID)
	}
	return nil
}
