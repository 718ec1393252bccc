package trial

import (
	"context"
	"slices"
	"strings"

	"github.com/assayd/assayd/runtime/cheat"
	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/trial/record"
	"github.com/assayd/assayd/runtime/trial/scan"
	"github.com/assayd/assayd/runtime/trial/tryrounds"
)

// Scans reports whether somebody looks, once the trial is over, at what its agent did.
func (s State) Scans() bool { return !s.Cell.Agent.Solves() && !s.StartedAt.IsZero() }

// WithFlags is the state of an ended trial with further flags.
func (s State) WithFlags(flags []string) State {
	result := *s.Result
	result.Flags = slices.Clone(result.Flags)
	for _, flag := range flags {
		result.Flags = appendOnce(result.Flags, flag)
	}
	s.Result = &result
	return s
}

// Scan looks for what those do who cheat, in what the agent of an ended try said and in what it left,
// and returns the flags that the trial gets and the records that say why. It never changes a verdict.
// A record also says what could not be looked at: no finding is no clean record there.
func (h Host) Scan(ctx context.Context, s State, subs []round.Submission) (flags []string, effects []Effect) {
	of := scan.Subject{
		Dir: h.dir(s), Task: s.Cell.Task, WorkRef: s.WorkImage.Ref, WorkID: s.WorkImage.ID, Labels: labels(h.Owner, s, container.RoleBuild),
		Model: s.Cell.Agent.Model, Instruction: s.Prompt(), Hidden: s.Hidden, Round: s.FinalRound,
	}
	if s.Result != nil && s.Result.Best != nil {
		of.Round = s.Result.Best.Round
	}
	findings, err := scan.Scanner{Trees: h.Trees(), OpenBlob: h.OpenBlob}.Scan(ctx, of, tryrounds.OfTry(subs, s.Try))
	if len(findings) > 0 {
		f := record.Flagged{Trial: s.ID, Try: s.Try, Flags: cheat.Flags(findings)}
		for _, found := range findings {
			f.Findings = append(f.Findings, record.Finding(found))
		}
		flags, effects = f.Flags, append(effects, Effect{"trial.flagged", f})
	}
	if err != nil {
		detail := "not all of what the agent did could be looked at: " + strings.ReplaceAll(err.Error(), "\n", "; ")
		for _, event := range []string{"cheat_scan_incomplete", "cheat_unread"} { // the second is the name that it had first
			effects = append(effects, happened(s, event, detail))
		}
	}
	return flags, effects
}
