package page

import (
	"fmt"
	"net/url"

	"github.com/assayd/assayd/reconcile/query/trialview"
)

// Between is what happened between two rounds.
type Between struct {
	Frame
	Trial trialview.TrialInfo
	trialview.Between
	Steps   []StepLine
	Reading string // how much of the transcript is read, where it is for the first time; "" = all is
	AllOf   string // address of all steps from that span on
}

// NewBetween makes the page between two rounds, with the steps of that span.
func NewBetween(f Frame, t trialview.TrialInfo, d trialview.Between, p trialview.StepPage) *Between {
	f.Title, f.Nav = fmt.Sprintf("%s to %s of %s", d.A.Round.Round, d.B.Round.Round, t.ID), "runs"
	v := &Between{Frame: f, Trial: t, Between: d}
	if p.Reading {
		v.Reading, v.Again = ratio(&p.Read), true
	}
	for _, s := range p.Steps {
		v.Steps = append(v.Steps, lineOfStep(s, p.Start))
	}
	if len(p.Steps) > 0 {
		if v.AllOf = TrialPath(t.ID) + "/steps"; f.Still == nil { // in files are the pages from the first step on
			v.AllOf += fmt.Sprintf("?from=%d", p.First)
		}
	}
	return v
}

// BetweenPath is the address of the page between two rounds.
func BetweenPath(trial, a, b string) string {
	return TrialPath(trial) + "/between/" + url.PathEscape(a) + "/" + url.PathEscape(b)
}
