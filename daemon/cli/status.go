package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"

	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/reconcile/query/trialview"
	"github.com/assayd/assayd/runtime/gateway"
	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/trial"
)

// latestTrials is how many trials of a run a status shows.
const latestTrials = 50

func (e *env) status() *cobra.Command {
	whole := false
	cmd := &cobra.Command{
		Use: "status [ADDRESS]", Short: "Show runs, trials, and what is wrong with specs", Args: atMostOne("run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, done, err := e.connect(cmd.Context(), true)
			if err != nil {
				return err
			}
			defer done()
			address := ""
			if len(args) == 1 {
				address = args[0]
			}
			most := latestTrials
			if whole || e.json {
				most = query.MaxTrials
			}
			s, err := c.StatusLatest(cmd.Context(), address, most)
			if err != nil {
				return err
			}
			if e.json {
				return e.printJSON(s)
			}
			if !c.Live() {
				fmt.Fprintln(e.err, "No daemon runs on this state directory: this is how the last one left it.")
			}
			if err := e.warn(s.Diagnostics); err != nil {
				return err
			}
			return showStatus(e.out, s, address != "")
		},
	}
	cmd.Flags().BoolVar(&whole, "all", false, fmt.Sprintf("show %d trials in all instead of the %d that have changed last", query.MaxTrials, latestTrials))
	return cmd
}

// showStatus prints where specs come from, and runs with their trials as tables; explained ones say first how they stand.
func showStatus(w io.Writer, s query.Status, explained bool) error {
	if s.Git != nil {
		showGit(w, *s.Git, s.Time)
	}
	for _, p := range s.Budgets {
		fmt.Fprintf(w, "The budget of the %s has %.2f USD left of %.6g, until %s.\n", p.Period, p.LeftUSD, p.LimitUSD, p.Ends.Format(time.RFC3339))
	}
	for _, lack := range s.Waits {
		fmt.Fprintln(w, "The daemon waits for "+lack)
	}
	if len(s.Runs)+len(s.Minings)+len(s.Waits) == 0 {
		_, err := fmt.Fprintln(w, "No run is declared.")
		return err
	}
	for i, m := range s.Minings {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if err := showMining(w, m); err != nil {
			return err
		}
	}
	for i, r := range s.Runs {
		if i > 0 || len(s.Minings) > 0 {
			fmt.Fprintln(w)
		}
		if !explained {
			r.Findings = nil
		}
		if err := showRun(w, r, s.Time); err != nil {
			return err
		}
	}
	return nil
}

// showFindings says in words how a run stands.
func showFindings(w io.Writer, findings []query.Finding) {
	for _, f := range findings {
		text := f.Text
		if f.Severity == "warning" {
			text = "Look: " + text
		}
		if f.Advice != "" {
			text += " What to do: " + f.Advice + "."
		}
		fmt.Fprintln(w, "  "+indented(text))
	}
}

// showGit prints the repository that specs come from: which commit is in force, and why no
// later one.
func showGit(w io.Writer, g query.GitStatus, now time.Time) {
	from := g.URL + " " + g.Ref
	if g.Path != "" {
		from += ", folder " + g.Path
	}
	fmt.Fprintln(w, "specs from "+from)
	switch {
	case g.Commit == "":
		fmt.Fprintln(w, "  no commit yet")
	case g.Errors > 0:
		fmt.Fprintf(w, "  commit %s, %s, with %s\n", g.Commit, g.Verdict, english.Plural(g.Errors, "error", ""))
	default:
		fmt.Fprintf(w, "  commit %s, %s\n", g.Commit, cmp.Or(g.Verdict, "not looked at yet"))
	}
	if !g.Fetched.IsZero() {
		fmt.Fprintf(w, "  asked %s ago\n", max(now.Sub(g.Fetched), 0).Round(time.Second))
	}
	if g.Error != "" {
		fmt.Fprintf(w, "  cannot be followed: %s\n", indented(g.Error))
	}
	if r := g.Results; r != nil && r.Commit != "" {
		fmt.Fprintf(w, "  results on branch %s, commit %s\n", r.Branch, r.Commit)
	}
	if r := g.Results; r != nil && r.Error != "" {
		fmt.Fprintf(w, "  results cannot be pushed to branch %s: %s\n", r.Branch, indented(r.Error))
	}
	fmt.Fprintln(w)
}

