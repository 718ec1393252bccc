package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/control"
	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/hold"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/query/snapshot"
	"github.com/assayd/assayd/reconcile/request"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/clock"
	"github.com/assayd/assayd/runtime/waiting"
)

// holds are what users hold back, as the loop takes it. They belong to the loop's goroutine.
type holds struct {
	desk     *control.Desk // set once, when there is one
	runs     *runs
	minings  *minings
	store    *store.Store
	settings *config.Settings // nil = there are none
	budget   config.HostBudget
	latest   func() *snapshot.Snapshot // that was published
}

// look has what a target is about looked at.
func (h *holds) look(target string) {
	for _, address := range h.about(target) {
		h.runs.changed(address)
	}
}

// target says what may be held under a name.
func (h *holds) target(name string) (t control.Target, err error) {
	kind, rest, _ := strings.Cut(name, ".")
	switch {
	case name == hold.All, kind == "mining" && h.runs.specs.Mining(name) != nil:
		return t, nil
	case kind == "run" && h.runs.desired[name] != nil:
		return control.Target{Parallel: h.runs.desired[name].Parallel}, nil
	case kind == "provider" && rest != "":
		known := h.providers()
		if !slices.Contains(known, rest) {
			return t, fmt.Errorf("%w: no provider is called %q%s", history.ErrUnknown, rest, request.Suggest(rest, known))
		}
		return t, nil
	case kind == "engine":
		return t, request.Mistakef("%s cannot be held: this version has one engine; to hold everything: assayd pause all", name)
	}
	return t, fmt.Errorf("%w: %s; a hold is of all, a run, a mining spec, or provider.NAME%s", history.ErrUnknown, name, h.latest().Suggest(name))
}

// providers are the providers of models that the settings or specs name.
func (h *holds) providers() (all []string) {
	if h.settings != nil {
		for name := range h.settings.Providers {
			all = append(all, name)
		}
	}
	for _, d := range h.runs.desired {
		all = append(all, d.Providers()...)
	}
	return all
}

// about are the addresses of what a target is about.
func (h *holds) about(target string) (addresses []string) {
	if strings.HasPrefix(target, "run.") || plan.IsMining(target) {
		return []string{target}
	}
	for address := range h.runs.desired {
		addresses = append(addresses, address)
	}
	return append(addresses, h.minings.all.Addresses()...)
}

// onRun is what users hold back of a run.
func (h *holds) onRun(address string, d *plan.Run) plan.Hold {
	set, _ := h.desk.Holds()
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

// mayBegin returns when nothing holds back what a mining spec would begin. Any goroutine may call it.
func (h *holds) mayBegin(ctx context.Context, address string) error {
	for {
		set, changed := h.desk.Holds()
		spec := h.runs.specs.InForce().Mining(strings.TrimPrefix(address, "mining."))
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
