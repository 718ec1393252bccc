package evaluate

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/judge/scoring"
	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/trial"
	"github.com/assayd/assayd/runtime/trial/reference"
	"github.com/assayd/assayd/runtime/trial/worktree"
)

// Reference is trial.Host.Reference: what judging the solution of a task has shown. That is
// asked once for one content, by whichever trial comes first, and kept; and an execution keeps
// what its first trial had, whatever becomes of the solution. Trouble of the machinery is no
// answer.
func (r *Evaluator) Reference(ctx context.Context, of trial.Subject) (known reference.Reference, err error) {
	s := of.State
	if of.Task.Solution, err = r.solutionOf(ctx, of); err != nil {
		return known, err
	}
	content, err := contentKey(of)
	if err != nil {
		return known, err
	}
	release, err := r.turns.Lock(ctx, content)
	if err != nil {
		return known, err
	}
	defer release()
	pinned := ""
	if s.Execution > 0 {
		pinned = fmt.Sprintf("reference/%s/e%d/%s", s.Spec, s.Execution, trial.ReferenceKey(s))
		if found, err := r.recall(ctx, pinned, &known); err != nil || found {
			return known, err
		}
	}
	found, err := r.recall(ctx, content, &known)
	if err == nil && !found {
		known, err = r.makeReference(ctx, of)
	}
	if err != nil {
		return known, err
	}
	return r.pinReference(ctx, known, content, pinned)
}

// contentKey identifies all that decides what a reference run shows.
func contentKey(of trial.Subject) (string, error) {
	text, err := json.Marshal(of.Task.Solution)
	if err != nil {
		return "", fmt.Errorf("encode the solution of %s: %w", of.Task.Name, err)
	}
	sum := sha256.Sum256(append([]byte(trial.ReferenceKey(of.State)), text...))
	return "reference/" + hex.EncodeToString(sum[:]), nil
}

func (r *Evaluator) makeReference(ctx context.Context, of trial.Subject) (known reference.Reference, err error) {
	if of.Task.Solution == nil {
		return reference.Reference{Problem: "the task has no solution"}, nil
	}
	r.o.Log.Info("the solution is judged, for the names of the tests", "spec", of.State.Spec, "task", of.Task.Name)
	report, problem, err := r.judgeSolution(ctx, of)
	switch {
	case err != nil:
		return known, err
	case report == nil:
		return reference.Reference{Problem: problem}, nil
	}
	return reference.Of(*report), nil
}

// pinReference stores an answer, unless the execution has another one by now, which counts.
func (r *Evaluator) pinReference(ctx context.Context, known reference.Reference, content, pinned string) (reference.Reference, error) {
	text, err := json.Marshal(known)
	if err != nil {
		return known, fmt.Errorf("encode %s: %w", content, err)
	}
	err = r.o.Store.Do(ctx, func(tx *store.Tx) error {
		if err := tx.PutMeta(content, string(text)); err != nil || pinned == "" {
			return err
		}
		first, err := tx.Meta(pinned)
		if err != nil {
			return err
		}
		if first != "" { // of another solution
			return json.Unmarshal([]byte(first), &known)
		}
		return tx.PutMeta(pinned, string(text))
	})
	return known, err
}

// evalReference is the manifest of a session without a trial: that of a trial.
func (r *Evaluator) evalReference(ctx context.Context, s trial.State, t task.Task) ([]string, error) {
	if t.Solution == nil || !reference.Wants(t) {
		return nil, nil
	}
	work, err := r.o.Host.Images.Work(ctx, t, map[string]string{container.LabelOwner: r.o.Host.Owner, container.LabelRole: container.RoleBuild})
	if err != nil {
		return nil, fmt.Errorf("make the work image of %s: %w", t.Name, err)
	}
	known, err := r.Reference(ctx, trial.Subject{State: s, Task: t, Work: work})
	return known.Tests, err
}

// recall reads an answer that was stored.
func (r *Evaluator) recall(ctx context.Context, key string, answer any) (found bool, err error) {
	var text string
	err = r.o.Store.View(ctx, func(tx *store.Tx) error {
		text, err = tx.Meta(key)
		return err
	})
	if err != nil || text == "" {
		return false, err
	}
	if err := json.Unmarshal([]byte(text), answer); err != nil {
		return false, fmt.Errorf("read %s: %w", key, err)
	}
	return true, nil
}

// remember stores one for recall.
func (r *Evaluator) remember(ctx context.Context, key string, answer any) error {
	text, err := json.Marshal(answer)
	if err != nil {
		return fmt.Errorf("encode %s: %w", key, err)
	}
	return r.o.Store.Do(ctx, func(tx *store.Tx) error { return tx.PutMeta(key, string(text)) })
}

// brokenJudge is what an execution knows of a judge that may be at fault.
type brokenJudge struct {
	Why string `json:"why,omitempty"` // "" = it is sound
	Try int    `json:"try"`           // of the trial that asked
}

// Broken is trial.Host.Broken. An execution asks once for one content; a later try asks again
// where the judge was found to be at fault, for what was in its way may be gone.
func (r *Evaluator) Broken(ctx context.Context, of trial.Subject, ask bool) (why string, err error) {
	s := of.State
	key := fmt.Sprintf("broken/%s/e%d/%s", s.Spec, s.Execution, trial.ReferenceKey(s))
	release, err := r.turns.Lock(ctx, key)
	if err != nil {
		return "", err
	}
	defer release()
	var known brokenJudge
	found, err := r.recall(ctx, key, &known)
	switch {
	case err != nil:
		return "", err
	case found && (known.Why == "" || known.Try >= s.Try):
		return known.Why, nil
	case !found && !ask:
		return "", nil
	}
	if known.Why, err = r.judgesNothing(ctx, of); err != nil {
		return "", err
	}
	known.Try = s.Try
	return known.Why, r.remember(ctx, key, known)
}