func showRun(w io.Writer, r query.RunStatus, now time.Time) error {
	fmt.Fprintln(w, titleOf(r))
	showFindings(w, r.Findings)
	showNotes(w, r.Set)
	if r.Stale != nil {
		fmt.Fprintf(w, "  stale: %s; to take it up: assayd rerun %s\n", indented(r.Stale.String()), r.Address)
	}
	if r.Truncated || r.Filling {
		fmt.Fprintf(w, "  %s\n", cellsOf(r))
	}
	if len(r.Trials) > 0 {
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		spends := slices.ContainsFunc(r.Trials, func(x trialview.TrialStatus) bool { return x.Usage != nil })
		head := "  TRIAL\tTASK\tAGENT\tSTATE\tROUNDS\tBEST\tPASSED\tTIME\t"
		if spends {
			head += "SPENT\t"
		}
		fmt.Fprintln(t, head)
		for _, x := range r.Trials {
			best := bestOf(x)
			state := stateOf(x)
			if x.Superseded {
				state += ", superseded"
			} else if !x.Wanted {
				state += ", not wanted any more"
			}
			line := fmt.Sprintf("  %s\t%s\t%s\t%s\t%d\t%s\t%s\t%s\t",
				x.ID, x.Task, agentOf(x), state, len(x.Rounds), best.name, best.passed, clock(x, now))
			if spends {
				line += spent(x.Usage, x.Budget) + "\t"
			}
			fmt.Fprintln(t, line)
		}
		if err := t.Flush(); err != nil {
			return err
		}
		showDetails(w, "  ", r.Trials, told{})
	}
	if r.Usage != nil {
		fmt.Fprintf(w, "  models: %s\n", spent(r.Usage, r.Budget))
	}
	if r.Results != "" {
		fmt.Fprintf(w, "  results: %s\n", r.Results)
	}
	if r.Elsewhere != "" {
		fmt.Fprintf(w, "  (not beside the spec: %s)\n", r.Elsewhere)
	}
	return nil
}

// cellsOf says how many cells are in which state, where not all of them are in the table.
func cellsOf(r query.RunStatus) string {
	var parts []string
	for _, state := range append([]string{"waiting"}, query.CellStates()...) {
		if n := r.Cells[state]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, state))
		}
	}
	text := fmt.Sprintf("%s; below are the %d that have changed last", strings.Join(parts, ", "), len(r.Trials))
	if r.Filling {
		text = "the daemon still counts the trials of an earlier version"
	}
	return text
}

// spent is what models took, and of how much; "-" where none is asked.
func spent(u *gateway.Usage, budget *gateway.Budget) string {
	if u == nil {
		return "-"
	}
	if budget == nil {
		budget = &gateway.Budget{}
	}
	text := tokensOf(u.Tokens()) + " tokens"
	if budget.Tokens > 0 {
		text = tokensOf(u.Tokens()) + " of " + tokensOf(budget.Tokens) + " tokens"
	}
	switch {
	case budget.USD > 0:
		return fmt.Sprintf("%s, %.2f of %.2f USD", text, u.CostUSD, budget.USD)
	case u.CostUSD > 0:
		return fmt.Sprintf("%s, %.2f USD", text, u.CostUSD)
	}
	return text
}

// tokensOf is a number of tokens for people, "1.2 M".
func tokensOf(n int64) string { return humanize.SIWithDigits(float64(n), 1, "") }

// titleOf is "run.nightly e2: running", with what it waits for or why it is not started.
func titleOf(r query.RunStatus) string {
	title := r.Address
	if r.Execution > 0 {
		title += fmt.Sprintf(" e%d", r.Execution)
	}
	switch {
	case r.State == "blocked":
		return title + ": not started: " + r.Note
	case r.Note != "":
		return title + ": " + r.State + " (" + r.Note + ")"
	}
	return title + ": " + r.State
}

// worthTelling: the reason in words, where something went wrong.
func worthTelling(t trialview.TrialStatus) bool {
	well := t.Status == trial.Resolved || t.Status == trial.Unresolved
	return t.Detail != "" && (!well || t.Reason == trial.ReasonAgent || t.Status == trial.Unresolved && t.Best == "")
}

func indented(text string) string {
	return strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ")
}

func agentOf(t trialview.TrialStatus) string {
	name := t.Agent
	if t.Model != "" {
		name += " " + t.Model
	}
	if t.Attempt > 1 {
		name += fmt.Sprintf(" #%d", t.Attempt)
	}
	return name
}

// stateOf is the verdict, or the phase while there is none.
func stateOf(t trialview.TrialStatus) string {
	state := string(t.Phase)
	if t.Status != "" {
		state = string(t.Status)
		if t.Reason != "" {
			state += " (" + t.Reason + ")"
		}
	}
	if len(t.Flags) > 0 {
		state += " [" + strings.Join(t.Flags, ", ") + "]"
	}
	return state
}

type best struct{ name, passed string }

