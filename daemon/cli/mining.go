package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/dustin/go-humanize/english"

	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/runtime/mining"
)

// showMining prints how far a mining spec is, and which tasks it has made.
func showMining(w io.Writer, m query.MiningStatus) error {
	title := m.Address + ": " + m.State
	if m.Note != "" {
		title += " (" + m.Note + ")"
	}
	p := m.Progress
	fmt.Fprintln(w, title)
	fmt.Fprintf(w, "  %s: %d accepted, %d rejected, %d failed, %d open\n",
		english.Plural(p.Seen, "pull request", ""), p.Accepted, p.Rejected, p.Failed, p.Open)
	if err := showStages(w, m); err != nil {
		return err
	}
	if p.Usage.Requests > 0 {
		fmt.Fprintf(w, "  models: %s\n", miningSpent(m))
	}
	if h := p.Hours; h != nil && len(h.Gaps) > 0 {
		fmt.Fprintf(w, "  hours not read: %s\n", strings.Join(h.Gaps[:min(len(h.Gaps), maxGaps)], ", "))
	}
	if len(m.Tasks) > 0 {
		fmt.Fprintf(w, "  tasks: %s\n", strings.Join(m.Tasks, ", "))
		fmt.Fprintf(w, "  in: %s\n", m.Dir)
	}
	if m.Results != "" {
		fmt.Fprintf(w, "  results: %s\n", m.Results)
	}
	return nil
}

// maxGaps is how many rows of missing hours are shown; records have them all.
const maxGaps = 5

// showStages prints a row for each stage that anything came into.
func showStages(w io.Writer, m query.MiningStatus) error {
	if !slices.ContainsFunc(m.Progress.Stages, func(s mining.StageCount) bool { return s.Entered > 0 }) {
		return nil
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "  STAGE\tENTERED\tPASSED\tREJECTED\tFAILED\tOPEN\t")
	for _, s := range m.Progress.Stages {
		if s.Entered > 0 {
			fmt.Fprintf(t, "  %s\t%d\t%d\t%d\t%d\t%d\t\n", s.Stage, s.Entered, s.Passed, s.Rejected, s.Failed, s.Open)
		}
	}
	return t.Flush()
}

// miningSpent is what models took for a spec, and for each of its tasks.
func miningSpent(m query.MiningStatus) string {
	p := m.Progress
	text := tokensOf(p.Usage.Tokens()) + " tokens"
	if p.CostUSD > 0 {
		text += fmt.Sprintf(", %.2f USD", p.CostUSD)
	}
	if p.Accepted > 0 {
		text += fmt.Sprintf(" (%s a task", tokensOf(int64(p.TokensPerTask)))
		if p.CostUSD > 0 {
			text += fmt.Sprintf(", %.2f USD", p.USDPerTask)
		}
		text += ")"
	}
	return text
}
