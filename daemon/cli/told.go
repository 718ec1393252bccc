package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/assayd/assayd/daemon/api"
	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/reconcile/query/trialview"
	"github.com/assayd/assayd/runtime/agent"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/task/runner"
	"github.com/assayd/assayd/runtime/trial"
)

// told is what was said of trials that went wrong, so that it is said once.
type told struct {
	details  map[string]string // the first trial, by what was said of it
	problems []string          // of rounds
}

// round notes what the line of a round has said.
func (s *told) round(r *round.Report) {
	if r.Status != round.StatusOK && r.Problem == clipLine(r.Problem) {
		s.problems = append(s.problems, r.Problem)
	}
}

// ended is what the line of an ended trial says of what went wrong, after the state.
func (s *told) ended(t trialview.TrialStatus) string {
	if !worthTelling(t) {
		return ""
	}
	if first, ok := s.details[t.Detail]; ok {
		if first == t.ID {
			return "" // in an earlier try
		}
		return ", as " + first
	}
	text := clipLine(t.Detail)
	if text == t.Detail {
		if s.details == nil {
			s.details = map[string]string{}
		}
		s.details[t.Detail] = t.ID
	}
	for _, problem := range s.problems {
		if before, ok := strings.CutSuffix(text, problem); ok {
			text = strings.TrimSuffix(before, ": ")
		}
	}
	if text == "" {
		return ""
	}
	return ": " + text
}

// showDetails says once what went wrong with trials, but for what was said.
func showDetails(w io.Writer, indent string, trials []trialview.TrialStatus, said told) {
	var details []string
	of := map[string][]string{}
	for _, t := range trials {
		if _, ok := said.details[t.Detail]; ok || !worthTelling(t) {
			continue
		}
		if of[t.Detail] == nil {
			details = append(details, t.Detail)
		}
		of[t.Detail] = append(of[t.Detail], t.ID)
	}
	for _, detail := range details {
		fmt.Fprintf(w, "%s%s: %s\n", indent, someOf(of[detail]), indented(detail))
	}
}

// maxNamed is how many trials are named before a text that is of all of them.
const maxNamed = 3

func someOf(ids []string) string {
	if more := len(ids) - maxNamed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(ids[:maxNamed], ", "), more)
	}
	return strings.Join(ids, ", ")
}

// showBroken says which tasks their own solution does not resolve.
func showBroken(w io.Writer, r query.RunStatus, paths []string) {
	var tasks []string
	for _, t := range r.Trials {
		if t.Agent == agent.Oracle && t.Status.Counts() && t.Status != trial.Resolved && !slices.Contains(tasks, t.Task) {
			tasks = append(tasks, t.Task)
		}
	}
	if len(tasks) == 0 {
		return
	}
	words := []string{"assayd", "task", "check"}
	for _, path := range paths {
		words = append(words, relative(path))
	}
	subject := "task " + tasks[0] + " is broken: its own solution does not resolve it"
	if len(tasks) > 1 {
		subject = "tasks " + someOf(tasks) + " are broken: their own solutions do not resolve them"
	}
	fmt.Fprintf(w, "\n%s; to find out why: %s\n", subject, runner.Line(words))
}

// showUnfixed explains a flag of the table where the headline does not.
func showUnfixed(w io.Writer, r query.RunStatus) {
	if r.Summary != nil && r.Summary.NoManifest > 0 {
		return
	}
	if slices.ContainsFunc(r.Trials, func(t trialview.TrialStatus) bool { return slices.Contains(t.Flags, trial.FlagNoManifest) }) {
		fmt.Fprintln(w, "no_manifest: the number of tests is that of the tests that ran, because the task has neither a manifest nor a solution that passes")
	}
}

// closest is the trial to look at first: one of an agent that is no control, if there is one.
func closest(trials []trialview.TrialStatus) string {
	i := slices.IndexFunc(trials, func(t trialview.TrialStatus) bool { return t.Agent != agent.Oracle && t.Agent != agent.Nop })
	return trials[max(i, 0)].ID
}

// noRound says of a trial that it has no round, and why.
func noRound(t trialview.TrialStatus) string {
	text := t.ID + " has no round"
	switch {
	case t.Status == "":
		return fmt.Sprintf("%s yet: %s", text, t.Phase)
	case t.Detail == "":
		return fmt.Sprintf("%s: %s", text, stateOf(t))
	}
	return fmt.Sprintf("%s: %s: %s", text, stateOf(t), indented(t.Detail))
}

// showWritten prints what the judge command wrote in a round, and explains the tests that assayd added.
func (e *env) showWritten(cmd *cobra.Command, c *api.Client, trial, round string) error {
	stream, err := c.Output(cmd.Context(), trial, round)
	if err != nil {
		return err
	}
	var own ownTests
	if err := e.copyOut(cmd, struct {
		io.Reader
		io.Closer
	}{io.TeeReader(stream, &own), stream}); err != nil {
		return err
	}
	if own.seen {
		fmt.Fprintln(e.err, "Tests with 16 hexadecimal digits in their names are assayd's own, one that must pass and one that must fail. They are in no count.")
	}
	return nil
}

// ownTests looks for the names of the tests that the judge adds to a run.
type ownTests struct {
	last []byte // what the next part may go on from
	seen bool
}

var ownTest = regexp.MustCompile(`(?i)test[_ ]?[0-9a-f]{16}`)

// Write implements io.Writer.
func (o *ownTests) Write(p []byte) (int, error) {
	text := slices.Concat(o.last, p)
	o.seen = o.seen || ownTest.Match(text)
	o.last = bytes.Clone(text[max(len(text)-len("test_0123456789abcdef"), 0):])
	return len(p), nil
}

// failing is the last round whose judge command wrote something and that did not pass; "" = there is none.
func failing(rounds []trialview.Round) string {
	for _, r := range slices.Backward(rounds) {
		if r.Report != nil && r.Report.Output != "" && !(r.Report.Valid && r.Report.PassRate == 1) {
			return r.Round
		}
	}
	return ""
}

// together reports whether two writers are one file, so that who reads the one reads the other.
func together(a, b io.Writer) bool {
	one, ok := a.(*os.File)
	other, ok2 := b.(*os.File)
	if !ok || !ok2 {
		return false
	}
	first, err := one.Stat()
	second, err2 := other.Stat()
	return err == nil && err2 == nil && os.SameFile(first, second)
}

// outcome is what showOutcome has to know beside the runs.
type outcome struct {
	paths []string        // of the files
	said  told            // of trials, before
	old   map[string]bool // runs that were over before the command came, by address, where there are others
}

// outcomeOf is what to print of what is followed since a moment.
func (p *progress) outcomeOf(now followed, paths []string) outcome {
	o := outcome{paths: paths, said: p.heard(), old: map[string]bool{}}
	for _, r := range now.runs {
		if overBefore(r, p.since) {
			o.old[r.Address] = true
		}
	}
	if len(o.old) == len(now.runs) {
		o.old = nil
	}
	return o
}

// heard is what who reads the outcome has read before it.
func (p *progress) heard() told {
	if together(p.e.out, p.e.err) {
		return p.told
	}
	return told{}
}
