package page

import (
	"net/url"
	"slices"

	"github.com/assayd/assayd/reconcile/hold"
	"github.com/assayd/assayd/reconcile/query"
)

// Act is the page that says what a verb would do, and asks whether to.
type Act struct {
	Frame
	Verb    string
	Target  string
	Effect  string
	Back    string // the page of the target
	Text    string // what is asked for besides: "" = nothing, or the name of the field
	Amount  string // the same of a number or a time
	Typed   bool   // the target has to be typed
	Problem string
}

// Verbs are what pages let operators do.
var Verbs = []string{"pause", "resume", "throttle", "unthrottle", "drain", "stop", "extend", "cancel", "note", "tag", "untag"}

// NewAct makes the page of a verb about a target.
func NewAct(f Frame, verb, target, effect, back string) *Act {
	f.Title, f.Topics = verb+" "+target, nil
	v := &Act{Frame: f, Verb: verb, Target: target, Effect: effect, Back: back, Typed: verb == "cancel"}
	switch verb {
	case "note":
		v.Text = "Note"
	case "tag", "untag":
		v.Text = "Tag"
	case "pause", "drain", "stop", "cancel":
		v.Text = "Reason"
	case "throttle":
		v.Text, v.Amount = "Reason", "Trials at once"
	case "extend":
		v.Text, v.Amount = "Reason", "Longer than its spec declares by (30m, 2h)"
	}
	return v
}

// Needed reports whether the text has to be given.
func (v *Act) Needed() bool { return v.Text == "Note" || v.Text == "Tag" }

// ActPath is the address of the page that asks whether to do something.
func ActPath(verb, target string) string {
	return "/act?" + url.Values{"verb": {verb}, "target": {target}}.Encode()
}

// Offer are verbs that a page has for a target.
type Offer struct {
	Frame  Frame
	Target string
	Verbs  []string
}

func newOffer(f Frame, target string, verbs []string) *Offer { return &Offer{f, target, verbs} }

// Operates reports whether who looks may do more than look.
func (f *Frame) Operates() bool { return f.Role == "operator" && !f.ReadOnly && f.Still == nil }

// Verbs are those that make sense for a run as it is.
func (v *Run) Verbs() []string {
	paused := slices.ContainsFunc(v.Holds, func(h hold.Hold) bool { return h.Target == v.Address && h.Kind == hold.Pause })
	verbs := verbsOf(paused, v.Latest && v.State == "running", len(v.Tags) > 0)
	if slices.ContainsFunc(v.Holds, func(h hold.Hold) bool { return h.Target == v.Address && h.Kind == hold.Throttle }) {
		return slices.Insert(verbs, 1, "unthrottle")
	}
	return slices.Insert(verbs, 1, "throttle")
}

// Verbs are those of everything at once.
func (v *Overview) Verbs() []string {
	if v.Paused {
		return []string{"resume"}
	}
	return []string{"pause", "drain"}
}

// Verbs are those that make sense for a mining spec as it is.
func (v *Mining) Verbs() []string {
	paused := slices.ContainsFunc(v.Holds, func(h hold.Hold) bool { return h.Target == v.Address && h.Kind == hold.Pause })
	return verbsOf(paused, v.State == "running", len(v.Tags) > 0)
}

func verbsOf(paused, works, tagged bool) []string {
	verbs := []string{"pause"}
	if paused {
		verbs = []string{"resume"}
	}
	if works {
		verbs = append(verbs, "cancel")
	}
	return append(verbs, notes(tagged)...)
}

// Verbs are those that make sense for a trial as it is.
func (v *Trial) Verbs() (verbs []string) {
	if v.Status == "" && !v.Started.IsZero() && v.Ended.IsZero() {
		verbs = append(verbs, "stop", "extend")
	}
	if v.Status == "" {
		verbs = append(verbs, "cancel")
	}
	return append(verbs, notes(len(v.Tags) > 0)...)
}

func notes(tagged bool) []string {
	if tagged {
		return []string{"note", "tag", "untag"}
	}
	return []string{"note", "tag"}
}

// Works counts the cells of a run that are at work, or judged, and those that have not begun.
func Works(r query.RunInfo) (work, wait int) {
	return r.Cells["setup"] + r.Cells["working"] + r.Cells["judging"], r.Cells["waiting"] + r.Cells["retrying"]
}