// bestOf is the round with the best rate so far; the verdict's own when there is one.
func bestOf(t trialview.TrialStatus) best {
	found := best{"-", "-"}
	if t.Status != "" && t.Best == "" { // no round counts
		return found
	}
	rate := -1.0
	for _, r := range t.Counted() {
		if r.Report == nil || !r.Report.Valid || t.Best != "" && t.Best != r.Round || r.Report.PassRate <= rate {
			continue
		}
		rate = r.Report.PassRate
		found = best{r.Round, resultOf(r.Report)}
	}
	private := func(r trialview.Round) bool { return strings.HasPrefix(r.Round, string(round.KindPrivate)) }
	if i := slices.IndexFunc(t.Private, private); i >= 0 && t.Private[i].Report != nil { // the first is that of the best round
		found.passed += ", private " + resultOf(t.Private[i].Report)
	}
	return found
}

// resultOf says in a few characters what a report is worth.
func resultOf(r *round.Report) string {
	var parts []string
	if r.TotalTests > 0 || r.Score == nil {
		parts = append(parts, fmt.Sprintf("%d/%d", r.Passed, r.TotalTests))
	}
	if r.Score != nil {
		parts = append(parts, "score "+shown(*r.Score))
	}
	return strings.Join(parts, " ")
}

// clock is how long the agent has worked, and how long it still may.
func clock(t trialview.TrialStatus, now time.Time) string {
	switch {
	case t.Started.IsZero():
		return "-"
	case !t.Ended.IsZero():
		return t.Ended.Sub(t.Started).Round(time.Second).String()
	}
	if !t.Now.IsZero() { // an earlier daemon does not say
		now = t.Now
	}
	left := max(t.Deadline.Sub(now), 0).Round(time.Second)
	return fmt.Sprintf("%s, %s left", now.Sub(t.Started).Round(time.Second), left)
}

func (e *env) submissions() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use: "submissions TRIAL", Short: "Show the rounds of a trial and their tests", Args: one("one trial"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, done, err := e.connect(cmd.Context(), true)
			if err != nil {
				return err
			}
			defer done()
			if output != "" {
				return e.showWritten(cmd, c, args[0], output)
			}
			t, err := c.Trial(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if e.json {
				return e.printJSON(t.Judgings())
			}
			rounds := t.Judgings()
			if len(rounds) == 0 {
				fmt.Fprintln(e.out, noRound(t))
				return nil
			}
			if err := showRounds(e.out, rounds); err != nil {
				return err
			}
			if later := t.LaterInWords(); later != "" {
				fmt.Fprintln(e.out, "\n"+printable(later))
			}
			if t.Decoys != nil {
				fmt.Fprintf(e.out, "\ndecoys: %s\n", printable(t.Decoys.String()))
			}
			if round := failing(rounds); round != "" {
				fmt.Fprintf(e.err, "To see what the judge command wrote: assayd submissions %s --output %s\n", t.ID, round)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&output, "output", "", "print what the judge command wrote in this round, as agent-1")
	return cmd
}

func showRounds(w io.Writer, rounds []trialview.Round) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "ROUND\tAT\tSTATUS\tPASSED\tSCORE\tJUDGED IN\tSUBMISSION\t")
	for _, r := range rounds {
		at := (time.Duration(r.ElapsedS*1000) * time.Millisecond).Round(time.Second / 10)
		if r.Report == nil {
			fmt.Fprintf(t, "%s\t%s\t%s\t-\t-\t-\t%s\t\n", r.Round, at, r.State, r.ID)
			continue
		}
		status, took := string(r.Report.Status), fmt.Sprintf("%d ms", r.Report.DurationMS)
		if r.State != round.StateJudged { // a game that is being played
			status, took = string(r.State), "-"
		}
		if r.Beyond {
			status += ", beyond the declared deadline"
		}
		passed, score := scoreOf(r.Report)
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", r.Round, at, status, passed, score, took, r.ID)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, r := range rounds {
		showTests(w, r.Round, r.Report)
	}
	return nil
}

// scoreOf is what passed and what was scored; of a game, out of how much and in how many
// moves. Without tests there is nothing that could have passed.
func scoreOf(r *round.Report) (passed, score string) {
	passed, score = fmt.Sprintf("%d/%d", r.Passed, r.TotalTests), "-"
	if r.Score == nil {
		return passed, score
	}
	if r.TotalTests == 0 {
		passed = "-"
	}
	score = shown(*r.Score)
	moves, played := r.Metrics["moves"]
	if most, ok := r.Metrics["max_score"]; ok && played {
		score += fmt.Sprintf(" of %s, %s", shown(most), english.Plural(int(moves), "move", ""))
	}
	return passed, score
}

// showTests names the tests of a round that did not pass.
func showTests(w io.Writer, round string, r *round.Report) {
	if r == nil {
		return
	}
	if r.Problem != "" {
		fmt.Fprintf(w, "%s: %s\n", round, indented(r.Problem))
	}
	for _, test := range r.Tests {
		if test.Status != parser.Passed && test.Status != parser.Skipped {
			fmt.Fprintf(w, "%s: %s %s\n", round, test.Status, test.Name)
		}
	}
}
