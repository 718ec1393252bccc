package hold

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/store"
)

// All is the target of a hold on everything.
const All = "all"

// Provider is the target of a hold on the models of a provider.
func Provider(name string) string { return "provider." + name }

// Kind says what a hold does.
type Kind string

// Kinds.
const (
	Pause    Kind = "pause"    // nothing of the target begins
	Throttle Kind = "throttle" // so many trials of a run are at work at once, at most
	Budget   Kind = "budget"   // nothing begins: what all models together may cost in a day or a month is reached
)

// Figures are what the reason of a budget's hold has between the limit that is reached and what was spent by then.
const Figures = ": models have cost "

// Hold is one hold.
type Hold struct {
	Target string    `json:"target"` // all, or the address of a run, a mining spec, or a provider
	Kind   Kind      `json:"kind"`
	Most   int       `json:"most"`            // trials at once; 0 with a pause
	Calls  bool      `json:"calls,omitempty"` // requests for models are held, too
	By     string    `json:"by"`
	Via    string    `json:"via"` // cli, api, daemon
	Reason string    `json:"reason,omitempty"`
	Since  time.Time `json:"since"`
	Until  time.Time `json:"until,omitzero"` // when it ends by itself; absent = never
}

// String says in a line what is held, by whom, since when, and why.
func (h Hold) String() string {
	text := h.Target + " is paused"
	switch {
	case h.Kind == Throttle:
		text = fmt.Sprintf("%s is throttled to %d at once", h.Target, h.Most)
	case h.Kind == Budget:
		text = h.Target + " is held by the budget"
	case h.Calls:
		text += ", requests for models too,"
	}
	if h.By != "" && h.Kind != Budget {
		text += " by " + h.By
	}
	text += " since " + plan.Stamp(h.Since)
	if !h.Until.IsZero() {
		text += " until " + plan.Stamp(h.Until)
	}
	if h.Reason != "" {
		text += ": " + h.Reason
	}
	return text
}

// over reports whether the hold has ended by itself.
func (h Hold) over(now time.Time) bool { return !h.Until.IsZero() && !now.Before(h.Until) }

// Row is the hold as the store has it.
func (h Hold) Row() store.HoldRow {
	return store.HoldRow{Target: h.Target, Kind: string(h.Kind), Most: h.Most, Calls: h.Calls, By: h.By, Via: h.Via, Reason: h.Reason, Since: h.Since, Until: h.Until}
}

// Set are the holds of a moment, by target and kind. It does not change, so any goroutine may use it.
type Set []Hold

// Read returns the holds that the store has.
func Read(tx *store.Tx) (Set, error) {
	rows, err := tx.Holds()
	set := make(Set, len(rows))
	for i, h := range rows {
		set[i] = Hold{h.Target, Kind(h.Kind), h.Most, h.Calls, h.By, h.Via, h.Reason, h.Since, h.Until}
	}
	return set, err
}

// Of returns the hold of a kind that a target has; nil = it has none.
func (s Set) Of(target string, kind Kind) *Hold {
	for _, h := range s {
		if h.Target == target && h.Kind == kind {
			return &h
		}
	}
	return nil
}

// On returns the holds in force of some targets, that on everything among them.
func (s Set) On(now time.Time, targets ...string) (some Set) {
	for _, h := range s {
		if !h.over(now) && (h.Target == All || slices.Contains(targets, h.Target)) {
			some = append(some, h)
		}
	}
	return some
}

// Over returns the holds that have ended by themselves.
func (s Set) Over(now time.Time) (some Set) {
	for _, h := range s {
		if h.over(now) {
			some = append(some, h)
		}
	}
	return some
}

// Next is when the next hold ends by itself; zero = none does.
func (s Set) Next() (next time.Time) {
	for _, h := range s {
		if !h.Until.IsZero() && (next.IsZero() || h.Until.Before(next)) {
			next = h.Until
		}
	}
	return next
}

// String says what all of them say.
func (s Set) String() string {
	all := make([]string, len(s))
	for i, h := range s {
		all[i] = h.String()
	}
	return strings.Join(all, "; ")
}

// OnRun are the holds in force that a run is under. d is nil for one that no file declares.
func (s Set) OnRun(now time.Time, address string, d *plan.Run) Set {
	targets := []string{address}
	provides := func(h Hold) bool { return strings.HasPrefix(h.Target, Provider("")) }
	if d != nil && slices.ContainsFunc(s, provides) { // of a run with many cells it takes time
		for _, p := range d.Providers() {
			targets = append(targets, Provider(p))
		}
	}
	return s.On(now, targets...)
}

// OnMining are the holds in force that a mining spec is under, whose models are of a provider.
func (s Set) OnMining(now time.Time, address, provider string) Set {
	return s.On(now, address, Provider(provider))
}

// Calls are the holds in force under which requests of a run or a mining spec for models of a provider are held, too.
func (s Set) Calls(now time.Time, address, provider string) (some Set) {
	for _, h := range s {
		if h.Calls && !h.over(now) && (h.Target == All || h.Target == address || h.Target == Provider(provider)) {
			some = append(some, h)
		}
	}
	return some
}

// Plan is what the holds that a run is under mean to its plan.
func (s Set) Plan() plan.Hold {
	h := plan.Hold{Why: s.String()}
	for _, hold := range s {
		switch provider, is := strings.CutPrefix(hold.Target, Provider("")); {
		case is:
			h.Providers = append(h.Providers, provider)
		case !h.Bounded || hold.Most < h.Most:
			h.Bounded, h.Most = true, hold.Most
		}
	}
	return h
}
