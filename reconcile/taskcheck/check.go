package taskcheck

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/evaluate"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/query/tasklookup"
	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/image"
	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/trial"
	"github.com/assayd/assayd/runtime/vet"
)

// Check asks whether one task is sound.
type Check struct {
	Task   string   // address, benchmark.x["t"] or mining.x["t"]
	Files  []string // absolute paths of the spec files that declare it; none = the one in force that does, as it is now
	Repeat int      // how often the solution and the untouched tree are judged; 0 = 3
	Rater  *Rater   // says how good a task it is; nil = nobody does
}

// Checked is what a check has found.
type Checked struct {
	Task    string `json:"task"`    // address
	Verdict string `json:"verdict"` // sound, flagged or broken
	vet.Summary
	Repeat      int                       `json:"repeat"`
	Adversaries []string                  `json:"adversaries"`      // that were judged
	Findings    []vet.Finding             `json:"findings"`         // the worst first
	Images      map[string]trial.ImageRef `json:"images"`           // by role
	Decoys      *CheckedDecoys            `json:"decoys,omitempty"` // nil = it is broken, or a game
	Rating      *Rating                   `json:"rating,omitempty"` // nil unless it was asked for
	Seconds     float64                   `json:"seconds"`
}

// Bounds of a check.
const (
	defaultRepeat = 3
	judgedAtOnce  = 2 // of one task; what the limits allow decides beyond that
)

// checking is a check under way.
type checking struct {
	r       *Checker
	task    task.Task
	address string
	repeat  int
	labels  map[string]string
	meter   *meter
	out     *Checked

	work     image.Built
	state    trial.State // with the judge's images
	solution *solution   // nil = there is none, or none could be made
	target   vet.Target
	runs     vet.Runs
}

// CheckTask has a task checked: its solution, its untouched tree and every adversary are
// judged, each in a session of its own, and its work image is looked through. In the end a
// model rates it, if one is to. Of a task that is in force a record is written. What is wrong with Files comes as diagnostics, and what
// else the asker must mend as a *request.Mistake; what is wrong with the task is in the outcome.
func (r *Checker) CheckTask(ctx context.Context, c Check) (out Checked, ds config.Diagnostics, err error) {
	began := time.Now()
	if err := r.rateable(c.Rater); err != nil {
		return out, ds, err
	}
	e := evaluate.Evaluation{Task: c.Task, Files: c.Files}
	set, ds, err := r.o.Evaluator.AskedSet(ctx, e)
	if err != nil || ds.HasErrors() {
		return out, ds, err
	}
	selected, err := tasklookup.Find(set, c.Task)
	if err != nil {
		return out, ds, err
	}
	if c.Repeat <= 0 {
		c.Repeat = defaultRepeat
	}
	out = Checked{
		Task: selected.Address(), Repeat: c.Repeat, Adversaries: []string{}, Images: map[string]trial.ImageRef{},
		Summary: vet.Summary{Flips: []string{}, Gained: []string{}},
	}
	k := &checking{r: r, address: out.Task, repeat: c.Repeat, meter: newMeter(*r.o.Host), out: &out}
	if gaps := selected.Unsupported(); len(gaps) > 0 {
		k.say(vet.Images, vet.Breaks, "%s is not in this version yet", gaps[0])
	} else if k.task, err = plan.CompileTask(selected); err == nil {
		if err = k.all(ctx); err == nil && c.Rater != nil {
			err = k.rate(ctx, *c.Rater)
		}
	}
	if err != nil {
		return out, ds, fmt.Errorf("check %s: %w", out.Task, err)
	}
	out.Findings = vet.Sorted(append([]vet.Finding{}, out.Findings...))
	out.Verdict, out.Seconds = vet.Verdict(out.Findings), float64(time.Since(began).Milliseconds())/1000
	if len(c.Files) == 0 {
		err = r.o.Record(ctx, selected, out)
	}
	return out, ds, err
}

func (k *checking) say(what string, severity vet.Severity, format string, args ...any) {
	k.out.Findings = append(k.out.Findings, vet.Finding{Check: what, Severity: severity, Text: fmt.Sprintf(format, args...)})
}

