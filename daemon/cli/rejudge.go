package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"golang.org/x/sync/errgroup"

	"github.com/assayd/assayd/daemon/api"
	"github.com/assayd/assayd/reconcile/evaluate"
	"github.com/assayd/assayd/reconcile/query/trialview"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/judge/scoring"
	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/trial"
)

// Rejudged is what a trial would come to with the judge of its task as it is now.
type Rejudged struct {
	Trial  string        `json:"trial"`
	Task   string        `json:"task"`
	Agent  string        `json:"agent"`
	Before trial.Status  `json:"before"`
	Now    trial.Status  `json:"now"`
	Why    string        `json:"why,omitempty"` // for what is neither resolved nor unresolved
	Best   string        `json:"best,omitempty"`
	Report *round.Report `json:"report,omitempty"` // of the best round, now
	Was    *round.Report `json:"was,omitempty"`    // of the round that was best
}

// rejudge has every archive of a run's finished trials judged again. It starts no agent and
// changes no record.
func (e *env) rejudge(ctx context.Context, address string, files []string) error {
	ask := evaluate.Evaluation{}
	c, done, err := e.judging(ctx, &ask, files)
	if err != nil {
		return err
	}
	all, err := e.rejudgeAll(ctx, c, ask, address)
	if err = errors.Join(err, done()); err != nil {
		return err
	}
	if e.json {
		err = e.printJSON(map[string]any{"trials": all})
	} else {
		err = e.showRejudged(all)
	}
	if err == nil && slices.ContainsFunc(all, func(r Rejudged) bool { return r.Now == trial.InfraError }) {
		return exit{ExitFailed}
	}
	return err
}

func (e *env) rejudgeAll(ctx context.Context, c *api.Client, ask evaluate.Evaluation, address string) ([]Rejudged, error) {
	s, err := c.Status(ctx, address)
	if err != nil {
		return nil, err
	}
	var over []trialview.TrialStatus
	for _, run := range s.Runs {
		for _, t := range run.Trials {
			if t.Status != "" && !t.Superseded && len(t.Rounds) > 0 {
				over = append(over, t)
			}
		}
	}
	if len(over) == 0 {
		return nil, usage{fmt.Errorf("--run %s: no trial of it has a round that could be judged again", address)}
	}
	out := make([]Rejudged, len(over))
	var work errgroup.Group
	work.SetLimit(atOnce)
	for i, t := range over {
		work.Go(func() (err error) {
			out[i], err = e.rejudgeTrial(ctx, c, ask, t)
			return err
		})
	}
	return out, work.Wait()
}

// rejudgeTrial judges each archive of a trial once; rounds with the same one share it.
func (e *env) rejudgeTrial(ctx context.Context, c *api.Client, ask evaluate.Evaluation, t trialview.TrialStatus) (Rejudged, error) {
	out := Rejudged{Trial: t.ID, Task: t.Task, Agent: t.Agent, Before: t.Status}
	ask.Trial = t.ID
	var rules task.Judge
	var rounds []round.Submission
	known := map[string]*round.Report{}
	private := false // whether the task has a private set now
	for _, r := range t.Rounds {
		if r.Round == t.Best {
			out.Was = r.Report
		}
		if r.Archive == "" || r.Try != t.Try {
			continue
		}
		if r.Beyond { // in no number that is reported
			continue
		}
		report := known[r.Archive]
		if report == nil {
			ask.Round = r.Round
			again, err := e.judgeAgain(ctx, c, ask)
			if err != nil {
				return out, err
			}
			report, private = &again.Report, again.PrivateSet
			rules.Select, rules.Direction = again.Select, again.Direction
			known[r.Archive] = report
		}
		kind, _, _ := strings.Cut(r.Round, "-")
		rounds = append(rounds, round.Submission{Round: r.Round, Kind: round.Kind(kind), State: round.StateJudged, Report: report})
	}
	if len(rounds) == 0 {
		out.Now, out.Why = t.Status, "it has no archive"
		return out, nil
	}
	best, ok := scoring.Best(rules, rounds)
	if !ok {
		best = rounds[len(rounds)-1]
	}
	decides := *best.Report
	if ok && private {
		ask.Round, ask.Decides = best.Round, true
		again, err := e.judgeAgain(ctx, c, ask)
		if err != nil {
			return out, err
		}
		decides = again.Deciding()
	}
	out.Best, out.Report = best.Round, best.Report
	out.Now, out.Why = comesTo(t, decides)
	return out, nil
}

// judgeAgain has one stored archive judged.
func (e *env) judgeAgain(ctx context.Context, c *api.Client, ask evaluate.Evaluation) (api.Evaluated, error) {
	again, err := c.Eval(ctx, ask)
	switch {
	case err != nil:
		return again, fmt.Errorf("judge %s of %s again: %w", ask.Round, ask.Trial, err)
	case again.Diagnostics.HasErrors():
		return again, e.rejected(again.Diagnostics)
	}
	return again, nil
}

// comesTo is the status that a trial would have with the report that decides. An agent
// that failed has failed, whatever the tests say: in single mode always, else unless it had
// solved the task before. What was not judged for another reason stays as it is.
func comesTo(t trialview.TrialStatus, decides round.Report) (status trial.Status, why string) {
	text, why := statusOf(decides)
	status = trial.Status(text)
	switch {
	case !t.Status.Counts(),
		t.Status == trial.AgentError && t.Mode == trial.Single,
		t.Status == trial.AgentError && status == trial.Unresolved:
		return t.Status, t.Detail
	}
	return status, why
}

func (e *env) showRejudged(all []Rejudged) error {
	t := tabwriter.NewWriter(e.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "TASK\tAGENT\tBEFORE\tNOW\tPASSED\tBEST\tTRIAL")
	changed := 0
	for _, r := range all {
		mark := ""
		if r.Now != r.Before {
			changed++
			mark = " *"
		}
		was, now := "-", "-"
		if r.Was != nil {
			was = resultOf(r.Was)
		}
		if r.Report != nil {
			now = resultOf(r.Report)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s%s\t%s → %s\t%s\t%s\n", r.Task, r.Agent, r.Before, r.Now, mark, was, now, r.Best, r.Trial)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, r := range all {
		if r.Why != "" && r.Now != r.Before {
			fmt.Fprintf(e.out, "%s: %s\n", r.Trial, printable(r.Why))
		}
	}
	_, err := fmt.Fprintf(e.out, "%d of %d trials would have another status; no record was changed\n", changed, len(all))
	return err
}