// judgesNothing says why a judge tells nothing of the untouched tree and of the solution
// alike; "" where it does tell something. Where there is no solution, a judge is at fault
// whose command cannot be run, or ends well and says nothing: a tree that is not finished may
// well break a runner.
func (r *Evaluator) judgesNothing(ctx context.Context, of trial.Subject) (why string, err error) {
	untouched, problem, err := r.judgeFor(ctx, of, Untouched)
	if err != nil {
		return "", err
	}
	if untouched == nil {
		return "", errors.New("judge the untouched tree: " + problem)
	}
	if of.Task.Solution, err = r.solutionOf(ctx, of); err != nil {
		return "", err
	}
	why = scoring.Silent(*untouched)
	switch {
	case why == "":
		return "", nil
	case of.Task.Solution == nil:
		if untouched.NotRun || untouched.ExitCode == 0 {
			return "the judge fails on the untouched tree: " + why, nil
		}
		return "", nil
	}
	solved, _, err := r.judgeSolution(ctx, of)
	if err != nil || solved == nil || scoring.Silent(*solved) == "" {
		return "", err
	}
	return "the judge fails on the untouched tree and on the task's own solution alike: " + scoring.Silent(*solved), nil
}

// solutionOf is a task's solution, which the cells of most agents lack: as the trial's
// execution has it.
func (r *Evaluator) solutionOf(ctx context.Context, of trial.Subject) (s *task.Solution, err error) {
	if of.State.Execution == 0 || of.Task.Solution != nil { // the task is whole
		return of.Task.Solution, nil
	}
	s, wanted, err := r.o.Solution(ctx, of.State)
	if err == nil && !wanted { // it comes back, or the trial is cancelled
		err = fmt.Errorf("find the solution of %s: no run wants the trial now", of.Task.Name)
	}
	return s, err
}

// judgeSolution has the solution of a task judged. Without a report, problem says why there is
// nothing to judge.
func (r *Evaluator) judgeSolution(ctx context.Context, of trial.Subject) (report *round.Report, problem string, err error) {
	ask, done, problem, err := r.askSolution(ctx, of)
	if err != nil || problem != "" {
		return nil, problem, err
	}
	defer func() { err = errors.Join(err, done()) }()
	report, problem, err = r.judgeFor(ctx, of, ask)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "the files of the solution are not kept any more", nil
	}
	return report, problem, err
}

// askSolution makes the solution of a task ready to be judged as often as needed. problem says
// why there is nothing to judge; else done must be called.
func (r *Evaluator) askSolution(ctx context.Context, of trial.Subject) (ask Ask, done func() error, problem string, err error) {
	s := of.Task.Solution
	nothing := func() error { return nil }
	switch {
	case s.Patch != nil:
		ask = func() (Evaluation, func() error, error) { return Evaluation{Patch: s.Patch}, nothing, nil }
		return ask, nothing, "", nil
	case s.Context.Digest != "":
		return Opened(func() (io.ReadCloser, error) { return r.o.Host.OpenBlob(s.Context.Digest) }), nothing, "", nil
	}
	labels := map[string]string{container.LabelOwner: r.o.Host.Owner, container.LabelRole: container.RoleBuild}
	tree, err := r.o.Host.Trees().Solve(ctx, of.Task, of.Work, labels)
	if unsolved, ok := errors.AsType[*worktree.Unsolved](err); ok {
		return nil, nil, "the task's own solution fails: " + unsolved.Words, nil
	}
	if err != nil {
		return nil, nil, "", err
	}
	info, err := tree.Stat()
	if err != nil {
		return nil, nil, "", errors.Join(err, tree.Close())
	}
	return Opened(func() (io.ReadCloser, error) { return io.NopCloser(io.NewSectionReader(tree, 0, info.Size())), nil }), tree.Close, "", nil
}

// judgeFor has something judged as a trial's work would be, in a session of its own. Without
// a report, problem says why there is nothing to judge.
func (r *Evaluator) judgeFor(ctx context.Context, of trial.Subject, ask Ask) (report *round.Report, problem string, err error) {
	terms := func(out *Evaluated) (round.Session, error) {
		session := r.sessionOf(of)
		out.Session, out.Provenance.Images = session.Trial, map[string]trial.ImageRef{}
		return session, nil
	}
	out, refused, err := r.judgeBy(ctx, of.Task, terms, ask, func(string) {})
	switch {
	case err != nil:
		return nil, "", err
	case refused != nil:
		return nil, refused.Detail, nil
	case out.NotApplied != "":
		return nil, out.NotApplied, nil
	case out.Report.Status == round.StatusError:
		return nil, "", errors.New("judge for task " + of.Task.Name + ": " + out.Report.Problem)
	}
	return &out.Report, "", nil
}

// sessionOf is a session without a trial, on the terms of one.
func (r *Evaluator) sessionOf(of trial.Subject) round.Session {
	s := of.State
	return trial.Session(r.o.Host.Owner, trial.State{
		ID: evalName(), Try: evalTry, Cell: trial.Cell{Task: s.Cell.Task, Mode: s.Cell.Mode, TestTimeout: s.Cell.TestTimeout},
		JudgeImage: s.JudgeImage, RunImage: s.RunImage, GradeImage: s.GradeImage, Hidden: s.Hidden,
	})
}

func evalName() string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return "eval." + hex.EncodeToString(b[:])
}
