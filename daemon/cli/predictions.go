package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"text/tabwriter"

	"github.com/google/renameio/v2"
	"golang.org/x/sync/errgroup"

	"github.com/assayd/assayd/daemon/api"
	"github.com/assayd/assayd/reconcile/evaluate"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/task/swebench"
	"github.com/assayd/assayd/runtime/trial"
)

// atOnce is how many predictions are under way; how many are judged at once is up to the
// limits.
const atOnce = 8

// predicted are the predictions of one file against the tasks of one benchmark.
type predicted struct {
	e      *env
	client *api.Client
	ask    evaluate.Evaluation // without task and patch
	dir    string              // of the report

	mu       sync.Mutex
	outcomes []swebench.Outcome
}

// evalPredictions judges the patches of a file as an agent's in single mode would be, and
// writes a report in SWE-bench's layout.
func (e *env) evalPredictions(ctx context.Context, dataset, file, out string, files []string) error {
	list, err := readPredictions(file)
	if err != nil {
		return err
	}
	p := &predicted{e: e, dir: out}
	if p.dir == "" {
		p.dir = strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)) + ".eval"
	}
	c, done, err := e.judging(ctx, &p.ask, files)
	if err != nil {
		return err
	}
	p.client = c
	err = errors.Join(p.all(ctx, dataset, list), done())
	if err != nil {
		return err
	}
	return p.conclude()
}

func readPredictions(file string) ([]swebench.Prediction, error) {
	in := io.ReadCloser(os.Stdin)
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, usage{fmt.Errorf("read the predictions: %w", err)}
		}
		in = f
	}
	defer func() { _ = in.Close() }() // only read
	list, err := swebench.ReadPredictions(in)
	if err != nil {
		return nil, usage{err}
	}
	return list, nil
}

// all judges every prediction; of tasks without one it is told that there is none.
func (p *predicted) all(ctx context.Context, dataset string, list []swebench.Prediction) error {
	tasks, err := p.client.Tasks(ctx, p.ask.Files)
	if err != nil {
		return err
	}
	address := map[string]string{}
	for _, t := range tasks.Tasks {
		if wholeOf(t) == dataset {
			address[t.ID] = t.Address
			p.add(swebench.Outcome{Instance: t.ID})
		}
	}
	if len(address) == 0 {
		return usage{fmt.Errorf("--dataset %s: there is no such benchmark, or it has no tasks", dataset)}
	}
	var work errgroup.Group
	work.SetLimit(atOnce)
	seen := map[string]bool{}
	for _, one := range list {
		at, known := address[one.Instance]
		first := !seen[one.Instance]
		seen[one.Instance] = true
		switch {
		case one.Problem != "" || !known:
			p.refused(one, known, first)
		case len(bytes.TrimSpace(one.Patch)) == 0:
			p.add(swebench.Outcome{Instance: one.Instance, Model: one.Model, Empty: true})
		default:
			work.Go(func() error { return p.judge(ctx, at, one) })
		}
	}
	return work.Wait()
}

// refused tells of a prediction that cannot be judged. Only the first of an instance counts.
func (p *predicted) refused(one swebench.Prediction, known, first bool) {
	where := one.Instance
	if one.Line > 0 {
		where = fmt.Sprintf("line %d: %s", one.Line, one.Instance)
	}
	switch {
	case !known && one.Instance != "":
		fmt.Fprintf(p.e.err, "%s: the dataset has no such task\n", printable(where))
	default:
		fmt.Fprintf(p.e.err, "%s: %s\n", printable(where), one.Problem)
		if known && first {
			p.add(swebench.Outcome{Instance: one.Instance, Model: one.Model, Malformed: true, Reason: one.Problem})
		}
	}
}

func (p *predicted) add(o swebench.Outcome) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.outcomes = append(p.outcomes, o)
}

// judge has one patch judged and keeps what came of it.
func (p *predicted) judge(ctx context.Context, address string, one swebench.Prediction) error {
	ask := p.ask
	ask.Task, ask.Patch, ask.Decides = address, one.Patch, true
	out, err := p.client.Eval(ctx, ask)
	if err == nil && out.Diagnostics.HasErrors() {
		return p.e.rejected(out.Diagnostics)
	}
	o := swebench.Outcome{Instance: one.Instance, Model: one.Model, Status: string(trial.InfraError)}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		if _, answered := errors.AsType[*api.Error](err); !answered || api.Correctable(err) {
			return err // it is not about this patch
		}
		o.Reason = err.Error()
	case out.NotApplied != "":
		o.NotApplied, o.Reason = true, out.NotApplied
	default:
		o.Status, o.Reason = statusOf(out.Deciding())
		o.FailToPass, o.PassToPass = out.FailToPass, out.PassToPass
	}
	p.add(o)
	return p.keep(ctx, one, o, out)
}

// statusOf is what a trial with this report would come to.
func statusOf(r round.Report) (status, reason string) {
	switch {
	case r.Status == round.StatusError:
		return string(trial.InfraError), r.Problem
	case r.NotRun:
		return string(trial.TestError), r.Problem
	case r.Valid && !r.Tampered && r.PassRate == 1:
		return string(trial.Resolved), ""
	}
	return string(trial.Unresolved), r.Problem
}

// keep writes what there is of one instance into a folder of its own.
func (p *predicted) keep(ctx context.Context, one swebench.Prediction, o swebench.Outcome, out api.Evaluated) error {
	dir := filepath.Join(p.dir, "logs", one.Instance)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	report, err := swebench.Encoded(o.Report())
	if err != nil {
		return err
	}
	if err := errors.Join(
		renameio.WriteFile(filepath.Join(dir, "patch.diff"), one.Patch, 0o644),
		renameio.WriteFile(filepath.Join(dir, "report.json"), report, 0o644),
	); err != nil || out.Report.Output == "" {
		return err
	}
	printed, err := p.client.Output(ctx, out.Session, out.Round)
	if err != nil {
		return err
	}
	defer func() { _ = printed.Close() }() // only read
	text, err := io.ReadAll(printed)
	if err != nil {
		return err
	}
	return renameio.WriteFile(filepath.Join(dir, "test_output.txt"), text, 0o644)
}

// conclude writes the report and prints it.
func (p *predicted) conclude() error {
	report := swebench.NewReport(p.outcomes)
	text, err := swebench.Encoded(report)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		return err
	}
	file := filepath.Join(p.dir, "report.json")
	if err := renameio.WriteFile(file, text, 0o644); err != nil {
		return err
	}
	if p.e.json {
		_, err = p.e.out.Write(text)
	} else {
		err = showReport(p.e.out, report, file)
	}
	if err == nil && report.InfraFailure > 0 {
		return exit{ExitFailed}
	}
	return err
}

func showReport(w io.Writer, r swebench.Report, file string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range []struct {
		name string
		ids  []string
	}{
		{"resolved", r.ResolvedIDs},
		{"unresolved", r.UnresolvedIDs},
		{"empty patch", r.EmptyPatchIDs},
		{"error", r.ErrorIDs},
		{"infra failure", r.InfraFailureIDs},
		{"ambiguous failure", r.AmbiguousFailureIDs},
		{"no prediction", r.IncompleteIDs},
	} {
		fmt.Fprintf(t, "%s\t%d\t%s\n", row.name, len(row.ids), clipLine(strings.Join(row.ids, " ")))
	}
	fmt.Fprintf(t, "total\t%d\t%s\n", r.Total, file)
	return t.Flush()
}
