package export

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/ledger"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/judge/scoring"
)

// layout is one in which what trials have come to is written. Each has a folder of its own
// below that of the export, and in it one for the execution.
type layout struct {
	folder string
	write  func(*outcomes) error
}

func layouts() map[string]layout {
	return map[string]layout{
		"harbor": {"jobs", writeHarbor}, "ctrf": {"ctrf", writeCTRF}, "junit": {"junit", writeJUnit}, "inspect": {"inspect", writeInspect},
	}
}

// Formats are the names of what Write writes.
func Formats() []string { return []string{"sforge-logs", "harbor", "ctrf", "junit", "inspect"} }

// Write writes an execution of a run (0 = the last one) in one of Formats below dir, which is
// taken and brought up to date as SForge does it.
func Write(ctx context.Context, s *store.Store, format, address string, execution int, dir, version string) (out Written, err error) {
	if format == "sforge-logs" {
		return SForge(ctx, s, address, execution, dir, version)
	}
	l, ok := layouts()[format]
	if !ok {
		return out, fmt.Errorf("there is no format %q; there are %s", format, strings.Join(Formats(), ", "))
	}
	run, err := history.Records(ctx, s, address, execution)
	if err != nil {
		return out, err
	}
	t, err := openTree(dir, s.Owner(), address)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	x := &outcomes{
		tree: t, store: s, run: run, version: version, name: fmt.Sprintf("%s.e%d", safe(strings.TrimPrefix(address, "run.")), run.Execution),
	}
	x.dir = path.Join(l.folder, x.name)
	if err := t.claim([]string{x.dir}); err != nil {
		return out, err
	}
	if x.trials, err = outcomesOf(ctx, history.NewLedger(s), run); err != nil {
		return out, err
	}
	if err := l.write(x); err != nil {
		return out, fmt.Errorf("export %s as %s: %w", address, format, err)
	}
	out = Written{Execution: run.Execution, Runs: []string{x.dir}, Trials: len(run.Trials)}
	for _, r := range run.Trials {
		out.Rounds += len(rounds(r))
	}
	return out, t.finish(fmt.Sprintf("%s.e%d", format, run.Execution))
}

// outcomes is one export under way.
type outcomes struct {
	tree    *tree
	store   *store.Store
	run     history.RunRecord
	version string
	name    string // of the execution, as a part of a path
	dir     string // where it goes
	trials  []outcome
}

// outcome is a trial with the round that counts.
type outcome struct {
	history.TrialRecord
	name string            // of its own, as a part of a path
	best *round.Submission // nil = nothing was judged
}

func outcomesOf(ctx context.Context, ledger *ledger.Submissions, run history.RunRecord) (all []outcome, err error) {
	for _, r := range run.Trials {
		o := outcome{TrialRecord: r, name: safe(r.Cell.Task.Name) + "__" + safe(r.Key[:min(len(r.Key), 8)])}
		if best, ok := scoring.Best(r.Cell.Task.Judge, rounds(r)); ok {
			whole, err := ledger.Submission(ctx, best.ID)
			if err != nil {
				return nil, fmt.Errorf("read round %s of trial %s: %w", best.Round, r.ID, err)
			}
			o.best = &whole
		}
		all = append(all, o)
	}
	return all, nil
}

// tests of the round that counts.
func (o outcome) tests() []parser.Test {
	if o.best == nil {
		return nil
	}
	return o.best.Report.Tests
}

// rate is what counts as success: that of the private set where there is one.
func (o outcome) rate() (rate float64, judged bool) {
	if o.Result != nil && o.Result.Private != nil {
		return o.Result.Private.PassRate, true
	}
	if o.best == nil {
		return 0, false
	}
	return o.best.Report.PassRate, true
}

// counts reports whether a trial is in a denominator.
func (o outcome) counts() bool { return o.Result != nil && o.Result.Status.Counts() }

// groups are the trials of each agent with its model and effort, in order of their names.
func (x *outcomes) groups() (names []string, groups map[string][]outcome) {
	groups = map[string][]outcome{}
	for _, o := range x.trials {
		name := safe(o.Cell.Agent.Title())
		for _, more := range []string{o.Cell.Agent.Model, o.Cell.Agent.Effort} {
			if more != "" {
				name += "." + safe(more)
			}
		}
		groups[name] = append(groups[name], o)
	}
	for name := range groups {
		names = append(names, name)
	}
	slices.Sort(names)
	return names, groups
}
