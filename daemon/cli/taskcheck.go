package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"
	"golang.org/x/sync/errgroup"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/daemon"
	"github.com/assayd/assayd/daemon/api"
	"github.com/assayd/assayd/reconcile/evaluate"
	"github.com/assayd/assayd/reconcile/taskcheck"
	"github.com/assayd/assayd/runtime/gateway"
	"github.com/assayd/assayd/runtime/vet"
)

// checkedAtOnce is how many tasks are under way; how much is judged at once is up to the
// limits.
const checkedAtOnce = 4

// taskChecks are checks of some tasks.
type taskChecks struct {
	e       *env
	client  *api.Client
	ask     evaluate.Evaluation // its files
	address string              // of the task, benchmark or mining spec; "" = all
	repeat  int
	rater   *taskcheck.Rater // nil = nobody rates

	mu      sync.Mutex
	done    int
	checked []api.Checked // in the order of the tasks
}

// rateable looks whether this process could rate.
func (k *taskChecks) rateable(settings *config.Settings) error {
	if k.rater == nil {
		return nil
	}
	if err := k.rater.Check(daemon.ConfigOptions(settings)); err != nil {
		return usage{err}
	}
	return nil
}

// all checks every task that is asked for.
func (k *taskChecks) all(ctx context.Context) error {
	list, err := k.client.Tasks(ctx, k.ask.Files)
	if err != nil {
		return err
	}
	var addresses []string
	for _, t := range list.Tasks {
		if asked(t, k.address) {
			addresses = append(addresses, t.Address)
		}
	}
	if len(addresses) == 0 && k.address == "" {
		return usage{errors.New("no task is declared there; `assayd validate` says more")}
	}
	if len(addresses) == 0 {
		addresses = []string{k.address} // which says what is wrong with it
	}
	k.checked = make([]api.Checked, len(addresses))
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(checkedAtOnce)
	for i, address := range addresses {
		work.Go(func() error { return k.one(ctx, address, &k.checked[i], len(addresses)) })
	}
	return work.Wait()
}

func (k *taskChecks) one(ctx context.Context, address string, out *api.Checked, of int) (err error) {
	*out, err = k.client.Check(ctx, taskcheck.Check{Task: address, Files: k.ask.Files, Repeat: k.repeat, Rater: k.rater})
	if api.Correctable(err) {
		return usage{err}
	}
	if err != nil {
		return err
	}
	if out.Diagnostics.HasErrors() {
		return k.e.rejected(out.Diagnostics)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.done++; terminal(k.e.err) && !k.e.json {
		fmt.Fprintf(k.e.err, "%d of %d: %s %s\n", k.done, of, address, out.Verdict)
	}
	return nil
}

// conclude prints what was found.
func (k *taskChecks) conclude() error {
	sound, rated := 0, 0
	for _, c := range k.checked {
		if c.Verdict == vet.Sound {
			sound++
		}
		if c.Rating != nil && c.Rating.Rated != nil {
			rated++
		}
	}
	if err := k.e.warn(k.checked[0].Diagnostics); err != nil {
		return err
	}
	var err error
	if k.e.json {
		err = k.e.printJSON(map[string]any{"sound": sound, "tasks": k.checked})
	} else {
		err = k.show(sound)
	}
	if err == nil && (sound < len(k.checked) || k.rater != nil && rated < len(k.checked)) {
		return exit{ExitFailed}
	}
	return err
}

func (k *taskChecks) show(sound int) error {
	t := tabwriter.NewWriter(k.e.out, 0, 0, 2, ' ', 0)
	rating := ""
	if k.rater != nil {
		rating = "QUALITY\tDIFFICULTY\t"
	}
	fmt.Fprintf(t, "TASK\tVERDICT\tORACLE\tNOP\tSTABLE\tADVERSARIES\tJUDGING\tMEMORY\t%sREASONS\n", rating)
	for _, c := range k.checked {
		oracle := "none"
		if c.Oracle != nil {
			oracle = worded(*c.Oracle, "passes", "fails")
		}
		memory := "-"
		if c.Memory > 0 {
			memory = humanize.IBytes(uint64(c.Memory))
		}
		if k.rater != nil {
			rating = scores(c.Rating)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%d of %d pass\t%s\t%s\t%s%s\n", c.Task, c.Verdict, oracle, worded(c.Nop, "fails", "offends"),
			worded(c.Stable, "yes", "no"), len(c.Gained), len(c.Adversaries), (time.Duration(c.JudgeMS) * time.Millisecond).Round(100*time.Millisecond), memory, rating, reasons(c))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, c := range k.checked {
		if len(c.Findings) > 0 || c.Rating != nil || c.Decoys != nil {
			fmt.Fprintf(k.e.out, "\n%s\n", c.Task)
		}
		for _, f := range c.Findings {
			fmt.Fprintf(k.e.out, "  %s, %s: %s\n", f.Severity, f.Check, printable(f.Text))
		}
		k.showDecoys(c.Decoys)
		k.showRating(c.Rating)
	}
	paid := ""
	if k.rater != nil {
		paid = ", " + k.paid()
	}
	_, err := fmt.Fprintf(k.e.out, "\n%d of %s sound%s\n", sound, counted(len(k.checked), "task"), paid)
	return err
}

// scores are the columns of a rating; one that does not exist has none.
func scores(r *taskcheck.Rating) string {
	if r == nil || r.Rated == nil {
		return "-\t-\t"
	}
	return fmt.Sprintf("%.2f\t%s %.2f\t", r.QualityScore, r.Classification, r.DifficultyScore)
}

// showDecoys says which tests are changed in mixed runs, and why others are not.
func (k *taskChecks) showDecoys(d *taskcheck.CheckedDecoys) {
	if d == nil {
		return
	}
	fmt.Fprintf(k.e.out, "  decoys: %s\n", printable(d.String()))
	for _, u := range d.Unchecked {
		fmt.Fprintf(k.e.out, "    unchecked: %s: %s\n", printable(u.Test), printable(u.Reason))
	}
}

func (k *taskChecks) showRating(r *taskcheck.Rating) {
	said := func(text string) string { return printable(strings.Join(strings.Fields(text), " ")) }
	switch {
	case r == nil:
	case r.Rated == nil:
		fmt.Fprintf(k.e.out, "  not rated: %s\n", said(r.Error))
	default:
		fmt.Fprintf(k.e.out, "  quality %.2f: %s\n  %s %.2f: %s\n", r.QualityScore, said(r.QualityReasoning),
			r.Classification, r.DifficultyScore, said(r.Reasoning))
	}
}

// paid is what the model took, in words.
func (k *taskChecks) paid() string {
	var all gateway.Usage
	for _, c := range k.checked {
		if c.Rating != nil {
			all.Add(c.Rating.Usage)
		}
	}
	return fmt.Sprintf("rated by %s for %s tokens and %.4f USD", k.rater.Model, humanize.Comma(all.Tokens()), all.CostUSD)
}

func worded(ok bool, yes, no string) string {
	if ok {
		return yes
	}
	return no
}

// reasons are the checks that a task did not pass, without warnings.
func reasons(c api.Checked) string {
	var names []string
	seen := map[string]bool{}
	for _, f := range c.Findings {
		if f.Severity != vet.Warns && !seen[f.Check] {
			seen[f.Check] = true
			names = append(names, f.Check)
		}
	}
	return strings.Join(names, " ")
}