// all does everything that there is to do about a task.
func (k *checking) all(ctx context.Context) (err error) {
	if k.task.Judge.Game != "" {
		k.say(vet.Oracle, vet.Flags, "it is a game: it is played, and nothing of it is judged here")
		return nil
	}
	k.labels = map[string]string{container.LabelOwner: k.r.o.Host.Owner, container.LabelRole: container.RoleBuild}
	if made, err := k.images(ctx); err != nil || !made {
		return err
	}
	if err := k.solve(ctx); err != nil {
		return err
	}
	if k.solution != nil {
		defer func() { err = errors.Join(err, k.solution.close()) }()
	}
	if err := k.look(ctx); err != nil {
		return err
	}
	stop := k.meter.run(ctx)
	if err = k.honest(ctx); err == nil {
		err = k.cheats(ctx)
	}
	stop()
	if err != nil {
		return err
	}
	summary, findings := vet.Conclude(k.task, k.runs)
	k.out.Summary, k.out.Findings = summary, append(k.out.Findings, findings...)
	return k.decoys(ctx)
}

// images makes the images. What the task's author has to mend is a finding.
func (k *checking) images(ctx context.Context) (made bool, err error) {
	h := k.r.o.Host
	k.work, err = h.Images.Work(ctx, k.task, k.labels)
	if err == nil {
		k.out.Images[container.RoleWork] = trial.ImageRef{Ref: k.work.Ref, ID: k.work.ID}
		k.state = trial.State{Cell: trial.Cell{Task: k.task}}
		_, err = h.JudgeImages(ctx, &k.state, k.task, k.labels)
		k.out.Images[container.RoleJudge] = k.state.JudgeImage
	}
	switch {
	case err == nil:
		return true, nil
	case ctx.Err() != nil, container.Unavailable(err), errors.Is(err, container.ErrNoSpace):
		return false, err
	}
	k.say(vet.Images, vet.Breaks, "%v", err)
	return false, nil
}

// honest judges the solution and the untouched tree, as often as asked for.
func (k *checking) honest(ctx context.Context) error {
	if k.solution != nil {
		k.runs.Oracle = make([]vet.Run, k.repeat)
	}
	k.runs.Nop, k.runs.Empty = make([]vet.Run, k.repeat), make([]vet.Run, 1)
	var work errgroup.Group
	work.SetLimit(judgedAtOnce)
	for i := range k.repeat {
		if k.solution != nil {
			work.Go(func() error { return k.judge(ctx, k.solution.ask, &k.runs.Oracle[i]) })
		}
		work.Go(func() error { return k.judge(ctx, evaluate.Untouched, &k.runs.Nop[i]) })
	}
	work.Go(func() error { return k.judge(ctx, emptyPatch, &k.runs.Empty[0]) })
	return work.Wait()
}

// cheats judges every adversary, unless the task is broken anyhow.
func (k *checking) cheats(ctx context.Context) error {
	if _, findings := vet.Conclude(k.task, k.runs); ctx.Err() != nil || vet.Verdict(findings) == string(vet.Breaks) {
		return ctx.Err()
	}
	for _, run := range k.runs.Oracle[:min(len(k.runs.Oracle), 1)] {
		for _, t := range run.Report.Tests {
			if t.Status == parser.Passed {
				k.target.Tests = append(k.target.Tests, t.Name)
			}
		}
	}
	all := vet.Adversaries(k.target)
	judged := make([]vet.Run, len(all))
	var work errgroup.Group
	work.SetLimit(judgedAtOnce)
	for i, a := range all {
		work.Go(func() error { return k.judge(ctx, packed(a.Files), &judged[i]) })
	}
	if err := work.Wait(); err != nil {
		return err
	}
	k.runs.Cheats = map[string]vet.Run{}
	for i, a := range all {
		k.out.Adversaries = append(k.out.Adversaries, a.Name)
		k.runs.Cheats[a.Name] = judged[i]
	}
	return nil
}

// judge has something judged in a session of its own.
func (k *checking) judge(ctx context.Context, ask evaluate.Ask, run *vet.Run) error {
	out, refused, err := k.r.o.Evaluator.JudgeApart(ctx, k.task, k.address, ask, k.meter.watch)
	switch {
	case err != nil:
		return err
	case refused != nil:
		run.Lost = refused.Detail
	default:
		*run = vet.Run{Report: out.Report, Lost: out.NotApplied, Memory: k.meter.most(out.Session)}
	}
	return nil
}

// emptyPatch asks for a patch without content.
func emptyPatch() (evaluate.Evaluation, func() error, error) {
	return evaluate.Evaluation{Patch: []byte{}}, func() error { return nil }, nil
}

// packed asks for files.
func packed(files []vet.Text) evaluate.Ask {
	return func() (evaluate.Evaluation, func() error, error) {
		archive, err := archiveOf(files)
		return evaluate.Evaluation{Archive: archive}, func() error { return nil }, err
	}
}
