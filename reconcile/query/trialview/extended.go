package trialview

import (
	"fmt"
	"time"

	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/runtime/trial"
)

// LaterInWords says of an extended trial until when it has time, and what it came to by then; "" of others.
func (t TrialInfo) LaterInWords() string { return laterInWords(t.Declared, t.Deadline, t.Extended) }

// LaterInWords says of an extended trial until when it has time, and what it came to by then; "" of others.
func (t TrialStatus) LaterInWords() string { return laterInWords(t.Declared, t.Deadline, t.Extended) }

func laterInWords(declared, deadline time.Time, x *trial.Extended) string {
	if declared.IsZero() {
		return ""
	}
	text := fmt.Sprintf("A user moved the deadline from %s to %s.", plan.Stamp(declared), plan.Stamp(deadline))
	if x == nil {
		return text + " The result at the first one is reported."
	}
	text += fmt.Sprintf(" The result at the first one is reported. At the second one it was: %s, reason %s", x.Status, x.Reason)
	if b := x.Best; b != nil {
		text += fmt.Sprintf(", best round %s, pass rate %.4g", b.Round, b.PassRate)
		if b.Score != nil {
			text += fmt.Sprintf(", score %.4g", *b.Score)
		}
	}
	return text + ". This is in no rate, mean, or curve."
}
