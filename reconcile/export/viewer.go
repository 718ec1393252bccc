package export

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/judge/scoring"
)

// asViewed is a trial with its rounds under names that SForge's viewer knows: it has none for the
// round that is judged at the end, which is its next automatic one.
func asViewed(r history.TrialRecord) history.TrialRecord {
	r.Rounds, r.Extension = slices.Clone(r.Counted(r.Rounds)), nil // by their own names
	last := 0
	for _, sub := range r.Rounds {
		if sub.Kind == round.KindAuto {
			last = max(last, sub.Number)
		}
	}
	for i, sub := range r.Rounds {
		if sub.Kind != round.KindFinal {
			continue
		}
		last++
		name := fmt.Sprintf("%s-%d", round.KindAuto, last)
		if r.FinalRound == sub.Round {
			r.FinalRound = name
		}
		r.Rounds[i].Round, r.Rounds[i].Kind, r.Rounds[i].Number = name, round.KindAuto, last
	}
	return r
}

// texts writes the logs that SForge's viewer reads beside the results of a task.
func (x *sforge) texts(dir string, r history.TrialRecord) error {
	write := func(name, text string) error {
		if text == "" {
			return nil
		}
		return x.tree.file(path.Join(dir, name), func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return err
		})
	}
	return errors.Join(write("agent_prompt.md", r.Prompt()+"\n"), write("run_agent.log", runLog(r)),
		write("auto_eval_ticks.log", ticks(r)), write("auto_eval_daemon.log", ticks(r)), // its harness writes the one, its viewer reads the other
		write("install_output.txt", installed(r)))
}

// logged is a line of a log of SForge's: "time - LEVEL - message".
func logged(at time.Time, level, format string, args ...any) string {
	message := strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " ")
	return fmt.Sprintf("%s - %s - %s\n", at.In(time.Local).Format("2006-01-02 15:04:05,000"), level, message)
}

// runLog tells how a trial went. A line of the level ERROR is what the viewer takes for a failure of
// the machinery; nothing else is one.
func runLog(r history.TrialRecord) string {
	var b strings.Builder
	if !r.StartedAt.IsZero() {
		b.WriteString(logged(r.StartedAt, "INFO", "Running agent: %s on task %s, trial %s, try %d", program(r), r.Cell.Task.Name, r.ID, r.Try))
	}
	for _, sub := range rounds(r) {
		if sub.AcceptedAt.IsZero() {
			continue
		}
		b.WriteString(logged(sub.AcceptedAt, "INFO", "round %s is submitted", sub.Round))
	}
	if !r.EndedAt.IsZero() {
		b.WriteString(logged(r.EndedAt, "INFO", "the agent is over"))
	}
	if f := r.Result; f != nil && !f.Status.Counts() {
		b.WriteString(logged(r.FinishedAt, "ERROR", "%s: %s", f.Status, cmp.Or(f.Detail, f.Reason, "no result")))
	}
	return b.String()
}

// program is the command by which the viewer knows an agent while there is no result.
func program(r history.TrialRecord) string {
	a := r.Cell.Agent
	if a.Program == "claude-code" {
		return "claude"
	}
	return cmp.Or(a.Program, a.Title())
}

// seen writes what the agent has learned of its rounds, as its client keeps that.
func (x *sforge) seen(dir string, r history.TrialRecord) error {
	type row struct {
		Kind     round.Kind `json:"kind"`
		Round    string     `json:"round"`
		At       float64    `json:"at"`
		PassRate float64    `json:"pass_rate"`
		Score    *float64   `json:"score"`
	}
	known, rows := []round.Submission{}, []row{}
	for _, sub := range rounds(r) {
		if sub.Kind == round.KindAgent && statusOf(sub) == "completed" {
			known = append(known, sub)
			rows = append(rows, row{sub.Kind, sub.Round, unix(sub.AcceptedAt), sub.Report.PassRate, sub.Report.Score})
		}
	}
	best, ok := scoring.Best(r.Cell.Task.Judge, known)
	if !ok {
		return nil
	}
	return x.tree.json(path.Join(dir, "evolve_state.json"), map[string]any{
		"best_pass_rate": best.Report.PassRate, "best_score": best.Report.Score, "best_round": best.Round, "submissions": rows,
	})
}

// ticks are the automatic rounds.
func ticks(r history.TrialRecord) string {
	var b strings.Builder
	for _, sub := range rounds(r) {
		if sub.Kind != round.KindAuto || sub.AcceptedAt.IsZero() {
			continue
		}
		at := sub.AcceptedAt.In(time.Local).Format("2006-01-02 15:04:05")
		if sub.State == round.StateJudged && sub.Report.Status == round.StatusError {
			fmt.Fprintf(&b, "[%s] error: %s\n", at, strings.Join(strings.Fields(sub.Report.Problem), " "))
			continue
		}
		fmt.Fprintf(&b, "[%s] submitted %d bytes -> %s round=%s\n", at, sub.Bytes, sub.ID, sub.Round)
	}
	return b.String()
}

// installed says where the agent's program comes from: it is not installed in the container.
func installed(r history.TrialRecord) string {
	a := r.Cell.Agent
	switch {
	case a.Program != "":
		return fmt.Sprintf("%s %s is mounted, as it was downloaded once for all trials.\n", a.Program, a.Version)
	case len(a.Command.Argv) > 0 || a.Command.Shell != "":
		return "The agent's folder is mounted; nothing was installed.\n"
	}
	return ""
}
