package reconcile

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/control"
	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/hold"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/request"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/clock"
	"github.com/assayd/assayd/runtime/waiting"
)

// newDesk is the desk of a reconciler's holds. Its functions are called in the loop.
func newDesk(r *Reconciler) *control.Desk {
	return control.NewDesk(control.Options{
		Store: r.o.Store, Change: r.change, Now: clock.Now, Drained: r.o.Drained,
		Target: func(name string) (control.Target, error) { return targetOf(r, name) },
		Place:  func(target string) control.Place { return placeOf(r, target) },
		Look: func(target string) {
			for _, address := range aboutTarget(r, target) {
				r.shown.show(address)
				r.queue.add(address, r.now())
			}
		},
	})
}

// targetOf says what may be held under a name.
func targetOf(r *Reconciler, name string) (t control.Target, err error) {
	kind, rest, _ := strings.Cut(name, ".")
	switch {
	case name == hold.All, kind == "mining" && r.miningOf(name) != nil:
		return t, nil
	case kind == "run" && r.desired[name] != nil:
		return control.Target{Parallel: r.desired[name].Parallel}, nil
	case kind == "provider" && rest != "":
		known := providersOf(r)
		if !slices.Contains(known, rest) {
			return t, fmt.Errorf("%w: no provider is called %q%s", history.ErrUnknown, rest, request.Suggest(rest, known))
		}
		return t, nil
	case kind == "engine":
		return t, request.Mistakef("%s cannot be held: this version has one engine; to hold everything: assayd pause all", name)
	}
	return t, fmt.Errorf("%w: %s; a hold is of all, a run, a mining spec, or provider.NAME%s", history.ErrUnknown, name, r.Snapshots.Get().Suggest(name))
}

// providersOf are the providers of models that the settings or specs name.
func providersOf(r *Reconciler) (all []string) {
	if r.o.Config.Settings != nil {
		for name := range r.o.Config.Settings.Providers {
			all = append(all, name)
		}
	}
	for _, d := range r.desired {
		all = append(all, d.Providers()...)
	}
	return all
}

// controlStream has the records about what is held of the whole host.
const controlStream = "control"

// placeOf says where records about a target go.
func placeOf(r *Reconciler, target string) control.Place {
	if strings.HasPrefix(target, "run.") || plan.IsMining(target) {
		p := control.Place{Stream: r.stream(target)}
		if m := r.miningOf(target); m != nil {
			p.Generation = m.Generation
		} else if d := r.desired[target]; d != nil {
			p.Generation = d.Generation
		}
		return p
	}
	root := filepath.Join(r.o.Host.StateDir, "results")
	if len(r.o.Roots) > 0 {
		root = r.o.Roots[0]
	}
	return control.Place{Host: true, Stream: r.placed(store.StreamRef{Spec: controlStream, Root: root, Path: filepath.Join(root, "assayd.control.jsonl")})}
}

// placeIn is placeOf for what belongs to an execution.
func placeIn(r *Reconciler, address string, execution int) control.Place {
	p := placeOf(r, address)
	p.Execution = execution
	return p
}

// aboutTarget are the addresses of what a target is about.
func aboutTarget(r *Reconciler, target string) (addresses []string) {
	if strings.HasPrefix(target, "run.") || plan.IsMining(target) {
		return []string{target}
	}
	for address := range r.desired {
		addresses = append(addresses, address)
	}
	return append(addresses, r.minings.Addresses()...)
}

// heldOf is what users hold back of a run.
func heldOf(r *Reconciler, address string, d *plan.Run) plan.Hold {
	set, _ := r.Desk.Holds()
	return set.OnRun(clock.Now(), address, d).Plan()
}

// whyHeld says what holds a mining spec back, by users and by its file; "" = nothing. Any goroutine may call it.
func whyHeld(set hold.Set, spec *config.Mining) string {
	why := set.OnMining(clock.Now(), spec.Address(), spec.Provider).String()
	switch {
	case spec.Paused && why != "":
		return plan.PausedInFile + "; " + why
	case spec.Paused:
		return plan.PausedInFile
	}
	return why
}

// mayBegin returns when nothing holds back what a mining spec would begin.
func mayBegin(ctx context.Context, r *Reconciler, address string) error {
	for {
		set, changed := r.Desk.Holds()
		spec := r.inForce.Load().Mining(strings.TrimPrefix(address, "mining."))
		if spec == nil {
			return nil // it is ended by the loop
		}
		why := whyHeld(set, spec)
		if why == "" {
			waiting.Because(ctx, nil)
			return nil
		}
		waiting.Because(ctx, errors.New(why))
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
